"""All that may happen to a graph in a random life happens once: `make soak-long`, shortened."""

from __future__ import annotations

import sys

import pytest

from tests.faults.lifetime import living

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="optional: it reads /proc")


def test_a_short_life_loses_nothing() -> None:
    with living(seed=3) as life:
        for action in life.actions:
            life.act(action)
        assert all(life.sample())
        life.end()
