"""One round of activation: by hand, and against its formulas written out in plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import Rows
from sarag_rdf.retrieval.activation import Rates
from sarag_rdf.retrieval.network import ABOUT, RELATED_TO, ArrayNetwork
from tests.retrieval.networks import (
    DenseRound,
    described_pairs,
    ends_of,
    network_of,
    one_round,
    rows,
)
from tests.retrieval.test_network import EMPTY, networks

RATES = Rates(decay=0.5, topic_weight=0.8, mention_weight=0.2)


# ----------------------------------------------------------------------------- By hand

A, B, C, D = range(4)
P, Q, R, X = range(4)
# Document a is about p and describes q too, b is about r and describes q, c describes q and is
# about nothing, d describes nothing. So p and r have one document, q has three; x has none, which
# counts as one.
NETWORK = network_of(
    ["a", "b", "c", "d"],
    ["p", "q", "r", "x"],
    ["0", "1", "2", "3", "4", "5"],
    described=[(A, P), (A, Q), (B, Q), (B, R), (C, Q)],
    topics=[P, R, -1, -1],
    # Two relationships of p and q, one each way; a loop.
    ends=[(P, Q), (Q, P), (Q, Q), (Q, R), (X, Q), (R, P)],
)
WEIGHTS = [0.5, 1.0, 0.8, 0.4, 0.6, 0.2]


def test_a_round() -> None:
    found = one_round(NETWORK, WEIGHTS, {A: 1.0, C: 0.5}, {Q: 0.3}, RATES)
    # a gives .5 * 1 to p and to q, c .5 * .5 to q.
    assert found.outgoing.tolist() == pytest.approx([0.5, 0, 0.25, 0])
    # q = .3 + .5 + .25.
    assert found.initial.tolist() == pytest.approx([0.5, 1.05, 0, 0])
    # Of p and q the stronger relationship carries, both ways: .5 * 1 * .5 = .25 to q, and
    # .5 * 1 * 1.05 / 3 = .175 to p, as three documents describe q. q to r:
    # .5 * .4 * 1.05 / 3 = .07; q to x: .5 * .6 * 1.05 / 3 = .105; p to r:
    # .5 * .2 * .5 = .05. Nothing over the loop; nothing from r and x, which held nothing.
    links = found.associations
    carried = dict(
        zip(
            zip(links.edges.source.tolist(), links.edges.target.tolist(), strict=True),
            zip(
                links.edges.statement.tolist(), links.weight.tolist(), links.amount.tolist(),
                strict=True,
            ),
            strict=True,
        )
    )  # fmt: skip
    wanted = {
        (P, Q): (1, 0.5, 0.25),
        (Q, P): (1, 0.5 / 3, 0.175),
        (Q, R): (3, 0.2 / 3, 0.07),
        (Q, X): (4, 0.1, 0.105),
        (P, R): (5, 0.1, 0.05),
    }
    assert carried.keys() == wanted.keys()
    for ends, values in wanted.items():
        assert carried[ends] == pytest.approx(values)
    # p = .5 + .175, q = 1.05 + .25, r = .05 + .07.
    assert found.entities.tolist() == pytest.approx([0.675, 1.3, 0.12, 0.105])
    # a: p without a's own .5, .175 * .8 = .14, more than q's (1.3 - .5) / 3 * .2 = .0533.
    # b: r's .12 * .8 = .096, more than q's min(1, 1.3) / 3 * .2 = .0667.
    # c: q's 1.3 - .25 = 1.05 counts as 1: 1 / 3 * .2. d describes nothing.
    assert found.documents.tolist() == pytest.approx([0.14, 0.096, 1 / 3 * 0.2, 0])
    assert found.top_contributors.tolist() == [P, R, Q, -1]
    assert found.reached.tolist() == [A, B, C]
    assert (found.sources, found.seeds, found.rates) == ({A: 1.0, C: 0.5}, {Q: 0.3}, RATES)


def test_a_document_hears_no_echo() -> None:
    # a gives .5 to p and to q, c nothing to a: only b and c hear of q, .5 / 3 * .2.
    found = one_round(NETWORK, [0.0] * 6, {A: 1.0}, {}, RATES)
    assert found.entities.tolist() == pytest.approx([0.5, 0.5, 0, 0])
    assert found.documents.tolist() == pytest.approx([0, 0.1 / 3, 0.1 / 3, 0])
    assert found.top_contributors.tolist() == [-1, Q, Q, -1]


def test_relationships_of_no_weight_carry_nothing() -> None:
    found = one_round(NETWORK, [0.0] * 6, {C: 1.0}, {P: 1.0}, RATES)
    assert len(found.associations.amount) == 0
    assert found.initial.tolist() == found.entities.tolist() == [1.0, 0.5, 0.0, 0.0]


def test_without_decay_only_seeds_are_active() -> None:
    rates = Rates(decay=0.0, topic_weight=0.8, mention_weight=0.2)
    found = one_round(NETWORK, [1.0] * 6, {A: 1.0, B: 1.0}, {R: 0.5}, rates)
    assert found.entities.tolist() == [0, 0, 0.5, 0]
    assert found.documents.tolist() == [0, 0.4, 0, 0]
    assert not found.outgoing.any()


def test_ties_go_to_the_lowest_row() -> None:
    # Two seeds of one document each, which both describe it aside; two relationships of one
    # weight between them.
    network = network_of(
        ["a"],
        ["p", "q"],
        ["0", "1", "2"],
        [(0, 0), (0, 1)],
        [-1],
        [(1, 0), (0, 1), (0, 1)],
    )
    found = one_round(network, [0.4, 0.8, 0.8], {}, {1: 0.5, 0: 0.5}, RATES)
    # Each gives the other .5 * .8 * .5 = .2, then .7 * .2 to the document.
    assert found.documents.tolist() == pytest.approx([0.14])
    assert found.top_contributors.tolist() == [0]
    assert found.associations.edges.statement.tolist() == [1, 1]


def test_nothing_spreads_from_nothing() -> None:
    for network in (EMPTY, NETWORK):
        found = one_round(network, WEIGHTS, {}, {}, RATES)
        assert (
            found.documents.shape == found.top_contributors.shape == (len(network.iris.documents),)
        )
        assert found.entities.shape == found.initial.shape == (len(network.iris.entities),)
        assert not found.documents.any()
        assert not found.entities.any()
        assert (found.top_contributors == -1).all()
        assert found.reached.tolist() == found.associations.edges.source.tolist() == []


# ------------------------------------------------------------------------ In plain Python

shares = st.floats(0.01, 1.0)
Case = tuple[ArrayNetwork, dict[int, float], dict[int, float], list[float], Rates]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A network, what documents and entities hold, weights (some 0, some equal), and rates."""
    network = draw(networks())
    sources = st.dictionaries(st.integers(0, len(network.iris.documents) - 1), shares, max_size=4)
    seeds = st.dictionaries(st.integers(0, len(network.iris.entities) - 1), shares, max_size=3)
    weight = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
    count = len(network.iris.relationships)
    rate = st.floats(0.0, 1.0)
    return (
        network,
        draw(sources),
        draw(seeds),
        draw(st.lists(weight, min_size=count, max_size=count)),
        Rates(draw(st.floats(0.01, 1.0)), draw(rate), draw(rate)),
    )


