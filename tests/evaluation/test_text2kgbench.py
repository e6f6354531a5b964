"""Measures of extraction on a benchmark of our own in the format of Text2KGBench."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.text2kgbench.__main__ import main
from benchmarks.text2kgbench.data import (
    LiteralStyle,
    Sentence,
    Triple,
    read_benchmark,
    sample_examples,
    words_of,
)
from benchmarks.text2kgbench.score import (
    _located,
    evaluate_extraction,
    example_of,
    lines,
    mean_of,
    report,
    score_ontology,
    score_predictions,
    soft_key,
    strict_key,
)
from sarag_rdf.base.errors import InputError, TruncatedReplyError, UsageError
from sarag_rdf.base.types import Document, Relation, Value
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM

XSD = "http://www.w3.org/2001/XMLSchema#"
ONTOLOGY = {
    "title": "Lighthouse Ontology",
    "id": "ont_1_lighthouse",
    "concepts": [
        {"qid": "Lighthouse", "label": "Lighthouse"},
        {"qid": "Island", "label": "Island"},
    ],
    "relations": [
        {"pid": "island", "label": "island", "domain": "Lighthouse", "range": "Island"},
        {"pid": "builtOn", "label": "builtOn", "domain": "Lighthouse", "range": "Date"},
        {"pid": "towerHeight", "label": "towerHeight", "domain": "Lighthouse", "range": "number"},
        {"pid": "P1", "label": "closing date", "domain": "", "range": ""},
    ],
}
GULL, TERN, CRANE = "Gull_Light", "Tern_Light", "Crane_Light"
TRAIN = [
    (
        "Gull Light on Mora is 31 metres tall.",
        [(GULL, "island", "Mora"), (GULL, "towerHeight", "31.0 (metres)")],
    ),
    ("Tern Light opened on 4 May 1902.", [(TERN, "builtOn", '"1902-05-04"')]),
]
TEST = [
    (
        "Crane Light on Ona is 20 metres tall.",
        [(CRANE, "island", "Ona"), (CRANE, "towerHeight", "20.0 (metres)")],
    ),
    ("It opened on 6 June 1911.", [(CRANE, "builtOn", '"1911-06-06"')]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    suite = tmp_path / "dbpedia_webnlg"
    for name in ("ontologies", "train", "test", "ground_truth"):
        (suite / name).mkdir(parents=True)
    (suite / "ontologies" / "1_lighthouse_ontology.json").write_text(json.dumps(ONTOLOGY))
    for part, rows in (("train", TRAIN), ("ground_truth", TEST)):
        content = [
            {
                "id": f"ont_1_lighthouse_{part}_{number}",
                "sent": text,
                "triples": [dict(zip(("sub", "rel", "obj"), t, strict=True)) for t in triples],
            }
            for number, (text, triples) in enumerate(rows, 1)
        ]
        path = suite / part / f"ont_1_lighthouse_{part}.jsonl"
        path.write_text("\n".join(map(json.dumps, content)))
    return tmp_path


def test_ontologies_become_schemas(folder: Path) -> None:
    (ontology,) = read_benchmark(folder, "dbpedia_webnlg")
    properties = {p.label: p for p in ontology.schema.properties.values()}
    assert set(properties) == {"island", "built on", "tower height", "closing date"}
    assert properties["built on"].ranges == (XSD + "date",)
    assert properties["tower height"].is_literal
    assert properties["closing date"].ranges == (XSD + "date",)
    assert properties["island"].domains == (
        "https://cenguix.github.io/Text2KGBench/ont_1_lighthouse/concepts#Lighthouse",
    )
    assert ontology.relations[properties["built on"].iri] == "builtOn"
    assert [len(ontology.train), len(ontology.test)] == [2, 2]


def test_unknown_suites_and_ontologies_are_errors(folder: Path) -> None:
    with pytest.raises(InputError, match="no ontologies"):
        read_benchmark(folder, "wikidata_tekgen")
    with pytest.raises(UsageError, match="no ontology '2_ship'"):
        read_benchmark(folder, "dbpedia_webnlg", ["2_ship"])


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("birthPlace", "birth place"),
        ("1stRunwaySurfaceType", "1st runway surface type"),
        ("LCCN", "LCCN"),
        ("point in time", "point in time"),
    ],
)
def test_labels_as_words(label: str, words: str) -> None:
    assert words_of(label) == words


def test_examples_cover_each_property(folder: Path) -> None:
    (ontology,) = read_benchmark(folder, "dbpedia_webnlg")
    assert sample_examples(ontology, 0) == ()
    assert len(sample_examples(ontology, 1)) == 2
    example = example_of(ontology, ontology.train[0])
    assert [s.object for s in example.statements] == ["Mora", "31.0 (metres)"]


def test_measures_worked_by_hand() -> None:
    """Official: P and R are 1/2 and 0, with means of 1/4. Strict: one of four, of three."""
    sentences = [
        Sentence(
            "1",
            "Ona has a light.",
            (Triple("Ona", "has_light", "light"), Triple("Ona", "in", "sea")),
        ),
        Sentence("2", "Mora is far.", (Triple("Mora", "distance", "far"),)),
    ]  # fmt: skip
    predictions = {
        "1": [Triple("Ona", "has_light", "light"), Triple("Ona", "in", "Bergen")],
        "2": [Triple("Mora", "in", "far"), Triple("Ulva", "size", "far")],
    }
    scores = score_ontology(sentences, predictions, ["has light", "in"], [])
    assert scores["official_precision"] == pytest.approx(0.25)
    assert scores["official_recall"] == pytest.approx(0.25)
    assert scores["official_f1"] == pytest.approx(0.25)
    assert scores["strict_precision"] == pytest.approx(1 / 4)
    assert scores["strict_recall"] == pytest.approx(1 / 3)
    assert scores["strict_f1"] == pytest.approx(2 / 7)
    assert scores["conformance"] == pytest.approx((1 + 1 / 2) / 2)
    assert scores["invented_subjects"] == pytest.approx((0 + 1 / 2) / 2)
    assert scores["invented_objects"] == pytest.approx((1 / 2 + 0) / 2)


def test_no_predictions_conform_and_invent_nothing() -> None:
    scores = score_ontology([Sentence("1", "x", (Triple("a", "b", "c"),))], {}, ["b"], [])
    assert (scores["official_f1"], scores["strict_f1"], scores["conformance"]) == (0, 0, 1)


def test_keys_of_statements() -> None:
    assert strict_key(Triple("Ada_Brook", "birth place", "Wales")) == "adabrookbirthplacewales"
    gold = Triple("José_(singer)", "runtime", '"94.0"(minutes)')
    assert soft_key(gold) == soft_key(Triple("Jose", "runtime", "94 minutes"))


def test_styles_are_learned_from_examples() -> None:
    style = LiteralStyle()
    day = Value("4 May 1902", "1902-05-04", XSD + "date")
    style.learn("p:opened", '"1902-05-04"', day.text, day)
    style.learn("p:closed", "04 May 1902", day.text, day)
    style.learn("p:height", "31.0 (metres)", "31 metres", Value("31 metres", "31", XSD + "integer"))
    other = Value("June 6, 1911", "1911-06-06", XSD + "date")
    assert style.write("p:opened", other.text, other) == '"1911-06-06"'
    assert style.write("p:closed", other.text, other) == "06 June 1911"
    height = Value("20 m", "20", XSD + "integer")
    assert style.write("p:height", "20 m", height) == "20.0 (metres)"
    assert style.write("p:new", "20 m", height) == "20.0"
    cost = Value("1,060 marks", "1060", XSD + "integer")
    style.learn("p:cost", "10600", cost.text, cost)
    assert style.write("p:cost", cost.text, cost) == "1060.0", "learned from a part of a number"
    assert style.write("p:name", "Ona", None) == "Ona"


def test_names_are_written_as_several_gold_objects_are() -> None:
    style = LiteralStyle()
    for _ in range(3):
        style.learn("p:keeper", "Ada_Brook_(keeper)", "Ada Brook", None)
    for name in ("Norvian", "Morish"):
        style.learn("p:language", f"{name}_language", name, None)
    assert style.write("p:language", "Onaic", None) == "Onaic language"
    assert style.write("p:language", "the Onaic language", None) == "the Onaic language"
    assert style.write("p:keeper", "Ola Brook", None) == "Ola Brook"
    assert style.write("p:new", "Ona", None) == "Ona"


def scripted(documents: Sequence[Document]) -> Iterator[list[Relation]]:
    """Finds what is said of Crane Light."""
    iri = "https://cenguix.github.io/Text2KGBench/ont_1_lighthouse/relations#"
    value = Value("20 metres", "20", XSD + "integer")
    ends = ("Crane Light", "is", "20 metres")
    height = Relation(*ends, TEST[0][0], 0.9, iri + "towerHeight", False, value)
    island = Relation("Ona", "on", "Crane Light", TEST[0][0], 0.9, iri + "island", True)
    for document in documents:
        yield [height, island] if "20 metres" in document.text else []


def test_relations_of_repeated_sentences_are_those_of_each() -> None:
    """A sentence that is also a part of another gives its statements to both, in order."""
    members = [Sentence("1", "It is in Hov. It is old.", ()), Sentence("2", "It is in Hov.", ())]
    relation = Relation("Ona", "is in", "Hov", "It is in Hov.")
    other = Relation("Ona", "is", "old", "It is old.")
    located = [(id_, r.object) for id_, r in _located([relation, other, relation], members)]
    assert located == [("1", "Hov"), ("1", "old"), ("2", "Hov")]


@pytest.mark.parametrize("titled", [False, True])
def test_an_extractor_is_scored(folder: Path, titled: bool) -> None:
    ontologies = read_benchmark(folder, "dbpedia_webnlg")
    (result,) = evaluate_extraction(
        ontologies, lambda _, __: scripted, examples_per_property=1, titled=titled
    )
    assert result.scores["strict_precision"] == 1
    assert result.scores["strict_recall"] == pytest.approx(2 / 3)
    assert result.scores["invented_objects"] == 0
    text = "\n".join(lines([result], {"suite": "dbpedia_webnlg"}))
    assert "1_lighthouse" in text
    assert report([result], {})["mean"]["strict_precision"] == 1


def test_predictions_in_files_are_scored(folder: Path, tmp_path: Path) -> None:
    ontologies = read_benchmark(folder, "dbpedia_webnlg")
    with pytest.raises(InputError, match="no predictions for 1_lighthouse"):
        list(score_predictions(ontologies, tmp_path))
    row = {
        "id": "ont_1_lighthouse_ground_truth_2",
        "triples": [["Crane Light", "builtOn", '"1911-06-06"']],
    }
    (tmp_path / "1_lighthouse_predictions.jsonl").write_text(json.dumps(row))
    (result,) = score_predictions(ontologies, tmp_path)
    assert result.scores["official_f1"] == pytest.approx(0.5)


ISLAND = {"subject": "Crane Light", "property": "island", "object": "Ona"}
HEIGHT = {"subject": "Crane Light", "property": "tower height", "object": "20"}
INVENTED = {"subject": "Crane Light", "property": "built on", "object": "1911"}


class Run:
    """Runs the command as ``python -m benchmarks.text2kgbench`` does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> str:
        options = ["--data", str(self.folder), *arguments]
        result = CliRunner().invoke(main, options, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture
def run(folder: Path) -> Run:
    return Run(folder)


def test_the_command_evaluates_a_language_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for indexing: three calls for a sentence, with the examples; replies are cached."""
    monkeypatch.setattr("benchmarks.text2kgbench.__main__.make_embedder", lambda *_: HashEmbedder())
    entities: list[dict[str, Any]] = [
        {"name": name, "type": "misc", "aliases": [], "information": ""}
        for name in ("Crane Light", "Ona")
    ]
    replies: list[dict[str, Any] | Exception] = [
        {"entities": entities},
        {"relationships": []},
        {"classes": [], "statements": [ISLAND, HEIGHT, INVENTED]},
        {"entities": []},
        TruncatedReplyError("cut off"),
    ]
    llm = QueuedLLM(replies)
    cache = tmp_path / "replies.sqlite"
    monkeypatch.setattr(
        "benchmarks.text2kgbench.__main__.make_llm", lambda *_: CachedLLM(llm, cache)
    )
    arguments = ("--extractor", "llm", "--concurrency", "1", "--examples-per-property", "1")
    content = json.loads(run(*arguments, "--json"))
    mean = content["mean"]
    assert (mean["strict_precision"], mean["conformance"]) == (1, 1)
    assert mean["strict_recall"] == pytest.approx(2 / 3)
    assert (mean["invented_subjects"], mean["invented_objects"]) == (0, 0)
    assert "Text: Gull Light on Mora is 31 metres tall." in llm.prompts[2]
    assert content["discarded"]["documents without a valid reply"] == 1
    assert "1_lighthouse" in run(*arguments, "--limit", "1")
    assert len(llm.calls) == 5


def test_means_are_over_ontologies() -> None:
    assert mean_of([{"strict_f1": 1.0}, {"strict_f1": 0.0}]) == {"strict_f1": 0.5}


def test_the_command_scores_predictions(run: Run, tmp_path: Path) -> None:
    row = {"id": "ont_1_lighthouse_ground_truth_2", "triples": [[CRANE, "builtOn", "6 June"]]}
    (tmp_path / "ont_1_lighthouse_answers.jsonl").write_text(json.dumps(row))
    data = json.loads(run("--json", "--extractor", f"predictions:{tmp_path}"))
    assert data["mean"]["conformance"] == 1
    assert data["ontologies"]["1_lighthouse"]["sentences"] == 2
    with pytest.raises(UsageError, match="unknown extractor 'magic'"):
        run("--extractor", "magic")


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"id": "a", "triples": [["a", "b"]]}', "1"])
def test_lines_of_another_form_are_errors(
    run: Run, folder: Path, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "ont_1_lighthouse_answers.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"answers[.]jsonl, line 1: each line needs an id"):
        run("--extractor", f"predictions:{tmp_path}")
    test = folder / "dbpedia_webnlg" / "ground_truth" / "ont_1_lighthouse_ground_truth.jsonl"
    test.write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"ground_truth[.]jsonl, line 1: each line needs an id"):
        run("--extractor", f"predictions:{tmp_path}")
