"""What every answer has in common: one line for an error, spooled content, who may ask what."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import anyio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from sarag_rdf.serve.jobs import Reply, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.spool import PIECE

log = logging.getLogger(__name__)
_DRAIN, _PATIENCE = 16 << 20, 2.0
"""Bytes and seconds of a body beyond the limit that are read and dropped."""


def settings_of(request: Request) -> ServeSettings:
    """What the server was started with."""
    settings: ServeSettings = request.app.state.settings
    return settings


def public_url(request: Request, path: str) -> str:
    """The URL of a path as clients see it."""
    base = settings_of(request).public_url or f"{request.url.scheme}://{request.url.netloc}"
    return base + path


def parameters(data: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string or form; raises `RequestError` for bad escapes."""
    found = []
    for part in data.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            found.append((_decoded(name), _decoded(value)))
    return found


def _decoded(data: bytes) -> str:
    plain = data.replace(b"+", b" ")
    pieces = plain.split(b"%")[1:]
    hexadecimal = b"0123456789abcdefABCDEF"
    if any(len(p) < 2 or p[0] not in hexadecimal or p[1] not in hexadecimal for p in pieces):
        raise RequestError(400, "the parameters hold a '%' without two hexadecimal digits")
    try:
        return unquote_to_bytes(plain).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the parameters are not UTF-8 text") from error


def query_string(request: Request) -> list[tuple[str, str]]:
    """The parameters of the URL."""
    return parameters(request.scope["query_string"])


def require_token(request: Request) -> None:
    """Raise `RequestError` unless the server is writable and the request shows its token."""
    token = settings_of(request).token
    if not token:
        raise RequestError(403, "this server is read only: start it with --writable to write")
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    right = hmac.compare_digest(shown.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not right:
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
    most = settings_of(request).max_body if limit is None else limit
    too_large = RequestError(413, f"the body is larger than {most} bytes", Connection="close")
    said = request.headers.get("content-length", "0")
    stream = request.stream()
    size = int(said) if said.isdigit() else 0
    if size <= most:
        size = 0
        async for part in stream:
            size += len(part)
            if size > most:
                break
            yield part
    if size > most:
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
    line = " ".join(str(error).split())
    return PlainTextResponse(f"{line}\n", error.status, dict(error.headers))


def answered(reply: Reply) -> Response:
    """A reply of a worker; the file with its content is removed as soon as it is open."""
    headers = {"Vary": "Accept", **reply.headers}
    if reply.media_type:
        headers["Content-Type"] = reply.media_type
    if not reply.path:
        return Response(reply.head, reply.status, headers)
    descriptor = os.open(reply.path, os.O_RDONLY)
    Path(reply.path).unlink()
    headers["Content-Length"] = str(len(reply.head) + os.fstat(descriptor).st_size)
    return StreamingResponse(_pieces(reply.head, descriptor), reply.status, headers)


async def _pieces(head: bytes, descriptor: int) -> AsyncIterator[bytes]:
    try:
        yield head
        while piece := await anyio.to_thread.run_sync(os.read, descriptor, PIECE):
            yield piece
    finally:
        os.close(descriptor)


async def run(request: Request, job: Any, *, writes: bool = False) -> Response:
    """The answer of a worker to a job, which ends when the client hangs up."""
    state = request.app.state
    working = asyncio.ensure_future((state.writer if writes else state.readers).run(job))
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and not writes:
            raise RequestError(499, "the client hung up")
        return answered(await working)
    finally:
        gone.cancel()
        working.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
