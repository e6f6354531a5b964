"""Processes that are killed at random moments lose nothing: `make soak`, shortened."""

from __future__ import annotations

import os
import sys

import pytest

from tests.faults.scenarios import SCENARIOS
from tests.faults.soak import soaking

KILLS = int(os.environ.get("SARAG_TEST_KILLS", "10"))
SEED = int(os.environ.get("SARAG_TEST_SEED", "0"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="optional: it needs inotify")


def test_kills_lose_nothing() -> None:
    short = [scenario for scenario in SCENARIOS if not scenario.is_long]
    with soaking(SEED, long=False) as soak:
        number = 0
        while number < len(short) or soak.tally.kills.total() < KILLS:
            soak.trial(number)
            number += 1
        print(f"{soak.tally}\nseed {SEED}")
        assert soak.tally.completed == number
        assert set(soak.tally.moments) >= {"with a part changed"} or KILLS < 30
