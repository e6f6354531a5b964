"""The HTTP server: a listening socket, limits on connections and request heads, shutdown."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sarag_rdf.base.errors import EmptyGraphError, UsageError
from sarag_rdf.server.app import make_app
from sarag_rdf.server.openapi import Door
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import OpenGraph

_STOP_SECONDS = 1
"""Seconds after an interrupt until running requests are answered with 503."""


def listen(settings: ServeSettings) -> socket.socket:
    """A socket that listens on host and port; raises `UsageError` if that is not possible."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise UsageError(
            f"--host {settings.host} is not an address of this machine: use 127.0.0.1 for local "
            "connections only, or 0.0.0.0 for all networks"
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; choose "
            "another --port"
        ) from error
    return listener


def serve(
    settings: ServeSettings, open_graph: OpenGraph, ready: Callable[[str, Sequence[Door]], None]
) -> None:
    """Serve until interrupted; `ready` is called with URL and doors when the server listens.

    `open_graph` is called once here and in each worker for questions, so it must be picklable.
    Raises `UsageError`, `StoreError`, and what the application raises when it starts.
    """
    _ = settings.access  # says what is wrong with it before the graph is opened
    app = make_app(settings, _base_iri(open_graph), open_graph)
    failures: list[Exception] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except Exception as error:
            if scope["type"] == "lifespan":  # uvicorn exits without a message
                failures.append(error)
            raise

    config = uvicorn.Config(
        watched,
        loop="asyncio",
        http=partial(BoundedProtocol, settings.max_connections),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_LINE + MAX_FIELDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_keep_alive=15,
    )
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    with listen(settings) as listener:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        ready(f"http://{host}:{listener.getsockname()[1]}", app.doors)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            for error in failures:
                raise error


def _base_iri(open_graph: OpenGraph) -> str:
    """The base IRI of the graph; empty for a graph without metadata."""
    with open_graph() as kg:
        kg.reload()
        try:
            return kg.meta().base
        except EmptyGraphError:
            return ""


HEAD_SECONDS = 10.0
"""Time limit of a request's head, from the connection or the first byte of a further request."""
STALL_SECONDS = 60.0
"""Seconds after which a client that reads no byte of a response is disconnected."""
MAX_LINE, MAX_FIELDS, MAX_LINES = 1 << 20, 1 << 15, 100
"""Limits in bytes of a request line (a query by GET may be long) and header fields; of lines."""
MAX_CONNECTIONS = 512
"""Of all clients, unless a single one may have more; beyond it, the idlest is closed."""
_BLANK_LINE = re.compile(rb"\n\r?\n")


class HeadSize:
    """Measures the head of a request while it is received."""

    def __init__(self) -> None:
        self._line = self._fields = self._lines = 0
        self._tail = b""

    @property
    def begun(self) -> bool:
        """Whether any byte was received."""
        return self._line > 0

    def add(self, data: bytes) -> bool:
        """Add received data, ignoring what follows the head; False if a limit is exceeded."""
        end = _BLANK_LINE.search(self._tail + data)
        part = data if end is None else data[: max(0, end.end() - len(self._tail))]
        line = 0
        if not self._lines:
            line = part.find(b"\n") + 1 or len(part)
        self._line += line
        self._fields += len(part) - line
        self._lines += part.count(b"\n")
        self._tail = (self._tail + part)[-2:]
        return self._line <= MAX_LINE and self._fields <= MAX_FIELDS and self._lines <= MAX_LINES


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with limits on connections, on the time and size of heads, and on stalls."""

    def __init__(self, per_client: int, *args: Any, **options: Any) -> None:
        """`per_client`: the maximum number of connections of one address."""
        super().__init__(*args, **options)
        self._per_client = per_client
        self._head = HeadSize()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._idle_since = self.loop.time()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start("head", HEAD_SECONDS, self._expire)
        everyone = [c for c in self.connections if isinstance(c, BoundedProtocol)]
        own = [c for c in everyone if c._address == self._address]
        if len(own) > self._per_client:
            _close_idlest(own)
        elif len(everyone) > max(MAX_CONNECTIONS, self._per_client):
            _close_idlest(everyone)

    @property
    def _address(self) -> str:
        """The address of the client; behind a proxy, that of the proxy."""
        return self.client[0] if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel("head")
        self._cancel("stall")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and not self._head.add(data):
            self._reject_head()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and not self.is_idle:
            self._cancel("head")
        elif "head" not in self._timers:
            self._start("head", HEAD_SECONDS, self._expire)

    def on_response_complete(self) -> None:
        self._head, self._idle_since = HeadSize(), self.loop.time()
        pipelined, _ = self.conn.trailing_data
        if pipelined and not self._head.add(pipelined):
            self._reject_head()
            return
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - replaced by our message
        self._reject(400, "not an HTTP/1.1 request: see /docs")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("stall", STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel("stall")
        super().resume_writing()

    def _start(self, timer: str, seconds: float, action: Callable[[], None]) -> None:
        self._timers[timer] = self.loop.call_later(seconds, action)

    def _cancel(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.pop(timer).cancel()

    def _expire(self) -> None:
        if self._head.begun:
            self._reject(408, f"the request did not arrive within {HEAD_SECONDS:g} seconds")
        else:
            self.transport.abort()

    def _reject_head(self) -> None:
        self._reject(
            431,
            f"the head of the request is too large: the limits are {MAX_LINE >> 20} MiB for the "
            f"first line, and {MAX_FIELDS >> 10} KiB and {MAX_LINES} lines for the header fields",
        )

    def _reject(self, status: int, message: str) -> None:
        """Send a response of one line, unless a response has begun, and close the connection."""
        self._cancel("head")
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


def _close_idlest(connections: list[BoundedProtocol]) -> None:
    """Close the connection that has been idle longest; a new one is idle."""
    idle = (connection for connection in connections if connection.is_idle)
    min(idle, key=lambda connection: connection._idle_since).transport.abort()
