"""The HTTP server: a listening socket, limits on connections and request heads, shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
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
        family, _, _, _, address = addresses[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise UsageError(
            f"--host {settings.host} is not an address of this machine: use 127.0.0.1 for local "
            "connections only, or 0.0.0.0 for all networks"
        ) from error
    try:
        return socket.create_server(
            address,
            family=family,
            backlog=128,
            dualstack_ipv6=family == socket.AF_INET6 and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        raise UsageError(
            f"cannot listen on {settings.host} port {settings.port}: "
            f"{os.strerror(error.errno or 0)}; choose another --port"
        ) from error


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
        h11_max_incomplete_event_size=MAX_HEAD,
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
MAX_HEAD = 1 << 16
"""Bytes of a request's head that are read before it is complete."""
MAX_CONNECTIONS = 512
"""Of all clients, unless a single one may have more; beyond it, the idlest is closed."""


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with limits on connections, on the time and size of heads, and on stalls."""

    def __init__(self, per_client: int, *args: Any, **options: Any) -> None:
        """`per_client`: the maximum number of connections of one address."""
        super().__init__(*args, **options)
        self._per_client = per_client
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._idle_since = self.loop.time()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # head and body are sent one after the other: the second must not wait for the client's
        # acknowledgement of the first, which many delay by 40 ms (asyncio does this for sockets
        # whose protocol is named only, which those of `socket.create_server` are not)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and not self.is_idle:
            self._cancel("head")
        elif "head" not in self._timers:
            self._start("head", HEAD_SECONDS, self._expire)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - replaced by our message
        if len(self._unread) > MAX_HEAD:
            self._reject(
                431,
                f"the head of the request is larger than {MAX_HEAD >> 10} KiB: send a long query "
                "by POST",
            )
        else:
            self._reject(400, "not an HTTP/1.1 request: see /docs")

    @property
    def _unread(self) -> bytes:
        """What was received and belongs to no request yet."""
        return self.conn.trailing_data[0]

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
        if self._unread:
            self._reject(408, f"the request did not arrive within {HEAD_SECONDS:g} seconds")
        else:
            self.transport.abort()

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
