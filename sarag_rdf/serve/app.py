"""The application: which path leads where, and what holds for all of them."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sarag_rdf.errors import EmptyGraphError
from sarag_rdf.knowledge_graph import KnowledgeGraph
from sarag_rdf.serve.exchange import failed
from sarag_rdf.serve.graph_store import PATH, graph_store
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.pages import STATIC, docs, editor, openapi
from sarag_rdf.serve.pool import Pool
from sarag_rdf.serve.questions import Desk, ask, search
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.sparql import sparql, update

log = logging.getLogger(__name__)

_STORE_METHODS = ["GET", "PUT", "POST", "DELETE"]
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def routes() -> list[BaseRoute]:
    """All paths with their methods."""
    return [
        Route("/", editor),
        Route("/docs", docs),
        Route("/openapi.json", openapi),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/sparql", sparql, methods=["GET", "POST"]),
        Route("/sparql/", sparql, methods=["GET", "POST"]),
        Route("/update", update, methods=["POST"]),
        Route(PATH, graph_store, methods=_STORE_METHODS),
        Route(PATH + "/{path:path}", graph_store, methods=_STORE_METHODS),
        Route("/search", search, methods=["GET", "POST"]),
        Route("/ask", ask, methods=["GET", "POST"]),
    ]


def make_app(settings: ServeSettings, kg: KnowledgeGraph) -> ASGIApp:
    """The application of one server; its processes live as long as it runs."""

    base = _base_of(kg)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="sarag-serve-") as folder:
            state = app.state
            state.settings, state.folder = settings, Path(folder)
            state.base = base
            state.readers = Pool(
                settings,
                state.folder,
                size=settings.workers,
                seconds=settings.timeout,
                option="--timeout",
            )
            state.writer = Pool(
                settings,
                state.folder,
                size=int(settings.writable),
                seconds=settings.write_timeout,
                option="--write-timeout",
            )
            state.desk = Desk(kg, settings)
            try:
                yield
            finally:
                state.desk.close()
                state.readers.close()
                state.writer.close()

    errors: dict[Any, Any] = {RequestError: failed, HTTPException: _refused}
    app = Starlette(routes=routes(), lifespan=lifespan, exception_handlers=errors)
    app.router.redirect_slashes = False
    return Gate(app, settings)


def _base_of(kg: KnowledgeGraph) -> str:
    """What the graph's own IRIs begin with; empty for a graph that does not say it."""
    try:
        return kg.meta().base
    except EmptyGraphError:
        return ""


async def _refused(_: Request, error: Exception) -> Response:
    """A path or method that there is not, in one line."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these
    headers = dict(error.headers or {})
    if error.status_code == 405:
        text = f"this path takes {headers.get('Allow', 'other methods')}"
    else:
        text = "there is nothing at this path: see /docs"
    return PlainTextResponse(f"{text}\n", error.status_code, headers)


class Gate:
    """Stands in front of everything: checks the name of the host, answers OPTIONS, logs."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers()]
            await send(message)

        response = self._answer(scope)
        await (response or self._app)(scope, receive, sending)
        path = scope["path"].encode("unicode_escape").decode()
        log.info("%s %s %d %.3f s", scope["method"], path, status, time.monotonic() - begun)

    def _answer(self, scope: Scope) -> Response | None:
        """The answer to what needs no route, or None."""
        headers = dict(scope["headers"])
        if self._settings.hosts and _name(headers.get(b"host", b"")) not in self._settings.hosts:
            return PlainTextResponse(
                "this server goes by the names of this machine alone: call it localhost, or start "
                "it with --host or --public-url\n",
                421,
            )
        foreign = headers.get(b"sec-fetch-site") == b"cross-site"
        if foreign and headers.get(b"sec-fetch-mode") != b"navigate" and not self._settings.cors:
            return PlainTextResponse("pages of other origins may not ask here: see --cors\n", 403)
        if scope["method"] != "OPTIONS":
            return None
        allow = "GET, HEAD, POST, OPTIONS"
        if scope["path"].startswith(PATH):
            allow = "GET, HEAD, PUT, POST, DELETE, OPTIONS"
        said = {"Allow": allow}
        if self._settings.cors and b"access-control-request-method" in headers:
            said["Access-Control-Allow-Methods"] = "GET, HEAD, POST"
            said["Access-Control-Allow-Headers"] = "Accept, Content-Type"
            said["Access-Control-Max-Age"] = "86400"
        return Response(status_code=204, headers=said)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        found = [
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"content-security-policy", _POLICY.encode()),
        ]
        if self._settings.cors:
            found.append((b"access-control-allow-origin", self._settings.cors.encode()))
            shown = b"X-SPARQL-MaxRows, X-SPARQL-Truncated, Location"
            found.append((b"access-control-expose-headers", shown))
            if self._settings.cors != "*":
                found.append((b"vary", b"Origin"))
        return found


def _name(host: bytes) -> str | None:
    """The host of a Host header without its port, or None if it is none."""
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except (UnicodeDecodeError, ValueError):
        return None
