"""The SPARQL 1.1 Protocol: queries and updates."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sarag_rdf.serve.http import (
    GRAPHS,
    base_type,
    body_of,
    charset,
    choose,
    parsed,
    public_url,
    query_string,
    require_token,
    run,
    settings_of,
    shows_token,
)
from sarag_rdf.serve.jobs import DescribeJob, QueryJob, RequestError, UpdateJob

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
_MOST_TEXT = 4 << 20
"""Bytes of a query at most."""

Parameters = Sequence[tuple[str, str]]


async def sparql(request: Request) -> Response:
    """``/sparql``: queries, updates, and the description of the service when there is neither."""
    found = await query_string(request)
    if request.method in ("GET", "HEAD"):
        if _has(found, "update"):
            raise RequestError(405, "an update needs POST", Allow="POST")
        return await _query_or_description(request, found)
    media_type, body = await _posted(request)
    if media_type == UPDATE:
        return await _update(request, _text(body), found)
    if media_type == QUERY:
        if _has(found, "query"):
            raise RequestError(400, "there are two queries: one in the URL, one in the body")
        return await _query(request, _text(body), found)
    form = [*found, *await parsed(body)]
    if _has(form, "update"):
        if _has(form, "query"):
            raise RequestError(400, "the request has a query and an update: send one of them")
        return await _update(request, _single(form, "update"), form)
    return await _query(request, _single(form, "query"), form)


async def update(request: Request) -> Response:
    """``/update``: updates alone."""
    require_token(request)
    media_type, body = await _posted(request)
    found = await query_string(request)
    if media_type == UPDATE:
        return await _update(request, _text(body), found)
    if media_type == QUERY:
        raise RequestError(415, f"a query goes to /sparql; an update has the type {UPDATE}")
    form = [*found, *await parsed(body)]
    return await _update(request, _single(form, "update"), form)


async def _query_or_description(request: Request, found: Parameters) -> Response:
    if _has(found, "query"):
        return await _query(request, _single(found, "query"), found)
    accept = _accept(request)
    if choose(accept, {"text/html": 0, **GRAPHS}) == "text/html" and "text/html" in accept:
        editor = settings_of(request).public_url + "/"  # without a host: the client may name any
        return RedirectResponse(editor, 303)
    return await run(request, DescribeJob(public_url(request, "/sparql"), accept))


async def _query(request: Request, text: str, found: Parameters) -> Response:
    if len(text) > _MOST_TEXT:
        raise RequestError(413, f"the query is longer than {_MOST_TEXT} characters")
    job = QueryJob(
        text,
        _accept(request),
        public_url(request, "/sparql"),
        public_url(request, "/docs#limits"),
        tuple(value for name, value in found if name == "over"),
        _graphs(found, "default-graph-uri"),
        _graphs(found, "named-graph-uri"),
    )
    return await run(request, job)


async def _update(request: Request, text: str, found: Parameters) -> Response:
    require_token(request)
    using = _graphs(found, "using-graph-uri") or ()
    named = _graphs(found, "using-named-graph-uri") or ()
    job = UpdateJob(text, public_url(request, "/sparql"), using, named)
    return await run(request, job, pool="writer")


async def _posted(request: Request) -> tuple[str, bytes]:
    """Media type and content of a body; raises `RequestError` (400, 401, 403, 413, 415).

    Before anything of an update is read, the request must show the token; a form without it is
    read as far as a query may go.
    """
    said = request.headers.get("content-type", "")
    media_type = base_type(said)
    if media_type not in (FORM, QUERY, UPDATE):
        raise RequestError(
            415, f"send the body as {FORM}, {QUERY} or {UPDATE}, not as {media_type or 'nothing'}"
        )
    if charset(said) not in ("", "utf-8", "utf8", "us-ascii"):
        raise RequestError(415, "send the body as UTF-8: SPARQL has no other charset")
    if media_type == UPDATE:
        require_token(request)
    may_write = media_type != QUERY and shows_token(request)
    return media_type, await body_of(request, None if may_write else _MOST_TEXT)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8 text") from error


def _accept(request: Request) -> str:
    return ", ".join(request.headers.getlist("accept"))


def _has(found: Parameters, name: str) -> bool:
    return any(key == name for key, _ in found)


def _single(found: Parameters, name: str) -> str:
    values = [value for key, value in found if key == name]
    if len(values) != 1:
        many = "more than one" if values else "no"
        raise RequestError(400, f"the request has {many} parameter '{name}': send one")
    return values[0]


def _graphs(found: Parameters, name: str) -> tuple[str, ...] | None:
    """IRIs of graphs, or None if the request names none."""
    values = tuple(value for key, value in found if key == name)
    for value in values:
        checked_iri(value, name)
    return values or None


def checked_iri(value: str, name: str) -> str:
    """The IRI itself; raises `RequestError` for one that is relative or none."""
    try:
        ox.NamedNode(value)
    except ValueError as error:
        raise RequestError(400, f"the value of '{name}' is not an absolute IRI") from error
    return value
