"""What passes between the server and its worker processes: errors, replies and progress."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import (
    EmptyGraphError,
    EndpointError,
    InputError,
    ModelError,
    QueryError,
    QueryTimeoutError,
    RemoteRateLimitError,
    RemoteStoreError,
    RemoteTimeoutError,
    SaragError,
    StoreError,
    StoreLockedError,
    UsageError,
    one_line,
)

JSON = "application/json"
CODES = {
    401: "unauthorized", 403: "forbidden", 408: "timeout", 409: "empty_graph", 413: "too_large",
    415: "wrong_media_type", 429: "rate_limit", 500: "internal", 502: "model_endpoint",
    503: "busy", 504: "timeout", 507: "memory",
}  # fmt: skip
"""Status -> code; that of any other status is ``bad_request``."""
KINDS: tuple[tuple[type[SaragError], int, str], ...] = (
    (UsageError, 400, ""),
    (InputError, 400, ""),
    (QueryError, 400, ""),
    (EmptyGraphError, 409, ""),
    (EndpointError, 502, ""),
    (ModelError, 500, "model"),
    (QueryTimeoutError, 504, ""),
    (RemoteTimeoutError, 504, ""),
    (RemoteRateLimitError, 503, ""),
    (RemoteStoreError, 502, "store"),
    (StoreLockedError, 503, ""),
    (StoreError, 500, "store"),
)
"""Error of the library -> status, and the code unless it is that of the status."""


class RequestError(SaragError):
    """A request that cannot be served, with an HTTP status and a message of one line.

    `code` is what programs read.
    """

    def __init__(self, status: int, message: str, *, code: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code or CODES.get(status, "bad_request")
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @classmethod
    def of(cls, error: SaragError) -> RequestError:
        """The error for one of the library."""
        if isinstance(error, RequestError):
            return error
        status, code = next(((s, c) for kind, s, c in KINDS if isinstance(error, kind)), (500, ""))
        headers = {"Retry_After": "5"} if status == 503 else {}
        return RequestError(status, str(error), code=code, **headers)

    def reply(self) -> JobReply:
        """The error as JSON, with its code."""
        error = {"code": self.code, "message": one_line(str(self))}
        data = json.dumps({"error": error}, ensure_ascii=False).encode()
        return JobReply(self.status, JSON, data, headers=self.headers)

    def __reduce__(self) -> tuple[Any, ...]:
        return RequestError, (self.status, str(self)), self.__dict__


@dataclass(frozen=True, slots=True)
class AccessibleGraphs:
    """Graphs that a client may read: all or those in `allow`, without those in `deny`.

    See `sarag_rdf.graph.parts.accessible_graphs` for their names.
    """

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - in a file of tokens

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    @property
    def is_limited(self) -> bool:
        return self.allow is not None or bool(self.deny)


@dataclass(frozen=True, slots=True)
class JobReply:
    """A response; the body is `head`, followed by the content of the file at `path`, if any.

    `rows` is the number of rows or triples of a result.
    """

    status: int
    media_type: str = ""
    head: bytes = b""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    rows: int | None = None

    def body(self) -> bytes:
        """The whole body; its file is deleted."""
        if not self.path:
            return self.head
        path = Path(self.path)
        data = self.head + path.read_bytes()
        path.unlink()
        return data


@dataclass(frozen=True, slots=True)
class Progress:
    """What happens before the reply to a job, as an event with JSON data."""

    event: str
    data: dict[str, Any]


class Stop:
    """Tells a worker that its reply is no longer wanted; it looks for this at each `Progress`."""
