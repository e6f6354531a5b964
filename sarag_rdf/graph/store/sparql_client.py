"""Requests to a SPARQL endpoint, one typed error for each failure, and results as they come.

An incomplete result is an error.
"""

from __future__ import annotations

import base64
import csv
import html
import importlib.metadata
import io
import json
import logging
import os
import re
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import cast
from urllib.parse import urlencode

import httpx
import pyoxigraph as ox
from SPARQLWrapper import POST, URLENCODED, SPARQLWrapper

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import (
    QueryError,
    RemoteAuthError,
    RemoteDownError,
    RemoteRateLimitError,
    RemoteRequestSizeError,
    RemoteStoreError,
    RemoteTimeoutError,
    RemoteTruncatedError,
    StoreError,
)
from sarag_rdf.base.http_client import (
    BoundedClient,
    DeadlineError,
    ReplySizeError,
    reason_of,
    retry_after,
)
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.redaction import redact_exception, redacted_remark, remember
from sarag_rdf.base.sandbox import EndedError
from sarag_rdf.graph.store.results import parse_in_sandbox, parse_json_results

ROWS = "application/sparql-results+json"
TRIPLES = "application/n-triples"
ACCEPT_ROWS = f"{ROWS}, application/json;q=0.5"
IRIS = "text/csv"
ACCEPT_IRIS = f"{IRIS}, {ACCEPT_ROWS.replace(',', ';q=0.8,')}"
ACCEPT_TRIPLES = f"{TRIPLES}, text/turtle;q=0.5"

_CANCELLED = re.compile(r"cancell?ed|time(d)?[ -]?out|time limit|exception", re.IGNORECASE)
_TAIL = 2000
"""Bytes at the end of a response that are searched for an error message."""


def announced_limit(response: httpx.Response) -> int | None:
    """The number of rows at which the endpoint has truncated the result, if it says so."""
    value = response.headers.get("X-SPARQL-MaxRows", "")
    return int(value) if value.isdecimal() else None


