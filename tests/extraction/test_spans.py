"""Extraction by a span model: with one that looks phrases up, and with random weights of gliner2.

Random weights say nothing true. They show that texts, labels, offsets and confidences go through
the package as it is, for both of its architectures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.errors import MissingDependencyError, ModelError, UsageError
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.graph.ontology.schema_reader import COMMON
from sarag_rdf.kg.registry import make_extractor
from sarag_rdf.plugins import spans
from sarag_rdf.plugins.named_sentences import split_sentences
from sarag_rdf.plugins.spans import (
    Gliner2Model,
    LabelledPair,
    LabelledSpan,
    Reading,
    SpanOptions,
    SpansExtractor,
)
from sarag_rdf.testing.conformance import check_extractor
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM

BOTANIST = (
    "Ada Brook was a botanist. She was born in Cardiff on 3 May 1901. "
    "In Bangor Brook taught Nia Pugh, who was 1.72 metres tall."
)
Pair = tuple[str, str, str]


class PhraseModel:
    """Finds the phrases of each label wherever a text has them, and pairs of phrases.

    A confidence may follow a phrase: ``Cardiff|0.8``; it is 0.9 otherwise.
    """

    name = "phrases"
    digest = "0"

    def __init__(self, things: Mapping[str, Sequence[str]], pairs: Sequence[Pair] = ()) -> None:
        self.things = things
        self.pairs = pairs
        self.asked: list[tuple[Sequence[str], Sequence[str]]] = []

    def read(
        self, texts: Sequence[str], things: Sequence[str], relations: Sequence[str], least: float
    ) -> list[Reading]:
        self.asked.append((things, relations))
        return [self._reading(text, things, relations, least) for text in texts]

    def _reading(
        self, text: str, things: Sequence[str], relations: Sequence[str], least: float
    ) -> Reading:
        found = []
        for label, phrases in self.things.items():
            for phrase in phrases if label in things else ():
                words, _, confidence = phrase.partition("|")
                score = float(confidence or 0.9)
                found += [
                    LabelledSpan(label, *match.span(), score)
                    for match in re.finditer(rf"\b{re.escape(words)}\b", text)
                    if score >= least
                ]
        pairs = [
            LabelledPair(label, place(text, head), place(text, tail), 0.75)
            for label, head, tail in self.pairs
            if label in relations and head in text and tail in text
        ]
        return Reading(tuple(found), tuple(pairs))


def place(text: str, phrase: str) -> tuple[int, int]:
    begin = text.index(phrase)
    return begin, begin + len(phrase)


def document(text: str, title: str = "") -> Document:
    return Document(f"urn:{title}", "urn:source", title, text, 0, len(text))


def extracted(
    model: PhraseModel,
    text: str = BOTANIST,
    title: str = "",
    schema: Schema | None = None,
    **options: Any,
) -> Extraction:
    extractor = SpansExtractor(model, schema, SpanOptions(**options))
    (found,) = extractor.extract([document(text, title)])
    assert isinstance(found, Extraction)
    return found


def test_names_have_types_classes_and_the_sentences_that_name_them() -> None:
    found = extracted(PhraseModel({"city": ["Cardiff"], "person": ["Ada Brook"]}))
    cardiff, ada = sorted(found.mentions, key=lambda mention: mention.type)
    assert (cardiff.name, cardiff.type, cardiff.classes) == (
        "Cardiff",
        "geopolitical",
        (f"{COMMON}City",),
    )
    assert cardiff.descriptions == ("Cardiff: She was born in Cardiff on 3 May 1901.",)
    assert (ada.name, ada.type, ada.classes) == ("Ada Brook", "person", (f"{COMMON}Person",))


def test_statements_have_their_sentence_and_confidence() -> None:
    pairs = [("place of birth", "Ada Brook", "Cardiff")]
    found = extracted(PhraseModel({"person": ["Ada Brook"], "city": ["Cardiff"]}, pairs))
    (birth,) = found.relations
    assert (birth.subject, birth.predicate, birth.object) == (
        "Ada Brook",
        f"{COMMON}birthPlace",
        "Cardiff",
    )
    assert (birth.text, birth.confidence) == ("She was born in Cardiff on 3 May 1901.", 0.75)


def test_dates_and_amounts_are_values_and_literals() -> None:
    pairs = [
        ("date of birth", "Ada Brook", "3 May 1901"),
        ("height", "Nia Pugh", "1.72"),
    ]
    things = {
        "person": ["Ada Brook", "Nia Pugh"],
        "date": ["3 May 1901"],
        "quantity": ["1.72 metres"],
    }
    found = extracted(PhraseModel(things, pairs))
    types = {mention.name: mention.type for mention in found.mentions}
    assert types["3 May 1901"] == "time"
    assert types["1.72 metres"] == "quantity"
    values = {r.subject: r.value for r in found.relations}
    assert values["Ada Brook"] is not None
    assert values["Ada Brook"].lexical == "1901-05-03"
    height = values["Nia Pugh"]
    assert height is not None
    assert (height.lexical, height.unit) == ("1.72", "http://qudt.org/vocab/unit/M")


def test_a_date_that_the_rules_cannot_read_is_a_value_all_the_same() -> None:
    found = extracted(PhraseModel({"date": ["7. November 1867"]}), "Geboren am 7. November 1867.")
    assert [(m.name, m.type, m.classes) for m in found.mentions] == [
        ("7. November 1867", "time", ())
    ]


def test_of_overlapping_names_the_most_certain_is_used_with_its_best_label() -> None:
    things = {
        "person": ["Ada|0.6", "Ada Brook|0.8"],
        "scientist": ["Ada Brook|0.95"],
        "organization": ["Ada Brook was|0.7"],
    }
    found = extracted(PhraseModel(things))
    assert [(m.name, m.classes) for m in found.mentions] == [("Ada Brook", (f"{COMMON}Scientist",))]


def test_pronouns_and_common_nouns_are_no_names() -> None:
    pairs = [("place of birth", "She", "Cardiff"), ("place of birth", "botanist", "Cardiff")]
    model = PhraseModel({"person": ["She", "botanist"], "city": ["Cardiff"]}, pairs)
    extractor = SpansExtractor(model)
    (found,) = extractor.extract([document(BOTANIST)])
    assert isinstance(found, Extraction)
    assert [mention.name for mention in found.mentions] == ["Cardiff"]
    assert found.relations == ()
    assert extractor.discarded == {"statements with an argument that is no name": 2}


def test_statements_against_the_ontology_are_left_out_and_counted() -> None:
    pairs = [
        ("place of birth", "Cardiff", "Bangor"),  # a city is not born
        ("date of birth", "Ada Brook", "Cardiff"),  # a place is no date
        ("place of birth", "Ada Brook", "3 May 1901"),  # nor a date a place
    ]
    model = PhraseModel({"person": ["Ada Brook"], "city": ["Cardiff", "Bangor"]}, pairs)
    extractor = SpansExtractor(model)
    (found,) = extractor.extract([document(BOTANIST)])
    assert isinstance(found, Extraction)
    assert found.relations == ()
    reason = "statements that violate the domain or range of the property"
    assert extractor.discarded == {reason: 3}


def test_arguments_that_are_no_mentions_become_some() -> None:
    found = extracted(PhraseModel({}, [("place of birth", "Ada Brook", "Cardiff")]))
    assert {(m.name, m.type) for m in found.mentions} == {
        ("Ada Brook", "person"),
        ("Cardiff", "geopolitical"),
    }


def test_an_argument_that_overlaps_a_name_is_this_name() -> None:
    pairs = [("place of birth", "Ada", "in Cardiff")]
    found = extracted(PhraseModel({"person": ["Ada Brook"], "city": ["Cardiff"]}, pairs))
    assert [(r.subject, r.object) for r in found.relations] == [("Ada Brook", "Cardiff")]


def test_the_surname_of_one_person_is_an_alias() -> None:
    pairs = [("student of", "Nia Pugh", "Brook")]
    model = PhraseModel({"person": ["Ada Brook", "Brook", "Nia Pugh"]}, pairs)
    text = "In Bangor Brook taught Nia Pugh. Ada Brook was a botanist."
    found = extracted(model, text)
    assert {m.name: m.aliases for m in found.mentions} == {
        "Ada Brook": ("Brook",),
        "Nia Pugh": (),
    }
    assert [(r.subject, r.object) for r in found.relations] == [("Nia Pugh", "Ada Brook")]
    text += " Owen Brook was her brother."
    model = PhraseModel({"person": ["Ada Brook", "Owen Brook", "Brook", "Nia Pugh"]}, pairs)
    assert {m.name for m in extracted(model, text).mentions} == {
        *("Ada Brook", "Owen Brook", "Brook", "Nia Pugh"),
    }


def test_the_title_is_read_with_the_text_and_described_by_its_first_sentences() -> None:
    pairs = [("place of birth", "Ada Brook", "Cardiff")]
    model = PhraseModel({"person": ["Ada Brook"], "city": ["Cardiff"]}, pairs)
    found = extracted(model, "She was born in Cardiff.", "Ada Brook")
    assert [(r.subject, r.object, r.text) for r in found.relations] == [
        ("Ada Brook", "Cardiff", "She was born in Cardiff.")
    ]
    assert {m.name: m.descriptions for m in found.mentions}["Ada Brook"] == (
        "Ada Brook: She was born in Cardiff.",
    )


def test_only_prose_is_read_at_its_own_offsets() -> None:
    text = "Use `Cardiff` here.\n\n```\nBangor\n```\n\nAda Brook lived\nin Swansea."
    model = PhraseModel({"city": ["Cardiff", "Bangor", "Swansea"]})
    found = extracted(model, text, "Towns")
    assert [(m.name, m.descriptions) for m in found.mentions] == [
        ("Swansea", ("Swansea: Ada Brook lived in Swansea.",))
    ]


def test_no_name_goes_beyond_the_title_or_a_paragraph() -> None:
    things = {"city": ["Cardiff\nBangor", "Bangor\n\nSwansea"]}
    found = extracted(PhraseModel(things), "Bangor\n\nSwansea", "Cardiff")
    assert found.mentions == ()


def test_the_labels_are_those_of_the_ontology_and_of_values() -> None:
    base = "https://example.org/"
    schema = Schema.of(
        [OntologyClass(f"{base}Mill", "watermill"), OntologyClass(f"{base}Weir", "weir")],
        [OntologyProperty(f"{base}feeds", "feeds", (), "", (), (), (), (f"{base}Weir",))],
    )
    model = PhraseModel({"watermill": ["Felin Isaf"], "weir": ["Cored Hir"]})
    model.pairs = [("feeds", "Cored Hir", "Felin Isaf")]
    found = extracted(model, "Cored Hir feeds Felin Isaf.", schema=schema)
    assert model.asked == [(["watermill", "weir", "date", "quantity"], ["feeds"])]
    assert {m.name: m.classes for m in found.mentions} == {
        "Felin Isaf": (f"{base}Mill",),
        "Cored Hir": (f"{base}Weir",),
    }
    assert [relation.predicate for relation in found.relations] == [f"{base}feeds"]


def test_terms_with_one_label_are_told_apart_by_their_local_names() -> None:
    terms = [OntologyClass("urn:a#Bank", "bank"), OntologyClass("urn:b#RiverBank", "bank")]
    model = PhraseModel({"bank (RiverBank)": ["Severn Side"]})
    found = extracted(model, "A walk along Severn Side.", schema=Schema.of(terms, []))
    assert [mention.classes for mention in found.mentions] == [("urn:b#RiverBank",)]


def test_an_ontology_without_classes_has_general_labels() -> None:
    schema = Schema.of([], [OntologyProperty("urn:p#near", "near")])
    model = PhraseModel({"place": ["Cardiff"]})
    found = extracted(model, schema=schema)
    assert model.asked[0][0] == [
        *("person", "organization", "place", "work", "event", "date", "quantity")
    ]
    assert [(m.name, m.type, m.classes) for m in found.mentions] == [
        ("Cardiff", "geopolitical", ())
    ]


def test_many_labels_are_asked_for_in_groups_with_the_same_result() -> None:
    pairs = [("place of birth", "Ada Brook", "Cardiff")]
    model = PhraseModel({"person": ["Ada Brook"], "city": ["Cardiff"]}, pairs)
    whole = extracted(model, labels=100)
    assert len(model.asked) == 1
    assert extracted(model, labels=7) == whole
    assert all(len(things) <= 7 and len(terms) <= 7 for things, terms in model.asked[1:])
    assert len(model.asked) > 5


def test_the_threshold_is_passed_on_and_part_of_the_method() -> None:
    model = PhraseModel({"city": ["Cardiff|0.6"]})
    assert extracted(model, threshold=0.7).mentions == ()
    assert len(extracted(model, threshold=0.6).mentions) == 1
    methods = {str(SpansExtractor(model, None, SpanOptions(threshold=t)).method) for t in (0.6, 1)}
    assert len(methods) == 2


def test_it_conforms_with_blank_documents_too() -> None:
    model = PhraseModel({"city": ["Cardiff"]}, [("place of birth", "Ada Brook", "Cardiff")])
    extractor = SpansExtractor(model, None, SpanOptions(batch_size=2))
    check_extractor(extractor, [document(BOTANIST), document(""), document(" \n"), document("Hm.")])


def test_the_graph_has_the_statement_with_its_sentence() -> None:
    pairs = [("place of birth", "Ada Brook", "Cardiff"), ("date of birth", "Ada Brook", "1901")]
    model = PhraseModel({"scientist": ["Ada Brook"], "city": ["Cardiff"], "date": ["1901"]}, pairs)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(
            [Source("Ada Brook was born in Cardiff in 1901.", "Ada Brook")],
            extractor=SpansExtractor(model),
        )
        assert report.added == 1
        assert kg.query("""ASK { ?ada a common:Scientist , sarag:Entity ;
            rdfs:label "Ada Brook"@en ; common:birthPlace ?cardiff ;
            common:birthDate "1901"^^xsd:gYear .
            ?cardiff a common:City ; rdfs:label "Cardiff"@en .
            ?year a sarag:Value ; skos:prefLabel "1901"@en .
            ?r sarag:statedProperty common:birthPlace ;
               sarag:text "Ada Brook was born in Cardiff in 1901."@en }""")


# The package


def test_a_model_must_be_named() -> None:
    with pytest.raises(UsageError, match=r"write spans:model=fastino/gliner2\.5-base-v1"):
        make_extractor("spans", lambda: QueuedLLM([]))


def test_without_the_package_nothing_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spans, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[spans\]'"):
        _ = make_extractor(f"spans:model={tmp_path}", lambda: QueuedLLM([])).method


needs_gliner2 = pytest.mark.skipif(
    find_spec("gliner2") is None, reason="gliner2 is not installed: pip install 'sarag-rdf[spans]'"
)


@needs_gliner2
def test_a_model_that_cannot_be_had_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'nobody/no-such-model' cannot be had"):
        _ = Gliner2Model("nobody/no-such-model").digest
    with pytest.raises(ModelError, match=r"config\.json, encoder_config/config\.json, model\."):
        _ = Gliner2Model(str(tmp_path)).digest


@pytest.fixture(scope="module", params=["boundary", "span"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each architecture with one layer of random weights."""
    gliner2 = pytest.importorskip("gliner2")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, PreTrainedTokenizerFast

    words = sorted({*re.findall(r"\w+|\S", BOTANIST.casefold()), *"()[]:"})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {
        f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
    }
    fast: Any = PreTrainedTokenizerFast
    fast = fast(tokenizer_object=tokenizer, **special)
    torch.manual_seed(1)
    model = gliner2.AutoExtractor.from_config(
        gliner2.ExtractorConfig(model_name="tiny", architecture=request.param),
        encoder_config=BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
        ),
        tokenizer=fast,
    )
    path = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(str(path))
    return path


