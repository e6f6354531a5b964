"""The two largest amounts of each node, against a plain sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.retrieval.network.spreading import Largest

AMOUNTS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.tuples(st.integers(0, 4), AMOUNTS), max_size=25))
def test_they_are_those_of_a_sort(brought: list[tuple[int, float]]) -> None:
    nodes = np.array([node for node, _ in brought], dtype=np.int64)
    amounts = np.array([amount for _, amount in brought], dtype=np.float64)
    found = Largest(nodes, amounts, 5)
    for node in range(5):
        some = [(-a, place) for place, (n, a) in enumerate(brought) if n == node and a]
        best = [place for _, place in sorted(some)] + [-1, -1]
        assert [found.first(node), found.second(node)] == best[:2]
