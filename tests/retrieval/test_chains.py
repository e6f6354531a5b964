"""Chains: every amount is exact, and each leads from a seed to what was activated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.types import Step
from sarag_rdf.retrieval.activation import Chain, Chains, Rates
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES, RELATED_TO, ArrayNetwork
from tests.retrieval.networks import (
    DenseRound,
    described_pairs,
    ends_of,
    network_of,
    one_round,
    rows,
    spreading,
)
from tests.retrieval.test_rounds import RATES, Case, cases


def in_rounds(
    network: ArrayNetwork,
    sources: Mapping[int, float],
    seeds: Mapping[int, float],
    weights: Sequence[float],
    rates: Rates,
    count: int,
) -> list[DenseRound]:
    """Each round starts from the documents that the one before reached."""
    rounds: list[DenseRound] = []
    for _ in range(count):
        rounds.append(one_round(network, weights, sources, seeds, rates))
        sources = {
            int(row): min(1.0, float(rounds[-1].documents[row])) for row in rounds[-1].reached
        }
        seeds = {}
    return rounds


def chains(rounds: Sequence[DenseRound]) -> Chains:
    network, rates = rounds[0].network, rounds[0].rates
    return Chains(spreading(network, (), rates), [round_.round for round_ in rounds])


def chain_to_document(rounds: Sequence[DenseRound], last: int, document: int) -> Chain:
    """The chain to a document in round `last`, from 0."""
    return chains(rounds).to(document, last, (4,))


def chain_to_entity(
    rounds: Sequence[DenseRound], last: int, entity: int, *, without: int = -1
) -> Chain:
    """The chain to an entity in round `last`, without what this document passed to it."""
    return chains(rounds).to(entity, last, range(4), without)


def row_of(network: ArrayNetwork, node: str, type_: str) -> int:
    return list(network.iris.documents if type_ == "document" else network.iris.entities).index(
        node
    )


def ends(network: ArrayNetwork, step: Step) -> tuple[int, int]:
    """The rows of a step's nodes."""
    origin = row_of(network, step.origin, step.origin_type)
    return origin, row_of(network, step.target, step.target_type)


def relationship(network: ArrayNetwork, step: Step) -> int:
    """The row of the relationship of a step, or -1."""
    known = list(network.iris.relationships)
    return known.index(step.relationship) if step.relationship in known else -1


def short(chain: Sequence[Step]) -> list[tuple[int, int, int, int]]:
    return [(step.round, *ends(LINE, step), relationship(LINE, step)) for step in chain]


# ----------------------------------------------------------------------------- By hand

# Documents 0, 1, 2 describe entities 0-1, 1-2, 2-3, between which there are relationships of
# weight 1, .5 and 0; they are about 0, 1 and 2. Entities 1 and 2 have two documents, 0 and 3 one.
LINE = network_of(
    ["a", "b", "c"],
    ["p", "q", "r", "s"],
    ["p-q", "q-r", "r-s"],
    [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)],
    [0, 1, 2],
    [(0, 1), (1, 2), (2, 3)],
)
WEIGHTS = [1.0, 0.5, 0.0]


