"""Things and values: what the graph counts, proposes and publishes as an entity."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import DCTERMS, OWL, RDF, RDFS, SARAG, SEMAPV, SKOS, text_of
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.timed_graph import IDA, KARL, MUSEUM, PRIZE, timed_graph

MINTER = Minter()
MANUAL = SEMAPV.ManualMappingCuration.value
TEXTS = (
    Source(
        "Ole Lund was a Danish engineer. Ole Lund was born in Aarhus in 1871.", "Ole Lund", "o.txt"
    ),
    Source("Aarhus is a city in Denmark. The Danish king visited it in 1871.", "Aarhus", "a.txt"),
    Source("1917 is a film. It was shown in Aarhus.", "1917", "f.txt"),
)


@pytest.fixture(scope="module")
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.index(TEXTS, extractor="spacy")
        yield graph


def names(kg: KnowledgeGraph, class_: str) -> set[str]:
    rows: Any = kg.query(f"SELECT ?n {{ ?x a sarag:{class_} ; skos:prefLabel ?n }}")
    return {name.value for (name,) in rows.rows}


def test_dates_and_adjectives_are_values_and_no_entities(kg: KnowledgeGraph) -> None:
    assert {"1871", "Danish"} <= names(kg, "Value")
    assert names(kg, "TemporalValue") == {"1871"}
    assert names(kg, "Adjective") == {"Danish"}
    assert not names(kg, "Value") & names(kg, "Entity")
    assert {"Ole Lund", "Aarhus", "Denmark"} <= names(kg, "Entity")


def test_a_title_is_a_thing_even_if_it_is_a_number(kg: KnowledgeGraph) -> None:
    assert "1917" in names(kg, "Entity")


def test_activation_passes_through_values(kg: KnowledgeGraph) -> None:
    question = "What happened in 1871?"
    result = kg.search(question)
    assert "1871" in {seed.name for seed in result.subgraph.seeds}


def test_values_are_no_candidates_for_merges(kg: KnowledgeGraph) -> None:
    for rule in ("same-words", "initials", "near"):
        for row in kg.decisions.propose_merges(rule):
            assert {row.subject_label, row.object_label}.isdisjoint(names(kg, "Value"))


def things(kg: KnowledgeGraph, **options: Any) -> list[ox.Triple]:
    output = io.BytesIO()
    kg.export("things", output, **options)
    syntax = {"ntriples": ox.RdfFormat.N_TRIPLES}.get(
        options.get("syntax", ""), ox.RdfFormat.TURTLE
    )
    return [quad.triple for quad in ox.parse(output.getvalue(), format=syntax)]


def test_the_profile_of_things_has_things_alone(kg: KnowledgeGraph) -> None:
    triples = things(kg)
    values = {t.subject for t in triples if t.object in (SARAG.Value, SARAG.Mention)}
    labels = {text_of(t.object) for t in triples if t.predicate == RDFS.label}
    assert not values
    assert {"Ole Lund", "Aarhus"} <= labels
    assert labels.isdisjoint(names(kg, "Value"))
    assert SARAG.relatedTo not in {t.predicate for t in triples}


def test_each_statement_of_the_profile_leads_to_its_source(kg: KnowledgeGraph) -> None:
    triples = things(kg)
    stated = {(t.subject, t.predicate, t.object) for t in triples}
    nodes = {t.subject for t in triples if t.object == RDF.Statement}
    assert nodes
    for node in nodes:
        parts = {t.predicate: t.object for t in triples if t.subject == node}
        assert (parts[RDF.subject], parts[RDF.predicate], parts[RDF.object]) in stated
        assert (parts[DCTERMS.source], RDF.type, SARAG.Source) in stated


def test_the_profile_is_the_same_in_every_syntax(kg: KnowledgeGraph) -> None:
    assert set(things(kg)) == set(things(kg, syntax="ntriples"))
    assert things(kg) == things(kg)


def test_statements_of_the_profile_have_their_times(tmp_path: Path) -> None:
    with sarag_rdf.open(timed_graph(tmp_path / "kg"), embedder=HashEmbedder()) as graph:
        triples = things(graph)
    by_node: dict[Any, dict[Any, Any]] = {}
    for triple in triples:
        by_node.setdefault(triple.subject, {})[triple.predicate] = triple.object
    properties = (SARAG.startTime, SARAG.endTime, SARAG.pointInTime)
    times = {
        (text_of(parts[RDF.subject]), text_of(parts[RDF.object])): tuple(
            text_of(parts[p]) if p in parts else "" for p in properties
        )
        for parts in by_node.values()
        if parts.get(RDF.type) == RDF.Statement
    }
    assert times == {
        (MUSEUM, IDA): ("1919", "1937-05", ""),
        (MUSEUM, KARL): ("1938", "", ""),
        (KARL, PRIZE): ("", "", "1940"),
    }


def test_turtle_declares_what_it_uses_and_separates_subjects(kg: KnowledgeGraph) -> None:
    turtle, triples = io.BytesIO(), io.BytesIO()
    kg.export("things", turtle)
    kg.export("things", triples, syntax="ntriples")
    header, *subjects = turtle.getvalue().decode().split("\n\n")
    for line in header.splitlines():
        prefix = line.removeprefix("@prefix ").partition(" ")[0]
        assert any(prefix in subject for subject in subjects), line
    assert "mapping:" not in header
    assert all(subject.rstrip().count(" .\n") == 0 for subject in subjects)
    parsed = {q.triple for q in ox.parse(turtle.getvalue(), ox.RdfFormat.TURTLE)}
    assert parsed == {q.triple for q in ox.parse(triples.getvalue(), ox.RdfFormat.N_TRIPLES)}
    assert len(subjects) == len({triple.subject for triple in parsed})


def test_links_to_individuals_may_be_owl_same_as(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """Links to concepts, and to what no imported graph has, stay what they are."""
    (tmp_path / "towns.ttl").write_text(
        "<https://x.example/aarhus> <http://www.w3.org/2000/01/rdf-schema#label> 'Aarhus' ."
        "<https://x.example/denmark> a <http://www.w3.org/2004/02/skos/core#Concept> ;"
        "  <http://www.w3.org/2000/01/rdf-schema#label> 'Denmark' ."
    )
    kg.import_graph(tmp_path / "towns.ttl", "rdf")
    names = {"aarhus": "aarhus", "denmark": "denmark", "ole lund": "elsewhere"}
    links = [
        Match(MINTER.entity(name), EXACT, f"https://x.example/{item}", MANUAL)
        for name, item in names.items()
    ]
    kg.links.accept(links, elsewhere=True)

    def linked(**options: Any) -> dict[str, Any]:
        linking = (SKOS.exactMatch, OWL.sameAs)
        triples = (t for t in things(kg, **options) if t.predicate in linking)
        return {text_of(t.object).rpartition("/")[2]: t.predicate for t in triples}

    assert linked() == dict.fromkeys(names.values(), SKOS.exactMatch)
    assert linked(same_as=True) == linked() | {"aarhus": OWL.sameAs}
    kg.links.undo(None)
    kg.forget_import("towns")
