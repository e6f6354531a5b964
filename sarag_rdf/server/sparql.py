"""The SPARQL 1.1 Protocol: query and update operations."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sarag_rdf.server.describe import DescribeJob
from sarag_rdf.server.http import (
    RDF_TYPES,
    base_type,
    charset,
    check_iri,
    choose_media_type,
    may_write,
    public_url,
    query_string,
    read_body,
    read_parameters,
    require_write,
    run,
    settings_of,
)
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.read import QueryJob
from sarag_rdf.server.write import UpdateJob

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
_MAX_QUERY = 4 << 20
"""The maximum size of a query in bytes."""

Parameters = Sequence[tuple[str, str]]


async def sparql(request: Request) -> Response:
    """``/sparql``: queries, updates, and the service description of a request without either."""
    parameters = await query_string(request)
    if request.method in ("GET", "HEAD"):
        if _has(parameters, "update"):
            raise RequestError(405, "an update requires POST", Allow="POST")
        return await _query_or_description(request, parameters)
    media_type, body = await _read_post(request)
    if media_type == UPDATE:
        return await _update(request, _decode(body), parameters)
    if media_type == QUERY:
        if _has(parameters, "query"):
            raise RequestError(400, "the request has two queries: send one, in the URL or the body")
        return await _query(request, _decode(body), parameters)
    form = [*parameters, *await read_parameters(body)]
    if _has(form, "update"):
        if _has(form, "query"):
            raise RequestError(400, "the request has a query and an update: send one of them")
        return await _update(request, _single(form, "update"), form)
    return await _query(request, _single(form, "query"), form)


async def update(request: Request) -> Response:
    """``/update``: updates only."""
    require_write(request)
    media_type, body = await _read_post(request)
    parameters = await query_string(request)
    if media_type == UPDATE:
        return await _update(request, _decode(body), parameters)
    if media_type == QUERY:
        raise RequestError(415, f"send queries to /sparql, and updates as {UPDATE}")
    form = [*parameters, *await read_parameters(body)]
    return await _update(request, _single(form, "update"), form)


async def _query_or_description(request: Request, parameters: Parameters) -> Response:
    if _has(parameters, "query"):
        return await _query(request, _single(parameters, "query"), parameters)
    accept = _accept(request)
    preferred = choose_media_type(accept, {"text/html": 0, **RDF_TYPES})
    if preferred == "text/html" and "text/html" in accept:
        editor = (
            settings_of(request).public_url + "/sparql-editor"
        )  # no host, as the client controls it
        return RedirectResponse(editor, 303)
    return await run(request, DescribeJob(public_url(request, "/sparql"), accept))


async def _query(request: Request, text: str, parameters: Parameters) -> Response:
    if len(text) > _MAX_QUERY:
        raise RequestError(413, f"the query is longer than {_MAX_QUERY} characters")
    job = QueryJob(
        text,
        _accept(request),
        public_url(request, "/sparql"),
        public_url(request, "/docs#limits"),
        tuple(value for name, value in parameters if name == "over"),
        _graphs(parameters, "default-graph-uri"),
        _graphs(parameters, "named-graph-uri"),
    )
    return await run(request, job)


async def _update(request: Request, text: str, parameters: Parameters) -> Response:
    require_write(request)
    using = _graphs(parameters, "using-graph-uri") or ()
    named = _graphs(parameters, "using-named-graph-uri") or ()
    job = UpdateJob(text, public_url(request, "/sparql"), using, named)
    return await run(request, job, pool="writer")


async def _read_post(request: Request) -> tuple[str, bytes]:
    """Media type and content of a body; raises `RequestError` (400, 401, 403, 413, 415).

    The body of an update is read only if the request has the token; a form without the token may
    be as large as a query.
    """
    header = request.headers.get("content-type", "")
    media_type = base_type(header)
    if media_type not in (FORM, QUERY, UPDATE):
        raise RequestError(
            415,
            f"unsupported media type {media_type or '(none)'}: send the body as {FORM}, {QUERY} or "
            f"{UPDATE}",
        )
    if charset(header) not in ("", "utf-8", "utf8", "us-ascii"):
        raise RequestError(415, "unsupported charset: send the body as UTF-8")
    if media_type == UPDATE:
        require_write(request)
    is_long = media_type != QUERY and may_write(request)
    return media_type, await read_body(request, None if is_long else _MAX_QUERY)


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error


def _accept(request: Request) -> str:
    return ", ".join(request.headers.getlist("accept"))


def _has(parameters: Parameters, name: str) -> bool:
    return any(key == name for key, _ in parameters)


def _single(parameters: Parameters, name: str) -> str:
    values = [value for key, value in parameters if key == name]
    if len(values) != 1:
        count = "more than one" if values else "no"
        raise RequestError(400, f"the request has {count} parameter '{name}': send one")
    return values[0]


def _graphs(parameters: Parameters, name: str) -> tuple[str, ...] | None:
    """IRIs of graphs, or None if the request names none."""
    values = tuple(value for key, value in parameters if key == name)
    for value in values:
        check_iri(value, name)
    return values or None