def test_from_an_entity_over_two_rounds() -> None:
    rounds = in_rounds(LINE, {}, {0: 1.0}, WEIGHTS, RATES, 2)
    # Round 1: q = .5 * 1 * 1 = .5. Document 0 gets 1 * .8 from p; document 1, about q,
    # .5 / 2 * .8 = .2. Nothing comes to r, so nothing to document 2.
    chain = chain_to_document(rounds, 0, 1)
    assert short(chain) == [(2, 0, 1, 0), (3, 1, 1, -1)]
    assert [step.weight for step in chain] == pytest.approx([0.5, 0.4])
    assert [step.amount for step in chain] == pytest.approx([0.5, 0.2])
    assert [step.activation for step in chain] == pytest.approx([0.5, 0.2])
    assert chain_to_entity(rounds, 0, 0) == ()
    assert rounds[0].reached.tolist() == [0, 1]
    # Round 2: document 0 gives .5 * .8 = .4 to p and q, document 1 .5 * .2 = .1 to q and r.
    # Then q holds .5, p .4, r .1; p gives q .5 * .4 = .2, q gives r .5 * .5 / 2 * .5 = .0625,
    # less than the .1, so r = .1625. Document 2: r / 2 * .8 = .065.
    chain = chain_to_document(rounds, 1, 2)
    assert short(chain) == [(2, 0, 1, 0), (3, 1, 1, -1), (4, 1, 2, -1), (6, 2, 2, -1)]
    assert [step.weight for step in chain] == pytest.approx([0.5, 0.4, 0.5, 0.4])
    assert [step.amount for step in chain] == pytest.approx([0.5, 0.2, 0.1, 0.065])
    assert [step.activation for step in chain] == pytest.approx([0.5, 0.2, 0.1, 0.065])
    # Document 1 hears from q, without its own .1, (.4 + .2 + ...) / 2: from document 0.
    chain = chain_to_document(rounds, 1, 1)
    assert short(chain) == [(3, 0, 0, -1), (4, 0, 1, -1), (6, 1, 1, -1)]
    # Of q, .4 came from document 0, more than the .2 over p.
    assert short(chain_to_entity(rounds, 1, 1)) == [(3, 0, 0, -1), (4, 0, 1, -1)]


def test_from_a_document() -> None:
    # Document 1 gives .5 to q and r. Over relationships: p .5 * 1 / 2 * .5 = .125 from q; q and
    # r .5 * .5 / 2 * .5 = .0625 from each other.
    rounds = in_rounds(LINE, {1: 1.0}, {}, WEIGHTS, RATES, 1)
    assert short(chain_to_entity(rounds, 0, 0)) == [(1, 1, 1, -1), (2, 1, 0, 0)]
    # Document 0, about p: p .125 * .8 = .1, more than q (.5 + .0625) / 2 * .2 = .05625.
    chain = chain_to_document(rounds, 0, 0)
    assert short(chain) == [(1, 1, 1, -1), (2, 1, 0, 0), (3, 0, 0, -1)]
    assert [step.amount for step in chain] == pytest.approx([0.5, 0.125, 0.1])
    # Document 1 hears from q only what came over r, not its own .5.
    chain = chain_to_document(rounds, 0, 1)
    assert short(chain) == [(1, 1, 2, -1), (2, 2, 1, 1), (3, 1, 1, -1)]
    (one,), (two,) = (chains(rounds).arrivals(document) for document in (1, 2))
    assert (one.round, one.entity, one.frequency, one.kind) == (1, "q", 2, "about")
    numbers = (one.activation, one.echo, one.weight, one.amount)
    assert numbers == pytest.approx((0.5625, 0.5, 0.8, 0.0625 / 2 * 0.8))
    assert (two.entity, two.frequency, two.kind) == ("r", 2, "about")
    numbers = (two.activation, two.echo, two.weight, two.amount)
    assert numbers == pytest.approx((0.5625, 0, 0.8, 0.225))


def test_a_seed_that_a_document_gives_more() -> None:
    # q has .3 of its own, and .5 * 1 = .5 from document 0: its chain starts at document 0,
    # but for document 0 itself: that would be an echo.
    rounds = in_rounds(LINE, {0: 1.0}, {1: 0.3}, [1.0, 0.0, 0.0], RATES, 1)
    assert short(chain_to_entity(rounds, 0, 1)) == [(1, 0, 1, -1)]
    assert chain_to_entity(rounds, 0, 1, without=0) == ()


# -------------------------------------------------------------------------- Of any network


