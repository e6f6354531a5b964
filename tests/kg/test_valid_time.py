"""The graph at a moment: SPARQL and search without what did not hold then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import COMMON, SARAG
from sarag_rdf.graph.valid_time import moment_of
from sarag_rdf.testing.fakes import HashEmbedder

TEXT = (
    "The Thule Museum is located in Bergen. Ida Brandt was director of the Thule Museum from 1919 "
    "to 1937. Karl Holm has been director of the Thule Museum since 1938."
)
HEADS = "SELECT ?name { ?m common:head/skos:prefLabel ?name } ORDER BY ?name"
LINKS = "SELECT ?r { ?r sarag:subject ?s ; sarag:inverseProperty common:head }"


@pytest.fixture(scope="module")
def kg() -> Iterator[sarag_rdf.KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder()) as kg:
        kg.index([Source(TEXT, "Thule Museum", "museum.md")])
        yield kg


def names(
    kg: sarag_rdf.KnowledgeGraph, query: str, at: str = "", over: str = "documents"
) -> list[str]:
    result = kg.query(query, at=at, over=[over])
    assert isinstance(result, Table)
    return [row[0].value for row in result.rows]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("", ["Ida Brandt", "Karl Holm"]),
        ("1918-12-31", []),
        ("1919", ["Ida Brandt"]),
        ("1937-12-31", ["Ida Brandt"]),
        ("1938-01-01", ["Karl Holm"]),
        ("2000", ["Karl Holm"]),
    ],
)
def test_a_query_sees_what_held(kg: sarag_rdf.KnowledgeGraph, at: str, expected: list[str]) -> None:
    assert names(kg, HEADS, at) == expected
    assert len(names(kg, LINKS, at)) == len(expected)
    assert names(kg, "SELECT ?n { ?m common:locatedIn/skos:prefLabel ?n }", at) == ["Bergen"]


def test_a_search_returns_what_held(kg: sarag_rdf.KnowledgeGraph) -> None:
    found = kg.search("director of the Thule Museum", at="1925", retriever="sarag:c=0")
    texts = [link.text for link in found.subgraph.links]
    assert any("Ida Brandt" in text for text in texts)
    assert not any("Karl Holm" in text and "director of" in text for text in texts)
    assert found.settings["at"] == "1925"


def test_what_is_no_time_is_refused(kg: sarag_rdf.KnowledgeGraph) -> None:
    for text in ("soon", "1925-13", "25", "1925-1-1", "20222"):
        with pytest.raises(UsageError, match="is not a time"):
            kg.query(HEADS, at=text)
    with pytest.raises(UsageError, match="does not spread activation"):
        kg.search("museum", retriever="dense", at="1925")


def test_years_before_our_era_compare() -> None:
    assert moment_of("-0043")[1] < moment_of("0014")[0]


TABLE = """museum,director,from,to
Thule,Ida,1919,1937
Thule,Karl,1938,
Oslo,Ida,1940,1945
"""
RML = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sarag: <https://w3id.org/sarag/ontology#> .
@prefix common: <https://w3id.org/sarag/common#> .
<#museum> rml:logicalSource _:table ; rr:subjectMap [ rr:template "urn:museum:{museum}" ] ;
    rr:predicateObjectMap [ rr:predicate rdfs:label ; rr:objectMap [ rml:reference "museum" ] ] ,
        [ rr:predicate common:head ; rr:objectMap [ rr:template "urn:person:{director}" ] ] .
<#person> rml:logicalSource _:table ; rr:subjectMap [ rr:template "urn:person:{director}" ] ;
    rr:predicateObjectMap [ rr:predicate rdfs:label ; rr:objectMap [ rml:reference "director" ] ] .
<#times> rml:logicalSource _:table ;
    rr:subjectMap [ rr:template "urn:row:{museum}:{director}" ; rr:class rdf:Statement ] ;
    rr:predicateObjectMap
        [ rr:predicate rdf:subject ; rr:objectMap [ rr:template "urn:museum:{museum}" ] ] ,
        [ rr:predicate rdf:predicate ; rr:object common:head ] ,
        [ rr:predicate rdf:object ; rr:objectMap [ rr:template "urn:person:{director}" ] ] ,
        [ rr:predicate sarag:startTime ; rr:objectMap [ rml:reference "from" ] ] ,
        [ rr:predicate sarag:endTime ; rr:objectMap [ rml:reference "to" ] ] .
_:table rml:source "heads.csv" .
"""
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "heads.csv",
    "tableSchema": {
        "aboutUrl": "urn:row:{museum}:{director}",
        "columns": [
            {"name": "museum", "aboutUrl": "urn:museum:{museum}", "propertyUrl": "rdfs:label"},
            {"name": "director", "aboutUrl": "urn:person:{director}", "propertyUrl": "rdfs:label"},
            {"name": "from", "propertyUrl": f"{SARAG.base}startTime"},
            {"name": "to", "propertyUrl": f"{SARAG.base}endTime"},
            {"virtual": True, "aboutUrl": "urn:museum:{museum}",
             "propertyUrl": f"{COMMON.base}head", "valueUrl": "urn:person:{director}"},
            {"virtual": True, "propertyUrl": "rdf:subject", "valueUrl": "urn:museum:{museum}"},
            {"virtual": True, "propertyUrl": "rdf:predicate", "valueUrl": f"{COMMON.base}head"},
            {"virtual": True, "propertyUrl": "rdf:object", "valueUrl": "urn:person:{director}"},
        ],
    },
}  # fmt: skip
PAIRS = """SELECT ?pair { ?m common:head ?p . ?m rdfs:label ?a . ?p rdfs:label ?b
BIND(CONCAT(?a, " ", ?b) AS ?pair) } ORDER BY ?pair"""


