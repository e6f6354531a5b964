"""Factors of edges in a round, against the formula written out in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.retrieval.network.edges import Network
from sarag_rdf.retrieval.network.kinds import RELATED_TO
from sarag_rdf.retrieval.network.spreading import Rates, spread_round
from sarag_rdf.retrieval.network.steering import EdgeFactors
from tests.retrieval.networks import ends_of, weighted
from tests.retrieval.test_spreading import linked

RATES = Rates(decay=0.4)
FACTOR = st.sampled_from([0.0, 0.5, 1.0, 2.0, 16.0])
DECAY = st.sampled_from([float("nan"), 0.0, 0.25, 1.0])


@st.composite
def steered(draw: st.DrawFn) -> tuple[Network, EdgeFactors]:
    network = draw(linked())
    count = len(network.relationships)
    network = weighted(network, draw(st.lists(st.floats(0, 1), min_size=count, max_size=count)))
    pairs = [st.lists(st.tuples(x, x), min_size=count, max_size=count) for x in (FACTOR, DECAY)]
    factor, decay = (np.array(draw(pair), dtype=float).reshape(count, 2) for pair in pairs)
    return network, EdgeFactors(factor, decay)


@given(steered())
def test_an_edge_passes_its_weight_times_its_factor(given: tuple[Network, EdgeFactors]) -> None:
    network, factors = given
    sources, seeds = {0: 1.0}, {len(network.entities) - 1: 0.7}
    plain = spread_round(network, sources, seeds, RATES)
    round_ = spread_round(network, sources, seeds, RATES, {RELATED_TO: factors})
    active = plain.initial + plain.before.sums()
    best: dict[tuple[int, int], float] = {}
    for place, (subject, object_) in enumerate(ends_of(network)):
        weight = float(network[RELATED_TO].weight[place])
        for way, (origin, target) in enumerate([(subject, object_), (object_, subject)]):
            decay = factors.decay[place, way]
            decay = RATES.decay if np.isnan(decay) else decay
            share = min(1.0, decay * weight * factors.factor[place, way])
            if origin != target:
                best[origin, target] = max(best.get((origin, target), 0.0), share)
    wanted = np.zeros(len(network.entities))
    for (origin, target), share in best.items():
        wanted[target] += share * active[origin] / network.frequencies[origin]
    np.testing.assert_allclose(round_.associations.sums(), wanted, atol=1e-12)


@given(linked(), st.data())
def test_neutral_factors_change_no_digit(network: Network, data: st.DataObject) -> None:
    count = len(network.relationships)
    weights = data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    network = weighted(network, weights)
    plain = spread_round(network, {0: 1.0}, {0: 0.7}, RATES)
    neutral = {RELATED_TO: EdgeFactors.neutral(count)}
    round_ = spread_round(network, {0: 1.0}, {0: 0.7}, RATES, neutral)
    for one, other in [
        (plain.entities, round_.entities),
        (plain.documents, round_.documents),
        (plain.associations.amount, round_.associations.amount),
        (plain.associations.statement, round_.associations.statement),
    ]:
        assert one.tolist() == other.tolist()
    assert set(round_.associations.factor.tolist()) <= {1.0}
