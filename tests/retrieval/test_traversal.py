"""The two engines of traversal take the same steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.arrays import Rows
from sarag_rdf.base.ports import Change
from sarag_rdf.base.types import Extraction, Mention, Relation
from sarag_rdf.base.vocab import SKOS
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.parts import LINKS
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.retrieval.network import (
    ABOUT,
    DESCRIBES,
    EDGE_KINDS,
    RELATED_TO,
    SAME_AS,
    ArrayNetwork,
    EdgeKind,
    Edges,
    Iris,
    Network,
    StoreNetwork,
    network_arrays,
)
from tests.retrieval.graphs import MINTER, Content, put
from tests.retrieval.test_load import iris_of

NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "Hub")
name = st.one_of(st.just("Hub"), st.sampled_from(NAMES))
STEPS = [
    (kind, step, nodes)
    for kind in EDGE_KINDS
    for step, nodes in (("outgoing", kind.source), ("incoming", kind.target))
] + [(kind, "incident", "entity") for kind in (RELATED_TO, SAME_AS)]


@st.composite
def contents(draw: st.DrawFn) -> dict[int, Content]:
    """Up to six documents with a hub, loops, and parallel links."""
    made: dict[int, Content] = {}
    for number in range(draw(st.integers(0, 6))):
        names = draw(st.lists(name, max_size=5, unique=True))
        ends = draw(st.lists(st.tuples(name, name), max_size=6))
        relations = [Relation(s, f"knows {n % 3}", o) for n, (s, o) in enumerate(ends)]
        mentions = tuple(Mention(one) for one in sorted({*names, *(e for p in ends for e in p)}))
        title = draw(st.sampled_from(["", "Hub", "Ada", "Notes"]))
        made[number] = title, f"text {number}", Extraction(mentions, tuple(relations))
    return made


def linked(reader: GraphReader, pairs: set[tuple[str, str]]) -> GraphReader:
    """The graph with links between some of its entities, as between parts of a graph."""
    graph = NamedNode(MINTER.links_graph)
    quads = [
        Quad(NamedNode(MINTER.entity(one.lower())), SKOS.exactMatch,
             NamedNode(MINTER.entity(other.lower())), graph)
        for one, other in sorted(pairs)
    ]  # fmt: skip
    reader.store.apply(Change(insert=tuple(quads)))
    links = Part(LINKS, LINKS, {"links": MINTER.links_graph}, reader.store)
    return GraphReader(reader.store, MINTER, (reader.own, links))


def engines(reader: GraphReader) -> tuple[Iris, list[Network]]:
    iris = iris_of(reader)
    return iris, [ArrayNetwork(iris, network_arrays(reader, iris)), StoreNetwork(reader, iris)]


@given(contents(), st.sets(st.tuples(name, name), max_size=3), st.data())
def test_every_step_is_the_same(
    made: dict[int, Content], same: set[tuple[str, str]], data: st.DataObject
) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, made)
    iris, found = engines(linked(reader, same))
    one, other = found
    for kind, step, nodes in STEPS:
        start = some_of(iris, nodes, data)
        edges = [taken(engine, kind, step, start) for engine in found]
        assert edges[0] == edges[1], (kind.name, step)
    start = some_of(iris, "entity", data)
    assert one.neighbours(start).tolist() == other.neighbours(start).tolist()
    assert one.frequencies(start).tolist() == other.frequencies(start).tolist()
    count = len(iris.relationships)
    statements = data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set[int]()))
    stated = [rows_taken(engine.stated(np.array(sorted(statements), np.int64))) for engine in found]
    assert stated[0] == stated[1]


def some_of(iris: Iris, nodes: str, data: st.DataObject) -> Rows:
    size = len(iris.documents if nodes == "document" else iris.entities)
    some = data.draw(st.sets(st.integers(0, size - 1)) if size else st.just(set[int]()))
    return np.array(sorted(some), dtype=np.int64)


def taken(engine: Network, kind: EdgeKind, step: str, start: Rows) -> list[tuple[int, int, int]]:
    """The edges of a step, which must be ascending, each once."""
    found = rows_taken(getattr(engine, step)(kind, start))
    assert found == sorted(set(found))
    return found


def rows_taken(edges: Edges) -> list[tuple[int, int, int]]:
    """(statement, source, target) of each edge."""
    source, target, statement = (column.tolist() for column in edges.columns())
    return list(zip(statement, source, target, strict=True))


def test_steps_by_hand() -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    met = Extraction(
        (Mention("Ada"), Mention("Bea"), Mention("Cid")),
        (
            Relation("Ada", "met", "Bea"),
            Relation("Bea", "saw", "Ada"),
            Relation("Cid", "is", "Cid"),
        ),
    )
    put(reader, {1: ("Ada", "one", met), 2: ("", "two", Extraction((Mention("Ada"),), ()))})
    iris, found = engines(linked(reader, {("Bea", "Cid"), ("Cid", "Cid"), ("Bea", "Nobody")}))
    ada, bea, cid = (iris.entities.index(MINTER.entity(n)) for n in ("ada", "bea", "cid"))
    for engine in found:
        of_ada, of_bea, of_cid = (np.array([row]) for row in (ada, bea, cid))
        assert engine.neighbours(of_ada).tolist() == [bea]
        assert engine.neighbours(of_cid).tolist() == [cid]
        assert len(engine.incident(RELATED_TO, of_ada)) == 2
        assert engine.outgoing(RELATED_TO, of_ada).pairs().tolist() == [[ada, bea]]
        assert len(engine.incoming(DESCRIBES, of_ada)) == 2
        (topic,) = engine.incoming(ABOUT, of_ada).pairs().tolist()
        assert engine.outgoing(ABOUT, np.array(topic[:1])).pairs().tolist() == [topic]
        assert engine.incident(SAME_AS, of_bea).pairs().tolist() == [sorted((bea, cid))]
        assert len(engine.incident(SAME_AS, of_ada)) == 0


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0].name}-{step[1]}")
def test_no_node_leads_nowhere(step: tuple[EdgeKind, str, str]) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, {1: ("Ada", "one", Extraction((Mention("Ada"),), ()))})
    for engine in engines(reader)[1]:
        assert len(getattr(engine, step[1])(step[0], np.zeros(0, dtype=np.int64))) == 0
        assert len(engine.neighbours(np.zeros(0, dtype=np.int64))) == 0