@pytest.mark.parametrize("mapping", ["heads.ttl", "heads.json"])
def test_statements_of_a_table_have_times(tmp_path: Path, mapping: str) -> None:
    (tmp_path / "heads.csv").write_text(TABLE)
    (tmp_path / "heads.ttl").write_text(RML)
    (tmp_path / "heads.json").write_text(json.dumps(CSVW))
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder()) as kg:
        kg.import_graph(tmp_path / "heads.csv", "table", mapping=tmp_path / mapping, name="heads")
        assert names(kg, PAIRS, over="heads") == ["Oslo Ida", "Thule Ida", "Thule Karl"]
        assert names(kg, PAIRS, "1930", over="heads") == ["Thule Ida"]
        assert names(kg, PAIRS, "1940", over="heads") == ["Oslo Ida", "Thule Karl"]
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), over=["heads"]) as kg:
        found = kg.search("head of Thule", at="1930", retriever="sarag:c=0")
    assert [link.text for link in found.relationships] == ["Thule head Ida"]


def test_a_statement_that_also_holds_without_times_remains(tmp_path: Path) -> None:
    """Two nodes about one triple, of which one has no time."""
    (tmp_path / "two.ttl").write_text(
        """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix sarag: <https://w3id.org/sarag/ontology#> .
        <urn:a> rdfs:label "a" ; <urn:p> <urn:b> , <urn:c> . <urn:b> rdfs:label "b" .
        <urn:1> rdf:subject <urn:a> ; rdf:predicate <urn:p> ; rdf:object <urn:b> ;
            sarag:pointInTime "1903" .
        <urn:2> rdf:subject <urn:a> ; rdf:predicate <urn:p> ; rdf:object <urn:b> .
        <urn:3> rdf:subject <urn:a> ; rdf:predicate <urn:p> ; rdf:object <urn:c> ;
            sarag:pointInTime "1903" ."""
    )
    query = "SELECT ?o { <urn:a> <urn:p> ?o } ORDER BY ?o"
    with sarag_rdf.open(None, embedder=HashEmbedder()) as kg:
        kg.import_graph(tmp_path / "two.ttl", "rdf", name="two")
        assert names(kg, query, "1903", over="two") == ["urn:b", "urn:c"]
        assert names(kg, query, "1904", over="two") == ["urn:b"]
