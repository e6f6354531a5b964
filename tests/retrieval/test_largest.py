"""The largest amounts that nodes got, against a plain sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.retrieval.activation import Activation, Pass
from sarag_rdf.retrieval.network import RELATED_TO, Edges

AMOUNTS = st.sampled_from([0.25, 0.5, 1.0])


@given(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), AMOUNTS, max_size=25))
def test_they_are_those_of_a_sort(amounts: dict[tuple[int, int], float]) -> None:
    edges = Edges.of([s for s, _ in amounts], [t for _, t in amounts])
    weight = np.array([amounts[s, t] for s, t in edges.pairs().tolist()])
    kind, one = np.full(len(edges), RELATED_TO), np.ones(len(edges))
    active = Activation.of(dict.fromkeys(range(5), 1.0))
    passed = Pass.over(kind, edges, active, weight, one)
    for node in range(5):
        to_node = [(-a, s) for (s, t), a in amounts.items() if t == node]
        best = [source for _, source in sorted(to_node)] + [-1, -1]
        first = passed.largest(node)
        assert (int(edges.source[first]) if first >= 0 else -1) == best[0]
        second = passed.largest(node, without=best[0])
        assert (int(edges.source[second]) if second >= 0 else -1) == best[1]
