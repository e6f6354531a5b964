"""What is told when a cache cannot be kept: that costs time, and nothing else."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

from sarag_rdf.errors import place

log = logging.getLogger(__name__)

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not grow any further",
}
_ROOM = {
    errno.ENOSPC: "free some room",
    errno.EDQUOT: "free some room",
    errno.EFBIG: "raise the limit (ulimit -f)",
}


def lack_of_room(error: BaseException) -> tuple[str, str]:
    """Which lack of room an error tells of, and what helps; empty if of none.

    Errors of engines tell it in words alone.
    """
    said = str(error).lower()
    for number, what in _FULL.items():
        told = os.strerror(number).lower() in said or what.removeprefix("the ") in said
        if told or (isinstance(error, OSError) and error.errno == number):
            return what, _ROOM[number]
    return "", ""


def cannot_be_kept(path: Path, error: Exception) -> None:
    """Warn that nothing can be kept at a path; the command line tells it once."""
    what, _ = lack_of_room(error)
    log.warning(
        "the caches in %s cannot be kept (%s): the graph is whole, but what searching needs is "
        "made anew each time",
        place(path),
        what or getattr(error, "strerror", None) or error,
    )


class FirstOnly(logging.Filter):
    """Lets one warning of this module pass, and all of others."""

    def __init__(self) -> None:
        super().__init__()
        self._passed = False

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != log.name:
            return True
        first, self._passed = not self._passed, True
        return first
