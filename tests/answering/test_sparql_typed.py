"""Patterns in the terms of the schema: checked, reported back once, run, and cited."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.errors import QueryError, RemoteTimeoutError, TruncatedReplyError
from sarag_rdf.base.types import Answer, Query
from sarag_rdf.kg.evidence import answer_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.typed_queries import sparql_typed, typed_graph
from sarag_rdf.plugins.typed_queries.sparql_typed import SparqlTyped
from sarag_rdf.plugins.typed_queries.typed_graph import Solutions, TooLongError, TypedGraph, within
from sarag_rdf.plugins.typed_queries.typed_patterns import TypedQuery
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.typed_graph import SOURCES, TypedExtractor, index_people

QUESTION = "Where was the teacher of Ilse Brandt born?"
A = "?answer"
PASSAGES = {"reasoning": "", "sufficient": True, "final_answer": "Graz", "citations": []}
MOVIES = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix m: <https://movies.example.org/> .
m:directedBy rdfs:label "directed by"@en . m:year rdfs:label "year"@en .
m:Film rdfs:label "film"@en .
m:reef a m:Film ; rdfs:label "Reef"@en ; m:directedBy m:ada ; m:year 1999 .
m:dune a m:Film ; rdfs:label "Old Dune"@en ; m:directedBy m:ada ; m:year 1950 .
m:moor a m:Film ; rdfs:label "Moor"@en ; m:directedBy m:bea .
m:ada a m:Director ; rdfs:label "Ada Lind"@en . m:bea a m:Director ; rdfs:label "Bea Rohr"@en .
"""
WIKIBASE = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
wd:P19 a wikibase:Property ; rdfs:label "place of birth"@en ; wikibase:directClaim wdt:P19 ;
    wikibase:propertyType wikibase:WikibaseItem .
