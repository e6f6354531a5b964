"""Extraction that learns from examples: candidates, features, statements, the extractor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor, load_pipeline
from sarag_rdf.extraction.typed_statements import RangeKind
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.kg.registry import make_extractor
from sarag_rdf.plugins.learned import classifiers, features
from sarag_rdf.plugins.learned.classifiers import (
    Classifier,
    LearnedExtractor,
    may_be_subjects,
)
from sarag_rdf.plugins.learned.features import (
    KINDS,
    Arguments,
    Candidate,
    Samples,
    find_candidates,
    path_phrase,
    sentences_of,
)
from sarag_rdf.plugins.statement_models import Example, ExampleStatement
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM

EX = "https://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PERSON, PLACE = f"{EX}Person", f"{EX}Place"
SCHEMA = Schema.of(
    [OntologyClass(PERSON, "person"), OntologyClass(PLACE, "place")],
    [
        OntologyProperty(f"{EX}birthPlace", "birth place", domains=(PERSON,), ranges=(PLACE,)),
        OntologyProperty(
            f"{EX}birthDate", "birth date", domains=(PERSON,), ranges=(XSD + "date",),
            is_literal=True, is_functional=True,
        ),
        OntologyProperty(f"{EX}teacher", "teacher", domains=(PERSON,), ranges=(PERSON,)),
        OntologyProperty(
            f"{EX}height", "height", domains=(PERSON,), ranges=(XSD + "decimal",), is_literal=True
        ),
    ],
)  # fmt: skip
EXAMPLES = (
    Example(
        "Owen Reed was born in Swansea on 2 May 1899.",
        (
            ExampleStatement("Owen Reed", f"{EX}birthPlace", "Swansea"),
            ExampleStatement("Owen Reed", f"{EX}birthDate", "1899-05-02"),
        ),
    ),
    Example(
        "Nia Pugh was born in Bangor and studied with Ivor Lloyd.",
        (
            ExampleStatement("Nia Pugh", f"{EX}birthPlace", "Bangor"),
            ExampleStatement("Nia Pugh", f"{EX}teacher", "Ivor Lloyd"),
        ),
    ),
)
TEXT = (
    "Ada Brook was born in Cardiff on 3 May 1901. She was 171 cm tall and was taught by Erik Dahl."
)


@pytest.fixture(scope="module")
def pipeline() -> Language:
    try:
        return load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(str(error))


def texts(pipeline: Language, sentence: str) -> dict[str, str]:
    (span,) = pipeline(sentence).sents
    return {c.text: c.kind for c in find_candidates(span)}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ada Brook was born in Cardiff.", {"Ada Brook": "person", "Cardiff": "place"}),
        ("The tower is 31 metres tall.", {"31 metres": "quantity", "tower": "noun"}),
        ("Runway 14L/32R was closed in 1997.", {"14L/32R": "identifier", "1997": "date"}),
        ('He wrote "The Long Shore" there.', {"The Long Shore": "work"}),
        ("The A-Nora Light stands on Ona.", {"A-Nora Light": "name"}),
        ("She worked at the University of the Western Isles.",
         {"University of the Western Isles": "organization"}),
        ("Gull Light is in Ona, Norway.", {"Ona, Norway": "name", "Norway": "place"}),
        (
            "The mill of Lund, Reed and Pugh stands in Hov, Sandefjord, Norway.",
            {"Lund, Reed and Pugh": "name", "Hov, Sandefjord, Norway": "name"},
        ),
    ],
)  # fmt: skip
def test_candidates(pipeline: Language, sentence: str, expected: dict[str, str]) -> None:
    found = texts(pipeline, sentence)
    assert expected.keys() <= found.keys()
    values = {"quantity", "identifier", "date"}
    assert {t: k for t, k in expected.items() if k in values}.items() <= found.items()


def test_candidates_are_text_of_the_sentence(pipeline: Language) -> None:
    doc = pipeline(TEXT)
    for sentence in doc.sents:
        for candidate in find_candidates(sentence):
            assert sentence.start <= candidate.begin < candidate.end <= sentence.end
            assert candidate.text in doc[candidate.begin : candidate.end].text
            assert candidate.kind in KINDS
    assert "Nora Light" not in texts(pipeline, "The A-Nora Light stands on Ona.")


def test_no_sentence_goes_beyond_a_blank_line(pipeline: Language) -> None:
    doc = Doc(pipeline.vocab, ["Ada", "Brook", "\n\n", "Owen", "Reed", "\n", "left", "."])
    doc[0].is_sent_start = True
    for token in doc[1:]:
        token.is_sent_start = False
    assert [" ".join(s.text.split()) for s in sentences_of(doc)] == [
        "Ada Brook",
        "Owen Reed left .",
    ]


def test_dates_are_no_subjects(pipeline: Language) -> None:
    (sentence,) = pipeline("On 3 May 1901 Ada Brook left Cardiff.").sents
    embed = HashEmbedder().embed
    [arguments] = Arguments.of_all([sentence], embed)
    titled = arguments.titled("Ona", embed)
    names = [
        c.text
        for c, is_one in zip(titled.candidates, may_be_subjects(titled), strict=True)
        if is_one
    ]
    assert "Ada Brook" in names
    assert names[-1] == "Ona"
    assert not {"3 May 1901", "May", "1901"} & set(names)
    assert titled.is_title(len(titled.candidates) - 1)
    assert len(titled.vectors) == len(titled.candidates)


def test_the_spelling_of_the_example_comes_first(pipeline: Language) -> None:
    (sentence,) = pipeline("Ona Rovers (Ona) play in Hov.").sents
    [arguments] = Arguments.of_all([sentence], HashEmbedder().embed)
    for text, name in (("Ona Rovers", "Ona Rovers"), ("H\u00f3v", "Hov"), ("Moss", None)):
        names = [arguments.candidates[place].text for place in arguments.spelled(text)]
        assert names == ([name] if name else [])


def test_names_of_examples_are_not_learned_by_heart(pipeline: Language) -> None:
    doc = pipeline("Hov pilot")
    candidates = (Candidate(0, 1, "Hov", "place", 0), Candidate(1, 2, "pilot", "noun", 1))
    vectors = np.repeat(np.eye(2, dtype=np.float32)[:, None], 3, axis=1)
    arguments = Arguments(doc[:], candidates, vectors)
    samples = Samples.of([(arguments, 0, 0, 0), (arguments, 1, 0, 1)], 2)
    path, _, name = samples.similarities(arguments)
    assert path.tolist() == [[1, 0], [0, 1]]
    assert name.tolist() == [[-1, 0], [0, 1]]
    assert samples.without(0).keys.tolist() == ["pilot"]


def test_paths_leave_names_out(pipeline: Language) -> None:
    (sentence,) = pipeline("Ada Brook was born in Cardiff in 1901.").sents
    phrases = {c.text: path_phrase(sentence.doc, c) for c in find_candidates(sentence)}
    assert phrases["Cardiff"] == "was born in"
    assert "Brook" not in phrases["1901"]


def test_every_kind_of_candidate_fits_some_range() -> None:
    assert features._ADMITTED.keys() == set(get_args(RangeKind))
    for kind in KINDS:
        assert any(kind in admitted for admitted in features._ADMITTED.values())
    assert "person" not in features._ADMITTED["date"]
    assert "date" not in features._ADMITTED["entity"]


def test_the_classifier_learns_a_limit() -> None:
    column = np.linspace(0, 1, 200, dtype=np.float32)
    rows = np.stack([column, np.full(200, -1, np.float32)], axis=1)
    classifier = Classifier([(rows, column > 0.5)])
    low, high = classifier.predict(np.array([[0.1, 1.0], [0.9, -1.0]], np.float32))
    assert low < 0.1
    assert high > 0.9
    nothing = Classifier([(rows, column > 2)])
    assert nothing.predict(rows).tolist() == [0.0] * 200
    assert Classifier([]).predict(rows[:2]).tolist() == [0.0, 0.0]


def many(names: tuple[str, ...], places: tuple[str, ...]) -> list[Example]:
    return [
        Example(
            f"{n} was born in {p} on 2 May 1899.",
            (
                ExampleStatement(n, f"{EX}birthPlace", p),
                ExampleStatement(n, f"{EX}birthDate", "1899-05-02"),
            ),
        )
        for n in names
        for p in places
    ]


NAMES = ("Owen Reed", "Nia Pugh", "Ivor Lloyd", "Erik Dahl", "Mara Holt", "Tom Vane")
PLACES = ("Swansea", "Bangor", "Cardiff", "Leeds", "York")


def test_statements_like_the_examples_fit_the_schema_and_the_text(
    pipeline: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the scores: with a threshold of nearly 0 all rules hold."""
    monkeypatch.setattr(classifiers, "THRESHOLD", 0.001)
    finder = LearnedExtractor(SCHEMA, HashEmbedder(), many(NAMES, PLACES))
    finder._spacy.pipeline = pipeline
    [statements] = finder.find([(pipeline(TEXT), "Ada Brook", "")])
    relations = [statement.relation for statement in statements]
    assert {r.predicate for r in relations if r} >= {f"{EX}birthPlace", f"{EX}birthDate"}
    keys = set()
    for relation in relations:
        assert relation is not None
        property_ = SCHEMA.properties[relation.predicate]
        assert relation.subject in TEXT
        assert relation.object in TEXT
        assert relation.subject != relation.object
        assert 0 < relation.confidence < 1
        assert (relation.value is not None) == property_.is_literal
        assert relation.sentence in TEXT
        if property_.is_functional or property_.is_literal:
            assert (relation.subject, relation.predicate, relation.text) not in keys
        keys.add((relation.subject, relation.predicate, relation.text))
    literals = [r.object for r in relations if r and r.value]
    assert len(literals) == len(set(literals))
    [again] = finder.find([(pipeline(TEXT), "Ada Brook", "")])
    assert relations == [statement.relation for statement in again]


