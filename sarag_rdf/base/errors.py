"""All exceptions of the library. Each message states the problem and what to do next."""

from __future__ import annotations

import errno
import logging
import os
import re
from pathlib import Path

from sarag_rdf.base.redaction import redacted

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(message: str) -> str:
    """Collapse a message into one line; control and bidirectional characters become U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", " ".join(message.split()))


def shown_path(path: Path) -> str:
    """A path for messages, relative to the working directory if it lies below it."""
    try:
        relative = path.relative_to(Path.cwd())
    except (OSError, ValueError):  # outside, or the working directory was deleted
        return str(path)
    return str(relative if relative.parts else path)


class SaragError(Exception):
    """Base class; `exit_code` is that of the command line. Secrets are removed from messages."""

    exit_code = 1

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(redacted(a) if isinstance(a, str) else a for a in arguments))


class UsageError(SaragError):
    """An invalid option or argument."""

    exit_code = 2


class PluginError(SaragError):
    """A plug-in of an installed package that cannot be imported."""


class InputError(SaragError):
    """An unreadable document, table or JSON file."""


class ExtractionFormatError(InputError):
    """Extraction JSON of the wrong shape."""


class StoreError(SaragError):
    """The store of a graph failed."""


class NotAGraphError(StoreError):
    """The folder does not contain a graph."""


class StoreLockedError(StoreError):
    """Another process has the graph open for writing."""


class DiskFullError(StoreError):
    """No space is left for a write; completed writes are not affected."""


class QueryError(StoreError):
    """SPARQL that does not parse or is not permitted."""


class QueryTimeoutError(StoreError):
    """A query exceeded its time limit, and was ended."""


class VectorStoreError(StoreError):
    """An external vector engine failed; nothing is lost, as vectors can be recomputed."""


class RemoteStoreError(StoreError):
    """A SPARQL endpoint failed."""


class RemoteDownError(RemoteStoreError):
    """Connection refused or reset, no such host, or a server error (5xx)."""


class RemoteTimeoutError(RemoteStoreError):
    """No complete response within the time limit of the endpoint or the client."""


class RemoteAuthError(RemoteStoreError):
    """The endpoint rejected the credentials, or requires some (401 or 403)."""


class RemoteRateLimitError(RemoteStoreError):
    """429 or 503 after all retries."""


class RemoteRequestSizeError(RemoteStoreError):
    """The request is larger than the endpoint accepts."""


class RemoteTruncatedError(RemoteStoreError):
    """A response that is incomplete, or cannot be verified to be complete."""


class EmptyGraphError(SaragError):
    """Nothing has been indexed into the graph yet."""


class EntailmentError(SaragError):
    """What follows from the statements of a graph exceeds a limit."""


class ModelError(SaragError):
    """A model that cannot be loaded or used on this machine."""


class MissingDependencyError(ModelError):
    """An optional package is not installed."""


class ModelMismatchError(ModelError):
    """The graph was embedded with another model."""


class EndpointError(SaragError):
    """An OpenAI-compatible endpoint failed."""


class EndpointDownError(EndpointError):
    """Connection refused or reset, or no such host."""


class EndpointTimeoutError(EndpointError):
    """No response within the time limit."""


class EndpointAuthError(EndpointError):
    """The endpoint rejected the key (401 or 403)."""


class RateLimitError(EndpointError):
    """429 after all retries."""


class ContextTooLongError(EndpointError):
    """The prompt does not fit the model's context."""


class TruncatedReplyError(EndpointError):
    """The reply reached the token limit before it was complete."""


class UnparsableReplyError(EndpointError):
    """The reply does not match the requested schema."""


# --------------------------------------- Caches that cannot be written cost time, never results


log = logging.getLogger(__name__)

_LACKS_OF_ROOM = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk quota is exceeded", "free some space"),
    errno.EFBIG: ("the file size limit is exceeded", "raise the limit (ulimit -f)"),
}
"""Number of the error -> the cause and the remedy."""


def lack_of_room(error: BaseException) -> tuple[str, str]:
    """The cause and the remedy if an error, or its message, says that there is no space."""
    message = str(error).lower()
    for number, (cause, remedy) in _LACKS_OF_ROOM.items():
        is_named = os.strerror(number).lower() in message or cause.removeprefix("the ") in message
        if is_named or (isinstance(error, OSError) and error.errno == number):
            return cause, remedy
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

    has_passed = False

    def filter(self, record: logging.LogRecord) -> bool:
        is_other, is_first = record.name != log.name, not self.has_passed
        self.has_passed |= not is_other
        return is_other or is_first