@needs_gliner2
def test_spans_and_pairs_of_the_package_are_those_of_the_text(folder: Path) -> None:
    texts = [BOTANIST, "Cardiff.", f"{BOTANIST} İzmir 😀 {BOTANIST}"]
    readings = Gliner2Model(str(folder)).read(texts, ["person", "place"], ["teacher"], 0.3)
    assert len(readings) == 3
    for text, reading in zip(texts, readings, strict=True):
        assert reading.spans
        for span in reading.spans:
            assert span.label in ("person", "place")
            assert 0.3 <= span.confidence <= 1
            assert text[span.begin : span.end] == text[span.begin : span.end].strip() != ""
    pairs = [pair for reading in readings for pair in reading.pairs]
    assert pairs
    assert {pair.label for pair in pairs} == {"teacher"}


@needs_gliner2
def test_long_texts_are_read_to_their_end(folder: Path) -> None:
    text = " ".join([BOTANIST] * 20)  # 500 words
    (reading,) = Gliner2Model(str(folder)).read([text], ["person"], [], 0.3)
    assert max(span.end for span in reading.spans) > len(text) - len(BOTANIST)


@needs_gliner2
def test_the_extractor_conforms_with_the_package(folder: Path) -> None:
    person, place = OntologyClass("urn:c#Person", "person"), OntologyClass("urn:c#Place", "place")
    schema = Schema.of([person, place], [OntologyProperty("urn:p#birthPlace", "place of birth")])
    chosen = f"spans:model={folder}:threshold=0.3"
    extractor = make_extractor(chosen, lambda: QueuedLLM([]), schema=schema)
    documents = [document(BOTANIST, "Ada Brook"), document(""), document("Cardiff is near Bangor.")]
    check_extractor(extractor, documents)
    assert extractor.method.extractor == "spans"
    found = [e for e in extractor.extract(documents) if isinstance(e, Extraction)]
    assert any(extraction.mentions for extraction in found)
    assert any(extraction.relations for extraction in found)
    for relation in found[0].relations:
        assert relation.text in (BOTANIST, "Ada Brook", *split_sentences(BOTANIST))


