"""Requests: their parameters, bodies and rights, and the jobs that answer them.

Parameters are declared once: they are read, checked and described from here.
"""

from __future__ import annotations

import asyncio
import binascii
import os
import re
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any, Final, Literal, Self

import anyio
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.options import MAX_COUNT, MAX_TOKENS
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER
from sarag_rdf.server.jobs import JSON, JobReply, Progress, RequestError
from sarag_rdf.server.media import base_type
from sarag_rdf.server.serve_settings import ANONYMOUS, Access, ServeSettings, first_problem
from sarag_rdf.server.worker import Job

_DRAIN_BYTES, _DRAIN_SECONDS = 16 << 20, 2.0
"""Limits for reading and discarding the rest of a body that is too large."""
BODY_SECONDS, MIN_RATE = 10.0, 16 << 10
"""Time limit of a body in seconds, and bytes that extend it by one second each time."""
MOST_PARAMETERS = 1000
"""The maximum number of parameters in a query string or form."""
_SHORT = 1 << 14
"""Up to this many bytes of parameters are parsed on the event loop."""
_CHUNK = 1 << 17
"""Bytes of a file that are read at a time."""
_MOST_JSON = 1 << 20
"""The maximum size of a JSON body in bytes."""
_INCOMPLETE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
STORE_PATH = "/rdf-graph-store"
"""Where the triples of a graph are: the path of a door."""
HEALTH_PATH = "/health"
PAUSE = 15.0
"""Seconds of silence after which a stream says that it goes on."""
RECORD = "sarag.record"
"""Key of the `RequestRecord` in the scope of a request."""
Work = Literal["queries", "pages", "writes", "questions", "searches"]
"""What a job does: pages and searches are short by their nature, whatever is asked for."""
_POOLS: Final[dict[Work, tuple[str, bool]]] = {
    "queries": ("readers", False),
    "pages": ("readers", True),
    "writes": ("writer", False),
    "questions": ("questions", False),
    "searches": ("questions", True),
}
"""Work -> the pool of its processes, and whether it is short."""


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


def settings_of(request: Request) -> ServeSettings:
    """The settings of the server."""
    settings: ServeSettings = request.app.state.settings
    return settings


def public_url(request: Request, path: str) -> str:
    """The URL of a path for clients."""
    base = settings_of(request).public_url or f"{request.url.scheme}://{request.url.netloc}"
    return base + path


def may_write(request: Request) -> bool:
    """Whether the server is writable and the client may write."""
    return settings_of(request).writable and "write" in record_of(request).access.scopes


def require_write(request: Request) -> None:
    """Raise `RequestError` unless the server is writable and the client may write."""
    if not settings_of(request).writable:
        raise RequestError(403, "this server is read-only: start it with --writable")
    record_of(request).access.require("write")


# --------------------------------------------------------------------------- Parameters


async def query_string(request: Request) -> list[tuple[str, str]]:
    """The parameters of the URL."""
    return await read_parameters(request.scope["query_string"])