def active_at_origin(network: ArrayNetwork, rounds: Sequence[DenseRound], step: Step) -> float:
    """The activation that the origin passed a part of."""
    round_, (origin, target) = rounds[(step.round - 1) // 3], ends(network, step)
    if step.origin_type == "document":
        return round_.sources[origin]
    if step.target_type == "entity":
        return float(round_.initial[origin])
    return min(1.0, float(round_.entities[origin] - round_.outgoing[target]))


def check(
    network: ArrayNetwork,
    rounds: Sequence[DenseRound],
    chain: Sequence[Step],
    target: tuple[str, int],
) -> None:
    """All that holds for a chain to a target, given by its type and row."""
    first = rounds[0]
    starts = {("document", row) for row in first.sources} | {("entity", row) for row in first.seeds}
    node = (chain[0].origin_type, ends(network, chain[0])[0]) if chain else target
    assert node in starts
    activation = first.sources[node[1]] if node[0] == "document" else 0.0
    before = 0
    types = {1: ("document", "entity"), 2: ("entity", "entity"), 0: ("entity", "document")}
    for step in chain:
        assert step.round > before
        before = step.round
        row, target_row = ends(network, step)
        assert (step.origin_type, row) == node
        assert (step.origin_type, step.target_type) == types[step.round % 3]
        node = (step.target_type, target_row)
        assert step.amount > 0.0
        origin = active_at_origin(network, rounds, step)
        assert math.isclose(step.amount, step.weight * origin, rel_tol=1e-9)
        assert step.activation >= step.amount * (1 - 1e-12)
        between = step.round % 3 == 2
        assert step.kind == (RELATED_TO if between else DESCRIBES).name
        assert (relationship(network, step) >= 0) == between
        if step.target_type == "entity" and activation:  # As the step before left the origin.
            assert origin == pytest.approx(activation)
        activation = step.activation
        round_ = rounds[(step.round - 1) // 3]
        if step.origin_type == "document":
            assert (row, target_row) in described_pairs(network)
            assert step.amount == round_.outgoing[row]
            assert step.activation == round_.initial[target_row]
        elif between:
            assert set(ends_of(network)[relationship(network, step)]) == {row, target_row}
            assert step.activation == round_.entities[target_row]
        else:
            assert (target_row, row) in described_pairs(network)
            assert step.amount == step.activation == round_.documents[target_row]
    for one, other in pairwise(chain):
        assert not (one.round % 3 == 1 and other.round % 3 == 0 and one.origin == other.target)
    assert node == target


@given(cases(), st.integers(1, 3))
def test_every_step_of_every_chain_is_exact(case: Case, count: int) -> None:
    network, sources, seeds, weights, rates = case
    rounds = in_rounds(network, sources, seeds, weights, rates, count)
    for last, round_ in enumerate(rounds):
        for row in np.flatnonzero(round_.entities).tolist():
            check(network, rounds, chain_to_entity(rounds, last, row), ("entity", row))
        for row in round_.reached.tolist():
            chain = chain_to_document(rounds, last, row)
            check(network, rounds, chain, ("document", row))
            assert chain[-1].round == 3 * last + 3
            assert chain[-1].origin == network.iris.entities[round_.top_contributors[row]]


@given(cases())
def test_the_largest_amount_leads_the_way(case: Case) -> None:
    network, sources, seeds, weights, rates = case
    (round_,) = in_rounds(network, sources, seeds, weights, rates, 1)
    for row in np.flatnonzero(round_.entities).tolist():
        chain = chain_to_entity([round_], 0, row)
        amounts = [
            round_.seeds.get(row, 0.0),
            *(round_.outgoing[d] for d, e in described_pairs(network) if e == row),
            *round_.associations.amount[round_.associations.edges.target == row].tolist(),
        ]
        assert max(amounts) == (chain[-1].amount if chain else round_.seeds[row])


@given(cases())
def test_the_largest_contribution_to_a_document(case: Case) -> None:
    network, sources, seeds, weights, rates = case
    (round_,) = in_rounds(network, sources, seeds, weights, rates, 1)
    for row in round_.reached.tolist():
        (found,) = chains([round_]).arrivals(row)
        entity = row_of(network, found.entity, "entity")
        is_about = [row, entity] in network.edges(ABOUT).pairs().tolist()
        assert found.weight == (rates.topic_weight if is_about else rates.mention_weight)
        assert found.kind == ("about" if is_about else "describes")
        assert found.frequency == network.frequencies(rows(entity))[0]
        assert found.activation == round_.entities[entity]
        amount = min(1.0, found.activation - found.echo) / found.frequency * found.weight
        assert found.amount == amount == round_.documents[row]
