"""The SPARQL 1.1 Graph Store HTTP Protocol, with indirect and direct graph identification."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.server.http import (
    RDF_TYPES,
    base_type,
    body_file,
    charset,
    check_iri,
    public_url,
    query_string,
    read_body,
    require_write,
    run,
)
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.read import ReadGraphJob
from sarag_rdf.server.write import Payload, WriteGraphJob

PATH = "/rdf-graph-store"
_ACTIONS: dict[str, Literal["replace", "merge", "drop"]]
_ACTIONS = {"PUT": "replace", "POST": "merge", "DELETE": "drop"}


async def graph_store(request: Request) -> Response:
    """GET, HEAD, PUT, POST and DELETE of a graph; POST to the service itself creates a graph."""
    is_new = request.method == "POST" and not _names_graph(request)
    graph = _new_graph(request) if is_new else await _graph(request)
    if request.method in ("GET", "HEAD"):
        return await run(request, ReadGraphJob(graph, request.headers.get("accept", "")))
    require_write(request)
    base = graph or public_url(request, PATH)
    if request.method == "DELETE":
        return await run(request, WriteGraphJob("drop", graph, base), pool="writer")
    async with _payloads(request) as payloads:
        job = WriteGraphJob(_ACTIONS[request.method], graph, base, payloads)
        response = await run(request, job, pool="writer")
    if is_new and graph:
        response.headers["Location"] = graph
    return response


def _names_graph(request: Request) -> bool:
    return bool(request.path_params.get("path")) or bool(request.scope["query_string"])


async def _graph(request: Request) -> str | None:
    """The graph's IRI, None for the default graph; raises `RequestError`."""
    path = request.path_params.get("path")
    parameters = await query_string(request)
    if path:
        if parameters:
            raise RequestError(400, "the graph is named twice: by the path and by parameters")
        return check_iri(public_url(request, f"{PATH}/{quote(path)}"), "path")
    if parameters == [("default", "")]:
        return None
    if len(parameters) == 1 and parameters[0][0] == "graph":
        return check_iri(parameters[0][1], "graph")
    raise RequestError(400, "name one graph: ?graph=IRI, ?default, or a path below the service")


def _new_graph(request: Request) -> str:
    return public_url(request, f"{PATH}/{uuid.uuid4().hex}")


@asynccontextmanager
async def _payloads(request: Request) -> AsyncIterator[tuple[Payload, ...]]:
    """The RDF of a request, in files that are deleted at the end of the block."""
    content_type = request.headers.get("content-type", "")
    if base_type(content_type) != "multipart/form-data":
        media_type = _rdf_type(content_type)
        async with body_file(request) as path:
            yield (Payload(str(path), media_type),)
        return
    body = await read_body(request)
    parts = await anyio.to_thread.run_sync(_form_parts, content_type, body)
    with tempfile.TemporaryDirectory(dir=request.app.state.workers.folder) as folder:
        payloads = []
        for number, (media_type, content) in enumerate(parts):
            path = Path(folder, str(number))
            path.write_bytes(content)
            payloads.append(Payload(str(path), media_type))
        yield tuple(payloads)


def _form_parts(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """Media type and content of each part of a form; raises `RequestError`."""
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = message_from_bytes(header + body)
    if not message.is_multipart():
        raise RequestError(400, "the body has no parts: check the boundary in the Content-Type")
    parts = []
    for part in message.walk():
        content = None if part.is_multipart() else part.get_payload(decode=True)
        if isinstance(content, bytes):
            parts.append((_rdf_type(part.get("content-type", "")), content))
    return parts


def _rdf_type(content_type: str) -> str:
    """The media type of a supported RDF format; raises `RequestError` (415)."""
    media_type = base_type(content_type)
    if media_type not in RDF_TYPES:
        raise RequestError(415, f"unsupported media type: send RDF as {', '.join(RDF_TYPES)}")
    if charset(content_type) not in ("", "utf-8", "utf8", "us-ascii"):
        raise RequestError(415, "unsupported charset: send the RDF as UTF-8")
    return media_type