def read_rows(response: httpx.Response) -> Table | bool:
    """A SELECT or ASK result; raises `RemoteTruncatedError` or another `RemoteStoreError`."""
    _reject_partial(response)
    if _media_type(response) not in (ROWS, "application/json"):
        raise _media_type_error(response)
    try:
        data = json.loads(response.content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _syntax_error(response) from error
    try:
        return parse_json_results(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RemoteStoreError(
            f"{_url(response)} returned JSON that is not a SPARQL result: check that this is the "
            "query endpoint"
        ) from error


def read_iris(response: httpx.Response) -> Table | None:
    """A SELECT result whose cells are IRIs or unbound, also in CSV; raises what `read_rows` raises.

    None for CSV that may be incomplete, or in which something is not an IRI.
    """
    _reject_partial(response)
    if _media_type(response) != IRIS:
        result = read_rows(response)
        return result if isinstance(result, Table) else None
    if not response.extensions["has_length"]:
        return None
    lines = csv.reader(io.StringIO(response.content.decode("utf-8", "replace"), newline=""))
    variables, node = tuple(next(lines, ())), ox.NamedNode
    try:
        rows = [tuple(node(cell) if cell else None for cell in line) for line in lines]
    except (ValueError, csv.Error):
        return None
    if any(len(row) != len(variables) for row in rows):
        return None
    return Table(variables, rows)


def read_triples(response: httpx.Response) -> Triples:
    """A CONSTRUCT or DESCRIBE result; raises what `read_rows` raises."""
    _reject_partial(response)
    syntax = ox.RdfFormat.from_media_type(_media_type(response))
    if syntax is None or syntax not in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.TURTLE):
        raise _media_type_error(response)
    if not response.extensions["has_length"]:
        raise RemoteTruncatedError(
            f"{_url(response)} does not announce the length of its responses, so missing triples "
            "cannot be detected: use SELECT instead"
        )
    try:
        return Triples(parse_in_sandbox(response.content, syntax))
    except (SyntaxError, ValueError) as error:
        raise _syntax_error(response) from error
    except EndedError as error:
        raise RemoteStoreError(
            f"{_url(response)} returned data that {error}: request less, or use SELECT"
        ) from error


def _reject_partial(response: httpx.Response) -> None:
    """Raise if Virtuoso reports, in a header, a partial result after its time limit."""
    state = response.headers.get("X-SQL-State")
    if state is not None:
        message = summarize(response.headers.get("X-SQL-Message", state))
        raise RemoteTruncatedError(
            f"{_url(response)} returned a partial result: {message}: request less"
        )


def _media_type_error(response: httpx.Response) -> RemoteStoreError:
    media_type = _media_type(response)
    is_page = media_type in ("text/html", "application/xhtml+xml")
    what = "a web page" if is_page else f"the unexpected media type {media_type}"
    return RemoteStoreError(
        f"{_url(response)} returned {what} instead of results: check that this is the URL of the "
        "query endpoint itself"
    )


def _syntax_error(response: httpx.Response) -> RemoteStoreError:
    url, tail = _url(response), response.content[-_TAIL:].decode("utf-8", "replace")
    if match := _CANCELLED.search(tail):
        message = summarize(tail[max(0, match.start() - 80) : match.end() + 80])
        return RemoteTimeoutError(f"{url} cancelled its response: {message}: request less")
    return RemoteTruncatedError(
        f"{url} returned an incomplete or damaged response: try again, or request less"
    )


log = logging.getLogger(__name__)

RETRIES = 4
BACKOFF = 1.0
"""Seconds before the first retry where the endpoint names none; doubled with each further one."""
MAX_WAIT = 60.0
"""Seconds that an endpoint may ask to wait before a retry; a longer wait is an error."""
_NO_CAPACITY = (429, 503)
"""Statuses after which a request is sent again."""
_MAX_ERROR_BODY = 40_000
"""Bytes of an error page that are read."""
_MAX_SECRET = 20_000
"""Bytes at the end of a cut error page that are not shown: half a secret is not recognised."""

DataSet = Mapping[str, Sequence[str]]
"""Parameters of the protocol that choose what a query sees, with their values."""


def _form(
    url: str, text: str, accept: str, dataset: DataSet, *, update: bool
) -> urllib.request.Request:
    """A request of the SPARQL 1.1 Protocol as an HTML form, which is not sent.

    SPARQLWrapper would send it with ``urllib.request.urlopen``: its timeout is for each wait and
    not for the whole reply, a reply may have any size, and redirects are followed with the
    credentials of the request.
    """
    form = SPARQLWrapper(url, updateEndpoint=url, agent=user_agent())
    form.setMethod(POST)
    form.setRequestMethod(URLENCODED)
    form.setOnlyConneg(True)
    form.addCustomHttpHeader("Accept", accept)
    for name, values in dataset.items():
        for value in values:
            form.addParameter(name, value)
    form.queryString = text
    form.queryType = "INSERT" if update else "SELECT"
    request: urllib.request.Request = form._createRequest()
    return request


@cache
def user_agent() -> str:
    """Name and version of this library, and its page if the package has one."""
    try:
        package = importlib.metadata.metadata("sarag-rdf")
    except importlib.metadata.PackageNotFoundError:
        return "sarag_rdf/dev"
    pages = package.get_all("Project-URL") or []
    page = f" (+{pages[0].partition(',')[2].strip()})" if pages else ""
    return f"sarag_rdf/{package['Version']}{page}"


class SparqlClient:
    """Sends requests to one endpoint."""

    def __init__(self, remote: SparqlEndpoint, *, backoff: float = BACKOFF) -> None:
        self.remote = remote
        self.server = ""
        """Name and version of the server, as far as it has told."""
        self._backoff = backoff
        self._token, self._user, self._password = (
            os.environ.get(f"SARAG_SPARQL_{name}", "") if remote.has_credentials else ""
            for name in ("TOKEN", "USER", "PASSWORD")
        )
        if self._user:
            remember(base64.b64encode(f"{self._user}:{self._password}".encode()).decode())
        self._http = self._new_http(keeps=False)
        self._idle: list[BoundedClient] = []
        """Those whose connections are open for the next requests, one at a time each."""

    def query(self, text: str, accept: str, dataset: DataSet) -> httpx.Response:
        """Send a query, with parameters that choose what it sees."""
        return self._form(self.remote.query_url, text, accept, dataset, update=False)

    def update(self, text: str) -> httpx.Response:
        """Send an update."""
        return self._form(self.remote.update_url, text, "*/*", {}, update=True)

    def _form(
        self, url: str, text: str, accept: str, dataset: DataSet, *, update: bool
    ) -> httpx.Response:
        form = _form(url, text, accept, dataset, update=update)
        content, headers = cast("bytes", form.data), dict(form.header_items())
        request = self._http.build_request("POST", form.full_url, headers=headers, content=content)
        return self._with_retries(request, idempotent=not update)

    def close(self) -> None:
        """Close the connections that are open."""
        idle, self._idle = self._idle, []
        for http in idle:
            http.close()

    def _kept_http(self) -> BoundedClient:
        with suppress(IndexError):
            return self._idle.pop()
        return self._new_http(keeps=True)

    def _new_http(self, *, keeps: bool) -> BoundedClient:
        seconds, most = self.remote.timeout, self.remote.max_reply << 20
        return BoundedClient(
            seconds, most, deadline=seconds, max_error=_MAX_ERROR_BODY, keeps=keeps
        )

    def store(self, method: str, graph: str, body: bytes | None = None) -> httpx.Response:
        """PUT, POST or DELETE one graph by the Graph Store Protocol."""
        url = f"{self.remote.store_url}?{urlencode({'graph': graph})}"
        headers = {"User-Agent": user_agent()}
        if body is not None:
            headers["Content-Type"] = "text/turtle"
        request = self._http.build_request(method, url, headers=headers, content=body)
        return self._with_retries(request, idempotent=method != "POST")

    def _with_retries(self, request: httpx.Request, *, idempotent: bool) -> httpx.Response:
        """Send, and send again after a 429 or 503, or after a lost connection if `idempotent`."""
        for retry in range(RETRIES + 1):
            pause = self._backoff * 2**retry
            try:
                response = self._send(request, idempotent=idempotent)
            except RemoteDownError as error:
                if retry == RETRIES or not (idempotent and _is_lost(error.__cause__)):
                    raise
            else:
                if response.status_code < 300:
                    return response
                if response.status_code not in _NO_CAPACITY:
                    raise error_for_status(response)
                wait = retry_after(response.headers.get("Retry-After", ""))
                if retry == RETRIES or (wait or 0.0) > MAX_WAIT:
                    raise error_for_status(response)
                pause = pause if wait is None else wait
            log.info("%s is not available: retrying in %.1f s", _url(request), pause)
            time.sleep(pause)
        raise AssertionError  # the last retry returns or raises

    def _send(self, request: httpx.Request, *, idempotent: bool) -> httpx.Response:
        """Send one request; raises the typed error for a connection that failed.

        Only one that is `idempotent` goes over a connection that is open: the server may close it.
        """
        url = _url(request)
        begin = time.monotonic()
        http = self._kept_http() if idempotent else self._http
        try:
            response = self._authenticated(http, request)
        except (DeadlineError, httpx.TimeoutException) as error:
            raise RemoteTimeoutError(
                f"no complete response from {url} within {self.remote.timeout:g} s: raise "
                "--sparql-timeout, or request less"
            ) from error
        except ReplySizeError as error:
            raise RemoteStoreError(
                f"the response of {url} is larger than {self.remote.max_reply} MiB: request "
                "less, or raise --max-reply"
            ) from error
        except httpx.HTTPError as error:
            redact_exception(error)
            if isinstance(error, httpx.RemoteProtocolError) and "message body" in str(error):
                raise RemoteTruncatedError(
                    f"{url} closed the connection during its response: try again, or request less"
                ) from error
            raise RemoteDownError(
                f"cannot connect to {url}: {reason_of(error)}: check the URL, and that the server "
                "is running"
            ) from error
        finally:
            if idempotent:
                self._idle.append(http)
        self.server = response.headers.get("Server", self.server)
        figures = len(response.content), time.monotonic() - begin
        log.debug("%s %s: %d bytes in %.3f s", request.method, url, *figures)
        return response

    def _authenticated(self, http: BoundedClient, request: httpx.Request) -> httpx.Response:
        """Send with the token, or once more with the password if the endpoint asks for it."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        response = http.send(request)
        challenge = response.headers.get("WWW-Authenticate", "")
        if response.status_code != 401 or not self._user:
            return response
        digest = challenge.lower().startswith("digest")
        kind = httpx.DigestAuth if digest else httpx.BasicAuth
        if not digest and not challenge.lower().startswith("basic"):
            return response
        try:
            flow = kind(self._user, self._password).sync_auth_flow(request)
            authorized = next(flow)
            if digest:
                authorized = flow.send(response)
        except (KeyError, ValueError, NotImplementedError, httpx.HTTPError) as error:
            redact_exception(error)
            raise RemoteAuthError(
                f"{_url(request)} requires an unsupported kind of authentication: {error}"
            ) from error
        return http.send(authorized)


def _url(message: httpx.Request | httpx.Response) -> str:
    """The URL of a request for messages, without its query."""
    return str(message.url).partition("?")[0]


def _media_type(response: httpx.Response) -> str:
    header = response.headers.get("Content-Type", "text/plain")
    return re.split("[;,]", header)[0].strip().lower()


def _is_lost(error: BaseException | None) -> bool:
    """Whether the endpoint closed the connection before it answered."""
    is_cut = isinstance(error, httpx.RemoteProtocolError) and "disconnected" in str(error)
    return is_cut or isinstance(error, httpx.ReadError)


_TIMEOUT = re.compile(
    r"time(d)?[ -]?out|time limit|cancell?ed|TimeoutException|S1T00", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (large|long|big|many)|exceeds? the (maximum|limit)|10000 lines|Max row length",
    re.IGNORECASE,
)
_SYNTAX = re.compile(r"syntax|parse|malformed|lexical|expected|SP0", re.IGNORECASE)
_MAX_MESSAGE = 300


def error_for_status(response: httpx.Response) -> StoreError:
    """The typed error for a response of status 300 or more, with the endpoint's own message."""
    url, status, body = _url(response), response.status_code, response.content
    if len(body) >= _MAX_ERROR_BODY:
        body = body[: _MAX_ERROR_BODY - _MAX_SECRET]
    message = summarize(body.decode("utf-8", "replace"))
    detail = f": {message}" if message else ""
    match status:
        case 300 | 301 | 302 | 303 | 307 | 308:
            target = redacted_remark(response.headers.get("Location", "another URL"))
            return RemoteStoreError(
                f"{url} redirects to {target}: redirects are not followed; if that is the "
                "endpoint, give its URL"
            )
        case 401 | 403 | 407:
            return RemoteAuthError(
                f"{url} denied access ({status}){detail}: set SARAG_SPARQL_USER and "
                "SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN"
            )
        case 404 | 405 | 406 | 410 | 415 | 501:
            return RemoteStoreError(
                f"{url} does not support this request ({status}){detail}: check the path of "
                "the endpoint"
            )
        case 429 | 503:
            wait = retry_after(response.headers.get("Retry-After", ""))
            when = "" if wait is None else f" for {wait:.0f} s"
            return RemoteRateLimitError(
                f"{url} is overloaded ({status}){when}{detail}: try again later"
            )
    is_large = status in (413, 414)
    if status in (408, 504) or (_TIMEOUT.search(message) and not is_large):
        return RemoteTimeoutError(f"{url} exceeded its time limit ({status}){detail}: request less")
    if is_large or _TOO_LARGE.search(message):
        return RemoteRequestSizeError(f"the request is too large for {url}{detail}")
    if status == 400 or (status == 500 and _SYNTAX.search(message)):
        return QueryError(f"{url} rejected the SPARQL{detail or ' (400)'}")
    return RemoteDownError(f"{url} failed ({status}){detail}")


def summarize(body: str) -> str:
    """The beginning of an error page or message, on one line and without markup."""
    if re.search(r"<html|<!doctype", body, re.IGNORECASE):
        body = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>", " ", body)
        body = html.unescape(body)
    line = " ".join(body.partition("SPARQL query:")[0].split())  # Virtuoso repeats the query
    return line if len(line) <= _MAX_MESSAGE else line[:_MAX_MESSAGE] + "..."
