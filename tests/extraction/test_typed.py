"""Typed extraction without a language model: candidates, ranges, examples, statements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from sarag_rdf.base.errors import InputError, MissingDependencyError
from sarag_rdf.base.types import Document
from sarag_rdf.extraction.examples import Example, ExampleStatement, read_examples
from sarag_rdf.extraction.ranges import RANGE_KINDS, is_admitted, range_kind
from sarag_rdf.extraction.spacy.pipeline import SpacyExtractor, load_pipeline
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.plugins import learned as typed
from sarag_rdf.plugins.learned.calibration import Calibration
from sarag_rdf.plugins.learned.candidates import KINDS, Candidate, find_candidates
from sarag_rdf.plugins.learned.contexts import path_phrase, sentences_of
from sarag_rdf.plugins.learned.extractor import (
    THRESHOLD,
    THRESHOLDS,
    Scorer,
    StatementExtractor,
    Vectors,
    _joint,
    best_threshold,
    literal_of,
)
from sarag_rdf.plugins.learned.features import ExampleNames, Subjects, align
from sarag_rdf.plugins.learned.sentence_vectors import SentenceVectors
from sarag_rdf.plugins.learned.trees import BoostedTrees
from sarag_rdf.testing.fakes import HashEmbedder

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
    embed = Vectors(HashEmbedder())
    subjects = Subjects.of(SentenceVectors.of(sentence, embed), "Ona", embed)
    found = [candidate.text for candidate in subjects.candidates]
    assert "Ada Brook" in found
    assert found[-1] == "Ona"
    assert not {"3 May 1901", "May", "1901"} & set(found)
    assert len(subjects.name_vectors) == len(found)


def test_objects_with_the_spelling_of_the_example_come_first(pipeline: Language) -> None:
    (sentence,) = pipeline("Ona Rovers (Ona) play in Hov.").sents
    candidates = find_candidates(sentence)
    statement = ExampleStatement("x", f"{EX}teacher", "Ona Rovers")
    (index,) = align(candidates, Example(sentence.text, (statement,)))
    assert candidates[index].text == "Ona Rovers"
    accented = Example(sentence.text, (ExampleStatement("x", f"{EX}teacher", "H\u00f3v"),))
    assert [candidates[index].text for index in align(candidates, accented)] == ["Hov"]


def test_names_of_examples_are_not_learned_by_heart() -> None:
    vectors = np.eye(2, dtype=np.float32)
    none = np.array([0, 0])
    names = ExampleNames(vectors, ("hov", "pilot"), none, np.array([0, 1]))
    place, noun = Candidate(0, 1, "Hov", "place", 0), Candidate(1, 2, "pilot", "noun", 1)
    assert names.similarities(vectors, [place, noun]).tolist() == [[-1, 0], [0, 1]]
    assert names.without(0).keys == ("pilot",)


def test_paths_leave_names_out(pipeline: Language) -> None:
    (sentence,) = pipeline("Ada Brook was born in Cardiff in 1901.").sents
    phrases = {c.text: path_phrase(sentence.doc, c) for c in find_candidates(sentence)}
    assert phrases["Cardiff"] == "was born in"
    assert "Brook" not in phrases["1901"]


@pytest.mark.parametrize(
    ("ranges", "label", "is_literal", "kind"),
    [
        ((XSD + "date",), "opened", True, "date"),
        ((XSD + "nonNegativeInteger",), "seats", True, "number"),
        ((XSD + "anyURI",), "page", True, "url"),
        (("https://example.org/concepts#Date",), "opened", False, "date"),
        (("https://example.org/concepts#Year",), "opened", False, "date"),
        (("https://example.org/concepts#number",), "seats", False, "number"),
        ((), "inception", False, "date"),
        ((), "construction cost", False, "number"),
        ((), "part of", False, "any"),
        ((PLACE,), "date of place", False, "entity"),
    ],
)
def test_kinds_of_ranges(ranges: tuple[str, ...], label: str, is_literal: bool, kind: str) -> None:
    property_ = OntologyProperty(f"{EX}p", label, ranges=ranges, is_literal=is_literal)
    assert range_kind(property_) == kind


def test_every_kind_of_candidate_fits_some_range() -> None:
    for kind in KINDS:
        assert any(is_admitted(kind, range_) for range_ in RANGE_KINDS)
    assert not is_admitted("person", "date")
    assert not is_admitted("date", "entity")


def test_boosted_trees_worked_by_hand() -> None:
    """One tree: x0 <= 1 gives 2, otherwise -1; a missing x0 goes right."""
    trees = BoostedTrees(
        0.5, np.array([[0, 0, 0]]), np.array([[1.0, 0, 0]]), np.array([[1, 0, 0]]),
        np.array([[2, 0, 0]]), np.array([[0, 2.0, -1.0]]), np.array([[False] * 3]),
        np.array([[False, True, True]]),
    )  # fmt: skip
    rows = np.array([[0.0], [1.0], [3.0], [np.nan]], np.float32)
    expected = 1 / (1 + np.exp(-np.array([2.5, 2.5, -0.5, -0.5])))
    assert np.allclose(trees.predict(rows), expected)
    again = BoostedTrees.of_arrays(trees.arrays("x"), "x")
    assert np.allclose(again.predict(rows), expected)


def test_calibration_follows_many_examples_and_trusts_the_scorer_with_few() -> None:
    """The scorer is sure of nothing; the statements are those with a large feature."""
    features = np.array([[0.0], [0.1], [0.9], [1.0]], np.float32)
    odds, gold = np.full(4, -4.0), np.array([False, False, True, True])
    none, rows = np.array([np.nan], np.float32), np.zeros(4, np.int64)

    def fitted(times: int) -> np.ndarray:
        columns = (np.tile(odds, times), np.tile(features, (times, 1)))
        fit = Calibration.fit(*columns, np.tile(rows, times), np.tile(gold, times), 1)
        return fit.log_odds(odds, features, rows)

    few, many = fitted(1), fitted(200)
    assert (np.diff(many) > 0).all()
    assert many[3] > 0 > many[0]
    assert np.ptp(few) < np.ptp(many) / 2
    missing = Calibration.fit(odds, features, rows, gold, 1).log_odds(
        odds[:1], none[None], rows[:1]
    )
    assert np.isfinite(missing).all()


def test_properties_of_one_domain_prefer_one_subject() -> None:
    """Two sure pairs outvote a doubtful third; a property of another domain does not vote."""
    subjects = Subjects(
        spacy.blank("en")("Ada Hov")[:],
        (Candidate(0, 1, "Ada", "person", 0), Candidate(1, 2, "Hov", "place", 1)),
        False,
        np.zeros((2, 1), np.float32),
    )
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.45, 0.5], [0.45, 0.5]])
    domains = [("p",), ("p",), ("p",), ("q",)]
    result = _joint(probabilities, np.ones(4), domains, subjects)
    assert result.argmax(axis=1).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("with_examples", [True, False])
def test_scorers_are_packaged_and_small(with_examples: bool) -> None:
    scorer = Scorer.packaged(with_examples=with_examples)
    assert len(scorer.objects.feature) >= 50
    folder = Path(typed.__file__).parent
    assert sum(path.stat().st_size for path in folder.glob("*.npz")) < 1_000_000


def test_statements_fit_the_schema_and_the_text(pipeline: Language) -> None:
    """Whatever the scores: with a threshold of nearly 0 all rules hold."""
    for examples in ((), EXAMPLES):
        extractor = StatementExtractor(
            SCHEMA, Vectors(HashEmbedder()), examples, pipeline.pipe, threshold=0.001
        )
        relations = extractor.relations(pipeline(TEXT), "Ada Brook")
        keys = set()
        for relation in relations:
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
        literals = [r.object for r in relations if r.value]
        assert len(literals) == len(set(literals))
        assert relations == extractor.relations(pipeline(TEXT), "Ada Brook")


def test_the_threshold_is_the_best_one_for_the_examples() -> None:
    keys = [(number, "ada", "teacher", "erik") for number in range(40)]
    right, wrong = set(keys[:20]), keys[20:]
    sure = dict.fromkeys(right, 0.11)
    assert best_threshold(sure | dict.fromkeys(wrong, 0.09), right) == 0.1
    assert best_threshold(dict.fromkeys(right, 0.031), right) == 0.03
    assert best_threshold(sure, right) == THRESHOLD
    assert best_threshold(dict.fromkeys(wrong, 0.2), right) == THRESHOLD


def test_a_threshold_is_chosen_with_enough_examples(pipeline: Language) -> None:
    names = ("Owen Reed", "Nia Pugh", "Ivor Lloyd", "Erik Dahl", "Mara Holt", "Tom Vane")
    examples = [
        Example(f"{n} was born in {p}.", (ExampleStatement(n, f"{EX}teacher", p),))
        for n in names
        for p in ("Swansea", "Bangor", "Cardiff", "Leeds", "York")
    ]

    def chosen(count: int, threshold: float | None = None) -> StatementExtractor:
        embed = Vectors(HashEmbedder())
        return StatementExtractor(
            SCHEMA, embed, examples[:count], pipeline.pipe, threshold=threshold
        )

    assert chosen(29).threshold == THRESHOLD
    assert chosen(30, 0.5).threshold == 0.5
    extractor = chosen(30)
    assert extractor.threshold in THRESHOLDS
    found = [one for n in names for one in extractor.statements(pipeline(f"{n} was born in Hov."))]
    assert all(one.confidence >= extractor.threshold for one in found)


def test_documents_in_batches_have_the_statements_of_each(pipeline: Language) -> None:
    extractor = StatementExtractor(
        SCHEMA, Vectors(HashEmbedder()), EXAMPLES, pipeline.pipe, threshold=0.001
    )
    docs = [(pipeline(TEXT), "Ada Brook"), (pipeline("Owen Reed was born in Hov."), "")]
    assert list(extractor.relations_of_all(docs)) == [extractor.relations(*doc) for doc in docs]


def test_a_schema_without_properties_gives_nothing(pipeline: Language) -> None:
    extractor = StatementExtractor(Schema.of([], []), Vectors(HashEmbedder()))
    assert extractor.relations(pipeline(TEXT)) == []


def test_literals_have_the_precision_of_the_text(pipeline: Language) -> None:
    (sentence,) = pipeline("He was born in May 1901 and was 171 cm tall.").sents
    found = {c.text: c for c in find_candidates(sentence) if c.value}
    date = literal_of(SCHEMA.properties[f"{EX}birthDate"], found["May 1901"])
    assert date is not None
    assert (date.lexical, date.datatype) == ("1901-05", XSD + "gYearMonth")
    height = literal_of(SCHEMA.properties[f"{EX}height"], found["171 cm"])
    assert height is not None
    assert (height.lexical, height.unit) == ("171", "http://qudt.org/vocab/unit/CentiM")
    assert literal_of(SCHEMA.properties[f"{EX}teacher"], found["171 cm"]) is None


def test_the_extractor_for_spacy_adds_typed_relations(pipeline: Language) -> None:
    document = Document("urn:d", "urn:s", "Ada Brook", TEXT, 0, len(TEXT))
    plain = SpacyExtractor(schema=SCHEMA)
    with_schema = SpacyExtractor(schema=SCHEMA, embedder=HashEmbedder(), examples=EXAMPLES)
    (before,), (after,) = (list(e.extract([document])) for e in (plain, with_schema))
    assert not isinstance(before, Exception)
    assert not isinstance(after, Exception)
    assert after.relations[: len(before.relations)] == before.relations
    names = {mention.name for mention in after.mentions}
    for relation in after.relations[len(before.relations) :]:
        assert relation.predicate in SCHEMA.properties
        assert relation.subject in names
        assert relation.value is not None or relation.object in names
    assert plain.method.settings.keys() < with_schema.method.settings.keys()
    assert with_schema.method.settings["ontology"] == SCHEMA.digest


def test_examples_are_read(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    rows = [
        {"text": "A.", "statements": [{"subject": "A", "property": "Birth place", "object": "B"}]},
        {"text": "C.", "statements": [{"subject": "C", "property": f"{EX}teacher", "object": "D"}]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    first, second = read_examples(path, SCHEMA)
    assert first.statements == (ExampleStatement("A", f"{EX}birthPlace", "B"),)
    assert second.statements[0].property == f"{EX}teacher"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 1: not an object"),
        ("{", "line 1: not an object"),
        ('{"text": 1, "statements": []}', "line 1: not an object"),
        ('{"text": "", "statements": [{"subject": "", "property": "birth plaec", "object": ""}]}',
         "no property 'birth plaec' in the ontology: did you mean 'birth place'?"),
    ],
)  # fmt: skip
def test_faulty_examples_are_errors(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        read_examples(path, SCHEMA)
    with pytest.raises(InputError, match="cannot read"):
        read_examples(tmp_path / "none.jsonl", SCHEMA)
