"""Ranks of competing statements: in the graph, in search and exports, and undone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.vocab import COMMON, RDF, SARAG, WIKIBASE, iri
from sarag_rdf.building.decision_records import Decision
from sarag_rdf.kg.deciding import record_decisions
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.timed_graph import IDA, KARL, MUSEUM, PRIZE, SOURCES, TimedExtractor, timed_graph

HEAD, AWARD = COMMON.head.value, COMMON.awardReceived.value
DIRECTORS = "SELECT ?p { ?m common:head ?p } ORDER BY ?p"
WIKIBASE_PREFIX = f"PREFIX wikibase: <{WIKIBASE.base}> "
IS_RANKED = WIKIBASE_PREFIX + "ASK { ?relationship wikibase:rank ?rank ; sarag:text ?text }"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    folder = timed_graph(tmp_path / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        yield graph


def decide(kg: KnowledgeGraph, *decisions: Decision) -> None:
    with kg.session.write(create=False) as reader:
        record_decisions(reader, decisions)


def head(kind: Any, person: str) -> Decision:
    return Decision(kind, MUSEUM, HEAD, f"<{person}>", date="2026-01-01")


def rows(kg: KnowledgeGraph, query: str) -> list[str]:
    table: Any = kg.query(WIKIBASE_PREFIX + query)
    return [row[0].value for row in table.rows]


def traversed(kg: KnowledgeGraph) -> set[ox.Quad]:
    with kg.session.read() as snapshot:
        return set(snapshot.own.store.quads(snapshot.own.minter.kg_graph))


def exported(kg: KnowledgeGraph, name: str, **options: Any) -> set[ox.Triple]:
    output = io.BytesIO()
    kg.export(name, output, **options)
    parsed = ox.parse(output.getvalue(), format=ox.RdfFormat.TURTLE)
    return {quad.triple for quad in parsed}


def test_a_deprecated_statement_keeps_its_relationship(kg: KnowledgeGraph) -> None:
    before = traversed(kg)
    decide(kg, head("deprecated", IDA))
    assert rows(kg, DIRECTORS) == [KARL]
    query = "SELECT ?text { ?r wikibase:rank wikibase:DeprecatedRank ; sarag:inverseProperty "
    assert rows(kg, query + "common:head ; sarag:text ?text }") == ["Ida Brandt was director"]
    gone = {(q.predicate, q.object) for q in before - traversed(kg)}
    assert gone == {(COMMON.head, ox.NamedNode(IDA))}
    assert kg.validate().conforms
    [decision] = kg.decisions.list("ranks")
    assert (decision.kind, decision.statement) == ("deprecated", (MUSEUM, HEAD, f"<{IDA}>"))
    kg.decisions.undo(MUSEUM, "ranks")
    assert traversed(kg) == before
    assert not kg.query(IS_RANKED)


def test_ranks_hold_for_documents_that_come_later(kg: KnowledgeGraph) -> None:
    decide(kg, head("deprecated", IDA), head("preferred", KARL))
    ranked = traversed(kg)
    kg.delete([SOURCES[0].key])
    assert not kg.query(IS_RANKED)
    kg.index(SOURCES, extractor=TimedExtractor())
    assert traversed(kg) == ranked
    assert len(rows(kg, "SELECT ?r { ?r wikibase:rank ?rank ; sarag:text ?text }")) == 2


def test_a_later_rank_takes_the_place_of_an_earlier_one(kg: KnowledgeGraph) -> None:
    before = traversed(kg)
    decide(kg, head("deprecated", IDA))
    decide(kg, head("preferred", IDA))
    assert [d.kind for d in kg.decisions.list("ranks")] == ["preferred"]
    assert rows(kg, DIRECTORS) == [IDA, KARL]
    [rank] = traversed(kg) - before
    assert (rank.predicate, rank.object) == (WIKIBASE.rank, WIKIBASE.PreferredRank)


def test_search_and_entities_leave_deprecated_statements_out(kg: KnowledgeGraph) -> None:
    def found() -> set[str]:
        result = kg.search("Who was director of the Thule Museum?", retriever="sarag:c=0")
        return {link.text for link in result.subgraph.links}

    def said() -> set[str]:
        return {s.text for s in kg.entity(MUSEUM).statements}

    text = "Ida Brandt was director"
    assert text in found() & said()
    decide(kg, head("deprecated", IDA))
    assert text not in found() | said()
    assert "Karl Holm was director" in found() & said()


def test_the_profile_of_things_has_ranks(kg: KnowledgeGraph) -> None:
    decide(kg, head("deprecated", IDA), Decision("preferred", KARL, AWARD, f"<{PRIZE}>"))
    triples = exported(kg, "things")
    ranks = {t.subject: t.object for t in triples if t.predicate == WIKIBASE.rank}
    objects = {ranks[t.subject]: t.object for t in triples
               if t.subject in ranks and t.predicate == RDF.object}  # fmt: skip
    assert objects == {
        WIKIBASE.DeprecatedRank: ox.NamedNode(IDA),
        WIKIBASE.PreferredRank: ox.NamedNode(PRIZE),
    }
    museum = ox.NamedNode(MUSEUM)
    assert ox.Triple(museum, COMMON.head, ox.NamedNode(IDA)) not in triples
    assert ox.Triple(museum, COMMON.head, ox.NamedNode(KARL)) in triples


def test_wikibase_exports_have_ranks_which_imports_keep(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """The truthy triples are those of best rank, in the export and in the imported graph."""

    def ranks(triples: set[ox.Triple]) -> list[str]:
        return sorted(iri(text.object) for text in triples if text.predicate == WIKIBASE.rank)

    before = exported(kg, "wikibase")
    decide(kg, head("deprecated", IDA))
    after = exported(kg, "wikibase")
    assert ranks(before).count(WIKIBASE.DeprecatedRank.value) == 0
    [node] = {t.subject for t in after if t.object == WIKIBASE.DeprecatedRank}
    assert node in {t.subject for t in before}
    best = {t.subject for t in after if t.object == WIKIBASE.BestRank}
    assert node not in best
    truthy = {t for t in before - after if "/prop/direct/" in t.predicate.value}
    assert len(truthy) == 2  # head, and "related to" for the sentence
    with (tmp_path / "dump.ttl").open("wb") as file:
        kg.export("wikibase", file)
    kg.import_graph(tmp_path / "dump.ttl", "wikibase", name="dump")
    again: Any = kg.query(
        WIKIBASE_PREFIX + "SELECT ?s { ?s wikibase:rank wikibase:DeprecatedRank }", over=["dump"]
    )
    assert [row[0] for row in again.rows] == [node]
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), over=["dump"]) as imported:
        found = imported.search("Who was head of the Thule Museum?", retriever="sarag:c=0")
    texts = {link.text for link in found.subgraph.links}
    assert "Karl Holm was director" in texts
    assert "Ida Brandt was director" not in texts


def test_a_preferred_statement_is_the_only_truthy_one(kg: KnowledgeGraph) -> None:
    decide(kg, head("preferred", KARL))
    triples = exported(kg, "wikibase")
    [preferred] = {t.subject for t in triples if t.object == WIKIBASE.PreferredRank}
    claims = {t.predicate for t in triples if t.object == preferred}
    siblings = {t.object for t in triples if t.predicate in claims}
    best = {t.subject for t in triples if t.object == WIKIBASE.BestRank}
    assert len(siblings) == 2
    assert siblings & best == {preferred}


def test_ranks_of_values(tmp_path: Path) -> None:
    """The value of a deprecated statement is in its relationship, and in exports."""
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        first = Source("Ole Lund was born in 1871.", "Ole Lund", "o.txt")
        kg.index([first, Source("Ole Lund was born in 1874.", "", "p.txt")], extractor="spacy")
        born = COMMON.birthDate
        values: Any = kg.query("SELECT ?e ?v { ?e common:birthDate ?v } ORDER BY ?v")
        entity, value = values.rows[0]
        before = traversed(kg)
        decide(kg, Decision("deprecated", entity.value, born.value, str(value)))
        assert rows(kg, "SELECT ?v { ?e common:birthDate ?v }") == ["1874"]
        [node] = {t.subject for t in exported(kg, "things") if t.object == WIKIBASE.DeprecatedRank}
        stated = {t.predicate: t.object for t in exported(kg, "things") if t.subject == node}
        assert (stated[RDF.subject], stated[RDF.object]) == (entity, value)
        assert rows(kg, f"SELECT ?s {{ <{iri(node)}> sarag:subject ?s }}") == [entity.value]
        kg.decisions.undo(None, "ranks")
        assert traversed(kg) == before
        assert SARAG.property in {quad.predicate for quad in before}
