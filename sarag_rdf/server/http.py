"""HTTP for all routes: parameters, authentication, bodies, responses, content negotiation."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import anyio
import numpy as np
import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from sarag_rdf.base.errors import one_line
from sarag_rdf.server.access import Access
from sarag_rdf.server.jobs import CHUNK, JobReply, Progress, RequestError
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.worker import Job

log = logging.getLogger(__name__)
_DRAIN_BYTES, _DRAIN_SECONDS = 16 << 20, 2.0
"""Limits for reading and discarding the rest of a body that is too large."""
BODY_SECONDS, MIN_RATE = 10.0, 16 << 10
"""Time limit of a body in seconds, and bytes that extend it by one second each time."""
MOST_PARAMETERS = 1000
"""The maximum number of parameters in a query string or form."""
_SHORT = 1 << 14
"""Up to this many bytes of parameters are parsed on the event loop."""
_PERCENT_CHUNK = 1 << 16
_DIGITS = np.full(256, 16, dtype=np.uint8)
"""The value of each byte as a hexadecimal digit; 16 for other characters."""
for _value, _digit in enumerate(b"0123456789abcdef"):
    _DIGITS[[_digit, ord(chr(_digit).upper())]] = _value


def settings_of(request: Request) -> ServeSettings:
    """The settings of the server."""
    settings: ServeSettings = request.app.state.settings
    return settings


def public_url(request: Request, path: str) -> str:
    """The URL of a path for clients."""
    base = settings_of(request).public_url or f"{request.url.scheme}://{request.url.netloc}"
    return base + path


async def read_parameters(data: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string or form; raises `RequestError` (400).

    Long ones are parsed in a thread, so that they do not block the event loop.
    """
    if len(data) <= _SHORT:
        return parse_parameters(data)
    return await anyio.to_thread.run_sync(parse_parameters, data)


def parse_parameters(data: bytes) -> list[tuple[str, str]]:
    if data.count(b"&") >= MOST_PARAMETERS:
        raise RequestError(400, f"the request has more than {MOST_PARAMETERS} parameters")
    pairs = (part.partition(b"=") for part in data.split(b"&") if part)
    return [(_decode(name), _decode(value)) for name, _, value in pairs]


def _decode(data: bytes) -> str:
    """Decode percent-encoded text in chunks, to limit the memory of the arrays."""
    encoded = data.replace(b"+", b" ")
    chunks, begin = [], 0
    while begin < len(encoded):
        end = begin + _PERCENT_CHUNK
        escape = encoded.find(b"%", end - 2, end)  # do not split an escape
        end = escape if escape >= 0 else end
        chunks.append(_unescape(encoded[begin:end]))
        begin = end
    try:
        return b"".join(chunks).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the parameters are not UTF-8") from error


def _unescape(data: bytes) -> bytes:
    """Decode percent-encoded bytes; vectorized, because there may be millions."""
    if b"%" not in data:
        return data
    values = np.frombuffer(data + b"  ", dtype=np.uint8).copy()
    escapes = np.flatnonzero(values[:-2] == ord("%"))
    high, low = _DIGITS[values[escapes + 1]], _DIGITS[values[escapes + 2]]
    if (high > 15).any() or (low > 15).any():
        raise RequestError(400, "the parameters contain '%' without two hexadecimal digits")
    values[escapes] = high * 16 + low
    is_kept = np.ones(len(values), dtype=bool)
    is_kept[escapes + 1] = is_kept[escapes + 2] = is_kept[-2:] = False
    return values[is_kept].tobytes()


async def query_string(request: Request) -> list[tuple[str, str]]:
    """The parameters of the URL."""
    return await read_parameters(request.scope["query_string"])


RECORD = "sarag.record"
"""Key of the `RequestRecord` in the scope of a request."""


@dataclass(slots=True)
class RequestRecord:
    """Who sent a request, and what it is about, for permissions and the audit log."""

    access: Access
    what: str = ""
    rows: int | None = None


def record_of(request: Request) -> RequestRecord:
    """The record of a request; the middleware has added it."""
    record: RequestRecord = request.scope[RECORD]
    return record


def may_write(request: Request) -> bool:
    """Whether the server is writable and the client may write."""
    return settings_of(request).writable and "write" in record_of(request).access.scopes