def plainly(
    network: ArrayNetwork,
    sources: Mapping[int, float],
    seeds: Mapping[int, float],
    weights: Sequence[float],
    rates: Rates,
) -> tuple[dict[int, float], dict[int, dict[int, float]]]:
    """Activation of entities, and what each of its entities would give to each document."""
    described, about = described_pairs(network), network.edges(ABOUT).pairs().tolist()
    frequency = {
        e: max(1, sum(other == e for _, other in described))
        for e in range(len(network.iris.entities))
    }
    strongest: defaultdict[tuple[int, int], float] = defaultdict(float)
    for (s, o), w in zip(ends_of(network), weights, strict=True):
        if s != o:
            for pair in ((s, o), (o, s)):
                strongest[pair] = max(strongest[pair], w)
    given = {d: rates.decay * sources.get(d, 0.0) for d in range(len(network.iris.documents))}
    start = {
        e: seeds.get(e, 0.0) + sum(given[d] for d, other in described if other == e)
        for e in frequency
    }
    entities = {
        e: start[e]
        + sum(rates.decay * strongest[e, f] * start[f] / frequency[f] for f in frequency)
        for e in frequency
    }
    arriving: dict[int, dict[int, float]] = {d: {} for d in range(len(network.iris.documents))}
    for d, e in described:
        share = rates.topic_weight if [d, e] in about else rates.mention_weight
        arriving[d][e] = min(1.0, entities[e] - given[d]) / frequency[e] * share
    return entities, arriving


