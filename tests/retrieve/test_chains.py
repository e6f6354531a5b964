"""Chains: every amount is exact, and each leads from a seed to what was activated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarag_rdf.network.edges import Network
from sarag_rdf.network.spreading import Rates, Round, Weigh, spread_round
from sarag_rdf.retrieve.explain import Hop, arrival, chain_to_document, chain_to_entity
from tests.network.test_network import pairs, rows
from tests.network.test_rounds import RATES, Case, cases, weigher


def in_rounds(
    network: Network,
    held: Mapping[int, float],
    seeds: Mapping[int, float],
    weigh: Weigh,
    rates: Rates,
    count: int,
) -> list[Round]:
    """Each round starts from the documents that the one before reached."""
    rounds: list[Round] = []
    for _ in range(count):
        rounds.append(spread_round(network, held, seeds, weigh, rates))
        held = {int(row): min(1.0, float(rounds[-1].documents[row])) for row in rounds[-1].reached}
        seeds = {}
    return rounds


def short(chain: Sequence[Hop]) -> list[tuple[int, int, int, int]]:
    return [(hop.stage, hop.origin, hop.target, hop.relationship) for hop in chain]


# ----------------------------------------------------------------------------- By hand

# Documents 0, 1, 2 describe entities 0-1, 1-2, 2-3, between which there are relationships of
# weight 1, .5 and 0; they are about 0, 1 and 2. Entities 1 and 2 have two documents, 0 and 3 one.
LINE = Network(
    ["a", "b", "c"],
    ["p", "q", "r", "s"],
    ["p-q", "q-r", "r-s"],
    pairs((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)),
    rows(0, 1, 2),
    pairs((0, 1), (1, 2), (2, 3)),
)
WEIGH = weigher([1.0, 0.5, 0.0])


def test_from_an_entity_over_two_rounds() -> None:
    rounds = in_rounds(LINE, {}, {0: 1.0}, WEIGH, RATES, 2)
    # Round 1: q = .5 * 1 * 1 = .5. Document 0 gets 1 * .8 from p; document 1, about q,
    # .5 / 2 * .8 = .2. Nothing comes to r, so nothing to document 2.
    chain = chain_to_document(LINE, rounds, 0, 1)
    assert short(chain) == [(2, 0, 1, 0), (3, 1, 1, -1)]
    assert [hop.weight for hop in chain] == pytest.approx([0.5, 0.4])
    assert [hop.amount for hop in chain] == pytest.approx([0.5, 0.2])
    assert [hop.activation for hop in chain] == pytest.approx([0.5, 0.2])
    assert chain_to_entity(LINE, rounds, 0, 0) == []
    assert rounds[0].reached.tolist() == [0, 1]
    # Round 2: document 0 gives .5 * .8 = .4 to p and q, document 1 .5 * .2 = .1 to q and r.
    # Then q holds .5, p .4, r .1; p gives q .5 * .4 = .2, q gives r .5 * .5 / 2 * .5 = .0625,
    # less than the .1, so r = .1625. Document 2: r / 2 * .8 = .065.
    chain = chain_to_document(LINE, rounds, 1, 2)
    assert short(chain) == [(2, 0, 1, 0), (3, 1, 1, -1), (4, 1, 2, -1), (6, 2, 2, -1)]
    assert [hop.weight for hop in chain] == pytest.approx([0.5, 0.4, 0.5, 0.4])
    assert [hop.amount for hop in chain] == pytest.approx([0.5, 0.2, 0.1, 0.065])
    assert [hop.activation for hop in chain] == pytest.approx([0.5, 0.2, 0.1, 0.065])
    # Document 1 hears from q, without its own .1, (.4 + .2 + ...) / 2: from document 0.
    chain = chain_to_document(LINE, rounds, 1, 1)
    assert short(chain) == [(3, 0, 0, -1), (4, 0, 1, -1), (6, 1, 1, -1)]
    # Of q, .4 came from document 0, more than the .2 over p.
    assert short(chain_to_entity(LINE, rounds, 1, 1)) == [(3, 0, 0, -1), (4, 0, 1, -1)]


def test_from_a_document() -> None:
    # Document 1 gives .5 to q and r. Over relationships: p .5 * 1 / 2 * .5 = .125 from q; q and
    # r .5 * .5 / 2 * .5 = .0625 from each other.
    rounds = in_rounds(LINE, {1: 1.0}, {}, WEIGH, RATES, 1)
    assert short(chain_to_entity(LINE, rounds, 0, 0)) == [(1, 1, 1, -1), (2, 1, 0, 0)]
    # Document 0, about p: p .125 * .8 = .1, more than q (.5 + .0625) / 2 * .2 = .05625.
    chain = chain_to_document(LINE, rounds, 0, 0)
    assert short(chain) == [(1, 1, 1, -1), (2, 1, 0, 0), (3, 0, 0, -1)]
    assert [hop.amount for hop in chain] == pytest.approx([0.5, 0.125, 0.1])
    # Document 1 hears from q only what came over r, not its own .5.
    chain = chain_to_document(LINE, rounds, 0, 1)
    assert short(chain) == [(1, 1, 2, -1), (2, 2, 1, 1), (3, 1, 1, -1)]
    assert arrival(LINE, rounds[0], 1) == pytest.approx((1, 0.5625, 0.5, 2, 0.8, 0.0625 / 2 * 0.8))
    assert arrival(LINE, rounds[0], 2) == pytest.approx((2, 0.5625, 0, 2, 0.8, 0.225))


def test_a_seed_that_a_document_gives_more() -> None:
    # q has .3 of its own, and .5 * 1 = .5 from document 0: its chain starts at document 0,
    # but for document 0 itself: that would be an echo.
    rounds = in_rounds(LINE, {0: 1.0}, {1: 0.3}, weigher([1.0, 0.0, 0.0]), RATES, 1)
    assert short(chain_to_entity(LINE, rounds, 0, 1)) == [(1, 0, 1, -1)]
    assert chain_to_entity(LINE, rounds, 0, 1, without=0) == []


# -------------------------------------------------------------------------- Of any network


def held_by_origin(network: Network, rounds: Sequence[Round], hop: Hop) -> float:
    """What the origin had to give."""
    number, kind = divmod(hop.stage - 1, 3)
    round_ = rounds[number]
    if kind == 0:
        return round_.held[hop.origin]
    if kind == 1:
        return float(round_.start[hop.origin])
    return min(1.0, float(round_.entities[hop.origin] - round_.given[hop.target]))


def check(
    network: Network, rounds: Sequence[Round], chain: Sequence[Hop], target: tuple[bool, int]
) -> None:
    """All that holds for a chain to a target: whether it is a document, and its row."""
    first = rounds[0]
    starts = {(True, row) for row in first.held} | {(False, row) for row in first.seeds}
    node = (chain[0].stage % 3 == 1, chain[0].origin) if chain else target
    assert node in starts
    holding = first.held[node[1]] if node[0] else 0.0
    before = 0
    for hop in chain:
        assert hop.stage > before
        before = hop.stage
        kind = hop.stage % 3
        assert (kind == 1, hop.origin) == node
        node = (kind == 0, hop.target)
        assert hop.amount > 0.0
        origin = held_by_origin(network, rounds, hop)
        assert math.isclose(hop.amount, hop.weight * origin, rel_tol=1e-9)
        assert hop.activation >= hop.amount * (1 - 1e-12)
        assert (hop.relationship >= 0) == (kind == 2)
        if kind != 0 and holding:  # What the hop before left the origin with.
            assert origin == pytest.approx(holding)
        holding = hop.activation
        round_ = rounds[(hop.stage - 1) // 3]
        if kind == 1:
            assert (network.described == (hop.origin, hop.target)).all(axis=1).any()
            assert hop.amount == round_.given[hop.origin]
            assert hop.activation == round_.start[hop.target]
        elif kind == 2:
            assert set(network.ends[hop.relationship].tolist()) == {hop.origin, hop.target}
            assert hop.activation == round_.entities[hop.target]
        else:
            assert hop.amount == hop.activation == round_.documents[hop.target]
    for one, other in pairwise(chain):
        echo = one.stage % 3 == 1 and other.stage % 3 == 0 and one.origin == other.target
        assert not echo
    assert node == target


@settings(max_examples=300)
@given(cases(), st.integers(1, 3))
def test_every_hop_of_every_chain_is_exact(case: Case, count: int) -> None:
    network, held, seeds, weights, rates = case
    rounds = in_rounds(network, held, seeds, weigher(weights), rates, count)
    for last, round_ in enumerate(rounds):
        for row in np.flatnonzero(round_.entities).tolist():
            check(network, rounds, chain_to_entity(network, rounds, last, row), (False, row))
        for row in round_.reached.tolist():
            chain = chain_to_document(network, rounds, last, row)
            check(network, rounds, chain, (True, row))
            assert chain[-1].stage == 3 * last + 3
            assert chain[-1].origin == round_.speakers[row]


@given(cases())
def test_the_largest_amount_leads_the_way(case: Case) -> None:
    network, held, seeds, weights, rates = case
    (round_,) = in_rounds(network, held, seeds, weigher(weights), rates, 1)
    for row in np.flatnonzero(round_.entities).tolist():
        chain = chain_to_entity(network, [round_], 0, row)
        amounts = [
            round_.seeds.get(row, 0.0),
            *round_.given[network.described[network.described[:, 1] == row, 0]].tolist(),
            *round_.links.amount[round_.links.target == row].tolist(),
        ]
        assert max(amounts) == (chain[-1].amount if chain else round_.seeds[row])


@given(cases())
def test_what_arrives_at_a_document(case: Case) -> None:
    network, held, seeds, weights, rates = case
    (round_,) = in_rounds(network, held, seeds, weigher(weights), rates, 1)
    for row in round_.reached.tolist():
        found = arrival(network, round_, row)
        assert found.share == (rates.about if network.topics[row] == found.entity else rates.aside)
        assert found.frequency == network.frequencies[found.entity]
        assert found.held == round_.entities[found.entity]
        amount = min(1.0, found.held - found.echo) / found.frequency * found.share
        assert found.amount == amount == round_.documents[row]
