"""Rounds over what they touch are those over the whole graph."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.retrieval.activation import Activation, Chains, Pass, Rates, Round, Spreading
from sarag_rdf.retrieval.network import ArrayNetwork, EdgeKind, Edges
from tests.retrieval.networks import as_dict, gate_of, network_of, rows

SHARES = st.floats(0.01, 1.0)


@st.composite
def linked(draw: st.DrawFn) -> ArrayNetwork:
    """At most 8 documents and 8 entities, one of them a hub; loops, parallel links, same ones."""
    documents, entities = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    document, entity = st.integers(0, documents - 1), st.integers(0, entities - 1)
    hub = st.one_of(st.just(0), entity)
    described = sorted(draw(st.sets(st.tuples(document, hub), max_size=20)))
    ends = draw(st.lists(st.tuples(hub, entity), max_size=14))
    same = sorted(draw(st.sets(st.tuples(entity, entity), max_size=3)))
    topics = dict(described)
    return network_of(
        [f"d{n}" for n in range(documents)],
        [f"e{n}" for n in range(entities)],
        [f"r{n:02}" for n in range(len(ends))],
        described,
        [topics.get(n, -1) if draw(st.booleans()) else -1 for n in range(documents)],
        ends,
        [pair for pair in same if pair[0] < pair[1]],
    )


class WholeNetwork(ArrayNetwork):
    """Every step gives all edges, of which those without an active end pass nothing."""

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        return Edges.union(self.edges(kind))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        return self.outgoing(kind, targets)

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        return self.outgoing(kind, nodes)


def columns(passed: Pass) -> list[tuple[object, ...]]:
    found = (*passed.edges.columns(), passed.weight, passed.factor, passed.amount)
    return list(zip(passed.kind, *(column.tolist() for column in found), strict=True))


def values(round_: Round) -> list[object]:
    active = (round_.sources, round_.seeds, *round_.levels)
    return [*map(as_dict, active), *map(columns, round_.passes)]


@given(linked(), st.data(), st.integers(1, 3), st.integers(1, 4))
def test_edges_that_are_not_reached_change_nothing(
    network: ArrayNetwork, data: st.DataObject, count: int, beam: int
) -> None:
    document = st.integers(0, len(network.iris.documents) - 1)
    entity = st.integers(0, len(network.iris.entities) - 1)
    sources = Activation.of(data.draw(st.dictionaries(document, SHARES, max_size=3)))
    seeds = Activation.of(data.draw(st.dictionaries(entity, SHARES, max_size=2)))
    weight = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    gate = gate_of([data.draw(weight) for _ in network.iris.relationships])
    whole = WholeNetwork.of(network.iris, {kind: network.edges(kind) for kind in network.kinds})
    rounds, others = (
        Spreading(each, gate, Rates(decay=0.4)).rounds(sources, seeds, count, beam)
        for each in (network, whole)
    )
    assert list(map(values, rounds)) == list(map(values, others))
    for round_, following in pairwise(rounds):
        assert as_dict(following.sources) == as_dict(round_.documents.best(beam))
        assert not len(following.seeds.rows)


def test_no_more_is_read_than_a_round_can_reach() -> None:
    # d0 - e0 = e1 - d1, with a link of weight 0 from e1 to e2, which d2 describes.
    network = network_of(
        ["d0", "d1", "d2"],
        ["e0", "e1", "e2"],
        ["r0", "r1"],
        [(0, 0), (1, 1), (2, 2)],
        [-1, -1, -1],
        [(0, 1), (1, 2)],
    )
    weighed: set[int] = set()

    def gate(statements: Rows) -> Floats:
        weighed.update(statements.tolist())
        return np.array([0.5, 0.0])[statements]

    seeds = Activation.of({})
    one, *_ = Spreading(network, gate).rounds(Activation.of({0: 1.0}), seeds, 1, 2)
    assert weighed == {0}
    assert one.documents.rows.tolist() == [1]
    rounds = Spreading(network, gate).rounds(Activation.of({0: 1.0}), seeds, 3, 2)
    assert [round_.entities.rows.tolist() for round_ in rounds] == [[0, 1]] * 3
    assert [round_.documents.rows.tolist() for round_ in rounds] == [[1], [0], [1]]


# ------------------------------------------------------------------- Another kind of edge

INSTANCE_OF = EdgeKind(
    "instance_of",
    "entity",
    "entity",
    "https://example.org/instanceOf",
    "instances",
    weight=0.5,
)
"""Entities and their classes, which are entities: a kind without statements."""


def test_activation_spreads_over_any_kind_of_edge_between_entities() -> None:
    # d0 - e0; e0 is an instance of e1 and related to e2 with a weight of .3, both described by d1.
    plain = network_of(
        ["d0", "d1"],
        ["e0", "e1", "e2"],
        ["r0", "r1"],
        [(0, 0), (1, 1), (1, 2)],
        [0, 2],
        [(2, 0), (0, 1)],
    )
    edges = {kind: plain.edges(kind) for kind in plain.kinds}
    network = ArrayNetwork.of(plain.iris, {**edges, INSTANCE_OF: Edges.of([0], [1])})
    spreading = Spreading(network, gate_of([0.3, 0.2]))
    rounds = spreading.rounds(Activation.of({}), Activation.of({0: 1.0}), 1, 1)
    # Of the two edges between e0 and e1, the class is the stronger: .15 * .5; to e2 .15 * .3.
    assert as_dict(rounds[0].entities) == pytest.approx({0: 1.0, 1: 0.075, 2: 0.045})
    # To d1 from e2, its topic: .045 * .7; from e1 .075 * .2.
    assert as_dict(rounds[0].documents) == pytest.approx({0: 0.7, 1: 0.0315})
    chains = Chains(spreading, rounds)
    [(step,), second] = chains.to_entities(rows(1, 2))
    assert (step.kind, step.relationship) == ("instance_of", INSTANCE_OF.predicate)
    assert step.weight == pytest.approx(0.075)
    assert [step.kind for step in second] == ["related_to"]
