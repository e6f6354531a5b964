"""Listens: one socket, one loop, and an end that leaves no process behind."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn

from sarag_rdf.errors import EmptyGraphError, UsageError
from sarag_rdf.serve.answering import OpenGraph
from sarag_rdf.serve.app import Gate, make_app
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.wire import FIELDS, LINE, BoundedProtocol

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
