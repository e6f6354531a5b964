"""SPARQL, to the library and to the guards that look at it before it runs."""

from __future__ import annotations

import contextlib
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.graph.store.results import RESULT_FORMATS, serialize_results
from sarag_rdf.graph.store.sparql_syntax import inspect_query
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.http_writes.update_guard import inspect_update
from tests.fuzz.cases import case
from tests.fuzz.hostile import graph, mutated, quads, texts

QUERIES = (
    b"SELECT DISTINCT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY DESC(?n) LIMIT 5",
    b"PREFIX skos: <http://www.w3.org/2004/02/skos/core#> SELECT * { ?s skos:prefLabel ?l "
    b"FILTER(REGEX(STR(?l), '^A', 'i') && !BOUND(?x)) OPTIONAL { ?s <urn:a>/<urn:b>* ?x } }",
    b"CONSTRUCT { ?s a ?t } FROM <urn:g> WHERE { { ?s a ?t } UNION { GRAPH ?g { ?s ?t 1.5 } } }",
    b"ASK { VALUES (?a ?b) { (1 'a'@en) (UNDEF \"x\"^^<urn:d>) } BIND(?a + 1 AS ?c) }",
    b"DESCRIBE <https://example.org/kg/entity/E-1>",
    b"SELECT * { { SELECT ?s { ?s ?p ?o MINUS { ?s a ?t } } LIMIT 3 } ?s !(<urn:a>|^<urn:b>) ?z }",
    b"SELECT (GROUP_CONCAT(?o; separator='\\t') AS ?all) { ?s ?p ?o } HAVING (COUNT(?o) > 1)",
    b"SELECT ?x { SERVICE SILENT <http://127.0.0.1:9/> { ?x ?y ?z } }",
    b'SELECT * { << ?a ?b ?c >> ?d ?e . ?s ?p """a\nb""" } # end',
)
UPDATES = (
    b"INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 'c'@en , 1 ; a <urn:D> } }",
    b"WITH <urn:g> DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } USING <urn:h> WHERE { ?s ?p ?o }",
    b"LOAD SILENT <http://127.0.0.1:9/> INTO GRAPH <urn:g> ; CLEAR ALL ; DROP SILENT NAMED",
    b"COPY <urn:a> TO DEFAULT ; MOVE DEFAULT TO <urn:b> ; CREATE GRAPH <urn:c>",
)


@cache
def kg() -> KnowledgeGraph:
    return graph()


sparql = st.one_of(mutated(*QUERIES), mutated(*QUERIES, *UPDATES)).map(
    lambda data: data.decode("utf-8", "surrogateescape")
)


@given(text=st.one_of(sparql, texts), format_=st.sampled_from(RESULT_FORMATS))
@case("queries")
def test_queries(text: str, format_: str) -> None:
    try:
        found = kg().query(text)
    except QueryError:
        return
    assert isinstance(found, Table | Triples | bool)
    try:
        serialize_results(found, format_).encode()
    except UsageError as error:
        assert "choose" in str(error)


@given(text=st.one_of(mutated(*UPDATES), mutated(*UPDATES, *QUERIES)))
@case("updates")
def test_looks_at_updates(text: bytes) -> None:
    before = len(quads(kg()))
    with contextlib.suppress(QueryError):
        inspect_update(text.decode("utf-8", "surrogateescape"), "http://e.example/")
    assert len(quads(kg())) == before


MANY = 20_000
DEEP = {
    "braces": "SELECT * " + "{" * MANY + "}" * MANY,
    "parentheses": "SELECT * { FILTER" + "(" * MANY + "1" + ")" * MANY + "}",
    "brackets": "SELECT * { ?s ?p " + "[ <a:b> " * MANY + "1" + "]" * MANY + "}",
    "negations": "SELECT * { FILTER(" + "!" * MANY + "1) }",
    "optionals": "SELECT * { " + "OPTIONAL { ?s ?p ?o } " * MANY + "}",
    "bindings": "SELECT * { " + "BIND(1 AS ?x) " * MANY + "}",
    "unions": "SELECT * { " + "{} UNION " * MANY + "{} }",
    "minuses": "SELECT * { " + "MINUS { ?s ?p ?o } " * MANY + "}",
    "filters": "SELECT * { " + "FILTER(true) " * MANY + "}",
    "exists": "SELECT * { " + "FILTER EXISTS { ?s ?p ?o } " * MANY + "}",
    "sums": "SELECT * { BIND(1" + "+1" * MANY + " AS ?x) }",
    "disjunctions": "SELECT * { FILTER(?x" + " || ?x" * MANY + ") }",
    "paths": "SELECT * { ?s " + "<a:b>|" * MANY + "<a:b> ?o }",
    "sequences": "SELECT * { ?s " + "<a:b>/" * MANY + "<a:b> ?o }",
    "patterns": "SELECT * { " + "?s ?p ?o . " * MANY + "}",
    "groups": "SELECT * { " + "{ ?s ?p ?o } " * MANY + "}",
    "tables": "SELECT * { " + "VALUES ?x { 1 } " * MANY + "}",
    "expressions": "SELECT " + "(1 AS ?x) " * MANY + "{}",
    "reifiers": "SELECT * { " + "<< ?a ?b " * MANY + "1" + " >>" * MANY + " ?p ?o }",
    "triples": "SELECT * { ?s ?p " + "<<( ?a ?b " * MANY + "1" + " )>>" * MANY + " }",
    "hidden": "SELECT * { # '\n" + "OPTIONAL { ?s ?p ?o } " * MANY + "# '\n}",
}
"""Texts on which a parser or an engine that calls itself runs out of stack, or out of time."""


@pytest.mark.parametrize("what", DEEP)
def test_queries_too_deep_or_long_are_refused(what: str) -> None:
    with pytest.raises(QueryError):
        kg().query(DEEP[what])


def test_long_data_is_no_long_query() -> None:
    rows = " ".join(f'("{n}" -{n} <urn:a/{n}>)' for n in range(20_000))
    found = kg().query(f"SELECT ?a {{ VALUES (?a ?b ?c) {{ {rows} }} }}")
    assert isinstance(found, Table)
    assert len(found.rows) == 20_000
    triples = " . ".join(f"<urn:a> <urn:b> -{n}, 'a+b/c'" for n in range(200))
    assert not inspect_update(f"INSERT DATA {{ GRAPH <urn:g> {{ {triples} }} }}", "").loads
    assert not inspect_query("SELECT * { ?s ?p ?o }").reaches_network
