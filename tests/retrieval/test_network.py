"""Documents, entities and relationships as arrays, against dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import packed, unpacked
from sarag_rdf.retrieval.network import (
    ABOUT,
    DESCRIBES,
    EDGE_KINDS,
    RELATED_TO,
    SAME_AS,
    ArrayNetwork,
    Edges,
    Iris,
    arrays_of,
)
from tests.retrieval.networks import described_pairs, ends_of, every, network_of, rows

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
    describing = [NETWORK.incoming(DESCRIBES, rows(e)).source.tolist() for e in range(3)]
    assert describing == [[0, 1], [0], []]
    from_entity = [NETWORK.outgoing(RELATED_TO, rows(e)).statement.tolist() for e in range(3)]
    assert from_entity == [[0], [1, 2], [3]]
    to_entity = [NETWORK.incoming(RELATED_TO, rows(e)).statement.tolist() for e in range(3)]
    assert to_entity == [[1, 3], [0, 2], []]
    assert NETWORK.incident(RELATED_TO, rows(1)).statement.tolist() == [0, 1, 2]
    assert NETWORK.incident(SAME_AS, rows(0, 2)).pairs().tolist() == [[0, 2]]
    assert NETWORK.frequencies(every(NETWORK)).tolist() == [2, 1, 1]  # x has none: still 1.
    assert NETWORK.frequencies(rows(1, 0, 0)).tolist() == [1, 2, 2]
    assert NETWORK.outgoing(ABOUT, every(NETWORK, "document")).pairs().tolist() == [[0, 1], [1, 0]]
    stated = NETWORK.stated(rows(0, 3))
    assert (stated.statement.tolist(), stated.pairs().tolist()) == ([0, 3], [[0, 1], [2, 0]])
    assert NETWORK.stated(rows(4)).pairs().tolist() == []
    assert NETWORK.neighbours(rows(0)).tolist() == [1, 2]
    assert NETWORK.with_identical(rows(0, 1)).tolist() == [0, 1, 2]
    assert NETWORK.relationships_among(rows(0, 1)).statement.tolist() == [0, 1, 2]


def test_a_network_of_nothing() -> None:
    assert EMPTY.frequencies(rows()).shape == (0,)
    for kind in EDGE_KINDS:
        assert len(EMPTY.outgoing(kind, rows())) == len(EMPTY.incoming(kind, rows())) == 0
    assert len(EMPTY.stated(rows())) == len(EMPTY.neighbours(rows())) == 0
    bare = ArrayNetwork.of(Iris([], [], []), {})
    assert len(bare.edges(DESCRIBES)) == len(bare.frequencies(rows())) == 0


def test_documents_that_describe_nothing() -> None:
    network = network_of(["a"], ["v", "w"], ["p"], [], [-1], [(0, 1)])
    assert network.frequencies(every(network)).tolist() == [1, 1]


@st.composite
def networks(draw: st.DrawFn) -> ArrayNetwork:
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
def test_a_network_is_that_of_dictionaries(network: ArrayNetwork) -> None:
    described = described_pairs(network)
    ends = dict(enumerate(ends_of(network)))
    for entity in range(len(network.iris.entities)):
        documents = [d for d, e in described if e == entity]
        assert network.incoming(DESCRIBES, rows(entity)).source.tolist() == documents
        assert network.frequencies(rows(entity)).tolist() == [len(documents) or 1]
        starting = [row for row, (s, _) in ends.items() if s == entity]
        ending = [row for row, (_, o) in ends.items() if o == entity]
        assert network.outgoing(RELATED_TO, rows(entity)).statement.tolist() == starting
        assert network.incoming(RELATED_TO, rows(entity)).statement.tolist() == ending
        either = sorted({*starting, *ending})
        assert network.incident(RELATED_TO, rows(entity)).statement.tolist() == either
        others = {ends[row][1] for row in starting} | {ends[row][0] for row in ending}
        assert network.neighbours(rows(entity)).tolist() == sorted(others)


# ---------------------------------------------------------------------------------- Edges

EDGE = st.tuples(st.integers(-1, 3), st.integers(0, 3), st.integers(0, 3))


def columns(edges: Edges) -> list[list[int]]:
    return [column.tolist() for column in edges.columns()]


def edges_of(table: list[tuple[int, int, int]]) -> Edges:
    statement, source, target = ([row[n] for row in table] for n in range(3))
    return Edges.of(source, target, statement)


@given(st.lists(EDGE, max_size=12), st.lists(EDGE, max_size=6))
def test_edges_are_sorted_and_each_is_there_once(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]]
) -> None:
    edges = edges_of(one)
    table = sorted(set(one))
    assert columns(edges) == [[row[n] for row in table] for n in (1, 2, 0)]
    assert columns(Edges.union(edges, edges_of(other))) == columns(edges_of(one + other))


# --------------------------------------------------------------------------------- Arrays


def test_numbers_are_stored_in_32_bits_where_they_fit() -> None:
    arrays = arrays_of(NETWORK.iris, {kind: NETWORK.edges(kind) for kind in EDGE_KINDS})
    assert max(array.dtype.itemsize for array in arrays.values()) == 4


@given(st.lists(st.text(), max_size=8))
def test_texts_are_unpacked_as_they_were_packed(texts: list[str]) -> None:
    assert unpacked(*packed(texts)) == texts


def test_a_network_comes_back_from_its_arrays() -> None:
    for network in (NETWORK, EMPTY):
        edges = {kind: network.edges(kind) for kind in EDGE_KINDS}
        again = ArrayNetwork(network.iris, arrays_of(network.iris, edges))
        for kind in EDGE_KINDS:
            assert columns(again.edges(kind)) == columns(network.edges(kind))
            for step, type_ in (("outgoing", kind.source), ("incoming", kind.target)):
                nodes = every(network, type_)
                one, other = (getattr(each, step)(kind, nodes) for each in (again, network))
                assert columns(one) == columns(other)