def require_write(request: Request) -> None:
    """Raise `RequestError` unless the server is writable and the client may write."""
    if not settings_of(request).writable:
        raise RequestError(403, "this server is read-only: start it with --writable")
    record_of(request).access.require("write")


def check_iri(value: str, name: str) -> str:
    """Return the value; raises `RequestError` if it is not an absolute IRI."""
    try:
        ox.NamedNode(value)
    except ValueError as error:
        raise RequestError(400, f"the value of '{name}' is not an absolute IRI") from error
    return value


async def read_body(request: Request, limit: int | None = None) -> bytes:
    """The body; raises `RequestError` (413) if it is larger than the limit."""
    chunks: list[bytes] = []
    async for chunk in _stream_body(request, limit):
        chunks.append(chunk)  # noqa: PERF401 - list.extend takes no asynchronous iterator
    return b"".join(chunks)


@asynccontextmanager
async def body_file(request: Request) -> AsyncIterator[Path]:
    """The body in a file that is deleted at the end of the block."""
    descriptor, name = tempfile.mkstemp(dir=request.app.state.workers.folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            async for chunk in _stream_body(request, None):
                stream.write(chunk)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


async def _stream_body(request: Request, limit: int | None) -> AsyncIterator[bytes]:
    """The body in chunks. Raises `RequestError`: 413, or 408 if it arrives too slowly."""
    max_size = settings_of(request).max_body << 20 if limit is None else limit
    too_large = RequestError(413, f"the body is larger than {max_size} bytes", Connection="close")
    length = request.headers.get("content-length", "0")
    stream = request.stream()
    size = int(length) if length.isdigit() else 0
    if size <= max_size:
        size, begin = 0, time.monotonic()
        while True:
            remaining = begin + BODY_SECONDS + size / MIN_RATE - time.monotonic()
            try:
                async with asyncio.timeout(remaining):
                    chunk = await anext(stream, None)
            except TimeoutError:
                raise RequestError(
                    408,
                    f"the body arrives too slowly: send at least {MIN_RATE >> 10} KiB per second",
                    Connection="close",
                ) from None
            if chunk is None:
                return
            size += len(chunk)
            if size > max_size:
                break
            yield chunk
    await _drain(stream)
    raise too_large


async def _drain(stream: AsyncIterator[bytes]) -> None:
    """Discard more of the body for a while, because many clients read no response before."""
    size = 0
    with anyio.move_on_after(_DRAIN_SECONDS):
        async for chunk in stream:
            size += len(chunk)
            if size > _DRAIN_BYTES:
                break


def error_response(_: Request, error: Exception) -> Response:
    """The response for a `RequestError`: one line of text."""
    assert isinstance(error, RequestError)  # noqa: S101 - the handler is registered for these
    return PlainTextResponse(f"{one_line(str(error))}\n", error.status, dict(error.headers))


def to_response(reply: JobReply) -> Response:
    """The response for a worker's reply; its file is unlinked as soon as it is open."""
    headers = {"Vary": "Accept", **reply.headers}
    if reply.media_type:
        headers["Content-Type"] = reply.media_type
    if not reply.path:
        return Response(reply.head, reply.status, headers)
    path = Path(reply.path)
    stream = path.open("rb", buffering=0)
    path.unlink()
    headers["Content-Length"] = str(len(reply.head) + os.fstat(stream.fileno()).st_size)
    return StreamingResponse(_chunks(reply.head, stream), reply.status, headers)


async def _chunks(head: bytes, stream: IO[bytes]) -> AsyncIterator[bytes]:
    """The head and the content of the file, which is closed even if the client disconnects."""
    with stream:
        yield head
        while chunk := await anyio.to_thread.run_sync(stream.read, CHUNK):
            yield chunk


PAUSE = 15.0
"""Seconds of silence after which a stream says that it goes on."""


Pool = Literal["readers", "writer", "questions"]


async def run(request: Request, job: Job, *, pool: Pool = "readers") -> Response:
    """The response for a job; a job that does not write is stopped if the client disconnects."""
    return to_response(await run_job(request, job, pool=pool))


async def run_job(request: Request, job: Job, *, pool: Pool = "readers") -> JobReply:
    """The reply to a job; see `run`."""
    async for event in job_events(request, job, pool=pool):
        if isinstance(event, JobReply):
            return event
    raise RequestError(500, "the server failed")


async def job_events(
    request: Request, job: Job, *, pool: Pool = "readers"
) -> AsyncGenerator[Progress | JobReply | None]:
    """What happens while a job runs, and its reply last; None after each `PAUSE` of silence.

    A job that does not write is stopped if the client disconnects, or if the generator is closed.
    Raises `RequestError`.
    """
    client = request.client.host if request.client else ""
    record = record_of(request)
    record.what = job.text
    events: asyncio.Queue[Progress | None] = asyncio.Queue()
    run = getattr(request.app.state.workers, pool).run
    reply = asyncio.ensure_future(run(job, record.access.graphs, client, events.put_nowait))
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
    for task in (reply, disconnect):
        task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while not reply.done() or not events.empty():
            try:
                event = await asyncio.wait_for(events.get(), PAUSE)
            except TimeoutError:
                yield None
                continue
            if event is not None:
                yield event
            elif disconnect.done() and not reply.done() and pool != "writer":
                raise RequestError(499, "the client disconnected")
        result: JobReply = await reply
        record.rows = result.rows
        yield result
    finally:
        disconnect.cancel()
        reply.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


RESULT_TYPES: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media type -> format of SELECT and ASK results; the first is the default."""

RDF_TYPES: dict[str, ox.RdfFormat] = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
    "application/ld+json": ox.RdfFormat.JSON_LD,
    "application/trig": ox.RdfFormat.TRIG,
    "application/n-quads": ox.RdfFormat.N_QUADS,
    "text/n3": ox.RdfFormat.N3,
    "application/x-turtle": ox.RdfFormat.TURTLE,
    "text/plain": ox.RdfFormat.N_TRIPLES,
    "application/xml": ox.RdfFormat.RDF_XML,
    "text/xml": ox.RdfFormat.RDF_XML,
    "application/json": ox.RdfFormat.JSON_LD,
}
"""Media type -> format of triples; the first is the default."""

_MEDIA_TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+")
_QUALITY = re.compile(r";\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", re.IGNORECASE)


def base_type(value: str) -> str:
    """A media type without its parameters, in lower case; empty if it is malformed."""
    name = value.partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) else ""


def charset(value: str) -> str:
    """The charset of a Content-Type in lower case, or an empty string."""
    match = re.search(r";\s*charset\s*=\s*\"?([\w.:-]+)\"?", value, re.IGNORECASE)
    return match.group(1).lower() if match else ""


def choose_media_type(accept: str, offered: Mapping[str, object]) -> str | None:
    """The best of the offered media types for an Accept header, or None.

    Types are ranked by quality, then by the specificity of the matching media range, then by the
    order of the offer (RFC 9110, 12.5.1). An empty header accepts any type. Takes time linear in
    the length of the header.
    """
    qualities = _qualities(accept) or {"*/*": 1.0}
    best: tuple[float, int, int] | None = None
    chosen = None
    for position, media_type in enumerate(offered):
        ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        matching = next((range_ for range_ in ranges if range_ in qualities), None)
        if matching is None or not qualities[matching] > 0:
            continue
        rank = (qualities[matching], -ranges.index(matching), -position)
        if best is None or rank > best:
            best, chosen = rank, media_type
    return chosen


def negotiate(accept: str, offered: Mapping[str, object]) -> str:
    """The media type of the response; raises `RequestError` (406) if none is acceptable."""
    media_type = choose_media_type(accept, offered)
    if media_type is None:
        raise RequestError(
            406, f"not acceptable: this resource is available as {', '.join(offered)}"
        )
    return media_type


def content_type(media_type: str) -> str:
    """The Content-Type header of a media type, with the charset of a text."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _qualities(accept: str) -> dict[str, float]:
    """The quality of each media range of an Accept header; the first of equal ranges counts."""
    qualities: dict[str, float] = {}
    for part in accept.split(","):
        name = base_type(part)
        if name and name not in qualities:
            quality = _QUALITY.search(part)
            qualities[name] = float(quality.group(1)) if quality else 1.0
    return qualities
