"""The ASGI application: routes, pages, and middleware for all of them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.server.access import (
    ANONYMOUS,
    Access,
    required_scope,
    unauthorized,
)
from sarag_rdf.server.audit import METRICS_TYPE, AuditLog, Metrics, route_label
from sarag_rdf.server.doors import Door, doors, one_line_response
from sarag_rdf.server.explore import complete, names, neighbours, prefixes
from sarag_rdf.server.graph_store import PATH, graph_store
from sarag_rdf.server.graphs import OpenGraph
from sarag_rdf.server.guarded import ORIGIN_ERROR, Admission, check_host, is_cross_origin
from sarag_rdf.server.http import (
    RECORD,
    RequestRecord,
    error_response,
    public_url,
    record_of,
    settings_of,
)
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.openapi import openapi_document
from sarag_rdf.server.pool import Workers
from sarag_rdf.server.questions import ask, search
from sarag_rdf.server.resource import PATH as RESOURCE_PATH
from sarag_rdf.server.resource import is_resource_path, resource, resource_by_path
from sarag_rdf.server.settings import ServeSettings, is_loopback
from sarag_rdf.server.sparql import sparql, update

log = logging.getLogger(__name__)

MAX_REQUESTS = 256
"""The maximum number of concurrent requests; idle connections do not count."""
_MAX_LOGGED_PATH = 200
_STORE_METHODS = ["GET", "PUT", "POST", "DELETE"]
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def routes(doors: Sequence[Door] = ()) -> list[BaseRoute]:
    """All routes with their methods."""
    return [
        Route("/", explorer),
        Route("/sparql-editor", editor),
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
        *(route for door in doors for route in door.routes),
        Route("/graph/neighbours", neighbours),
        Route("/graph/complete", complete),
        Route("/graph/prefixes", prefixes),
        Route("/graph/names", names, methods=["POST"]),
        Route("/metrics", metrics),
        Route(RESOURCE_PATH, resource),
        Route("/{path:resource}", resource_by_path),
    ]


def make_app(settings: ServeSettings, base: str, open_graph: OpenGraph) -> RequestMiddleware:
    """The application of a server; its worker processes run during its lifespan.

    `base` is the base IRI of the graph; `open_graph` opens the graph in a worker for questions.
    """

    workers = Workers(settings, open_graph)
    all_doors = doors(settings, workers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(workers)
            for door in all_doors:
                await stack.enter_async_context(door.lifespan())
            yield

    handlers: dict[Any, Any] = {RequestError: error_response, HTTPException: _http_error_response}
    app = Starlette(routes=routes(all_doors), lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    state = app.state
    state.settings, state.base, state.workers, state.doors = settings, base, workers, all_doors
    return RequestMiddleware(app, settings, AuditLog(settings.audit))


async def _http_error_response(_: Request, error: Exception) -> Response:
    """The response for an unknown path or a method that is not allowed: one line of text."""
    assert isinstance(error, HTTPException)  # noqa: S101 - the handler is registered for these
    headers = dict(error.headers or {})
    if error.status_code == 405:
        text = f"method not allowed: this path supports {headers.get('Allow', 'other methods')}"
    else:
        text = "not found: see /docs for the paths of this server"
    return PlainTextResponse(f"{text}\n", error.status_code, headers)


@dataclass(slots=True)
class ActiveRequests:
    """The number of requests that are being answered."""

    number: int = 0


UNKNOWN = "unknown"
"""Who sent a request that was rejected before its token was read, or that needs none."""


class RequestMiddleware:
    """Rejects invalid and forbidden requests by their headers, adds headers, and logs."""

    def __init__(self, app: Starlette, settings: ServeSettings, audit: AuditLog) -> None:
        self._app = app
        self._settings = settings
        self._audit = audit
        self._admission = Admission(settings)
        self._metrics = app.state.metrics = Metrics()
        self._labels = frozenset(_first_segment(route) for route in app.routes)
        self._active = app.state.active = ActiveRequests()
        self.doors: list[Door] = app.state.doors
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Cancel running requests, and answer them with 503."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.monotonic()
        status = 0
        record = scope[RECORD] = RequestRecord(Access(UNKNOWN, frozenset()))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers()]
            await send(message)

        self._active.number += 1
        try:
            response = self._early_response(scope) or self._forbidden(scope, record)
            if response is None:
                response = await self._run(scope, receive, send_with_headers)
            if response is not None and not status:
                await response(scope, receive, send_with_headers)
        finally:
            self._active.number -= 1
            self._log(scope, record, status, time.monotonic() - begin)

    def _log(self, scope: Scope, record: RequestRecord, status: int, seconds: float) -> None:
        method, path = scope["method"], scope["path"][:_MAX_LOGGED_PATH]
        path = path.encode("unicode_escape").decode()
        log.info("%s %s %d %.3f s", method, path, status, seconds)
        label = route_label(scope["path"], self._labels)
        self._metrics.count(method, label, status, seconds, record.rows)
        self._audit.record(
            who=record.access.name,
            client=scope["client"][0] if scope.get("client") else None,
            method=method,
            path=path,
            what=record.what,
            status=status,
            seconds=round(seconds, 3),
            rows=record.rows,
        )

    def _forbidden(self, scope: Scope, record: RequestRecord) -> Response | None:
        """The response to a client that may not send this request; None if it may.

        Writes and their scope are up to the handlers, since a query may be sent by POST.
        """
        path = scope["path"]
        door = next((door for door in self.doors if door.has(path)), None)
        needed = door.scope if door else required_scope(path)
        if needed is None:
            return None
        headers = dict(scope["headers"])
        try:
            record.access = access = self._admission.access(scope, headers)
            access.require(needed)
        except RequestError as error:
            return (door.error if door else one_line_response)(error)
        return None

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Run the application; returns a response if the server stops before it has finished."""
        request = asyncio.ensure_future(self._app(scope, receive, send))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({request, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if request.done():
                await request
                return None
            request.cancel()
            await asyncio.wait({request})
        finally:
            stopping.cancel()
            request.cancel()
        return _text_response("the server is stopping: try again later", 503, Connection="close")

    def _early_response(self, scope: Scope) -> Response | None:
        """The response to a request that is not routed, or None."""
        headers = dict(scope["headers"])
        if self._active.number > MAX_REQUESTS:
            return _text_response(
                "too many concurrent requests: try again later", 503, Retry_After="2"
            )
        try:
            check_host(headers, self._settings)
        except RequestError as error:
            return _text_response(str(error), error.status)
        if b"transfer-encoding" in headers and b"content-length" in headers:
            return _text_response(
                "the request has both Content-Length and Transfer-Encoding: send one of them",
                400,
                Connection="close",
            )
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return _text_response(
                "unsupported Content-Encoding: send the body without compression", 415
            )
        if not self._is_origin_allowed(scope, headers):
            return _text_response(
                f"{ORIGIN_ERROR}: see --cors; if you followed a link, paste its URL into the "
                "address bar",
                403,
            )
        methods = self._methods(scope) if scope["method"] == "OPTIONS" else []
        if not methods:
            return None
        response_headers = {"Allow": ", ".join([*methods, "OPTIONS"])}
        if self._settings.cors and b"access-control-request-method" in headers:
            response_headers["Access-Control-Allow-Methods"] = ", ".join(methods)
            response_headers["Access-Control-Allow-Headers"] = "Accept, Authorization, Content-Type"
            response_headers["Access-Control-Max-Age"] = "86400"
        return Response(status_code=204, headers=response_headers)

    def _is_origin_allowed(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request is from this server's pages, an allowed origin, or outside a page."""
        path: str = scope["path"]
        settings = self._settings
        if (
            path in _PAGES
            or path.startswith(_STATIC_PATHS)
            or not is_cross_origin(headers, settings)
        ):
            return True
        if _is_link(scope, headers) and is_resource_path(path):
            return True
        if path == "/sparql" and not scope["query_string"] and _is_link(scope, headers):
            return True  # redirects to the editor page
        if settings.cors == "*":  # opens nothing that may call a model, which costs money
            may_cost = any(door.may_cost for door in self.doors if door.has(path))
            return not may_cost and required_scope(path) != "ask"
        return bool(settings.cors) and headers.get(b"origin") == settings.cors.encode()

    def _methods(self, scope: Scope) -> list[str]:
        """The methods of a path; none of an unknown one."""
        methods: set[str] = set()
        for route in self._app.routes:
            if route.matches(scope)[0] is not Match.NONE:
                methods |= getattr(route, "methods", None) or {"GET", "HEAD"}
        return [name for name in ("GET", "HEAD", "PUT", "POST", "DELETE") if name in methods]

    def _headers(self) -> list[tuple[bytes, bytes]]:
        """Security and CORS headers of all responses."""
        headers = [
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
        ]
        if self._settings.cors:
            headers.append((b"access-control-allow-origin", self._settings.cors.encode()))
            exposed = b"X-SPARQL-MaxRows, X-SPARQL-Truncated, Location"
            headers.append((b"access-control-expose-headers", exposed))
            if self._settings.cors != "*":
                headers.append((b"vary", b"Origin"))
        return headers


def _text_response(text: str, status: int, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return PlainTextResponse(f"{text}\n", status, named)


STATIC = Path(__file__).parent / "static"


async def editor(request: Request) -> Response:
    """``/sparql-editor``: the SPARQL editor."""
    data = {
        "endpoint": public_url(request, "/sparql"),
        "prefixes": PREFIXES | _own_prefixes(request),
        "examples": examples(),
    }
    return _page_with_data("editor.html", data)


async def explorer(request: Request) -> Response:
    """``/``: the explorer."""
    data = {
        "prefixes": PREFIXES | _own_prefixes(request),
        "answers": settings_of(request).has_model,
    }
    return _page_with_data("explorer.html", data)


def _page_with_data(name: str, data: Mapping[str, Any]) -> Response:
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return HTMLResponse(_page(name).replace("{{ data }}", text))


async def docs(_: Request) -> Response:
    """``/docs``: the documentation page."""
    return HTMLResponse(_page("docs.html"))


async def openapi(request: Request) -> Response:
    """``/openapi.json``: the OpenAPI description."""
    return JSONResponse(openapi_document(public_url(request, ""), request.app.state.doors))


async def metrics(request: Request) -> Response:
    """``/metrics``: for clients on this machine, and for those with a token."""
    state, settings = request.app.state, settings_of(request)
    local = request.client is not None and is_loopback(request.client.host)
    is_named = record_of(request).access.name != ANONYMOUS
    if not is_named and (not local or settings.public_url):
        raise unauthorized(
            "the metrics are for clients on this machine, and for those with a token"
        )
    if not state.metrics.is_available:
        raise RequestError(404, "no metrics: install them with  pip install 'sarag-rdf[metrics]'")
    pools = ("readers", "writer", "questions")
    waiting = {name: getattr(state.workers, name).waiting for name in pools}
    return Response(state.metrics.text(state.active.number, waiting), media_type=METRICS_TYPE)


def _first_segment(route: BaseRoute) -> str:
    return "/" + str(getattr(route, "path", "")).removeprefix("/").partition("/")[0]


def examples() -> list[dict[str, str]]:
    """Example queries for any graph, with title and text, in the order of their files."""
    queries = [query_file("examples", name) for name in query_names("examples")]
    return [
        {
            "title": query.header["summary"].rstrip("."),
            "text": "\n".join(
                line for line in query.text.splitlines() if not line.startswith("#+")
            ).strip()
            + "\n",
        }
        for query in queries
    ]


def _own_prefixes(request: Request) -> dict[str, str]:
    """Prefixes for the graph's own IRIs, the same as in exports."""
    base = request.app.state.base
    names = ("entity", "mention", "doc", "description", "relationship", "source", "graph")
    return {name: f"{base}{name}/" for name in names} if base else {}


@cache
def _page(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


_PAGES = ("/", "/sparql-editor")
_STATIC_PATHS = ("/docs", "/openapi.json", "/static/")


def _is_link(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser follows a link."""
    return (
        bool(scope["method"] == "GET")
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
