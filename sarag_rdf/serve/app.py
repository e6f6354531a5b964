"""The ASGI application: routes, pages, and the checks that apply to all of them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sarag_rdf.resources import query_file, query_names
from sarag_rdf.serve.answering import OpenGraph, answer_questions
from sarag_rdf.serve.graph_store import PATH, graph_store
from sarag_rdf.serve.http import failed, public_url
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.openapi import openapi_document
from sarag_rdf.serve.pool import Pool, Work
from sarag_rdf.serve.questions import ask, search
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.sparql import sparql, update
from sarag_rdf.serve.spool import scratch_folder
from sarag_rdf.serve.worker import work as sparql_work
from sarag_rdf.vocab import PREFIXES

log = logging.getLogger(__name__)

MOST_REQUESTS = 256
"""Requests that are being read or answered at a time; connections without one do not count."""
_GRACE = 1.0
"""Seconds in which a question whose client has gone may end, so that its models stay loaded."""
_LONGEST_LOGGED = 200
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


def make_app(settings: ServeSettings, base: str, open_graph: OpenGraph) -> Gate:
    """The application of one server; its processes live as long as it runs.

    `base` is what the graph's own IRIs begin with; `open_graph` opens it in a process for
    questions.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with scratch_folder() as folder, ExitStack() as pools:

            def pool(work: Work, *arguments: object, **options: Any) -> Pool:
                made = Pool(work, folder, settings, *arguments, queue=settings.queue, **options)
                pools.callback(made.close)
                return made

            state = app.state
            state.settings, state.folder, state.base = settings, folder, base
            state.readers = pool(
                sparql_work, size=settings.workers, seconds=settings.timeout, option="--timeout"
            )
            state.writer = pool(
                sparql_work,
                size=int(settings.writable),
                seconds=settings.write_timeout,
                option="--write-timeout",
            )
            state.questions = pool(
                answer_questions,
                open_graph,
                size=settings.question_workers,
                seconds=settings.question_timeout,
                option="--question-timeout",
                lazy=True,
                grace=_GRACE,
            )
            yield

    errors: dict[Any, Any] = {RequestError: failed, HTTPException: _refused}
    app = Starlette(routes=routes(), lifespan=lifespan, exception_handlers=errors)
    app.router.redirect_slashes = False
    return Gate(app, settings)


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
    """Stands in front of everything: refuses what needs no reading, answers OPTIONS, logs."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._active = 0
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Answer with 503 what has not been answered yet: the server stops."""
        self._ended.set()

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

        self._active += 1
        try:
            response = self._answer(scope) or await self._run(scope, receive, sending)
            if response is not None and not status:
                await response(scope, receive, sending)
        finally:
            self._active -= 1
        path = scope["path"][:_LONGEST_LOGGED].encode("unicode_escape").decode()
        log.info("%s %s %d %.3f s", scope["method"], path, status, time.monotonic() - begun)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Run the application; what to answer instead if the server stops meanwhile."""
        working = asyncio.ensure_future(self._app(scope, receive, send))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working
                return None
            working.cancel()
            await asyncio.wait({working})
        finally:
            ended.cancel()
            working.cancel()
        return _line("the server is stopping: try again later", 503, Connection="close")

    def _answer(self, scope: Scope) -> Response | None:
        """The answer to what needs no route, or None."""
        headers = dict(scope["headers"])
        if self._active > MOST_REQUESTS:
            return _line("too many requests at a time: try again", 503, Retry_After="2")
        if self._settings.hosts and _name(headers.get(b"host", b"")) not in self._settings.hosts:
            return _line(
                "this server goes by the names of this machine alone: call it localhost, or start "
                "it with --host or --public-url",
                421,
            )
        if b"transfer-encoding" in headers and b"content-length" in headers:
            return _line(
                "the request has a Content-Length and a Transfer-Encoding: send one of them",
                400,
                Connection="close",
            )
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return _line("send the body as it is, without a Content-Encoding", 415)
        if not may_ask(scope, headers, self._settings):
            return _line(REFUSAL, 403)
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


def _line(text: str, status: int, **headers: str) -> Response:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return PlainTextResponse(f"{text}\n", status, said)


def _name(host: bytes) -> str | None:
    """The host of a Host header without its port, or None if it is none."""
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except (UnicodeDecodeError, ValueError):
        return None


STATIC = Path(__file__).parent / "static"


async def editor(request: Request) -> Response:
    """``/``: the SPARQL editor."""
    data = {
        "endpoint": public_url(request, "/sparql"),
        "prefixes": PREFIXES | _own_prefixes(request),
        "examples": examples(),
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return HTMLResponse(_page("editor.html").replace("{{ data }}", text))


async def docs(_: Request) -> Response:
    """``/docs``: the paths and their parameters as a page."""
    return HTMLResponse(_page("docs.html"))


async def openapi(request: Request) -> Response:
    """``/openapi.json``: the paths and their parameters as OpenAPI."""
    return JSONResponse(openapi_document(public_url(request, "")))


def examples() -> list[dict[str, str]]:
    """Queries that work on any graph: title and text, in the order of their files."""
    found = [query_file("examples", name) for name in query_names("examples")]
    return [
        {
            "title": query.header["summary"].rstrip("."),
            "text": "\n".join(
                line for line in query.text.splitlines() if not line.startswith("#+")
            ).strip()
            + "\n",
        }
        for query in found
    ]


def _own_prefixes(request: Request) -> dict[str, str]:
    """Prefixes of the graph's own IRIs, as its exports have them."""
    base = request.app.state.base
    names = ("entity", "mention", "doc", "description", "relationship", "source", "graph")
    return {name: f"{base}{name}/" for name in names} if base else {}


@cache
def _page(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


_NO_WORK = ("/docs", "/openapi.json", "/static/")
_PAID = "/ask"
"""Costs money where a model is paid for: not for any page whatever."""
REFUSAL = (
    "pages of other origins may not ask here: see --cors; if you followed a link, paste its URL "
    "into the address bar"
)


def may_ask(scope: Scope, headers: Mapping[bytes, bytes], settings: ServeSettings) -> bool:
    """Whether a request comes from no page, from one of this server, or from one that may ask."""
    path: str = scope["path"]
    if path == "/" or path.startswith(_NO_WORK) or not _is_foreign(headers, settings):
        return True
    if path == "/sparql" and not scope["query_string"] and _is_link(scope, headers):
        return True  # leads to the editor page
    if settings.cors == "*":
        return path != _PAID
    return bool(settings.cors) and headers.get(b"origin") == settings.cors.encode()


def _is_foreign(headers: Mapping[bytes, bytes], settings: ServeSettings) -> bool:
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and not _is_own(origin, headers.get(b"host", b""), settings)


def _is_own(origin: bytes, host: bytes, settings: ServeSettings) -> bool:
    """By host and port: behind a proxy the scheme is another."""
    try:
        named = urlsplit(origin.decode("ascii")).netloc.lower()
    except (UnicodeDecodeError, ValueError):
        return False
    public = urlsplit(settings.public_url).netloc.lower()
    return bool(named) and named in (host.decode("latin-1").lower(), public)


def _is_link(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    return (
        bool(scope["method"] == "GET")
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
