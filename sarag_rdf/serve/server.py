"""Listens on a socket with bounded connections, and shuts down without orphan processes."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sarag_rdf.errors import EmptyGraphError, UsageError
from sarag_rdf.serve.answering import OpenGraph
from sarag_rdf.serve.app import Gate, make_app
from sarag_rdf.serve.settings import ServeSettings

_MOMENT, _GRACEFUL = 1.0, 3
"""Seconds after an interrupt until requests are answered with 503, and until they are dropped."""


def listen(settings: ServeSettings) -> socket.socket:
    """A socket at host and port; raises `UsageError` for one that cannot be had."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise UsageError(
            f"--host {settings.host} is no address of this machine: 127.0.0.1 for this machine "
            "alone, 0.0.0.0 for all its networks"
        ) from error
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except OSError as error:
        opened.close()
        raise UsageError(
            f"cannot listen at {settings.host} port {settings.port}: {error.strerror}; choose "
            "another --port"
        ) from error
    return opened


class _Server(uvicorn.Server):
    """Ends soon: what runs has a moment to finish, then it is answered with 503."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(_MOMENT, self._gate.end)
        await super().shutdown(sockets)


def serve(settings: ServeSettings, open_graph: OpenGraph, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the URL when requests are taken.

    `open_graph` is called here once, and in each process for questions: it must be picklable.
    Raises `UsageError`, `StoreError`.
    """
    base = _base_of(open_graph)
    listening = listen(settings)
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    gate = make_app(settings, base, open_graph)
    config = uvicorn.Config(
        gate,
        loop="asyncio",
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=LINE + FIELDS,
        timeout_graceful_shutdown=_GRACEFUL,
        timeout_keep_alive=15,
    )
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    ready(f"http://{host}:{port}")
    with listening:
        _Server(config, gate).run(sockets=[listening])


def _base_of(open_graph: OpenGraph) -> str:
    """What the graph's own IRIs begin with; empty for a graph that does not say it."""
    with open_graph() as kg:
        kg.reload()
        try:
            return kg.meta().base
        except EmptyGraphError:
            return ""


HEAD_SECONDS = 10.0
"""From a connection, or the first byte of a further request on it, to the end of its head."""
STALL_SECONDS = 60.0
"""That a client may take no byte of an answer."""
LINE, FIELDS, LINES = 1 << 20, 1 << 15, 100
"""Bytes of a request line (a query by GET may be long), bytes and lines of the header fields."""
MOST_CONNECTIONS = 512
"""Beyond it the connection that has waited longest without a request makes room."""
_BLANK = re.compile(rb"\n\r?\n")


class Head:
    """Measures the head of a request as it comes in."""

    def __init__(self) -> None:
        self._line = self._fields = self._lines = 0
        self._tail = b""

    @property
    def begun(self) -> bool:
        """Whether any byte has come."""
        return self._line > 0

    def fits(self, data: bytes) -> bool:
        """Take in what has come, and whatever follows the head; whether it is within the limits."""
        end = _BLANK.search(self._tail + data)
        part = data if end is None else data[: max(0, end.end() - len(self._tail))]
        line = 0
        if not self._lines:
            line = part.find(b"\n") + 1 or len(part)
        self._line += line
        self._fields += len(part) - line
        self._lines += part.count(b"\n")
        self._tail = (self._tail + part)[-2:]
        return self._line <= LINE and self._fields <= FIELDS and self._lines <= LINES


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with limits of time and size before a request, and of time behind it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head = Head()
        self._silent: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._since = self.loop.time()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > MOST_CONNECTIONS:
            others = [c for c in self.connections if isinstance(c, BoundedProtocol) and c.is_idle]
            min(others, key=lambda other: other._since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._move()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and not self._head.fits(data):
            self._refuse_head()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and not self.is_idle:
            self._unwatch()
        elif self._silent is None:
            self._watch()

    def on_response_complete(self) -> None:
        self._head, self._since = Head(), self.loop.time()
        following, _ = self.conn.trailing_data
        if following and not self._head.fits(following):
            self._refuse_head()
            return
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the line says what to do
        self._refuse(400, "this is not an HTTP/1.1 request: see /docs")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._move()
        super().resume_writing()

    def _watch(self) -> None:
        self._silent = self.loop.call_later(HEAD_SECONDS, self._expired)

    def _unwatch(self) -> None:
        if self._silent is not None:
            self._silent.cancel()
        self._silent = None

    def _move(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
        self._stalled = None

    def _expired(self) -> None:
        if self._head.begun:
            self._refuse(408, f"the request did not come within {HEAD_SECONDS:g} seconds")
        else:
            self.transport.abort()

    def _refuse_head(self) -> None:
        self._refuse(
            431,
            f"the head of the request is too large: {LINE >> 20} MiB for its first line, "
            f"{FIELDS >> 10} KiB and {LINES} lines for its fields",
        )

    def _refuse(self, status: int, message: str) -> None:
        """Answer in one line and hang up; if an answer has begun, only hang up."""
        self._unwatch()
        if not self.is_idle and self.cycle.response_started:
            self.transport.abort()
            return
        body = f"{message}\n".encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
