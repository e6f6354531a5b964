"""Calibrated similarities do not depend on where an embedder's cosines lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sarag_rdf.retrieval.sarag import calibrated

cosines = st.lists(st.floats(-1.0, 1.0, allow_subnormal=False), min_size=2, max_size=30)
quantiles = st.sampled_from([0.0, 0.5, 0.9, 0.98])


@given(cosines, quantiles, st.floats(0.05, 5.0), st.floats(-1.0, 1.0))
def test_an_affine_change_of_all_similarities_changes_nothing(
    values: list[float], q: float, factor: float, shift: float
) -> None:
    assume(max(values) - np.quantile(values, q) > 0.01)
    wanted = calibrated(np.asarray(values), float(np.quantile(values, q)), max(values))
    # The cosines of many embedders lie between .6 and 1: x -> .8 + .2 x puts all of them there.
    for a, b in ((0.2, 0.8), (factor, shift)):
        moved = [a * value + b for value in values]
        found = calibrated(np.asarray(moved), float(np.quantile(moved, q)), max(moved))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


@given(cosines, quantiles)
def test_bounds_and_order(values: list[float], q: float) -> None:
    found = calibrated(np.asarray(values), float(np.quantile(values, q)), max(values))
    assert found.shape == (len(values),)
    assert found.dtype == np.float64
    assert 0.0 <= found.min() <= found.max() <= 1.0
    for before, after in zip(sorted(values), found[np.argsort(values)], strict=True):
        assert after == 0.0 or before > np.quantile(values, q)
    assert list(np.sort(found)) == list(found[np.argsort(values, kind="stable")])


def test_worked_example() -> None:
    # Floor .2 and ceiling .6: (.3 - .2) / .4 = .25, (.5 - .2) / .4 = .75.
    values = np.asarray([-0.5, 0.2, 0.3, 0.5, 0.6, 0.9], dtype=np.float32)
    np.testing.assert_allclose(calibrated(values, 0.2, 0.6), [0, 0, 0.25, 0.75, 1, 1], atol=1e-6)


@pytest.mark.parametrize("ceiling", [0.5, 0.4, float("nan")])
def test_a_ceiling_that_is_not_above_the_floor_gives_zeros(ceiling: float) -> None:
    found = calibrated(np.asarray([0.1, 0.5, 0.9], dtype=np.float32), 0.5, ceiling)
    assert found.tolist() == [0.0, 0.0, 0.0]


def test_nothing_to_calibrate() -> None:
    assert calibrated(np.zeros(0, dtype=np.float32), 0.0, 1.0).shape == (0,)
