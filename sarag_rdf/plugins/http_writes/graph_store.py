"""The door ``/rdf-graph-store``: the SPARQL 1.1 Graph Store HTTP Protocol.

Graphs are identified indirectly, by a parameter, or directly, by a path below the service.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, Literal, cast
from urllib.parse import quote

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.vocab import is_deep
from sarag_rdf.graph.store.input_files import PlainXml
from sarag_rdf.plugins.http_writes.blank_nodes import Skolemizer
from sarag_rdf.plugins.http_writes.updates import (
    DEFAULT_IS_UNION,
    TOO_DEEP,
    Difference,
    open_for_writing,
    quads_in,
)
from sarag_rdf.server.jobs import JobReply, RequestError
from sarag_rdf.server.media import (
    RDF_TYPES,
    base_type,
    check_charset,
    content_type,
    negotiate,
)
from sarag_rdf.server.openapi import RDF, Door, Operation, operations, route
from sarag_rdf.server.query_evaluation import Limited, Rows, write_triples
from sarag_rdf.server.requests import (
    STORE_PATH,
    body_file,
    check_iri,
    public_url,
    query_string,
    require_write,
    run,
)
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import Worker
from sarag_rdf.server.worker_pool import Workers

_MULTIPART: Final = "multipart/form-data"
_ACTIONS: dict[str, Literal["replace", "merge", "drop"]]
_ACTIONS = {"PUT": "replace", "POST": "merge", "DELETE": "drop"}


_CHANGED = Operation("graph default", [*RDF, _MULTIPART], more="201 204", writes=True)


@operations(
    get=Operation("graph default", gives=RDF),
    put=_CHANGED,
    post=_CHANGED,
    delete=Operation("graph default", more="204", writes=True),
)
async def graph_store(request: Request) -> Response:
    """Returns all triples of a graph, without a limit; replaces it, adds to it, or deletes it.

    POST to the service itself creates a graph, whose IRI is in Location.
    """
    is_named = bool(request.path_params.get("path") or request.scope["query_string"])
    is_new = request.method == "POST" and not is_named
    new = public_url(request, f"{STORE_PATH}/{uuid.uuid4().hex}")
    graph = new if is_new else await _graph(request)
    what = graph or ""
    if request.method in ("GET", "HEAD"):
        return await run(request, ReadGraphJob(graph, request.headers.get("accept", "")), what)
    require_write(request)
    base = graph or public_url(request, STORE_PATH)
    if request.method == "DELETE":
        return await run(request, WriteGraphJob("drop", graph, base), what, "writes")
    header = request.headers.get("content-type", "")
    if base_type(header) != _MULTIPART:
        _rdf_type(header)
    async with body_file(request) as path:
        job = WriteGraphJob(_ACTIONS[request.method], graph, base, str(path), header)
        response = await run(request, job, what, "writes")
    if is_new:
        response.headers["Location"] = new
    return response


def door(settings: ServeSettings, workers: Workers) -> Door:  # noqa: ARG001 - as all doors
    """The graph store of a server."""
    paths = (STORE_PATH, STORE_PATH + "/{path:path}")
    routes = [route(path, graph_store) for path in paths]
    return Door(STORE_PATH, "Graph store", routes, may_cost=False)


async def _graph(request: Request) -> str | None:
    """The graph's IRI, None for the default graph; raises `RequestError`."""
    path = request.path_params.get("path")
    parameters = await query_string(request)
    if path:
        if parameters:
            raise RequestError(400, "the graph is named twice: by the path and by parameters")
        return check_iri(public_url(request, f"{STORE_PATH}/{quote(path)}"), "path")
    if parameters == [("default", "")]:
        return None
    if len(parameters) == 1 and parameters[0][0] == "graph":
        return check_iri(parameters[0][1], "graph")
    raise RequestError(400, "name one graph: ?graph=IRI, ?default, or a path below the service")


def _rdf_type(header: str) -> str:
    """The media type of a supported RDF format; raises `RequestError` (415)."""
    media_type = base_type(header)
    if media_type not in RDF_TYPES:
        raise RequestError(415, f"unsupported media type: send RDF as {', '.join(RDF_TYPES)}")
    check_charset(header, "RDF")
    return media_type


# ------------------------------------------------------------------------------ In a worker


