"""Queries around queries: what is hoisted, what is filtered, what a CONSTRUCT is made of."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import text_of
from sarag_rdf.graph.store.sparql_endpoint import (
    beyond,
    page,
    query_form,
    solutions_of,
)
from sarag_rdf.graph.store.sparql_syntax import split_prologue
from tests.remote.test_same_rows import FILES

DATA = b"""
<urn:a> <urn:p> 1, 2, 3 .
<urn:b> <urn:p> "x \\" } {" .
<urn:c> <urn:p> <urn:o> .
"""
QUERY = """# PREFIX no: <urn:no>
BASE <urn:base>
prefix p: <urn:> # { SELECT
PREFIX : <http://example.org/#>
SELECT ?s ?o WHERE { ?s p:p ?o }
"""


def rows(text: str, data: bytes = DATA) -> list[tuple[object, ...]]:
    store = ox.Store()
    store.load(data, ox.RdfFormat.TURTLE)
    found = store.query(text)
    assert isinstance(found, ox.QuerySolutions)
    return [tuple(row) for row in found]


def test_the_prologue_ends_where_the_query_begins() -> None:
    prologue, select = split_prologue(QUERY)
    assert prologue + select == QUERY
    assert select == "SELECT ?s ?o WHERE { ?s p:p ?o }\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (QUERY, "SELECT"),
        ("ask{}", "ASK"),
        ("PREFIX a:<urn:a>CONSTRUCT WHERE {}", "CONSTRUCT"),
        ("#x\r\nDescribe <urn:a>", "DESCRIBE"),
        ("INSERT DATA {}", ""),
        ("", ""),
    ],
)
def test_the_form_of_a_query(text: str, form: str) -> None:
    assert query_form(text) == form


def test_pages_follow_one_another() -> None:
    first = rows(page(QUERY, ["s", "o"], (), None, 4))
    assert [str(row[0]) for row in first] == ["<urn:a>"] * 3 + ["<urn:b>"]
    second = rows(page(QUERY, ["s", "o"], (), "urn:a", 4))
    assert [str(row[0]) for row in second] == ["<urn:b>", "<urn:c>"]
    within = rows(page(QUERY, ["s", "o"], [("s", "urn:a")], "1", 4))
    assert [row[1].value for row in within] == ["2", "3"]  # type: ignore[attr-defined]
    odd = rows(page(QUERY, ["s", "o"], [("s", "urn:b"), ("o", 'x " } {')][:1], "w", 4))
    assert len(odd) == 1


OUTSIDE_ASCII = """<urn:s> <urn:p> <http://e.example/wis\u0142a> , <http://e.example/wis\u0142awa> ,
    "http://e.example/wis\u0142a" , "http://e.example/wis\u0142awa" ,
    "\u0142\u0105ka" , "\u0142\u0105ki" ."""


@pytest.mark.parametrize("last", ["http://e.example/wis\u0142a", "\u0142\u0105ka"])
def test_pages_of_iris_and_literals_outside_ascii(last: str) -> None:
    text, data = "SELECT ?x ?y { ?y <urn:p> ?x }", OUTSIDE_ASCII.encode()
    values = [text_of(term) for term, _ in rows(text, data)]
    after = [text_of(term) for term, _ in rows(page(text, ["x", "y"], (), last, 9), data)]
    assert sorted(after) == sorted(value for value in values if value > last)
    same = [text_of(term) for term, _ in rows(page(text, ["x", "y"], [("x", last)], None, 9), data)]
    assert same == [value for value in values if value == last]


def test_what_is_unbound_or_empty_is_a_page_of_its_own() -> None:
    text = """SELECT ?k ?v ?w {
      VALUES (?k ?v ?w) { (<urn:a> UNDEF 1) (<urn:a> "" 2) (<urn:a> "z" 3) }
    }"""
    names = ["k", "v", "w"]
    assert len(rows(page(text, names, [("k", "urn:a"), ("v", "")], None, 9))) == 2
    assert len(rows(page(text, names, [("k", "urn:a")], "", 9))) == 1


def test_one_row_shows_that_there_is_more() -> None:
    assert len(rows(beyond(QUERY, 4))) == 1
    assert rows(beyond(QUERY, 5)) == []


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_query_file_can_be_paged(kind: str, name: str) -> None:
    query = query_file(kind, name)
    names = query.header["returns"].split()
    for text in (page(query.text, names, (), "urn:x", 10), beyond(query.text, 10)):
        found = ox.Store().query(text)
        assert isinstance(found, ox.QuerySolutions)
        assert {v.value for v in found.variables} == set(names)


@pytest.mark.parametrize(
    "text",
    [
        'PREFIX p: <urn:> CONSTRUCT { ?s p:q "}", <urn:{>, ?o } WHERE { ?s p:p ?o }',
        "CONSTRUCT WHERE { ?s <urn:p> ?o }",
        "construct{?s ?o '''}'''}where{ ?s <urn:p> ?o } limit 5",
        "CONSTRUCT {} { ?s <urn:p> ?o }",
    ],
)
def test_the_solutions_of_a_construct(text: str) -> None:
    if "{>" in text:
        text = text.replace("<urn:{>, ", "")
    select = solutions_of(text)
    assert select is not None
    assert len(rows(select)) == 5


def test_a_describe_has_no_solutions_of_its_own() -> None:
    assert solutions_of("DESCRIBE <urn:a>") is None