async def read_parameters(data: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string or form; raises `RequestError` (400).

    Long ones are parsed in a thread, so that they do not block the event loop.
    """
    if len(data) <= _SHORT:
        return parse_parameters(data)
    return await anyio.to_thread.run_sync(parse_parameters, data)


def parse_parameters(data: bytes) -> list[tuple[str, str]]:
    """Names and values; raises `RequestError` (400)."""
    if data.count(b"&") >= MOST_PARAMETERS:
        raise RequestError(400, f"the request has more than {MOST_PARAMETERS} parameters")
    pairs = (part.partition(b"=") for part in data.split(b"&") if part)
    return [(_decode(name), _decode(value)) for name, _, value in pairs]


def _decode(data: bytes) -> str:
    """Decode percent-encoded text: as quoted-printable, which Python decodes quickly."""
    if _INCOMPLETE.search(data):
        raise RequestError(400, "the parameters contain '%' without two hexadecimal digits")
    quoted = data.replace(b"+", b" ").replace(b"=", b"=3D").replace(b"%", b"=")
    try:
        return binascii.a2b_qp(quoted).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the parameters are not UTF-8") from error


def check_iri(value: str, name: str = "iri") -> str:
    """Return the value; raises `RequestError` if it is not an absolute IRI."""
    if not is_iri(value):
        raise RequestError(400, f"the value of '{name}' is not an absolute IRI")
    return value


# ------------------------------------------------------------------------------- Bodies


async def read_body(request: Request, limit: int | None = None) -> bytes:
    """The body; raises `RequestError` (413) if it is larger than the limit."""
    return b"".join([chunk async for chunk in _stream_body(request, limit)])


async def json_body(request: Request) -> Any:
    """The JSON of a body; raises `RequestError` (400, 408, 413, 415)."""
    if base_type(request.headers.get("content-type", "")) != JSON:
        raise RequestError(415, f"send the body as {JSON}")
    try:
        return from_json(await read_body(request, _MOST_JSON))
    except ValueError as error:  # also for half of a surrogate pair, which is no character
        raise RequestError(400, f"the body is not JSON: {error}") from error


@asynccontextmanager
async def body_file(request: Request) -> AsyncIterator[Path]:
    """The body in a file that is deleted at the end of the block."""
    with tempfile.NamedTemporaryFile(dir=request.app.state.workers.folder) as stream:
        async for chunk in _stream_body(request, None):
            stream.write(chunk)
        stream.flush()
        yield Path(stream.name)


async def _stream_body(request: Request, limit: int | None) -> AsyncIterator[bytes]:
    """The body in chunks. Raises `RequestError`: 413, or 408 if it arrives too slowly.

    More of a body that is too large is read for a while, as many clients read no response before.
    """
    most = settings_of(request).max_body << 20 if limit is None else limit
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdigit() else 0
    stream, size, begin = request.stream(), 0, time.monotonic()
    while max(size, announced) <= most:
        try:
            async with asyncio.timeout(begin + BODY_SECONDS + size / MIN_RATE - time.monotonic()):
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
        yield chunk
    discarded = 0
    with anyio.move_on_after(_DRAIN_SECONDS):
        while discarded <= _DRAIN_BYTES and (chunk := await anext(stream, None)) is not None:
            discarded += len(chunk)
    raise RequestError(413, f"the body is larger than {most} bytes", Connection="close")


# ------------------------------------------------------------------ Declared parameters

MAX_WEIGHTS: Final = 100
"""Activation weights of one question that are given one by one."""
RESOURCE_FORMATS = Literal["turtle", "ntriples", "jsonld", "rdfxml", "html"]
_REPEATED: Final = frozenset({"over", "weights"})
"""Parameters that may be given more than once."""


def _check_question(text: str) -> str:
    if not text.strip():
        raise ValueError("no question: put it into this parameter")
    return text


Text = Annotated[str, Field(max_length=1000)]
Iri = Annotated[
    str, Field(max_length=8192, json_schema_extra={"format": "uri"}), AfterValidator(check_iri)
]


class Declared(BaseModel):
    """The parameters of a request; the docstrings of fields are their descriptions."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, frozen=True)

    @classmethod
    async def of(cls, request: Request, *, has_body: bool = True) -> Self:
        """The parameters in the URL of a request, and in the JSON body of a POST if it has one.

        Raises `RequestError` (400, 408, 413, 415).
        """
        values: dict[str, Any] = {}
        if has_body and request.method == "POST":
            values = await json_body(request)
            if not isinstance(values, dict):
                raise RequestError(400, "the body must be a JSON object")
        in_body = frozenset(values)
        for name, value in await query_string(request):
            if name in _REPEATED and name not in in_body:
                values[name] = [*values.get(name, ()), value]
            elif name in values:
                raise RequestError(400, f"'{name}' is given more than once")
            else:
                values[name] = value
        return cls.checked(values)

    @classmethod
    def checked(cls, values: dict[str, Any]) -> Self:
        """The parameters with these values; raises `RequestError` (400)."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            if error.errors()[0]["type"] == "extra_forbidden":
                name, names = error.errors()[0]["loc"][0], ", ".join(cls.model_fields)
                raise RequestError(400, f"unknown parameter '{name}': use {names}") from None
            raise RequestError(400, first_problem(error)) from None

    @classmethod
    def schema_of(cls) -> dict[str, Any]:
        """The JSON Schema of an object with these parameters."""
        schema = cls.model_json_schema()
        schema.pop("description", None)
        schema.pop("title")
        for each in schema["properties"].values():
            each.pop("title", None)
            each["description"] = " ".join(each["description"].split())
        return schema


class Parameters(Declared):
    """The parameters of requests that read a graph."""

    over: Annotated[
        tuple[Text, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
        Field(max_length=50),
    ] = ()
    """Parts of the graph: documents, names of imported graphs, or all. Default: those served."""


class Resource(Declared):
    """Of ``/resource``; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    iri: Iri
    """IRI of the resource."""
    format: RESOURCE_FORMATS | None = None
    """The format, instead of Accept."""
    page: Annotated[int, Field(ge=1, le=1000)] = 1
    """Page of the instances of a class or property."""


Weight = Annotated[float, Field(strict=True, ge=0, le=4)]


class Search(Parameters):
    """Of ``/search``; other parameters are options of the retriever."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[Text, Text | int | float | bool] = Field(init=False)

    q: Annotated[str, AfterValidator(_check_question)] = Field(
        validation_alias=AliasChoices("q", "question"), json_schema_extra={"pattern": r"\S"}
    )
    """The question."""
    retriever: Text = RETRIEVER
    """NAME or NAME:KEY=VALUE:KEY=VALUE, as sarag strategies lists them. Each option of the
    retriever is a parameter, too."""
    limit: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    """Documents at most, by default 10."""
    weights: (
        Annotated[list[Text], Field(max_length=MAX_WEIGHTS)]
        | Annotated[dict[Text, Weight], Field(max_length=MAX_WEIGHTS)]
        | Text
    ) = Field(default_factory=list)
    """Activation weights of properties and classes as TERM=WEIGHT, from 0 to 4, where 0 cuts."""
    at: Annotated[str, Field(max_length=40)] = ""
    """Year, month or date, such as 1925: no activation passes over relationships that did not hold
    then, and none is returned."""
    trace: bool = False
    """Also return the activation after each round, as frames."""


class Ask(Search):
    """Of ``/ask``; other parameters are options of the retriever."""

    reasoner: Text = REASONER
    """How to answer: NAME or NAME:KEY=VALUE, as sarag strategies lists them."""
    context: Text = CONTEXT
    """What the model is given: NAME or NAME:KEY=VALUE, as sarag strategies lists them."""
    budget: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    """Maximum size of the context in tokens, unless context sets it."""
    stream: bool = False
    """Answer as server-sent events: call, step, text, withdrawn, and at the end result or error."""


# --------------------------------------------------------------------------------- Jobs


async def run(request: Request, job: Job, what: str, work: Work = "queries") -> Response:
    """The response for a job; a job that does not write is stopped if the client disconnects.

    `what` it is about is for the audit log.
    """
    return to_response(await run_job(request, job, what, work))


async def run_job(request: Request, job: Job, what: str, work: Work = "queries") -> JobReply:
    """The reply to a job; see `run`."""
    events = [e async for e in job_events(request, job, what, work) if isinstance(e, JobReply)]
    return events[-1]


async def job_events(
    request: Request, job: Job, what: str, work: Work = "queries"
) -> AsyncGenerator[Progress | JobReply | None]:
    """What happens while a job runs, and its reply last; None after each `PAUSE` of silence.

    A job that does not write is stopped if the client disconnects, or if the generator is closed.
    Raises `RequestError`.
    """
    record = record_of(request)
    record.what = what
    events: asyncio.Queue[Progress | None] = asyncio.Queue()
    pool, is_short = _POOLS[work]
    start = partial(getattr(request.app.state.workers, pool).run, is_short=is_short)
    reply = asyncio.ensure_future(
        start(job, record.access.graphs, _client(request), events.put_nowait)
    )
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
            elif disconnect.done() and not reply.done() and work != "writes":
                raise RequestError(499, "the client disconnected")
        result: JobReply = await reply
        record.rows = result.rows
        yield result
    finally:
        disconnect.cancel()
        reply.cancel()


def _client(request: Request) -> str:
    """With whom the others share the workers: who has the token, or without one, who is there."""
    name = record_of(request).access.name
    if name != ANONYMOUS:
        return name
    return f"{name} {request.client.host}" if request.client else name


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
    size = os.fstat(stream.fileno()).st_size
    if size <= _CHUNK:
        with stream:
            return Response(reply.head + stream.read(), reply.status, headers)
    headers["Content-Length"] = str(len(reply.head) + size)
    return StreamingResponse(_chunks(reply.head, stream), reply.status, headers)


async def _chunks(head: bytes, stream: IO[bytes]) -> AsyncIterator[bytes]:
    """The head and the content of the file, which is closed even if the client disconnects."""
    with stream:
        yield head
        while chunk := await anyio.to_thread.run_sync(stream.read, _CHUNK):
            yield chunk
