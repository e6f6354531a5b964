"""The two engines of traversal take the same steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

from sarag_rdf.graph.parts import LINKS
from sarag_rdf.graph.reader import GraphReader, Part
from sarag_rdf.network.edges import Rows
from sarag_rdf.network.load import SparqlTraversal, load_network
from sarag_rdf.network.spreading import Iris
from sarag_rdf.network.traversal import NetworkTraversal, Traversal
from sarag_rdf.ports import Change
from sarag_rdf.rdf.oxigraph import OxigraphStore
from sarag_rdf.types import Extraction, Mention, Relation
from sarag_rdf.vocab import SKOS
from tests.retrieve.graphs import MINTER, Content, put

NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "Hub")
name = st.one_of(st.just("Hub"), st.sampled_from(NAMES))
STEPS: tuple[tuple[str, str], ...] = (
    ("entities_of", "documents"),
    ("documents_of", "entities"),
    ("about", "entities"),
    ("relationships_of", "entities"),
    ("relationships_from", "entities"),
    ("neighbours_of", "entities"),
    ("same_as", "entities"),
)


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


def engines(reader: GraphReader) -> tuple[Iris, list[Traversal]]:
    network = load_network(reader)
    iris = Iris(network.documents, network.entities, network.relationships)
    return iris, [NetworkTraversal(network), SparqlTraversal(reader, iris)]


@settings(deadline=None, max_examples=150)
@given(contents(), st.sets(st.tuples(name, name), max_size=3), st.data())
def test_every_step_is_the_same(
    made: dict[int, Content], same: set[tuple[str, str]], data: st.DataObject
) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, made)
    iris, found = engines(linked(reader, same))
    for step, kind in STEPS:
        nodes = len(getattr(iris, kind))
        some = data.draw(st.sets(st.integers(0, nodes - 1)) if nodes else st.just(set[int]()))
        start = np.array(sorted(some), dtype=np.int64)
        one, other = (taken(getattr(engine, step), start) for engine in found)
        assert one.tolist() == other.tolist(), step
        assert one.shape == other.shape


def taken(step: Callable[[Rows], Rows], start: Rows) -> Rows:
    """What a step gives, which must be ascending, each once."""
    found = step(start)
    assert found.dtype == np.int64
    assert np.array_equal(found, np.unique(found, axis=0) if len(found) else found)
    return found


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
        assert set(engine.neighbours_of(np.array([ada])).tolist()) == {bea}
        assert engine.neighbours_of(np.array([cid])).tolist() == [cid]
        assert len(engine.relationships_of(np.array([ada]))) == 2
        assert len(engine.relationships_from(np.array([ada]))) == 1
        assert len(engine.documents_of(np.array([ada]))) == 2
        assert len(engine.about(np.array([ada]))) == 1
        assert engine.same_as(np.array([bea])).tolist() == [[bea, cid]]
        assert engine.same_as(np.array([ada])).shape == (0, 2)


@pytest.mark.parametrize("step", STEPS)
def test_no_node_leads_nowhere(step: tuple[str, str]) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, {1: ("Ada", "one", Extraction((Mention("Ada"),), ()))})
    for engine in engines(reader)[1]:
        assert len(getattr(engine, step[0])(np.zeros(0, dtype=np.int64))) == 0
