"""Warnings about caches that cannot be written: a cost in time, never in results."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

from sarag_rdf.base.errors import shown_path

log = logging.getLogger(__name__)

_CAUSES = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is exceeded",
    errno.EFBIG: "the file size limit is exceeded",
}
_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise the limit (ulimit -f)",
}


def lack_of_room(error: BaseException) -> tuple[str, str]:
    """The cause and the remedy if an error means that there is no space; else two empty strings.

    The message is searched as well, because storage engines do not pass on `errno`.
    """
    message = str(error).lower()
    for number, cause in _CAUSES.items():
        is_named = os.strerror(number).lower() in message or cause.removeprefix("the ") in message
        if is_named or (isinstance(error, OSError) and error.errno == number):
            return cause, _REMEDIES[number]
    return "", ""


def warn_unwritable(path: Path, error: Exception) -> None:
    """Log a warning that caches cannot be written at a path."""
    cause, _ = lack_of_room(error)
    log.warning(
        "cannot write caches in %s (%s): the graph is complete, but search indexes are rebuilt "
        "each time",
        shown_path(path),
        cause or getattr(error, "strerror", None) or error,
    )


class FirstOnly(logging.Filter):
    """Passes the first record of this module's logger, and all records of other loggers."""

    def __init__(self) -> None:
        super().__init__()
        self._passed = False

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != log.name:
            return True
        is_first, self._passed = not self._passed, True
        return is_first
