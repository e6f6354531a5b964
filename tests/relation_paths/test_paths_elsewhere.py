"""Relation paths over graphs that they were not fitted on: a thesaurus, Wikidata, documents."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.evaluation.fixed import without_models
from tests.sample_graph import SOURCES, CapitalExtractor

WATERS = Path(__file__).parents[2] / "examples" / "waters.ttl"
WIKIDATA = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
wd:P1 a wikibase:Property ; rdfs:label "mouth of the watercourse"@en ;
    wikibase:propertyType wikibase:WikibaseItem ; wikibase:directClaim wdt:P1 .
wd:P3 a wikibase:Property ; rdfs:label "place of birth"@en ;
    wikibase:propertyType wikibase:WikibaseItem ; wikibase:directClaim wdt:P3 .
wd:Q1 a wikibase:Item ; rdfs:label "Lauterach"@en ; wdt:P1 wd:Q2 .
wd:Q2 a wikibase:Item ; rdfs:label "Great Ache"@en .
wd:Q3 a wikibase:Item ; rdfs:label "Obermoos"@en .
wd:Q4 a wikibase:Item ; rdfs:label "Theda Kranz"@en ; wdt:P3 wd:Q3 .
wd:Q7 a wikibase:Item ; rdfs:label "Lonely Rock"@en ; schema:description "islet"@en .
"""


def answer(kg: KnowledgeGraph, question: str) -> tuple[str, list[str]]:
    """The path that was followed, in words, and the names of its ends."""
    found = kg.search(question, retriever="paths").paths[0]
    return found.text, [end.name for end in found.answers]


@pytest.mark.parametrize(
    ("question", "path", "ends"),
    [
        (
            "What are the narrower concepts of running waters?",
            "the narrower concepts of the concept",
            ["brooks", "canals", "rivers"],
        ),
        (
            "Which concepts are related to canals?",
            "the concepts related to the concept",
            ["locks"],
        ),
    ],
)
def test_a_thesaurus(question: str, path: str, ends: list[str]) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, over=["waters"]) as kg:
        kg.import_graph(WATERS, "skos", name="waters")
        assert answer(kg, question) == (path, ends)


def test_wikidata_and_a_thing_without_statements(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    (tmp_path / "wd.ttl").write_text(WIKIDATA)
    with sarag_rdf.open("kg", embedder=HashEmbedder(), endpoint=None, over=["wd"]) as kg:
        kg.import_graph("wd.ttl", "wikibase", name="wd")
        text, ends = answer(kg, "What is the place of birth of Theda Kranz?")
        assert ends == ["Obermoos"]
        assert text.startswith("the place of birth of")
        assert answer(kg, "What is the mouth of the Lauterach?")[1] == ["Great Ache"]
    arguments = ("--retriever", "paths", "--kg", "kg", "--over", "wd")
    done = sarag("search", "Who lives on Lonely Rock?", *arguments)
    assert done.code == 0
    assert "no relation path leads anywhere from Lonely Rock" in done.out


def test_documents_without_an_ontology() -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        text, ends = answer(kg, "What is related to Orbis?")
    assert "related to" in text
    assert set(ends) <= {"Ada", "Ulm"}
    assert ends
