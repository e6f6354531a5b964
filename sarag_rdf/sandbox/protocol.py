"""What parent and child send each other: pickled tuples over a socket."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The first part of each message of a child; the second is its payload."""

    READY = "ready"
    """The child has started; no payload."""
    ITEM = "item"
    """One item of a stream."""
    DONE = "done"
    """The task is over: (result, whether the child has grown too large to be used again)."""
    FAILED = "failed"
    """The task raised this exception."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a task may take.

    seconds: wall-clock time of a call, or between two items of a stream. memory: bytes of address
    space of the child process, where the system can limit it.
    """

    seconds: float
    memory: int


def half_of_memory() -> int:
    """Half of this machine's memory, in bytes, and no less than 4 GiB."""
    least = 4 << 30
    try:
        return max(least, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    except (AttributeError, OSError, ValueError):
        return least
