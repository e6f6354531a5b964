"""Every error that the library raises on purpose. Each message says what to do next.

::

    SaragError                    exit code 1
    ├── UsageError                2: an option or argument that cannot work
    ├── InputError                a document, table or JSON file that cannot be read
    │   └── ExtractionFormatError extraction JSON of the wrong shape
    ├── StoreError                the graph's store
    │   ├── NotAGraphError        a folder that holds something else, or nothing
    │   ├── StoreLockedError      another process is writing
    │   ├── DiskFullError         no room is left for what has to be written
    │   ├── QueryError            SPARQL that does not parse or may not run
    │   ├── VectorStoreError      an engine that keeps vectors elsewhere
    │   └── RemoteStoreError      a SPARQL endpoint
    │       ├── RemoteDownError       refused, reset, no such host, 5xx
    │       ├── RemoteTimeoutError    no whole answer in time
    │       ├── RemoteAuthError       401 or 403
    │       ├── RemoteRateLimitError  429 or 503 after all retries
    │       ├── RemoteRequestSizeError the request is too large for it
    │       └── RemoteTruncatedError  an answer that is not whole
    ├── EmptyGraphError           nothing has been indexed yet
    ├── ModelError                models on this machine
    │   ├── MissingDependencyError an optional package is not installed
    │   └── ModelMismatchError    the graph was embedded with another model
    └── EndpointError             an OpenAI-compatible endpoint
        ├── EndpointDownError     refused, reset, no such host
        ├── EndpointTimeoutError  no answer in time
        ├── EndpointAuthError     401 or 403
        ├── RateLimitError        429 after all retries
        ├── ContextTooLongError   the prompt does not fit the model
        ├── TruncatedReplyError   the reply hit the token limit
        └── UnparsableReplyError  the reply is not what the schema asks for
"""

from __future__ import annotations

import re
from pathlib import Path

from sarag_rdf.redaction import redacted

__all__ = [
    "ContextTooLongError",
    "DiskFullError",
    "EmptyGraphError",
    "EndpointAuthError",
    "EndpointDownError",
    "EndpointError",
    "EndpointTimeoutError",
    "ExtractionFormatError",
    "InputError",
    "MissingDependencyError",
    "ModelError",
    "ModelMismatchError",
    "NotAGraphError",
    "QueryError",
    "RateLimitError",
    "RemoteAuthError",
    "RemoteDownError",
    "RemoteRateLimitError",
    "RemoteRequestSizeError",
    "RemoteStoreError",
    "RemoteTimeoutError",
    "RemoteTruncatedError",
    "SaragError",
    "StoreError",
    "StoreLockedError",
    "TruncatedReplyError",
    "UnparsableReplyError",
    "UsageError",
    "VectorStoreError",
]


_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(message: str) -> str:
    """A message on one line, without characters that move a cursor or turn a terminal's text."""
    return _UNSEEN.sub("\ufffd", " ".join(message.split()))


def place(path: Path) -> str:
    """A path for messages: as it is seen from the working folder, where it is in that."""
    try:
        below = path.relative_to(Path.cwd())
    except (OSError, ValueError):  # it is elsewhere, or the working folder is gone
        return str(path)
    return str(below if below.parts else path)


class SaragError(Exception):
    """Base of all errors of this library; `exit_code` is what the command line returns.

    Its message holds no secret, whatever it quotes: see `sarag_rdf.redaction`.
    """

    exit_code = 1

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(redacted(a) if isinstance(a, str) else a for a in arguments))


class UsageError(SaragError):
    """An option or argument that cannot work."""

    exit_code = 2


class InputError(SaragError):
    """A document, table or JSON file that cannot be read."""


class ExtractionFormatError(InputError):
    """Extraction JSON of the wrong shape."""


class StoreError(SaragError):
    """The store of a graph could not do what was asked."""


class NotAGraphError(StoreError):
    """The folder named holds no graph."""


class StoreLockedError(StoreError):
    """Another process has the graph open for writing."""


class DiskFullError(StoreError):
    """No room is left for what has to be written; what was written before is kept."""


class QueryError(StoreError):
    """A SPARQL text that does not parse, or that may not run."""


class VectorStoreError(StoreError):
    """An engine that keeps vectors elsewhere failed; nothing is lost, for they are made anew."""


class RemoteStoreError(StoreError):
    """A SPARQL endpoint did not do what was asked."""


class RemoteDownError(RemoteStoreError):
    """Connection refused or reset, no such host, or an error of the server itself."""


class RemoteTimeoutError(RemoteStoreError):
    """No whole answer within the time limit, the endpoint's or one's own."""


class RemoteAuthError(RemoteStoreError):
    """The endpoint refused the credentials, or wants some (401 or 403)."""


class RemoteRateLimitError(RemoteStoreError):
    """429 or 503 after all retries."""


class RemoteRequestSizeError(RemoteStoreError):
    """The request is larger than the endpoint takes."""


class RemoteTruncatedError(RemoteStoreError):
    """An answer that is cut, or cannot be shown to be whole."""


class EmptyGraphError(SaragError):
    """Nothing has been indexed into the graph yet."""


class ModelError(SaragError):
    """A model that cannot be loaded or used on this machine."""


class MissingDependencyError(ModelError):
    """An optional package is not installed."""


class ModelMismatchError(ModelError):
    """The graph was embedded with another model."""


class EndpointError(SaragError):
    """An OpenAI-compatible endpoint answered with an error."""


class EndpointDownError(EndpointError):
    """Connection refused or reset, or no such host."""


class EndpointTimeoutError(EndpointError):
    """No answer within the time limit."""


class EndpointAuthError(EndpointError):
    """The endpoint refused the key (401 or 403)."""


class RateLimitError(EndpointError):
    """429 after all retries."""


class ContextTooLongError(EndpointError):
    """The prompt does not fit the model's context."""


class TruncatedReplyError(EndpointError):
    """The reply hit the token limit before it was complete."""


class UnparsableReplyError(EndpointError):
    """The reply does not satisfy the schema that was asked for."""