def test_documents_in_batches_have_the_statements_of_each(
    pipeline: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifiers, "THRESHOLD", 0.001)
    finder = LearnedExtractor(SCHEMA, HashEmbedder(), many(NAMES, PLACES))
    finder._spacy.pipeline = pipeline
    docs = [(pipeline(TEXT), "Ada Brook", ""), (pipeline("Owen Reed was born in Hov."), "", "")]
    assert list(finder.find(docs)) == [own for doc in docs for own in finder.find([doc])]


def test_the_name_at_the_start_of_a_text_is_no_title_of_its_first_sentence(
    pipeline: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifiers, "THRESHOLD", 0.001)
    finder = LearnedExtractor(SCHEMA, HashEmbedder(), many(NAMES, PLACES))
    finder._spacy.pipeline = pipeline
    doc = pipeline("Owen Reed was born in Hov. He moved to Cardiff in 1950.")
    without, with_topic = finder.find([(doc, "", ""), (doc, "", "Reed")])
    first = doc[0:1].sent
    assert [s for s in with_topic if s.sentence == first] == [
        s for s in without if s.sentence == first
    ]
    assert "Reed" in {s.subject.text for s in with_topic if s.sentence != first}


def test_a_schema_without_properties_gives_nothing(pipeline: Language) -> None:
    finder = LearnedExtractor(Schema.of([], []), HashEmbedder(), [])
    assert list(finder.find([(pipeline(TEXT), "", "")])) == [[]]


