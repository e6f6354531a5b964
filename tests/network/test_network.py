"""Documents, entities and relationships as arrays, against dictionaries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.arrays import packed, unpacked
from sarag_rdf.network.edges import Groups, Network, Rows, smallest


def rows(*values: int) -> Rows:
    return np.array(values, dtype=np.int64)


def pairs(*values: tuple[int, int]) -> Rows:
    return np.array(values, dtype=np.int64).reshape(-1, 2)


# ------------------------------------------------------------------------------ Groups


def test_positions_by_value() -> None:
    # Value 0 stands at positions 1 and 3, 1 nowhere, 2 at 0 and 2, 3 at 4.
    groups = Groups(rows(2, 0, 2, 0, 3), 4)
    assert groups.sizes().tolist() == [2, 0, 2, 1]
    assert [groups.of(rows(value)).tolist() for value in range(4)] == [[1, 3], [], [0, 2], [4]]
    assert groups.of(rows(3, 0, 1, 2)).tolist() == [4, 1, 3, 0, 2]
    assert groups.of(rows(0, 0)).tolist() == [1, 3, 1, 3]
    assert groups.of(rows()).tolist() == []


@pytest.mark.parametrize("size", [0, 1, 3])
def test_groups_of_nothing(size: int) -> None:
    groups = Groups(rows(), size)
    assert groups.sizes().tolist() == [0] * size
    assert groups.of(np.arange(size)).tolist() == []


@given(
    st.lists(st.integers(0, 5), max_size=30),
    st.lists(st.integers(0, 5), max_size=8),
)
def test_groups_are_those_of_a_dictionary(values: list[int], wanted: list[int]) -> None:
    groups = Groups(rows(*values), 6)
    naive = defaultdict(list)
    for position, value in enumerate(values):
        naive[value].append(position)
    assert groups.sizes().tolist() == [len(naive[value]) for value in range(6)]
    assert groups.of(rows(*wanted)).tolist() == [p for value in wanted for p in naive[value]]


# ----------------------------------------------------------------------------- Network

# Document a describes v and w, b describes v, c nothing. a is about w, b about v, c about
# nothing. Relationship p: v - w; q: w - v; r: w - w; s: x - v.
NETWORK = Network(
    ["a", "b", "c"],
    ["v", "w", "x"],
    ["p", "q", "r", "s"],
    described=pairs((0, 0), (0, 1), (1, 0)),
    topics=rows(1, 0, -1),
    ends=pairs((0, 1), (1, 0), (1, 1), (2, 0)),
)
EMPTY = Network([], [], [], pairs(), rows(), pairs())


def test_a_network_by_hand() -> None:
    assert [NETWORK.by_entity.of(rows(e)).tolist() for e in range(3)] == [[0, 2], [1], []]
    assert [NETWORK.starting_at.of(rows(e)).tolist() for e in range(3)] == [[0], [1, 2], [3]]
    assert [NETWORK.ending_at.of(rows(e)).tolist() for e in range(3)] == [[1, 3], [0, 2], []]
    assert NETWORK.frequencies.tolist() == [2, 1, 1]  # No document describes x: still 1.
    assert NETWORK.is_topic.tolist() == [False, True, True]


def test_a_network_of_nothing() -> None:
    assert EMPTY.frequencies.shape == EMPTY.is_topic.shape == (0,)
    groups = (EMPTY.by_entity, EMPTY.starting_at, EMPTY.ending_at)
    assert [len(group.of(rows())) for group in groups] == [0, 0, 0]


def test_documents_that_describe_nothing() -> None:
    network = Network(["a"], ["v", "w"], ["p"], pairs(), rows(-1), pairs((0, 1)))
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
    return Network(
        [f"d{n}" for n in range(documents)],
        [f"e{n}" for n in range(entities)],
        [f"r{n}" for n in range(len(ends))],
        pairs(*described),
        rows(*draw(st.lists(about, min_size=documents, max_size=documents))),
        pairs(*ends),
    )


@given(networks())
def test_a_network_is_that_of_dictionaries(network: Network) -> None:
    described = [tuple(pair) for pair in network.described.tolist()]
    topics = dict(enumerate(network.topics.tolist()))
    ends = dict(enumerate(network.ends.tolist()))
    for entity in range(len(network.entities)):
        by_entity = [row for row, (_, e) in enumerate(described) if e == entity]
        assert network.by_entity.of(rows(entity)).tolist() == by_entity
        assert network.frequencies[entity] == (len(by_entity) or 1)
        starting = [row for row, (s, _) in ends.items() if s == entity]
        ending = [row for row, (_, o) in ends.items() if o == entity]
        assert network.starting_at.of(rows(entity)).tolist() == starting
        assert network.ending_at.of(rows(entity)).tolist() == ending
    assert network.is_topic.tolist() == [topics[d] == e for d, e in described]


# --------------------------------------------------------------------------------- Arrays


def test_numbers_are_kept_in_32_bits_where_they_fit() -> None:
    assert {array.dtype.itemsize for array in NETWORK.arrays().values()} == {4}
    assert smallest(rows(2**31)).tolist() == [2**31]
    assert smallest(rows(2**31 - 1)).dtype == np.int32


@given(st.lists(st.text(), max_size=8))
def test_texts_are_unpacked_as_they_were_packed(texts: list[str]) -> None:
    assert unpacked(*packed(texts)) == texts


def test_a_network_comes_back_from_its_arrays() -> None:
    one = replace(NETWORK, identical=pairs((0, 2)))
    for network in (one, EMPTY):
        lists = (network.documents, network.entities, network.relationships)
        found = Network.of_arrays(*lists, network.arrays())
        assert (found.documents, found.entities, found.relationships) == lists
        every = np.arange(len(network.entities))
        assert found.frequencies.tolist() == network.frequencies.tolist()
        for groups in ("by_entity", "starting_at", "ending_at", "by_same"):
            made = getattr(found, groups).of(every)
            assert made.tolist() == getattr(network, groups).of(every).tolist()
        for name in ("described", "topics", "ends", "identical"):
            kept, before = getattr(found, name), getattr(network, name)
            assert kept.tolist() == before.tolist()
            assert kept.shape == before.shape
