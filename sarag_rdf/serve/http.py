"""HTTP shared by all routes: content negotiation, errors, authentication, spooled bodies."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Literal

import anyio
import numpy as np
import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from sarag_rdf.errors import one_line
from sarag_rdf.serve.jobs import Reply, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.spool import PIECE

log = logging.getLogger(__name__)
_DRAIN, _PATIENCE = 16 << 20, 2.0
"""Bytes and seconds of a body beyond the limit that are read and dropped."""
BODY_PATIENCE, SLOWEST = 10.0, 16 << 10
"""A body may take that many seconds, and one more for so many bytes of it."""
MOST_PARAMETERS = 1000
"""Parameters of a query string or form."""
_SHORT = 1 << 14
"""Bytes of parameters that are parsed on the event loop."""
_PIECE = 1 << 16
_DIGITS = np.full(256, 16, dtype=np.uint8)
"""What each byte stands for as a hexadecimal digit; 16 for none."""
for _value, _digit in enumerate(b"0123456789abcdef"):
    _DIGITS[[_digit, ord(chr(_digit).upper())]] = _value


def settings_of(request: Request) -> ServeSettings:
    """What the server was started with."""
    settings: ServeSettings = request.app.state.settings
    return settings


def public_url(request: Request, path: str) -> str:
    """The URL of a path as clients see it."""
    base = settings_of(request).public_url or f"{request.url.scheme}://{request.url.netloc}"
    return base + path


async def parsed(data: bytes) -> list[tuple[str, str]]:
    """`parameters`, with long ones in a thread, so that other requests go on."""
    if len(data) <= _SHORT:
        return parameters(data)
    return await anyio.to_thread.run_sync(parameters, data)


def parameters(data: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string or form; raises `RequestError` (400) for bad ones."""
    if data.count(b"&") >= MOST_PARAMETERS:
        raise RequestError(400, f"the request has more than {MOST_PARAMETERS} parameters")
    pairs = (part.partition(b"=") for part in data.split(b"&") if part)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def _decoded(data: bytes) -> str:
    """Text in percent-encoding, piece by piece: memory grows with its size and no faster."""
    plain = data.replace(b"+", b" ")
    pieces, begin = [], 0
    while begin < len(plain):
        end = begin + _PIECE
        cut = plain.find(b"%", end - 2, end)  # an escape may not be cut in two
        end = cut if cut >= 0 else end
        pieces.append(_unescaped(plain[begin:end]))
        begin = end
    try:
        return b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the parameters are not UTF-8 text") from error


def _unescaped(data: bytes) -> bytes:
    """The bytes that percent-encoded ones stand for; as arrays, since there may be millions."""
    if b"%" not in data:
        return data
    found = np.frombuffer(data + b"  ", dtype=np.uint8).copy()
    at = np.flatnonzero(found[:-2] == ord("%"))
    high, low = _DIGITS[found[at + 1]], _DIGITS[found[at + 2]]
    if (high > 15).any() or (low > 15).any():
        raise RequestError(400, "the parameters hold a '%' without two hexadecimal digits")
    found[at] = high * 16 + low
    kept = np.ones(len(found), dtype=bool)
    kept[at + 1] = kept[at + 2] = kept[-2:] = False
    return found[kept].tobytes()


async def query_string(request: Request) -> list[tuple[str, str]]:
    """The parameters of the URL."""
    return await parsed(request.scope["query_string"])


def shows_token(request: Request) -> bool:
    """Whether the server is writable and the request shows its token."""
    token = settings_of(request).token
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    right = hmac.compare_digest(shown.strip().encode(), token.encode())
    return bool(token) and scheme.lower() == "bearer" and right


def require_token(request: Request) -> None:
    """Raise `RequestError` unless the server is writable and the request shows its token."""
    if not settings_of(request).writable:
        raise RequestError(403, "this server is read only: start it with --writable to write")
    if not shows_token(request):
        raise RequestError(
            401, "writing needs the header  Authorization: Bearer TOKEN", WWW_Authenticate="Bearer"
        )


async def body_of(request: Request, limit: int | None = None) -> bytes:
    """The body, up to the limit; raises `RequestError` (413)."""
    parts: list[bytes] = []
    async for part in _parts(request, limit):
        parts.append(part)  # noqa: PERF401 - there is no such thing as extend for these
    return b"".join(parts)