def extraction(extractor: SpacyExtractor | LearnedExtractor, text: str, title: str) -> Extraction:
    [found] = extractor.extract([Document("urn:d", "urn:s", title, text, 0, len(text))])
    assert isinstance(found, Extraction)
    return found


@pytest.mark.usefixtures("pipeline")
def test_the_extractor_adds_typed_relations_to_those_of_spacy() -> None:
    plain = SpacyExtractor(schema=SCHEMA)
    learned = LearnedExtractor(SCHEMA, HashEmbedder(), many(NAMES, PLACES))
    before, after = (extraction(e, TEXT, "Ada Brook") for e in (plain, learned))
    assert after.relations[: len(before.relations)] == before.relations
    names = {mention.name for mention in after.mentions}
    for relation in after.relations[len(before.relations) :]:
        assert relation.predicate in SCHEMA.properties
        assert relation.subject in names
        assert relation.value is not None or relation.object in names
    assert plain.method.settings.keys() < learned.method.settings.keys()
    assert learned.method.extractor == "learned"
    assert learned.method.settings["ontology"] == SCHEMA.digest


@pytest.mark.usefixtures("pipeline")
def test_statements_do_not_contradict_known_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A city has no teacher, however sure the classifiers are."""
    monkeypatch.setattr(Classifier, "predict", lambda _, rows: np.full(len(rows), 0.9))
    city = f"{EX}City"
    schema = Schema.of(
        [*SCHEMA.classes.values(), OntologyClass(city, "city", parents=(PLACE,))],
        SCHEMA.properties.values(),
    )
    learned = LearnedExtractor(schema, HashEmbedder(), many(NAMES, PLACES))
    text = "Cardiff is a city. Cardiff was praised by Erik Dahl."
    found = extraction(learned, text, "Cardiff")
    [cardiff] = (m for m in found.mentions if m.name == "Cardiff")
    assert cardiff.classes == (city,)
    teachers = {r.subject for r in found.relations if r.predicate == f"{EX}teacher"}
    assert "Cardiff" not in teachers


def test_what_the_extractor_needs(tmp_path: Path) -> None:
    def make(name: str, schema: Schema | None = None) -> object:
        return make_extractor(name, QueuedLLM([]).__class__, schema=schema)

    with pytest.raises(UsageError, match="require an ontology"):
        make("learned:examples=none.jsonl")
    with pytest.raises(UsageError, match="learned needs examples"):
        make("learned", SCHEMA)
    path = tmp_path / "examples.jsonl"
    path.write_text('{"text": "A.", "statements": []}')
    with pytest.raises(UsageError, match="needs an embedder"):
        make(f"learned:examples={path}", SCHEMA)


@pytest.mark.usefixtures("pipeline")
def test_documents_are_embedded_together() -> None:
    class Counting(HashEmbedder):
        calls = 0

        def embed(self, texts: Sequence[str]) -> Matrix:
            Counting.calls += 1
            return super().embed(texts)

    texts = [f"{name} was born in Hov. {name} left York in 1931." for name in NAMES]
    documents = [Document(f"urn:{t}", "urn:s", "", t, 0, len(t)) for t in texts]
    learned = LearnedExtractor(SCHEMA, Counting(), many(NAMES, PLACES))
    list(learned.extract(documents[:1]))
    calls = []
    for number in (2, 6):
        Counting.calls = 0
        list(learned.extract(documents[:number]))
        calls.append(Counting.calls)
    assert calls[1] <= calls[0] + 1