wd:Q1 a wikibase:Item ; rdfs:label "Ada Lind"@en ; wdt:P19 wd:Q2 .
wd:Q2 a wikibase:Item ; rdfs:label "Ulm"@en .
"""


def reply(*patterns: tuple[str, str, str], **changes: Any) -> dict[str, Any]:
    keys = ("subject", "property", "object")
    found = [dict(zip(keys, pattern, strict=True)) for pattern in patterns]
    return {"patterns": found, "classes": [], "comparisons": [], "count": False, **changes}


def a_class(name: str) -> dict[str, Any]:
    return {"classes": [{"variable": A, "class": name}]}


def compared(relation: str, value: str) -> dict[str, Any]:
    return {"comparisons": [{"variable": "?d", "relation": relation, "value": value}]}


TEACHER = reply(("Ilse Brandt", "teacher", "?x"), ("?x", "birth place", A))


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, tmp_path_factory.mktemp("people"))
        yield kg


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("movies")
    (folder / "movies.ttl").write_text(MOVIES, encoding="utf-8")
    (folder / "items.ttl").write_text(WIKIBASE, encoding="utf-8")
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(folder / "movies.ttl", "rdf", name="movies")
        kg.import_graph(folder / "items.ttl", "wikibase", name="items")
    yield folder / "kg"


@pytest.fixture(scope="module")
def movies(imported: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(imported, embedder=HashEmbedder(), endpoint=None, over=["movies"]) as kg:
        yield kg


def ask(
    kg: KnowledgeGraph,
    *replies: Mapping[str, Any] | Exception,
    **options: Any,
) -> tuple[Answer, QueuedLLM]:
    llm = QueuedLLM(replies)
    chosen = SparqlTyped(**options)
    return kg.reasoner(chosen, kg.gather(), llm).answer(Query(QUESTION)), llm


def notes(answer: Answer, name: str) -> list[Mapping[str, Any]]:
    return [stage.detail for stage in answer.trace if stage.name == name and stage.kind == "note"]


def kinds(answer: Answer) -> list[list[str]]:
    """The kinds of findings, check by check."""
    return [[f["kind"] for f in note["findings"]] for note in notes(answer, "check")]


# ------------------------------------------------------------------------------- Accepted


def test_two_steps_are_answered_with_the_sentences_behind_them(kg: KnowledgeGraph) -> None:
    answer, llm = ask(kg, TEACHER)
    assert (answer.outcome, answer.text) == ("answered", "Linz")
    assert answer.reasoning == "Linz: Emil Sand taught Ilse Brandt.; Emil Sand was born in Linz."
    [document] = [excerpt for e in answer.evidence for excerpt in e.context.excerpts.values()]
    assert document.text == "Emil Sand was born in Linz. Emil Sand taught Ilse Brandt."
    assert answer.citations == (document.citation,)
    assert [(stage.kind, stage.name) for stage in answer.trace] == [
        ("call", "sparql_typed"),
        ("note", "check"),
        ("note", "query"),
        ("note", "answered"),
        ("retrieval", "sparql-typed"),
    ]
    assert answer.trace[0].prompt == llm.prompts[0]
    assert notes(answer, "answered") == [{"from": "graph", "reason": ""}]
    [query] = notes(answer, "query")
    assert query["bindings"][0]["variables"] == {"?x": "Emil Sand", A: "Linz"}
    assert answer_to_dict(answer)["outcome"] == "answered"
    result = kg.query(query["sparql"])
    assert isinstance(result, sarag_rdf.base.ports.Table)
    assert len(result.rows) == 1


def test_the_schema_is_read_once_for_a_revision(
    kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(kg, TEACHER)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the schema is read again")

    monkeypatch.setattr("sarag_rdf.graph.schema_use.schema_use", refuse)
    assert ask(kg, TEACHER)[0].text == "Linz"


def test_the_prompt_has_the_schema_as_it_is_used(kg: KnowledgeGraph) -> None:
    _, llm = ask(kg, TEACHER)
    lines = llm.prompts[0].splitlines()
    examples = "such as Emil Sand -> Linz; Ilse Brandt -> Linz"
    assert f"- birth place: person or chemist -> place, 2, {examples}" in lines
    assert "- birth date: chemist or person -> date, 1, such as Ilse Brandt -> 1901-05-07" in lines
    assert "person 2, chemist 1, place 1" in lines
    names = llm.calls[0].schema["properties"]["patterns"]["items"]["properties"]["property"]
    assert set(names["enum"]) == {"birth place", "teacher", "birth date", "height"}


@pytest.mark.parametrize(
    ("proposed", "text"),
    [
        (reply((A, "birth place", "Linz")), "Emil Sand, Ilse Brandt"),
        (reply((A, "birth place", "Linz"), count=True), "2"),
        (reply((A, "birth place", "Linz"), **a_class("chemist")), "Ilse Brandt"),
        (reply((A, "birth place", "Linz"), **a_class("person")), "Emil Sand, Ilse Brandt"),
        (reply((A, "birth date", "1901")), "Ilse Brandt"),
        (reply((A, "birth date", "?d"), **compared("less", "1902")), "Ilse Brandt"),
        (reply((A, "birth date", "?d"), **compared("less", "1901-06")), "Ilse Brandt"),
        (reply((A, "height", "?d"), **compared("greater", "168.5")), "Ilse Brandt"),
        (reply(("the Ilse  BRANDT", "birth date", "answer")), "1901-05-07"),
        (
            reply(("Emil Sand", "birth place", "?x"), (A, "birth place", "?x")),
            "Ilse Brandt",
        ),
    ],
)
def test_answers(kg: KnowledgeGraph, proposed: dict[str, Any], text: str) -> None:
    answer, _ = ask(kg, proposed)
    assert (answer.text, kinds(answer)) == (text, [[]])


@pytest.mark.parametrize(
    "nothing",
    [
        reply((A, "birth date", "?d"), **compared("greater", "1901")),
        reply((A, "height", "?d"), **compared("less", "169")),
        reply(("Emil Sand", "birth date", A)),
        reply(("Emil Sand", "teacher", A)),  # he has a pupil: turned round it is another question
    ],
)
def test_an_empty_result_falls_back_to_passages(
    kg: KnowledgeGraph, nothing: dict[str, Any]
) -> None:
    answer, llm = ask(kg, nothing, PASSAGES)
    assert (answer.text, [call.name for call in llm.calls]) == ("Graz", ["sparql_typed", "answer"])
    reason = "the query has no solution"
    assert notes(answer, "answered") == [{"from": "passages", "reason": reason}]
    assert notes(answer, "query")[0]["bindings"] == []


# ------------------------------------------------------------------------------- Findings

WRONG = {
    "no-answer": reply(("Ilse Brandt", "birth place", "?x")),
    "unresolved": reply(("Ilse Brant", "birth place", A)),
    "disconnected": reply(("Ilse Brandt", "teacher", "?x"), ("?y", "birth place", A)),
    "direction": reply((A, "birth place", "Emil Sand")),
    "clash": reply(("Ilse Brandt", "birth place", "?x"), ("?x", "teacher", A)),
    "comparison": reply((A, "birth place", "?d"), **compared("less", "1900")),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_reported_back_once(kg: KnowledgeGraph, kind: str) -> None:
    answer, llm = ask(kg, WRONG[kind], TEACHER)
    assert kinds(answer) == [[kind], []]
    message = notes(answer, "check")[0]["findings"][0]["message"]
    assert f"- {message}" in llm.prompts[1].splitlines()
    assert (answer.text, len(llm.calls), answer.usage.calls) == ("Linz", 2, 2)
    again, llm = ask(kg, WRONG[kind], WRONG[kind], PASSAGES)
    assert (again.text, len(llm.calls)) == ("Graz", 3)
    assert notes(again, "answered")[0]["from"] == "passages"
    assert message in notes(again, "answered")[0]["reason"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (WRONG["unresolved"], "'Ilse Brant'; did you mean Ilse Brandt?"),
        (WRONG["direction"], "exchange subject and object of '?answer | birth place | Emil Sand'"),
        (WRONG["clash"], "the object of 'birth place' (place) and the subject of 'teacher'"),
        (
            reply((A, "birth place", "Linz"), **a_class("place")),
            "no 'place' is the subject of 'birth place' (person, chemist): leave the class out",
        ),
        (
            reply((A, "birth date", "?x"), ("?x", "birth place", "Linz")),
            "?x is a value of 'birth date', so it cannot be the subject of 'birth place'",
        ),
        (reply((A, "height", "170")), "'height' never has the value '170'; values are 169"),
        (reply((A, "birth date", "?d"), **compared("less", "old")), "'old' is not a number"),
    ],
)
def test_messages(kg: KnowledgeGraph, wrong: dict[str, Any], message: str) -> None:
    answer, _ = ask(kg, wrong, TEACHER)
    [finding] = notes(answer, "check")[0]["findings"]
    assert message in finding["message"]


# ------------------------------------------------------------------------------- Fallbacks


def test_no_pattern_is_not_reported_back(kg: KnowledgeGraph) -> None:
    answer, llm = ask(kg, reply(), PASSAGES)
    assert (answer.text, len(llm.calls)) == ("Graz", 2)
    assert "do not express" in notes(answer, "answered")[0]["reason"]


def test_a_reply_that_cannot_be_read(kg: KnowledgeGraph) -> None:
    answer, _ = ask(kg, TruncatedReplyError("cut"), {"final_answer": "Graz"}, brief=True)
    assert (answer.text, notes(answer, "check")[0]["parsed"]) == ("Graz", False)
    assert notes(answer, "answered")[0]["reason"] == "the reply could not be read: cut"


def test_a_graph_without_typed_statements_makes_no_call_for_patterns() -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=QueuedLLM([])) as kg:
        kg.index(SOURCES, extractor=TypedExtractor(typed=False))
        answer, llm = ask(kg, PASSAGES)
    assert ([call.name for call in llm.calls], answer.text) == (["answer"], "Graz")
    assert notes(answer, "answered")[0]["reason"] == "the graph has no typed statements"


# ------------------------------------------------------------------------------- Limits


def test_rows_and_shown_bindings_are_limited(kg: KnowledgeGraph) -> None:
    born = reply((A, "birth place", "Linz"))
    answer, _ = ask(kg, born, rows=1)
    assert notes(answer, "query")[0]["is_cut"] is True
    assert len(notes(answer, "query")[0]["bindings"]) == 1
    answer, _ = ask(kg, born, shown=1)
    assert (answer.text, notes(answer, "query")[0]["is_cut"]) == ("Emil Sand", False)
    answer, _ = ask(kg, {**born, "count": True}, rows=1)
    assert answer.text == "2"


def test_a_query_that_takes_too_long_falls_back(
    kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(TypedGraph):
        def solve(self, query: TypedQuery, *, rows: int, seconds: float) -> Solutions:
            return within(0.01, lambda: time.sleep(0.3)) or super().solve(
                query, rows=rows, seconds=seconds
            )

    monkeypatch.setattr(sparql_typed, "TypedGraph", Slow)
    answer, _ = ask(kg, TEACHER, PASSAGES)
    assert answer.text == "Graz"
    reason = "the query took more than 0.01 seconds: allow more with sparql-typed:seconds=N"
    assert notes(answer, "answered")[0]["reason"] == reason


def test_the_checks_of_a_reply_share_one_time_limit(
    kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[float, float | None]] = []

    def noted(seconds: float, work: Any, limit: float | None = None) -> Any:
        given.append((seconds, limit))
        return work()

    monkeypatch.setattr(typed_graph, "within", noted)
    ask(kg, WRONG["clash"], TEACHER, seconds=9.0)
    checks = [seconds for seconds, limit in given if limit == 9.0]
    assert len(checks) > 1
    assert checks == sorted(checks, reverse=True)
    assert checks[0] <= 9.0
    assert given[-1] == (9.0, None)  # the query has its own


def test_errors_of_the_store_are_raised() -> None:
    def fails(error: Exception) -> None:
        raise error

    with pytest.raises(QueryError, match="no"):
        within(5, lambda: fails(QueryError("no")))
    with pytest.raises(TooLongError, match="late"):
        within(5, lambda: fails(RemoteTimeoutError("late")))


def test_a_large_schema_is_cut_to_what_is_nearest(kg: KnowledgeGraph) -> None:
    with kg.session.read() as snapshot:
        graph = TypedGraph(snapshot.view)
    near = graph.schema_for("Who is the teacher of this chemist?", classes=1, properties=1)
    assert list(near.properties) == ["teacher"]
    assert list(near.classes) == ["chemist"]
    assert len(graph.schema.properties) == 4


# ------------------------------------------------------------------------------- Other graphs


def test_an_imported_graph_cites_its_statements(movies: KnowledgeGraph) -> None:
    answer, llm = ask(movies, reply(("Reef", "directed by", "?x"), (A, "directed by", "?x")))
    assert answer.text == "Old Dune"
    assert answer.reasoning == "Old Dune: Reef directed by Ada Lind; Old Dune directed by Ada Lind"
    assert [c.document for c in answer.citations] == [
        "https://movies.example.org/reef",
        "https://movies.example.org/dune",
    ]
    prompt = llm.prompts[0].splitlines()
    assert (
        "- directed by: film -> director, 3, such as Moor -> Bea Rohr; Reef -> Ada Lind" in prompt
    )
    assert "film 3, director 2" in " ".join(prompt)


def test_an_imported_graph_is_checked_by_its_use(movies: KnowledgeGraph) -> None:
    wrong = reply(("Reef", "directed by", "?x"), ("?x", "directed by", A))
    late = reply((A, "year", "?d"), **compared("greater", "1990"))
    answer, _ = ask(movies, wrong, late)
    assert (kinds(answer), answer.text) == ([["clash"], []], "Reef")


def test_a_wikibase_graph(imported: Path) -> None:
    with sarag_rdf.open(imported, embedder=HashEmbedder(), endpoint=None, over=["items"]) as kg:
        born = reply(("Ada Lind", "place of birth", A))
        answer, llm = ask(kg, {key: born[key] for key in born if key != "classes"})
    assert (answer.text, answer.reasoning) == ("Ulm", "Ulm: Ada Lind place of birth Ulm")
    assert "classes" not in llm.calls[0].schema["properties"]
