"""Factors of edges in a round, against the formula written out in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.retrieval.activation import EdgeFactors, Rates
from sarag_rdf.retrieval.network import ArrayNetwork
from tests.retrieval.networks import ends_of, every, one_round, rows
from tests.retrieval.test_spreading import linked

Steered = tuple[ArrayNetwork, list[float], EdgeFactors]

RATES = Rates(decay=0.4)
FACTOR = st.sampled_from([0.0, 0.5, 1.0, 2.0, 16.0])
DECAY = st.sampled_from([float("nan"), 0.0, 0.25, 1.0])


@st.composite
def steered(draw: st.DrawFn) -> Steered:
    network = draw(linked())
    count = len(network.iris.relationships)
    weights = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    pairs = [st.lists(st.tuples(x, x), min_size=count, max_size=count) for x in (FACTOR, DECAY)]
    factor, decay = (np.array(draw(pair), dtype=float).reshape(count, 2) for pair in pairs)
    return network, weights, EdgeFactors(factor, decay)


@given(steered())
def test_an_edge_passes_its_weight_times_its_factor(case: Steered) -> None:
    network, weights, factors = case
    entities = every(network)
    sources, seeds = {0: 1.0}, {len(entities) - 1: 0.7}
    round_ = one_round(network, weights, sources, seeds, RATES, factors)
    active = round_.initial + round_.round.passes[1].arrived.at(entities)
    best: dict[tuple[int, int], float] = {}
    for place, (subject, object_) in enumerate(ends_of(network)):
        for way, (origin, target) in enumerate([(subject, object_), (object_, subject)]):
            decay = factors.decay[place, way]
            decay = RATES.decay if np.isnan(decay) else decay
            share = min(1.0, decay * weights[place] * factors.factor[place, way])
            if origin != target:
                best[origin, target] = max(best.get((origin, target), 0.0), share)
    expected = np.zeros(len(entities))
    for (origin, target), share in best.items():
        expected[target] += share * active[origin] / network.frequencies(rows(origin))[0]
    np.testing.assert_allclose(round_.associations.arrived.at(entities), expected, atol=1e-12)


@given(linked(), st.data())
def test_neutral_factors_change_no_digit(network: ArrayNetwork, data: st.DataObject) -> None:
    count = len(network.iris.relationships)
    weights = data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    plain = one_round(network, weights, {0: 1.0}, {0: 0.7}, RATES)
    round_ = one_round(network, weights, {0: 1.0}, {0: 0.7}, RATES, EdgeFactors.neutral(count))
    for one, other in [
        (plain.entities, round_.entities),
        (plain.documents, round_.documents),
        (plain.associations.amount, round_.associations.amount),
        (plain.associations.edges.statement, round_.associations.edges.statement),
    ]:
        assert one.tolist() == other.tolist()
    assert set(round_.associations.factor.tolist()) <= {1.0}