@dataclass(frozen=True, slots=True)
class ReadGraphJob:
    """Read all triples of a graph, without a row limit; None for the default graph."""

    graph: str | None
    accept: str

    def run(self, worker: Worker) -> JobReply:
        """The triples; raises `RequestError` (404, 406).

        To a client that may not read it, a graph does not exist.
        """
        media_type = negotiate(self.accept, RDF_TYPES)
        snapshot, readable = worker.snapshot, worker.readable
        is_hidden = readable is not None and self.graph is not None and self.graph not in readable
        if is_hidden or not _graph_exists(snapshot.store, self.graph):
            raise RequestError(404, f"no such graph: {self.graph}")
        if self.graph is None and worker.settings.union:
            dataset: dict[str, Any] = {"use_default_graph_as_union": True}
            if readable is not None:
                dataset = {"default_graph": [ox.NamedNode(iri) for iri in sorted(readable)]}
            result = Rows.of(snapshot.store.query("CONSTRUCT WHERE { ?s ?p ?o }", **dataset))
            triples = result.items if isinstance(result, Rows) else iter(())
        else:
            triples = (quad.triple for quad in quads_in(snapshot.store, self.graph))
        rows = Limited(map(Skolemizer(snapshot.minter.base).restored, triples), 0)
        with worker.file() as file:
            write_triples(rows, media_type, file)
        return JobReply(200, content_type(media_type), path=file.name, rows=rows.count)


@dataclass(frozen=True, slots=True)
class WriteGraphJob:
    """`replace` a graph, `merge` into it, or `drop` it; None for the default graph.

    The RDF is in the file at `path`, whose Content-Type is `header`.
    """

    action: Literal["replace", "merge", "drop"]
    graph: str | None
    base: str
    path: str = ""
    header: str = ""

    def run(self, worker: Worker) -> JobReply:
        """Write the graph; raises `RequestError`, `StoreError`."""
        if worker.client.is_limited:
            self._check(worker)
        worker.has_written = True
        if self.graph is None and worker.settings.union:
            raise RequestError(409, DEFAULT_IS_UNION)
        parsed = {quad for part in self._parts() for quad in self._quads(*part)}
        with open_for_writing(worker.settings) as repair:
            store = repair.store.inner
            repair.reject_managed(() if self.graph is None else (self.graph,))
            existed = _graph_exists(store, self.graph)
            if self.action == "drop" and not existed:
                raise RequestError(404, f"no such graph: {self.graph}")
            old = set(quads_in(store, self.graph))
            new = {"replace": parsed, "merge": old | parsed, "drop": set[ox.Quad]()}[self.action]
            difference = Difference()
            if self.graph is not None:
                difference.dropped |= {self.graph} if self.action == "drop" else set()
                difference.created |= set() if existed else {self.graph}
                difference.cleared |= {self.graph} if old and not new else set()
            if self.graph not in difference.cleared:
                difference.add(self.graph, old - new, new - old)
            repair.write(difference)
        return JobReply(204 if existed else 201)

    def _check(self, worker: Worker) -> None:
        """Raise `RequestError` (403) for a graph that the client may not write to."""
        snapshot, client, graph = worker.snapshot, worker.client, self.graph
        is_new = graph is not None and not _graph_exists(snapshot.store, graph)
        is_own = graph is not None and not graph.startswith(snapshot.minter.graphs)
        may_create = is_new and is_own and client.allow is None and graph not in client.deny
        accessible = {*(worker.readable or ()), *(client.allow or ())}
        if graph not in accessible and not may_create:
            raise RequestError(403, f"this token may not write to {graph or 'the default graph'}")

    def _parts(self) -> Iterator[tuple[str, IO[bytes]]]:
        """Media type and content of the body, or of each part of a form."""
        if not self.path:
            return
        with Path(self.path).open("rb") as body:
            if base_type(self.header) != _MULTIPART:
                yield _rdf_type(self.header), body
                return
            head = f"Content-Type: {self.header}\r\n\r\n".encode("latin-1")
            form = message_from_bytes(head + body.read())
        if not form.is_multipart():
            raise RequestError(400, "the body has no parts: check the boundary in the Content-Type")
        for part in form.walk():
            content = None if part.is_multipart() else part.get_payload(decode=True)
            if isinstance(content, bytes):
                yield _rdf_type(part.get("content-type", "")), BytesIO(content)

    def _quads(self, media_type: str, body: IO[bytes]) -> list[ox.Quad]:
        """The triples of a body in the graph, with blank nodes renamed."""
        name = ox.DefaultGraph() if self.graph is None else ox.NamedNode(self.graph)
        format_ = RDF_TYPES[media_type]
        if format_ == ox.RdfFormat.RDF_XML:
            body = cast("IO[bytes]", PlainXml(body, "the body"))
        try:
            parsed = ox.parse(
                input=body,
                format=format_,
                base_iri=self.base,
                without_named_graphs=True,
                rename_blank_nodes=True,
            )
            quads = [ox.Quad(q.subject, q.predicate, q.object, name) for q in parsed]
        except InputError as error:
            raise RequestError(400, str(error)) from error
        except MemoryError as error:
            raise RequestError(400, "the body contains a term of more than 16 MiB") from error
        except (SyntaxError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise RequestError(400, f"the {media_type} does not parse: {reason}") from error
        if any(map(is_deep, quads)):
            raise RequestError(400, f"the body {TOO_DEEP}")
        return quads


def _graph_exists(store: ox.Store, graph: str | None) -> bool:
    """Whether a named graph exists; the default graph always does."""
    return graph is None or store.contains_named_graph(ox.NamedNode(graph))
