"""How many hostile cases run on which target, and what ends one that hangs.

``SARAG_FUZZ_CASES=100000 pytest tests/fuzz`` (or ``make fuzz CASES=100000``) runs more of them than
the 2,000 of every test run, ``SARAG_FUZZ_SEED=7`` others; the same number and seed give the same.
"""

from __future__ import annotations

import faulthandler
import functools
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings

TOTAL = int(os.environ.get("SARAG_FUZZ_CASES", "2000"))
SEED = os.environ.get("SARAG_FUZZ_SEED")
SHARES = {
    "read": 21,
    "index": 8,
    "names": 4,
    "openie": 7,
    "replies": 5,
    "extractions": 4,
    "office": 1,
    "settings": 6,
    "iris": 10,
    "bases": 2,
    "queries": 13,
    "updates": 3,
    "imports": 4,
    "restores": 2,
    "tables": 4,
    "caches": 2,
    "requests": 4,
}
"""Target -> how many of a hundred cases it gets."""
ONE_CASE = 30
"""Seconds after which a case hangs: the slowest take less than one."""
RAN: Counter[str] = Counter()

_FAULTHANDLER_ROOM = 60


class HangError(BaseException):
    """A case that did not end; no handler of errors may take it for one."""


def cases_of(target: str) -> int:
    """How many cases a target gets."""
    return max(1, TOTAL * SHARES[target] // 100)


def case(target: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Settings of a hypothesis test of a target, whose cases are counted and watched."""

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def watched(*arguments: Any, **named: Any) -> None:
            RAN[target] += 1
            with watchdog():
                test(*arguments, **named)

        made = settings(
            max_examples=cases_of(target),
            deadline=None,
            derandomize=SEED is None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            print_blob=True,
        )(watched)
        return made if SEED is None else seed(int(SEED))(made)

    return decorated


@contextmanager
def watchdog() -> Iterator[None]:
    """Raise `HangError` in what takes too long, and end the process if even that does not help."""

    def bark(*_: object) -> None:
        raise HangError(f"no end after {ONE_CASE} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, ONE_CASE)
    faulthandler.dump_traceback_later(ONE_CASE + _FAULTHANDLER_ROOM, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
