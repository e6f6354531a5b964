"""Documents, entities and relationships as arrays, against dictionaries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import packed, unpacked
from sarag_rdf.retrieval.network.edges import CsrIndex, Edges, Network, smallest
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES, EDGE_KINDS, RELATED_TO, SAME_AS
from tests.retrieval.networks import described_pairs, ends_of, network_of, rows

# ------------------------------------------------------------------------------ CsrIndex


def test_positions_by_value() -> None:
    # Value 0 stands at positions 1 and 3, 1 nowhere, 2 at 0 and 2, 3 at 4.
    index = CsrIndex(rows(2, 0, 2, 0, 3), 4)
    assert index.sizes().tolist() == [2, 0, 2, 1]
    assert [index.positions(rows(value)).tolist() for value in range(4)] == [
        [1, 3],
        [],
        [0, 2],
        [4],
    ]
    assert index.positions(rows(3, 0, 1, 2)).tolist() == [4, 1, 3, 0, 2]
    assert index.positions(rows(0, 0)).tolist() == [1, 3, 1, 3]
    assert index.positions(rows()).tolist() == []


@pytest.mark.parametrize("size", [0, 1, 3])
def test_an_index_of_nothing(size: int) -> None:
    index = CsrIndex(rows(), size)
    assert index.sizes().tolist() == [0] * size
    assert index.positions(np.arange(size)).tolist() == []


@given(
    st.lists(st.integers(0, 5), max_size=30),
    st.lists(st.integers(0, 5), max_size=8),
)
def test_positions_are_those_of_a_dictionary(values: list[int], wanted: list[int]) -> None:
    index = CsrIndex(rows(*values), 6)
    naive = defaultdict(list)
    for position, value in enumerate(values):
        naive[value].append(position)
    assert index.sizes().tolist() == [len(naive[value]) for value in range(6)]
    assert index.positions(rows(*wanted)).tolist() == [p for value in wanted for p in naive[value]]


# ----------------------------------------------------------------------------- Network

# Document a describes v and w, b describes v, c nothing. a is about w, b about v, c about
# nothing. Relationship p: v - w; q: w - v; r: w - w; s: x - v. v and x are the same.
NETWORK = network_of(
    ["a", "b", "c"],
    ["v", "w", "x"],
    ["p", "q", "r", "s"],
    described=[(0, 0), (0, 1), (1, 0)],
    topics=[1, 0, -1],
    ends=[(0, 1), (1, 0), (1, 1), (2, 0)],
    identical=[(0, 2)],
)
EMPTY = network_of([], [], [])


def test_a_network_by_hand() -> None:
    of_described = [NETWORK.incoming(DESCRIBES, rows(e)).tolist() for e in range(3)]
    assert of_described == [[0, 2], [1], []]
    of_related = [NETWORK.outgoing(RELATED_TO, rows(e)).tolist() for e in range(3)]
    assert of_related == [[0], [1, 2], [3]]
    of_related = [NETWORK.incoming(RELATED_TO, rows(e)).tolist() for e in range(3)]
    assert of_related == [[1, 3], [0, 2], []]
    assert NETWORK.incident(RELATED_TO, rows(1)).tolist() == [0, 1, 2]
    assert NETWORK.incident(SAME_AS, rows(0, 2)).tolist() == [0]
    assert NETWORK.frequencies.tolist() == [2, 1, 1]  # No document describes x: still 1.
    assert NETWORK.is_topic.tolist() == [False, True, True]
    assert [NETWORK.is_about(0, e) for e in range(3)] == [False, True, False]
    assert NETWORK.relationship_ends(rows(3, 0)).tolist() == [[2, 0], [0, 1]]
    with pytest.raises(KeyError):
        NETWORK.relationship_ends(rows(4))


def test_a_network_of_nothing() -> None:
    assert EMPTY.frequencies.shape == EMPTY.is_topic.shape == (0,)
    for kind in EDGE_KINDS:
        assert len(EMPTY.outgoing(kind, rows())) == len(EMPTY.incoming(kind, rows())) == 0
    bare = Network([], [], [], {})
    assert len(bare[DESCRIBES]) == len(bare.frequencies) == len(bare.associations) == 0


def test_documents_that_describe_nothing() -> None:
    network = network_of(["a"], ["v", "w"], ["p"], [], [-1], [(0, 1)])
    assert network.frequencies.tolist() == [1, 1]
    assert network.is_topic.shape == (0,)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """At most 5 documents, 5 entities and 8 relationships, at least one document and entity."""
    documents, entities = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    document, entity = st.integers(0, documents - 1), st.integers(0, entities - 1)
    described = sorted(draw(st.sets(st.tuples(document, entity), max_size=12)))
    ends = draw(st.lists(st.tuples(entity, entity), max_size=8))
    about = st.integers(-1, entities - 1)
    return network_of(
        [f"d{n}" for n in range(documents)],
        [f"e{n}" for n in range(entities)],
        [f"r{n}" for n in range(len(ends))],
        described,
        draw(st.lists(about, min_size=documents, max_size=documents)),
        ends,
    )


@given(networks())
def test_a_network_is_that_of_dictionaries(network: Network) -> None:
    described = described_pairs(network)
    about = set(map(tuple, network[ABOUT].pairs().tolist()))
    ends = dict(enumerate(ends_of(network)))
    for entity in range(len(network.entities)):
        positions = [row for row, (_, e) in enumerate(described) if e == entity]
        assert network.incoming(DESCRIBES, rows(entity)).tolist() == positions
        assert network.frequencies[entity] == (len(positions) or 1)
        starting = [row for row, (s, _) in ends.items() if s == entity]
        ending = [row for row, (_, o) in ends.items() if o == entity]
        assert network.outgoing(RELATED_TO, rows(entity)).tolist() == starting
        assert network.incoming(RELATED_TO, rows(entity)).tolist() == ending
        either = sorted({*starting, *ending})
        assert network.incident(RELATED_TO, rows(entity)).tolist() == either
    assert network.is_topic.tolist() == [pair in about for pair in described]
    assert [network.is_about(*pair) for pair in described] == network.is_topic.tolist()


# ---------------------------------------------------------------------------------- Edges

EDGE = st.tuples(st.integers(-1, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))


def columns(edges: Edges) -> list[list[float]]:
    return [column.tolist() for column in edges.columns()]


def edges_of(table: list[tuple[int, int, int, int]]) -> Edges:
    statement, source, target, predicate = ([row[n] for row in table] for n in range(4))
    return Edges.of(source, target, statement=statement, predicate=predicate)


@given(st.lists(EDGE, max_size=12), st.lists(EDGE, max_size=6))
def test_edges_are_sorted_and_each_is_there_once(
    one: list[tuple[int, int, int, int]], other: list[tuple[int, int, int, int]]
) -> None:
    edges = edges_of(one)
    lowest = {row[:3]: row[3] for row in sorted(one, reverse=True)}
    assert columns(edges)[:4] == [
        [key[1] for key in sorted(lowest)],
        [key[2] for key in sorted(lowest)],
        [key[0] for key in sorted(lowest)],
        [lowest[key] for key in sorted(lowest)],
    ]
    assert columns(Edges.union((edges, edges_of(other)))) == columns(edges_of(one + other))


@given(st.lists(EDGE, max_size=8), st.sampled_from([0.0, 0.5, 1.0]))
def test_edges_come_back_from_their_arrays(
    table: list[tuple[int, int, int, int]], weight: float
) -> None:
    statement, source, target, predicate = ([row[n] for row in table] for n in range(4))
    edges = Edges.of(source, target, statement=statement, predicate=predicate, weight=weight)
    arrays = edges.arrays("x")
    assert columns(Edges.of_arrays(arrays, "x")) == columns(edges)
    assert len(arrays["x_weight"]) <= 1  # A column of equal values is stored as one of them.


# --------------------------------------------------------------------------------- Arrays


def test_numbers_are_stored_in_32_bits_where_they_fit() -> None:
    assert max(array.dtype.itemsize for array in NETWORK.arrays().values()) == 4
    assert smallest(rows(2**31)).tolist() == [2**31]
    assert smallest(rows(2**31 - 1)).dtype == np.int32


@given(st.lists(st.text(), max_size=8))
def test_texts_are_unpacked_as_they_were_packed(texts: list[str]) -> None:
    assert unpacked(*packed(texts)) == texts


def test_a_network_comes_back_from_its_arrays() -> None:
    for network in (NETWORK, EMPTY):
        lists = (network.documents, network.entities, network.relationships)
        found = Network.of_arrays(*lists, network.arrays())
        assert (found.documents, found.entities, found.relationships) == lists
        assert list(found.predicates) == list(network.predicates)
        assert found.frequencies.tolist() == network.frequencies.tolist()
        for kind in EDGE_KINDS:
            assert columns(found[kind]) == columns(network[kind])
            for step in ("outgoing", "incoming"):
                end = kind.source if step == "outgoing" else kind.target
                every = np.arange(network.size(end))
                made = getattr(found, step)(kind, every)
                assert made.tolist() == getattr(network, step)(kind, every).tolist()