@needs_gliner2
def test_other_weights_are_another_method(folder: Path, tmp_path: Path) -> None:
    before = Gliner2Model(str(folder)).digest
    for name in spans._FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((folder / name).read_bytes() + b" ")
    assert Gliner2Model(str(tmp_path)).digest != before


@needs_gliner2
@pytest.mark.parametrize("name", ["encoder_config/config.json", "tokenizer_config.json"])
def test_code_in_a_model_is_not_run(name: str, folder: Path, tmp_path: Path) -> None:
    for path in folder.rglob("*.*"):
        (tmp_path / path.relative_to(folder)).parent.mkdir(exist_ok=True)
        (tmp_path / path.relative_to(folder)).write_bytes(path.read_bytes())
    config = tmp_path / name
    values = json.loads(config.read_text("utf-8"))
    config.write_text(json.dumps({**values, "auto_map": {"AutoModel": "evil.Model"}}), "utf-8")
    (tmp_path / "evil.py").write_text("raise SystemExit('run')", "utf-8")
    with pytest.raises(ModelError, match="brings code of its own"):
        Gliner2Model(str(tmp_path)).read(["Cardiff"], ["city"], [], 0.5)


@needs_gliner2
def test_damaged_weights_are_one_error(folder: Path, tmp_path: Path) -> None:
    for name in spans._FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Gliner2Model(str(tmp_path)).read(["Cardiff"], ["city"], [], 0.5)
    assert "\n" not in str(caught.value)


@needs_gliner2
def test_the_command_line_indexes_with_it(folder: Path) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        chosen = f"spans:model={folder}:threshold=0.3"
        report = kg.index([Source(BOTANIST, "Ada Brook")], extractor=chosen)
        assert report.added == 1
        assert kg.query("ASK { ?e sarag:extractor 'spans' }")
