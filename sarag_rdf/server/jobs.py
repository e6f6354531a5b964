"""What worker processes send back: replies, large ones as files, progress, and errors."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from sarag_rdf.base.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    SaragError,
    StoreError,
    StoreLockedError,
    UsageError,
)

JSON = "application/json"
_CODES = {
    401: "unauthorized", 403: "forbidden",
    408: "timeout", 409: "empty_graph", 413: "too_large", 415: "wrong_media_type", 500: "internal",
    502: "model_endpoint", 503: "busy", 504: "timeout", 507: "memory",
}  # fmt: skip
_KINDS: tuple[tuple[type[SaragError], int, str], ...] = (
    (UsageError, 400, "bad_request"),
    (EmptyGraphError, 409, "empty_graph"),
    (EndpointError, 502, "model_endpoint"),
    (ModelError, 500, "model"),
    (StoreLockedError, 503, "busy"),
    (StoreError, 500, "store"),
)
"""Error of the library -> status and code."""


class RequestError(SaragError):
    """A request that cannot be served, with an HTTP status and a message of one line.

    `code` is what programs read.
    """

    def __init__(self, status: int, message: str, *, code: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code or _CODES.get(status, "bad_request")
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @classmethod
    def of(cls, error: SaragError) -> RequestError:
        """The error for one of the library."""
        if isinstance(error, RequestError):
            return error
        status, code = next(((s, c) for kind, s, c in _KINDS if isinstance(error, kind)), (500, ""))
        headers = {"Retry_After": "5"} if status == 503 else {}
        return RequestError(status, str(error), code=code, **headers)

    def __reduce__(self) -> tuple[Any, ...]:
        return _request_error, (self.status, str(self), self.code, self.headers)


def _request_error(status: int, message: str, code: str, headers: dict[str, str]) -> RequestError:
    return RequestError(status, message, code=code, **headers)


@dataclass(frozen=True, slots=True)
class AccessibleGraphs:
    """Graphs that a client may read: all or those in `allow`, without those in `deny`.

    See `sarag_rdf.graph.parts.accessible_graphs` for their names.
    """

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


@dataclass(frozen=True, slots=True)
class Stop:
    """Tells a worker that nobody waits for its reply any more; it looks at each `Progress`."""


IN_MEMORY = 1 << 16
"""Replies of up to this many bytes are sent through the pipe."""
CHUNK = 1 << 17
"""Bytes read from a spooled response at a time."""


class Spool:
    """Buffers bytes in memory up to `IN_MEMORY`, beyond that in a file in `folder`.

    Use it as a context manager: unless `finish` was called, the file is closed and deleted at the
    end of the block.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[bytes] = []
        self._buffered = 0
        self._descriptor = -1
        self._path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            Path(self._path).unlink(missing_ok=True)
        self._descriptor, self._parts = -1, []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._buffered += len(data)
        if self._buffered > IN_MEMORY:
            self._spill()
        return len(data)

    def flush(self) -> None:
        """Do nothing: `finish` flushes."""

    @property
    def stream(self) -> IO[bytes]:
        """The spool as a stream, for code that only writes to it."""
        return cast("IO[bytes]", self)

    def extend(self, parts: Iterable[bytes]) -> None:
        """Write all parts."""
        for part in parts:
            self.write(part)

    def finish(self) -> tuple[bytes, str]:
        """The content and an empty path, or no bytes and the path of the file."""
        if self._descriptor < 0:
            return b"".join(self._parts), ""
        self._spill()
        os.close(self._descriptor)
        self._descriptor = -1
        return b"", self._path

    def _spill(self) -> None:
        if self._descriptor < 0:
            prefix = f"{os.getpid()}-"
            self._descriptor, self._path = tempfile.mkstemp(prefix=prefix, dir=self._folder)
        data = b"".join(self._parts)
        self._parts, self._buffered = [], 0
        while data:
            data = data[os.write(self._descriptor, data) :]


def remove_spools(folder: Path, process: int) -> None:
    """Delete the files that a killed process has left behind."""
    for path in folder.glob(f"{process}-*"):
        path.unlink(missing_ok=True)
