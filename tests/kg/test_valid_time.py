"""The graph at a moment: SPARQL and search without what did not hold then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Source
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


def names(kg: sarag_rdf.KnowledgeGraph, query: str, at: str = "") -> list[str]:
    result = kg.query(query, at=at)
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
    for text in ("soon", "1925-13", "25", "1925-1-1"):
        with pytest.raises(UsageError, match="is not a time"):
            kg.query(HEADS, at=text)
    with pytest.raises(UsageError, match="does not spread activation"):
        kg.search("museum", retriever="dense", at="1925")


def test_years_before_our_era_compare() -> None:
    assert moment_of("-0043")[1] < moment_of("0014")[0]
