"""As many cases ran as were asked for."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import RAN, SHARES, TOTAL, cases_of


def test_all_cases_ran() -> None:
    """This is the last test of the folder; in a run of one target alone there is nothing to add."""
    assert sum(SHARES.values()) == 100
    if set(RAN) != set(SHARES):
        pytest.skip("optional: not all targets ran in this process")
    assert sum(cases_of(target) for target in SHARES) >= TOTAL * 0.99
    few = {target: RAN[target] for target in SHARES if RAN[target] < cases_of(target)}
    assert not few