@asynccontextmanager
async def body_file(request: Request) -> AsyncIterator[Path]:
    """The body in a file that lives as long as the block."""
    descriptor, name = tempfile.mkstemp(dir=request.app.state.folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            async for part in _parts(request, None):
                stream.write(part)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


async def _parts(request: Request, limit: int | None) -> AsyncIterator[bytes]:
    """The body as it comes. Raises `RequestError`: 413, or 408 if it comes too slowly."""
    most = settings_of(request).max_body if limit is None else limit
    too_large = RequestError(413, f"the body is larger than {most} bytes", Connection="close")
    said = request.headers.get("content-length", "0")
    stream = request.stream()
    size = int(said) if said.isdigit() else 0
    if size <= most:
        size, begun = 0, time.monotonic()
        while True:
            allowed = begun + BODY_PATIENCE + size / SLOWEST - time.monotonic()
            try:
                async with asyncio.timeout(allowed):
                    part = await anext(stream, None)
            except TimeoutError:
                raise RequestError(
                    408,
                    f"the body comes too slowly: send at least {SLOWEST >> 10} KiB a second",
                    Connection="close",
                ) from None
            if part is None:
                return
            size += len(part)
            if size > most:
                break
            yield part
    await _drain(stream)
    raise too_large


async def _drain(stream: AsyncIterator[bytes]) -> None:
    """Drop what still comes, for a while: who is sending may not see the answer otherwise."""
    size = 0
    with anyio.move_on_after(_PATIENCE):
        async for part in stream:
            size += len(part)
            if size > _DRAIN:
                break


def failed(_: Request, error: Exception) -> Response:
    """One line of text, with the status."""
    assert isinstance(error, RequestError)  # noqa: S101 - it is registered for these
    return PlainTextResponse(f"{one_line(str(error))}\n", error.status, dict(error.headers))


def answered(reply: Reply) -> Response:
    """A reply of a worker; the file with its content is removed as soon as it is open."""
    headers = {"Vary": "Accept", **reply.headers}
    if reply.media_type:
        headers["Content-Type"] = reply.media_type
    if not reply.path:
        return Response(reply.head, reply.status, headers)
    path = Path(reply.path)
    stream = path.open("rb", buffering=0)
    path.unlink()
    headers["Content-Length"] = str(len(reply.head) + os.fstat(stream.fileno()).st_size)
    return StreamingResponse(_pieces(reply.head, stream), reply.status, headers)


async def _pieces(head: bytes, stream: IO[bytes]) -> AsyncIterator[bytes]:
    """The head and the rest; an answer that nobody takes closes its file when it is dropped."""
    with stream:
        yield head
        while piece := await anyio.to_thread.run_sync(stream.read, PIECE):
            yield piece


async def run(
    request: Request, job: Any, *, pool: Literal["readers", "writer", "questions"] = "readers"
) -> Response:
    """The answer of a worker to a job; unless it writes, it ends when the client hangs up."""
    client = request.client.host if request.client else ""
    working = asyncio.ensure_future(getattr(request.app.state, pool).run(job, client))
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and pool != "writer":
            raise RequestError(499, "the client hung up")
        return answered(await working)
    finally:
        gone.cancel()
        working.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


TABLES: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media type -> format of SELECT and ASK results; the first is the default."""

GRAPHS: dict[str, ox.RdfFormat] = {
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

PATTERN = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+")
_QUALITY = re.compile(r";\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", re.IGNORECASE)


def base_type(value: str) -> str:
    """A media type without its parameters, in lower case; empty if it is none."""
    name = value.partition(";")[0].strip().lower()
    return name if PATTERN.fullmatch(name) else ""


def charset(value: str) -> str:
    """The charset that a Content-Type names, in lower case, or nothing."""
    found = re.search(r";\s*charset\s*=\s*\"?([\w.:-]+)\"?", value, re.IGNORECASE)
    return found.group(1).lower() if found else ""


def choose(accept: str, offered: Mapping[str, object]) -> str | None:
    """The media type of those offered that an Accept header likes best, or None.

    Quality counts first, then how precisely the header names the type, then the order of the
    offer (RFC 9110, 12.5.1). An empty header accepts anything. The time taken grows with the
    length of the header, not with its square.
    """
    qualities = _qualities(accept) or {"*/*": 1.0}
    best: tuple[float, int, int] | None = None
    chosen = None
    for place, media_type in enumerate(offered):
        ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        found = next((range_ for range_ in ranges if range_ in qualities), None)
        if found is None or not qualities[found] > 0:
            continue
        rank = (qualities[found], -ranges.index(found), -place)
        if best is None or rank > best:
            best, chosen = rank, media_type
    return chosen


def accepted(accept: str, offered: Mapping[str, object]) -> str:
    """The media type of the answer; raises `RequestError` (406) if the client takes none."""
    media_type = choose(accept, offered)
    if media_type is None:
        raise RequestError(406, f"this answer can be had as {', '.join(offered)}")
    return media_type


def content_type(media_type: str) -> str:
    """The header's value: texts say that they are UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _qualities(accept: str) -> dict[str, float]:
    """Quality of each media range in an Accept header; where one is repeated, the first counts."""
    found: dict[str, float] = {}
    for part in accept.split(","):
        name = base_type(part)
        if name and name not in found:
            quality = _QUALITY.search(part)
            found[name] = float(quality.group(1)) if quality else 1.0
    return found
