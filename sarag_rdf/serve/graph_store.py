"""The SPARQL 1.1 Graph Store Protocol: whole graphs by their IRIs, or below the service's path."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.serve.http import (
    GRAPHS,
    base_type,
    body_file,
    body_of,
    charset,
    public_url,
    query_string,
    require_token,
    run,
)
from sarag_rdf.serve.jobs import Payload, ReadGraphJob, RequestError, WriteGraphJob
from sarag_rdf.serve.sparql import checked_iri

PATH = "/rdf-graph-store"
_ACTIONS: dict[str, Literal["replace", "merge", "drop"]]
_ACTIONS = {"PUT": "replace", "POST": "merge", "DELETE": "drop"}


async def graph_store(request: Request) -> Response:
    """GET, HEAD, PUT, POST and DELETE of one graph; POST to the service itself makes a new one."""
    new = request.method == "POST" and not _names_graph(request)
    graph = _fresh(request) if new else await _graph(request)
    if request.method in ("GET", "HEAD"):
        return await run(request, ReadGraphJob(graph, request.headers.get("accept", "")))
    require_token(request)
    base = graph or public_url(request, PATH)
    if request.method == "DELETE":
        return await run(request, WriteGraphJob("drop", graph, base), pool="writer")
    async with _payloads(request) as payloads:
        job = WriteGraphJob(_ACTIONS[request.method], graph, base, payloads)
        response = await run(request, job, pool="writer")
    if new and graph:
        response.headers["Location"] = graph
    return response


def _names_graph(request: Request) -> bool:
    return bool(request.path_params.get("path")) or bool(request.scope["query_string"])


async def _graph(request: Request) -> str | None:
    """The graph's IRI, None for the default graph; raises `RequestError`."""
    path = request.path_params.get("path")
    found = await query_string(request)
    if path:
        if found:
            raise RequestError(400, "the graph is named twice: by the path and by parameters")
        return checked_iri(public_url(request, f"{PATH}/{quote(path)}"), "path")
    if found == [("default", "")]:
        return None
    if len(found) == 1 and found[0][0] == "graph":
        return checked_iri(found[0][1], "graph")
    raise RequestError(400, "name one graph: ?graph=IRI, ?default, or a path below the service")


def _fresh(request: Request) -> str:
    return public_url(request, f"{PATH}/{uuid.uuid4().hex}")


@asynccontextmanager
async def _payloads(request: Request) -> AsyncIterator[tuple[Payload, ...]]:
    """The RDF of a request, in files that live as long as the block."""
    said = request.headers.get("content-type", "")
    if base_type(said) != "multipart/form-data":
        media_type = _readable(said)
        async with body_file(request) as path:
            yield (Payload(str(path), media_type),)
        return
    parts = _parts(said, await body_of(request))
    with tempfile.TemporaryDirectory(dir=request.app.state.folder) as folder:
        payloads = []
        for number, (media_type, content) in enumerate(parts):
            path = Path(folder, str(number))
            path.write_bytes(content)
            payloads.append(Payload(str(path), media_type))
        yield tuple(payloads)


def _parts(said: str, body: bytes) -> list[tuple[str, bytes]]:
    """Media type and content of each part of a form; raises `RequestError`."""
    message = message_from_bytes(f"Content-Type: {said}\r\n\r\n".encode("latin-1") + body)
    if not message.is_multipart():
        raise RequestError(400, "the body has no parts: does its boundary fit the Content-Type?")
    found = []
    for part in message.walk():
        content = None if part.is_multipart() else part.get_payload(decode=True)
        if isinstance(content, bytes):
            found.append((_readable(part.get("content-type", "")), content))
    return found


def _readable(said: str) -> str:
    """The media type of RDF that can be read; raises `RequestError` (415)."""
    media_type = base_type(said)
    if media_type not in GRAPHS:
        raise RequestError(415, f"send RDF as one of {', '.join(GRAPHS)}")
    if charset(said) not in ("", "utf-8", "utf8", "us-ascii"):
        raise RequestError(415, "send the RDF as UTF-8")
    return media_type
