"""The messages between parent and child: pickled tuples over a socket."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kind of a child's message, its first element; the second is the payload."""

    READY = "ready"
    """The child has started; no payload."""
    ITEM = "item"
    """An item of a stream."""
    DONE = "done"
    """The task has finished: (result, whether the child is too large to be reused)."""
    FAILED = "failed"
    """The task raised an exception."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a task.

    seconds: wall-clock time of a call, or between two items of a stream. memory: address space of
    the child process in bytes, if the system can limit it.
    """

    seconds: float
    memory: int
