"""Listens: one socket, one loop, and an end that leaves no process behind."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn

from sarag_rdf.errors import UsageError
from sarag_rdf.knowledge_graph import KnowledgeGraph
from sarag_rdf.serve.app import make_app
from sarag_rdf.serve.settings import ServeSettings

_LONGEST_LINE = 1 << 20
"""Bytes of a request line with its headers: a query by GET may be long."""


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


def serve(settings: ServeSettings, kg: KnowledgeGraph, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the URL when requests are taken.

    Raises `UsageError`, `StoreError`.
    """
    kg.reload()
    listening = listen(settings)
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    config = uvicorn.Config(
        make_app(settings, kg),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_LONGEST_LINE,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=15,
        limit_concurrency=512,
    )
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    ready(f"http://{host}:{port}")
    with listening:
        uvicorn.Server(config).run(sockets=[listening])
