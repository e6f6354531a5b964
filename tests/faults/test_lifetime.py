"""A graph lives at random for some seconds: `make soak-long`, shortened."""

from __future__ import annotations

import sys

import pytest

from tests.faults.lifetime import live

SECONDS = 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="optional: it reads /proc")


def test_a_short_random_life_loses_nothing() -> None:
    series, done = live(SECONDS, seed=3)
    assert done["ask server"]
    assert done["change"]
    assert series.times[-1] > SECONDS / 2
