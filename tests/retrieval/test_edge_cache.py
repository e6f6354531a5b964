"""Edges that were read before are not read again, and lists are searched by hashes as by halves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import Finder, IriList, Rows, find_all
from sarag_rdf.retrieval import network
from sarag_rdf.retrieval.network import Columns, EdgeCache

NODES = 6
EDGES = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, 9), st.integers(0, 99)), unique=True
)
REQUESTS = st.lists(st.sets(st.integers(0, NODES - 1)), max_size=5)


class Store:
    """Edges in a list, and the nodes whose edges were read."""

    def __init__(self, edges: list[tuple[int, int, int]]) -> None:
        self.edges, self.read = edges, list[int]()

    def at(self, nodes: Rows) -> Columns:
        self.read += nodes.tolist()
        found = sorted(edge for edge in self.edges if edge[0] in nodes)
        columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return columns[0], columns[1], columns[2]


def asked(cache: EdgeCache, nodes: set[int]) -> list[tuple[int, ...]]:
    columns = cache.at(np.array(sorted(nodes), dtype=np.int64))
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@given(EDGES, REQUESTS)
def test_each_node_is_read_once(
    edges: list[tuple[int, int, int]], requests: list[set[int]]
) -> None:
    store = Store(edges)
    cache = EdgeCache(NODES, 0, store.at)
    for nodes in requests:
        assert asked(cache, nodes) == sorted(edge for edge in edges if edge[0] in nodes)
    assert len(store.read) == len(set(store.read))
    assert set(store.read) == set().union(*requests)


def test_many_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns grow; with more edges than are kept, all that is asked for is read."""
    edges = [(node, n, n) for node in range(NODES) for n in range(1000)]
    store = Store(edges)
    cache = EdgeCache(NODES, 0, store.at)
    for node in range(NODES):
        assert asked(cache, {node}) == edges[1000 * node : 1000 * (node + 1)]
    assert asked(cache, set(range(NODES))) == edges
    assert store.read == [*range(NODES)]
    monkeypatch.setattr(network, "MOST", 2500)
    cache = EdgeCache(NODES, 0, store.at)
    for nodes in ({0, 1}, {0, 1, 2}, {0}, {0}):
        store.read.clear()
        assert asked(cache, nodes) == [edge for edge in edges if edge[0] in nodes]
    assert store.read == []


@given(st.sets(st.text(max_size=3)), st.lists(st.text(max_size=3), max_size=20))
def test_a_finder_finds_what_is_in_the_list(iris: set[str], requested: list[str]) -> None:
    names = IriList.of(iris)
    finder = Finder(names)
    for some in (requested, requested[::-1], sorted(iris)):
        assert finder.find(some).tolist() == find_all(names, some).tolist()


class Equal(str):
    """Strings with the same hash."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)


def test_equal_hashes_are_not_used() -> None:
    iris = [Equal("a"), Equal("b")]
    assert Finder(iris).find([Equal("b"), Equal("c"), Equal("a")]).tolist() == [1, -1, 0]
