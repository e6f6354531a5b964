"""The neighbourhood of seeds, against one query that walks all its steps at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.retrieval import network
from sarag_rdf.retrieval.network import ArrayNetwork, Iris, Network, StoreNetwork, network_arrays

MINTER = Minter()
Links = list[tuple[str, str]]


def entity(name: str) -> str:
    return MINTER.entity(name)


def reader_of(links: Links, elsewhere: Sequence[tuple[str, str]] = ()) -> GraphReader:
    """A graph of numbered relationships between entities, and links in a graph beside it."""
    kg, other = NamedNode(MINTER.kg_graph), NamedNode(MINTER.source_graph("x"))
    quads = [
        Quad(NamedNode(entity(s)), SARAG.relatedTo, NamedNode(entity(o)), other)
        for s, o in elsewhere
    ]
    for number, (s, o) in enumerate(links):
        relationship = NamedNode(f"{MINTER.base}relationship/{number:04}")
        subject, object_ = NamedNode(entity(s)), NamedNode(entity(o))
        quads += [
            Quad(subject, SARAG.relatedTo, object_, kg),
            Quad(relationship, SARAG.subject, subject, kg),
            Quad(relationship, SARAG.object, object_, kg),
        ]
    store = OxigraphStore.in_memory()
    store.apply(Change(insert=tuple(quads)))
    return GraphReader(store, MINTER)


def networks(reader: GraphReader, *names: str) -> tuple[Iris, list[Network]]:
    """Both engines over the graph, which has the entities of these names, too."""
    rows = [*reader.rows("relationship-ends")]
    ends = {end.value for _, *ends in rows for end in ends} | set(map(entity, names))
    iris = Iris([], sorted(ends), sorted(relationship.value for relationship, *_ in rows))
    return iris, [ArrayNetwork(iris, network_arrays(reader, iris)), StoreNetwork(reader, iris)]


def near(
    reader: GraphReader, seeds: Sequence[str], n: int, *more: str
) -> tuple[dict[str, int], list[tuple[str, str, str]]]:
    """Neighbourhood and relationships in it by IRI, equal by both engines."""
    iris, engines = networks(reader, *more)
    found = []
    for engine in engines:
        hops = engine.neighbourhood(rows_of(iris.entities, seeds), n)
        inside = np.array(sorted(hops), dtype=np.int64)
        edges = engine.relationships_among(inside)
        links = [
            (iris.relationships[r], iris.entities[s], iris.entities[o])
            for r, (s, o) in zip(edges.statement.tolist(), edges.pairs().tolist(), strict=True)
        ]
        found.append(({iris.entities[row]: hop for row, hop in hops.items()}, links))
    assert found[0] == found[1]
    return found[0]


def at_once(reader: GraphReader, seeds: Sequence[str], n: int) -> set[str]:
    """The seeds and what n steps one after the other lead to, each of which may be left out."""
    values = " ".join(f"<{seed}>" for seed in seeds)
    steps = " ".join(
        f"?x{i} (<{SARAG.relatedTo.value}>|^<{SARAG.relatedTo.value}>)? ?x{i + 1} ."
        for i in range(n)
    )
    text = (
        f"SELECT DISTINCT ?x{n} WHERE {{ VALUES ?x0 {{ {values} }} "
        f"GRAPH <{MINTER.kg_graph}> {{ {steps} }} }}"
    )
    result = reader.store.query(text)
    assert isinstance(result, Table)
    return {row[0].value for row in result.rows} | set(seeds)


names = st.sampled_from("abcdefgh")
links_ = st.lists(st.tuples(names, names), max_size=12)
hubs = st.lists(st.tuples(st.just("a"), names), max_size=6)


@given(
    links_, hubs, st.lists(st.tuples(names, names), max_size=3), st.sets(names), st.integers(0, 4)
)
def test_it_is_what_one_deep_path_finds(
    links: Links, hub: Links, elsewhere: Links, start: set[str], n: int
) -> None:
    reader = reader_of(links + hub, elsewhere)
    seeds = [entity(name) for name in sorted(start)]
    within = [at_once(reader, seeds, hops) for hops in range(n + 1)]
    wanted = {iri: min(hops for hops in range(n + 1) if iri in within[hops]) for iri in within[-1]}
    hops, found = near(reader, seeds, n, *start)
    assert hops == wanted

    inside = set(wanted)
    numbered = [(number, entity(s), entity(o)) for number, (s, o) in enumerate(links + hub)]
    assert sorted(found) == [
        (f"{MINTER.base}relationship/{number:04}", s, o)
        for number, s, o in numbered
        if {s, o} <= inside
    ]


def test_worked_example() -> None:
    # d -> a -> b -> c, b -> b and a -> b again: direction, loops and repetition do not matter.
    links = [("d", "a"), ("a", "b"), ("b", "c"), ("b", "b"), ("a", "b")]
    reader = reader_of(links, [("a", "z")])
    found, _ = near(reader, [entity("a")], 2)
    assert found == {entity("a"): 0, entity("b"): 1, entity("d"): 1, entity("c"): 2}
    found, _ = near(reader, [entity("a"), entity("c")], 1)
    assert found == {
        entity("a"): 0,
        entity("c"): 0,
        entity("b"): 1,
        entity("d"): 1,
    }
    assert near(reader, [entity("lonely")], 3, "lonely") == ({entity("lonely"): 0}, [])
    assert near(reader, [], 3) == ({}, [])
    assert len(near(reader, [entity("a"), entity("b")], 0)[1]) == 3


def test_a_frontier_larger_than_one_request() -> None:
    count = 2 * OxigraphStore.max_values + 1
    star = [("hub", f"ray{i}") for i in range(count)]
    reader = reader_of([*star, (f"ray{count - 1}", "far")])
    found, links = near(reader, [entity("hub")], 2)
    assert len(found) == count + 2
    assert found[entity("far")] == 2
    assert len(links) == count + 1


def test_it_stops_growing_after_the_hop_that_makes_it_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = reader_of([("a", "b"), ("a", "c"), ("b", "d"), ("d", "e")])
    for limit, reached in ((1, "a"), (2, "abc"), (3, "abc"), (4, "abcd"), (5, "abcde")):
        monkeypatch.setattr(network, "MAX_ENTITIES", limit)
        found, _ = near(reader, [entity("a")], 9)
        assert set(found) == {entity(name) for name in reached}
