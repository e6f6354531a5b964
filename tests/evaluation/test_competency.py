"""Competency questions over a graph of typed statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.resources import query_header
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.competency import (
    CompetencyResult,
    Stop,
    evaluate_question,
    prologue_of,
    question_files,
)
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT, Sarag
from tests.typed_graph import SOURCES, TURTLE, TypedExtractor

BORN = """#+ summary: Who was born where?
SELECT ?person ?place { ?p ex:birthPlace/skos:prefLabel ?place ; skos:prefLabel ?person }"""
HEIGHT = "SELECT ?person ?height { ?p ex:height ?height ; skos:prefLabel ?person }"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("typed")
    (root / "people.ttl").write_text(TURTLE)
    with sarag_rdf.open(root / "kg", embedder=HashEmbedder(), endpoint=None) as made:
        made.ontologies.add(root / "people.ttl")
        made.index(SOURCES, extractor=TypedExtractor())
    return root / "kg"


@pytest.fixture(scope="module")
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as made:
        yield made


def evaluate(
    kg: KnowledgeGraph, folder: Path, query: str, answers: str, suffix: str = ".csv"
) -> CompetencyResult:
    (folder / "q.rq").write_text(query, encoding="utf-8")
    (folder / f"q{suffix}").write_text(answers, encoding="utf-8")
    vocabulary = kg.ontologies.vocabulary()
    return evaluate_question(folder / "q.rq", kg.query, vocabulary, prologue_of(kg.prefixes()))


def test_all_rows_in_any_order_pass(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """Columns may be in another order; labels with a language are plain strings in CSV."""
    result = evaluate(kg, tmp_path, BORN, "place,person\r\nLinz,Ilse Brandt\r\nLinz,Emil Sand\r\n")
    assert result == CompetencyResult(
        "q", "Who was born where?", "passes", 2, 2, ("place", "person")
    )


def test_some_rows_are_partly(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """Ilse Brandt is found, Emil Sand too; Kurt Maas has no name in the graph."""
    result = evaluate(kg, tmp_path, BORN, "person,place\nIlse Brandt,Linz\nKurt Maas,Linz\n")
    assert (result.state, result.expected, result.found) == ("partly", 2, 1)
    assert result.missing == (("Kurt Maas", "Linz"),)
    assert result.unexpected == (("Emil Sand", "Linz"),)
    assert result.stops == (Stop("?p skos:prefLabel ?person", ("Kurt Maas", "Linz")),)


def test_unexpected_rows_alone_are_partly(kg: KnowledgeGraph, tmp_path: Path) -> None:
    result = evaluate(kg, tmp_path, BORN, "person,place\nIlse Brandt,Linz\n")
    assert (result.state, result.found, result.missing) == ("partly", 1, ())
    assert result.stops == ()


def test_what_is_missing_is_named(kg: KnowledgeGraph, tmp_path: Path) -> None:
    query = """SELECT ?x { ?p a ex:Chemist ; ex:teacher ?t . ?t ex:bornIn ?c ; ex:height ?h .
      ?c a ex:Place ; skos:prefLabel "Wels"@en ; skos:prefLabel ?x }"""
    result = evaluate(kg, tmp_path, query, "x\nWels\n")
    assert (result.state, result.found) == ("fails", 0)
    assert [(t.kind, t.term, t.problem) for t in result.unused] == [
        ("property", "ex:bornIn", "is not declared in any ontology of the graph"),
        ("literal", '"Wels"@en', "is not in the graph"),
    ]
    assert result.stops == (Stop("?t ex:bornIn ?c"),)


def test_a_filter_that_excludes_a_row_is_told(kg: KnowledgeGraph, tmp_path: Path) -> None:
    query = BORN.replace("?person }", '?person FILTER(?person = "Emil Sand"@en) }')
    result = evaluate(kg, tmp_path, query, "person,place\nIlse Brandt,Linz\nEmil Sand,Linz\n")
    assert result.state == "partly"
    assert result.stops == (Stop("", ("Ilse Brandt", "Linz")),)


@pytest.mark.parametrize("number", ["169", "169.0", "1.69E2", "+169"])
def test_numbers_are_compared_by_value(kg: KnowledgeGraph, tmp_path: Path, number: str) -> None:
    assert evaluate(kg, tmp_path, HEIGHT, f"person,height\nIlse Brandt,{number}\n").found == 1
    typed = f'?person\t?height\n"Ilse Brandt"@en\t{number.removeprefix("+")}\n'
    (tmp_path / "q.csv").unlink()
    assert evaluate(kg, tmp_path, HEIGHT, typed, ".tsv").state == "passes"


def test_other_numbers_are_others(kg: KnowledgeGraph, tmp_path: Path) -> None:
    result = evaluate(kg, tmp_path, HEIGHT, "person,height\nIlse Brandt,170\n")
    assert result.state == "fails"
    assert result.unexpected == (("Ilse Brandt", "169"),)
    assert result.stops[0].pattern == "?p ex:height ?height"


def test_typed_answers_are_compared_as_terms(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """A label without its language is another term, unlike in CSV."""
    query = "SELECT ?x { ?p ex:birthDate ?d ; skos:prefLabel ?x }"
    for term, state in (('"Ilse Brandt"@en', "passes"), ('"Ilse Brandt"', "fails")):
        assert evaluate(kg, tmp_path, query, f"?x\n{term}\n", ".tsv").state == state
    (tmp_path / "q.tsv").unlink()
    cell = {"type": "literal", "value": "Ilse Brandt", "xml:lang": "en"}
    results: dict[str, Any] = {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": cell}]}}
    assert evaluate(kg, tmp_path, query, json.dumps(results), ".srj").state == "passes"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [(".csv", "true\n"), (".tsv", "TRUE"), (".srj", '{"head": {}, "boolean": true}')],
)
def test_ask(kg: KnowledgeGraph, tmp_path: Path, suffix: str, text: str) -> None:
    right = 'ASK { ?p ex:birthPlace/skos:prefLabel "Linz"@en }'
    assert evaluate(kg, tmp_path, right, text, suffix).state == "passes"
    wrong = evaluate(kg, tmp_path, "ASK { ?p ex:teacher ?p }", text, suffix)
    assert (wrong.state, wrong.stops) == ("fails", (Stop("?p ex:teacher ?p"),))
    other = evaluate(kg, tmp_path, right, text.replace("true", "false"), suffix)
    assert other.state == ("passes" if suffix == ".tsv" else "fails")


def test_no_answers_are_expected(kg: KnowledgeGraph, tmp_path: Path) -> None:
    assert evaluate(kg, tmp_path, "SELECT ?x { ?x ex:teacher ?x }", "x\n").state == "passes"
    result = evaluate(kg, tmp_path, BORN, "person,place\n")
    assert (result.state, result.expected, len(result.unexpected)) == ("fails", 0, 2)


@pytest.mark.parametrize(
    ("query", "answers", "message"),
    [
        ("SELECT ?x { ?x nope:p 1 }", "x\n", "prefix nope: is not declared"),
        ("SELECT ?x {", "x\n", "does not parse"),
        ("SELECT ?x { SERVICE <http://127.0.0.1:1/> { ?x ?y ?z } }", "x\n", "uses SERVICE"),
        ("INSERT DATA { <a:b> <a:b> 1 }", "x\n", "the query is an update"),
        ("CONSTRUCT WHERE { ?x ex:teacher ?y }", "x\n", "a SELECT or ASK query"),
        ("ASK { ?x ex:teacher ?y }", "x\n", "returns true or false, unlike"),
        (BORN, "true\n", "returns rows, unlike"),
        (BORN, "person,city\n", "the variables person city, the query has person place"),
        (BORN, "person,place\nAda\n", "q.csv: row 1 has 1 cells, but there are 2 variables"),
        (BORN, "", "q.csv is empty"),
        (BORN, 'person,"place\n', "q.csv is not CSV"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error(
    kg: KnowledgeGraph, tmp_path: Path, query: str, answers: str, message: str
) -> None:
    result = evaluate(kg, tmp_path, query, answers)
    assert result.state == "error"
    assert message in result.message


@pytest.mark.parametrize(
    ("suffix", "answers", "message"),
    [
        (".tsv", '?person\t?place\n"a\t1\n', "is not a SPARQL result in TSV"),
        (".tsv", "?a\n<<( <a:b> <a:b> 1 )>>\n", "triple terms"),
        (".srj", "{", "is not a SPARQL result in JSON"),
        (".srj", '{"head": {}}', "is not a SPARQL result in JSON"),
    ],
)
def test_files_of_answers_that_are_damaged(
    kg: KnowledgeGraph, tmp_path: Path, suffix: str, answers: str, message: str
) -> None:
    result = evaluate(kg, tmp_path, BORN, answers, suffix)
    assert result.state == "error"
    assert message in result.message


def test_answers_are_in_one_file(kg: KnowledgeGraph, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("?x\n")
    assert "keep one" in evaluate(kg, tmp_path, BORN, "person,place\n").message
    (tmp_path / "r.rq").write_text(BORN)
    result = evaluate_question(tmp_path / "r.rq", kg.query, {})
    assert result.message == "no expected answers: write them to r.csv, r.tsv or r.srj"
    (tmp_path / "r.csv").write_bytes(b"\xff")
    assert "UTF-8" in evaluate_question(tmp_path / "r.rq", kg.query, {}).message


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        question_files(tmp_path / "none")
    with pytest.raises(InputError, match="no competency questions"):
        question_files(tmp_path)


@pytest.mark.parametrize("name", ["q.rq", "q.csv"])
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    for inside, text in (("a.rq", BORN), ("a.csv", "person,place\n")):
        (folder / inside).write_text(text)
    (folder / "q.rq").symlink_to(folder / "a.rq")
    (folder / "q.csv").symlink_to(folder / "a.csv")
    (tmp_path / "linked").symlink_to(folder)
    assert [file.name for file in question_files(tmp_path / "linked")] == ["a.rq", "q.rq"]
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match=f"{name} is a symbolic link to a path outside"):
        question_files(folder)


def test_the_command(sarag: Sarag, folder: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    questions.mkdir()
    (questions / "a.rq").write_text(BORN)
    (questions / "a.csv").write_text("person,place\nIlse Brandt,Linz\nEmil Sand,Linz\n")
    arguments = ("evaluate", "competency", questions, "--kg", folder)
    passed = sarag(*arguments)
    assert (passed.code, passed.err) == (0, "")
    assert passed.out.splitlines() == [
        "passes  a: Who was born where? (2 of 2)",
        "1 question: 1 passed, 0 partly, 0 failed, 0 with an error",
    ]
    (questions / "b.rq").write_text("SELECT ?x { ?x a ex:Chemis ; skos:prefLabel ?y }")
    (questions / "b.csv").write_text("x\n" + "".join(f"{number}\n" for number in range(5)))
    (questions / "c.rq").write_text("SELECT ?x {")
    failed = sarag(*arguments)
    assert (failed.code, failed.err) == (1, "")
    assert failed.out.splitlines()[1:] == [
        "fails   b (0 of 5)",
        *(f"        missing: {number}" for number in range(3)),
        "        ... 2 more missing",
        "        class ex:Chemis is not declared in any ontology of the graph; did you mean "
        "ex:Chemist?",
        "        no solution has: ?x a ex:Chemis",
        "error   c",
        "        no expected answers: write them to c.csv, c.tsv or c.srj",
        "3 questions: 1 passed, 0 partly, 1 failed, 1 with an error",
    ]
    printed = json.loads(sarag(*arguments, "--json").out)
    assert [printed[key] for key in ("passes", "partly", "fails", "error")] == [1, 0, 1, 1]
    assert printed["questions"][1]["stops"] == [{"pattern": "?x a ex:Chemis", "row": []}]
    assert sarag(*arguments, "--output", tmp_path / "r.json", "-q").err == ""
    assert json.loads((tmp_path / "r.json").read_text()) == printed
    sarag("evaluate", "competency", tmp_path / "none", "--kg", folder).fails(1, "no such folder")
    sarag("evaluate", "competency", questions, "--kg", "none").fails(1, "no graph")


def test_the_example_questions_are_complete() -> None:
    """Ten, each with a question in words, one of which says that it fails."""
    files = question_files(ROOT / "examples" / "competency")
    summaries = [query_header(file.read_text("utf-8"))["summary"] for file in files]
    assert len(files) == 10
    assert sum("Fails on purpose" in summary for summary in summaries) == 1
    assert all("?" in summary for summary in summaries)
