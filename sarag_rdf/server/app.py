"""The ASGI application: its routes, and the pages that show the graph."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from sarag_rdf import __version__
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.kg.rdf_export import prefixes_under
from sarag_rdf.server.asking import ask, search
from sarag_rdf.server.guard import METRICS_TYPE, Guard, Metrics, error_response
from sarag_rdf.server.jobs import JSON, JobReply, RequestError
from sarag_rdf.server.openapi import (
    Door,
    Handler,
    Operation,
    open_doors,
    openapi_document,
    operations,
    route,
)
from sarag_rdf.server.picture.drawing import render
from sarag_rdf.server.requests import HEALTH_PATH, public_url, record_of, run, settings_of
from sarag_rdf.server.resource import PATH as RESOURCE_PATH
from sarag_rdf.server.resource import is_resource_path, resource, resource_by_path
from sarag_rdf.server.serve_settings import ANONYMOUS, ServeSettings, is_loopback, unauthorized
from sarag_rdf.server.sparql import sparql, update
from sarag_rdf.server.worker import OpenGraph, Worker
from sarag_rdf.server.worker_pool import Workers

STATIC = Path(__file__).parent / "static"


def routes(doors: Sequence[Door] = ()) -> list[BaseRoute]:
    """All routes with their methods."""
    handlers: dict[str, Handler] = {
        "/": explorer,
        "/sparql-editor": editor,
        "/docs": docs,
        "/openapi.json": openapi,
        "/sparql": sparql,
        "/sparql/": sparql,
        "/update": update,
        "/search": search,
        "/ask": ask,
        "/metrics": metrics,
        HEALTH_PATH: health,
        RESOURCE_PATH: resource,
    }
    return [
        Mount("/static", StaticFiles(directory=STATIC)),
        *(route(path, handler) for path, handler in handlers.items()),
        *(each for door in doors for each in door.routes),
        route("/{path:resource}", resource_by_path),
    ]


def make_app(settings: ServeSettings, base: str, open_graph: OpenGraph) -> Guard:
    """The application of a server; its worker processes run during its lifespan.

    `base` is the base IRI of the graph; `open_graph` opens the graph in a worker for questions.
    """
    workers = Workers(settings, open_graph)
    doors = open_doors(settings, workers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(workers)
            for door in doors:
                await stack.enter_async_context(door.lifespan())
            yield

    handlers: dict[Any, Any] = {SaragError: _error_response, HTTPException: _http_error_response}
    app = Starlette(routes=routes(doors), lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    state = app.state
    state.settings, state.base, state.workers, state.doors = settings, base, workers, doors
    state.metrics = Metrics()
    return Guard(app, settings, is_resource_path)


async def _error_response(request: Request, error: SaragError) -> Response:
    accept = request.headers.get("accept", "")
    return error_response(request.url.path, error, request.app.state.doors, accept)


async def _http_error_response(request: Request, error: HTTPException) -> Response:
    """The response for an unknown path or a method that is not allowed."""
    text, headers = "not found: see /docs for the paths of this server", dict(error.headers or {})
    if error.status_code == 405:
        text = f"method not allowed: this path supports {headers.get('Allow', 'other methods')}"
    return await _error_response(request, RequestError(error.status_code, text, **headers))


async def editor(request: Request) -> Response:
    """``/sparql-editor``: the SPARQL editor."""
    endpoint = public_url(request, "/sparql")
    return _page(request, "editor", endpoint=endpoint, examples=examples())


async def explorer(request: Request) -> Response:
    """``/``: the explorer."""
    return _page(request, "explorer")


async def docs(request: Request) -> Response:
    """``/docs``: the documentation page."""
    return _page(request, "docs")


def _page(request: Request, name: str, **data: Any) -> Response:
    """A page with data, and the prefixes of exports of the graph."""
    base = request.app.state.base
    data["prefixes"] = prefixes_under(base) if base else PREFIXES
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return HTMLResponse(render(f"{name}.html.j2", data=Markup(text)))  # noqa: S704 - as JSON


async def openapi(request: Request) -> Response:
    """``/openapi.json``: the OpenAPI description."""
    app = request.app
    return JSONResponse(openapi_document(public_url(request, ""), app.routes, app.state.doors))


@operations(get=Operation(gives=["text/plain"]))
async def metrics(request: Request) -> Response:
    """Metrics in the format of Prometheus, for clients on this machine and those with a token."""
    state, settings = request.app.state, settings_of(request)
    local = request.client is not None and is_loopback(request.client.host)
    is_named = record_of(request).access.name != ANONYMOUS
    if not is_named and (not local or settings.public_url):
        raise unauthorized(
            "the metrics are for clients on this machine, and for those with a token"
        )
    pools = ("readers", "writer", "questions")
    waiting = {name: getattr(state.workers, name).waiting for name in pools}
    return Response(state.metrics.text(waiting), media_type=METRICS_TYPE)


@operations(get=Operation(gives="Health"))
async def health(request: Request) -> Response:
    """The revision of the graph that is served now; it is another after each write.

    Servers of one graph return the same. Needs no token.
    """
    return await run(request, HealthJob(), "", "pages")


@dataclass(frozen=True, slots=True)
class HealthJob:
    """Read the revision of the graph."""

    def run(self, worker: Worker) -> JobReply:
        """The state as JSON; raises `StoreError`."""
        meta = worker.snapshot.meta
        state = {"status": "ok", "revision": meta.revision if meta else "", "version": __version__}
        return JobReply(
            200, JSON, json.dumps(state).encode(), headers={"Cache-Control": "no-store"}
        )


def examples() -> list[dict[str, str]]:
    """Example queries for any graph, with title and text, in the order of their files."""
    queries = [query_file("examples", name) for name in query_names("examples")]
    return [
        {
            "title": query.header["summary"].rstrip("."),
            "text": re.sub(r"(?m)^#\+.*\n", "", query.text).strip() + "\n",
        }
        for query in queries
    ]