@given(cases())
def test_it_is_what_the_formulas_say(case: Case) -> None:
    network, sources, seeds, weights, rates = case
    found = one_round(network, weights, sources, seeds, rates)
    entities, arriving = plainly(network, sources, seeds, weights, rates)
    assert dict(enumerate(found.entities.tolist())) == pytest.approx(entities, abs=1e-9)
    for document, amounts in arriving.items():
        most = max(amounts.values(), default=0.0)
        assert found.documents[document] == pytest.approx(most, abs=1e-9)
        speaker = int(found.top_contributors[document])
        assert (speaker >= 0) == (found.documents[document] > 0.0)
        if speaker >= 0:
            assert amounts[speaker] == pytest.approx(most, abs=1e-9)


@given(cases())
def test_every_link_carried_what_it_says(case: Case) -> None:
    network, sources, seeds, weights, rates = case
    found = one_round(network, weights, sources, seeds, rates)
    links = found.associations
    ways = list(zip(links.edges.source.tolist(), links.edges.target.tolist(), strict=True))
    assert len(ways) == len(set(ways))
    ends = ends_of(network)
    for row, (origin, target) in enumerate(ways):
        parallel = [r for r, pair in enumerate(ends) if set(pair) == {origin, target}]
        best = max(parallel, key=lambda r: (weights[r], -r))
        assert (links.edges.statement[row], origin != target) == (best, True)
        share = rates.decay / network.frequencies(rows(origin))[0]
        assert links.weight[row] == pytest.approx(weights[best] * share)
        assert links.amount[row] == links.weight[row] * found.initial[origin] > 0.0


@given(cases(), st.randoms(use_true_random=False))
def test_no_order_matters(case: Case, chance: random.Random) -> None:
    """Renaming everything, which also sorts it otherwise, renames the result."""
    network, sources, seeds, weights, rates = case
    plain = one_round(network, weights, sources, seeds, rates)
    orders = []
    for nodes in (network.iris.documents, network.iris.entities, network.iris.relationships):
        order = list(range(len(nodes)))
        chance.shuffle(order)
        orders.append(rows(*order))
    document, entity, relationship = orders
    moved = _renamed(network, *orders)
    other = one_round(
        moved,
        np.array(weights)[np.argsort(relationship)].tolist(),
        {int(document[row]): value for row, value in reversed(sources.items())},
        {int(entity[row]): value for row, value in reversed(seeds.items())},
        rates,
    )
    np.testing.assert_allclose(other.documents[document], plain.documents, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.entities[entity], plain.entities, rtol=0, atol=1e-12)


def _renamed(
    network: ArrayNetwork, document: Rows, entity: Rows, relationship: Rows
) -> ArrayNetwork:
    """The network with new rows: `document[i]` is the new row of document i, and so on."""
    back, topics = np.argsort(relationship), dict(network.edges(ABOUT).pairs().tolist())
    ends = network.edges(RELATED_TO).pairs()[back].tolist()
    return network_of(
        network.iris.documents,
        network.iris.entities,
        network.iris.relationships,
        [(int(document[d]), int(entity[e])) for d, e in described_pairs(network)],
        [int(entity[topics[d]]) if d in topics else -1 for d in np.argsort(document).tolist()],
        [(int(entity[s]), int(entity[o])) for s, o in ends],
    )


def test_the_same_round_twice() -> None:
    def once() -> DenseRound:
        return one_round(NETWORK, WEIGHTS, {A: 0.7, B: 0.1}, {X: 0.9}, RATES)

    one, other = once(), once()
    assert one.documents.tobytes() == other.documents.tobytes()
    assert one.entities.tobytes() == other.entities.tobytes()
    assert one.associations.amount.tobytes() == other.associations.amount.tobytes()
