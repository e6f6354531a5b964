"""The SPARQL 1.1 Protocol: queries, updates, and the service description, with VoID."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.server.jobs import JobReply, RequestError
from sarag_rdf.server.media import (
    FORM,
    HTML,
    QUERY,
    RDF_TYPES,
    UPDATE,
    base_type,
    check_charset,
    choose_media_type,
    content_type,
    negotiate,
)
from sarag_rdf.server.openapi import RDF, TABLES, Operation, operations
from sarag_rdf.server.picture.drawing import render
from sarag_rdf.server.query_evaluation import QueryJob
from sarag_rdf.server.requests import (
    check_iri,
    may_write,
    public_url,
    query_string,
    read_body,
    read_parameters,
    require_write,
    run,
    settings_of,
)
from sarag_rdf.server.worker import Worker

_MAX_QUERY = 4 << 20
"""The maximum size of a query in bytes."""
Pairs = Sequence[tuple[str, str]]
"""Parameters with their names."""


_DATASET = "over at default-graph-uri named-graph-uri"
_USING = "using-graph-uri using-named-graph-uri"


@operations(
    get=Operation(f"query {_DATASET}", gives=[*TABLES, *RDF]),
    post=Operation(f"{_DATASET} {_USING}", [QUERY, UPDATE], [*TABLES, *RDF], "204"),
)
async def sparql(request: Request) -> Response:
    """Runs a query, or returns the service description if there is none.

    On a writable server, POST also applies updates, as /update does.
    """
    if request.method == "POST":
        pairs = await _posted(request)
        if _has(pairs, "update"):
            if _has(pairs, "query"):
                raise RequestError(400, "the request has a query and an update: send one of them")
            return await _update(request, pairs)
        return await _query(request, pairs)
    pairs = await query_string(request)
    if _has(pairs, "update"):
        raise RequestError(405, "an update requires POST", Allow="POST")
    if _has(pairs, "query"):
        return await _query(request, pairs)
    accept = _accept(request)
    if HTML in accept and choose_media_type(accept, {HTML: None, **RDF_TYPES}) == HTML:
        server = settings_of(request).public_url  # no host, as the client controls it
        return RedirectResponse(f"{server}/sparql-editor", 303)
    return await run(request, DescribeJob(public_url(request, "/sparql"), accept), "")


@operations(post=Operation(_USING, [UPDATE], more="204", writes=True))
async def update(request: Request) -> Response:
    """Applies a SPARQL 1.1 update as one transaction."""
    require_write(request)
    pairs = await _posted(request)
    if _has(pairs, "query"):
        raise RequestError(415, f"send queries to /sparql, and updates as {UPDATE}")
    return await _update(request, pairs)


async def _query(request: Request, pairs: Pairs) -> Response:
    text = _single(pairs, "query")
    if len(text) > _MAX_QUERY:
        raise RequestError(413, f"the query is longer than {_MAX_QUERY} characters")
    job = QueryJob(
        text,
        _accept(request),
        public_url(request, "/sparql"),
        public_url(request, "/docs#limits"),
        tuple(value for name, value in pairs if name == "over"),
        _graphs(pairs, "default-graph-uri"),
        _graphs(pairs, "named-graph-uri"),
        at=_single(pairs, "at") if _has(pairs, "at") else "",
    )
    return await run(request, job, text)


async def _update(request: Request, pairs: Pairs) -> Response:
    require_write(request)
    using = _graphs(pairs, "using-graph-uri") or ()
    named = _graphs(pairs, "using-named-graph-uri") or ()
    text, url = _single(pairs, "update"), public_url(request, "/sparql")
    return await run(request, load("updates", "sparql")(text, url, using, named), text, "writes")


async def _posted(request: Request) -> Pairs:
    """The parameters of the URL and of the body, which may also be a query or an update itself.

    The body of an update is read only if the client may write; a form of another client may be as
    large as a query. Raises `RequestError` (400, 401, 403, 413, 415).
    """
    header = request.headers.get("content-type", "")
    media_type = base_type(header)
    if media_type not in (FORM, QUERY, UPDATE):
        raise RequestError(
            415,
            f"unsupported media type {media_type or '(none)'}: send the body as {FORM}, {QUERY} or "
            f"{UPDATE}",
        )
    check_charset(header, "body")
    if media_type == UPDATE:
        require_write(request)
    is_long = media_type != QUERY and may_write(request)
    body = await read_body(request, None if is_long else _MAX_QUERY)
    pairs = await query_string(request)
    if media_type == FORM:
        return [*pairs, *await read_parameters(body)]
    try:
        return [*pairs, ("update" if media_type == UPDATE else "query", body.decode("utf-8"))]
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error


def _accept(request: Request) -> str:
    return ", ".join(request.headers.getlist("accept"))


def _has(pairs: Pairs, name: str) -> bool:
    return any(key == name for key, _ in pairs)


def _single(pairs: Pairs, name: str) -> str:
    values = [value for key, value in pairs if key == name]
    if len(values) != 1:
        count = "more than one" if values else "no"
        raise RequestError(400, f"the request has {count} parameter '{name}': send one")
    return values[0]


def _graphs(pairs: Pairs, name: str) -> tuple[str, ...] | None:
    """IRIs of graphs, or None if the request names none."""
    return tuple(check_iri(value, name) for key, value in pairs if key == name) or None


# -------------------------------------------------------------------- Service description

NAMED_GRAPHS = 1000
"""The maximum number of named graphs in a description."""
_PREFIXES = {
    **PREFIXES,
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "formats": "http://www.w3.org/ns/formats/",
}
_COUNTS = "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g"


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """Describe the service at the URL `endpoint`."""

    endpoint: str
    accept: str

    def run(self, worker: Worker) -> JobReply:
        """The description in the requested format, with the graphs that the client may read."""
        media_type = negotiate(self.accept, RDF_TYPES)
        snapshot, readable = worker.snapshot, worker.readable
        graphs = snapshot.cached(_COUNTS, lambda: _sizes(snapshot.port))
        graphs = [each for each in graphs if readable is None or each[0].value in readable]
        turtle = render(
            "service.ttl.j2",
            prefixes=_PREFIXES,
            settings=worker.settings,
            is_union=worker.settings.union and worker.default_graphs(()) is None,
            base=snapshot.meta.base if snapshot.meta else "",
            graphs=graphs[:NAMED_GRAPHS],
            total=sum(count for _, count in graphs),
        )
        triples = ox.parse(turtle, format=ox.RdfFormat.TURTLE, base_iri=self.endpoint)
        data = ox.serialize(
            (quad.triple for quad in triples), format=RDF_TYPES[media_type], prefixes=_PREFIXES
        )
        return JobReply(200, content_type(media_type), data or b"")


def _sizes(store: GraphStore) -> list[tuple[Any, int]]:
    """Named graphs with their sizes."""
    return [(graph, int(n.value)) for graph, n in store.select(_COUNTS, "g").rows]
