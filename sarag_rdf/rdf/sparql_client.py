"""Requests to a SPARQL endpoint, and one typed error for each failure."""

from __future__ import annotations

import base64
import html
import importlib.metadata
import logging
import os
import re
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast
from urllib.parse import urlencode

import httpx
from SPARQLWrapper import POST, URLENCODED, SPARQLWrapper

from sarag_rdf.endpoints import SparqlEndpoint
from sarag_rdf.errors import (
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
from sarag_rdf.http import BoundedClient, DeadlineError, ReplySizeError, retry_after
from sarag_rdf.redaction import redact_exception, redacted_remark, remember

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


@dataclass(frozen=True, slots=True)
class Response:
    """A whole reply of status 2xx; `has_length` if its length was announced."""

    url: str
    media_type: str
    headers: Mapping[str, str]
    body: bytes
    has_length: bool


class ProtocolRequest(SPARQLWrapper):
    """Builds requests of the SPARQL 1.1 Protocol as HTML forms, without sending them.

    SPARQLWrapper would send them with ``urllib.request.urlopen``: its timeout is for each wait and
    not for the whole reply, a reply may have any size, and redirects are followed with the
    credentials of the request. So `request` hands the request over to the client of this library.
    """

    def __init__(self, url: str, text: str, accept: str, dataset: DataSet, *, update: bool) -> None:
        super().__init__(url, updateEndpoint=url, agent=user_agent())
        self.setMethod(POST)
        self.setRequestMethod(URLENCODED)
        self.setOnlyConneg(True)
        self.addCustomHttpHeader("Accept", accept)
        for name, values in dataset.items():
            for value in values:
                self.addParameter(name, value)
        self.queryString = text
        self.queryType = "INSERT" if update else "SELECT"

    def request(self) -> urllib.request.Request:
        """The request with its headers and body."""
        return self._createRequest()


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
        self._backoff = backoff
        self._token = os.environ.get("SARAG_SPARQL_TOKEN", "")
        self._user = os.environ.get("SARAG_SPARQL_USER", "")
        self._password = os.environ.get("SARAG_SPARQL_PASSWORD", "")
        if self._user:
            remember(base64.b64encode(f"{self._user}:{self._password}".encode()).decode())
        seconds = remote.timeout
        self._http = BoundedClient(
            seconds, remote.max_reply, deadline=seconds, max_error=_MAX_ERROR_BODY
        )

    def query(self, text: str, accept: str, dataset: DataSet) -> Response:
        """Send a query, with parameters that choose what it sees."""
        return self._form(self.remote.query_url, text, accept, dataset, update=False)

    def update(self, text: str) -> Response:
        """Send an update."""
        return self._form(self.remote.update_url, text, "*/*", {}, update=True)

    def _form(
        self, url: str, text: str, accept: str, dataset: DataSet, *, update: bool
    ) -> Response:
        form = ProtocolRequest(url, text, accept, dataset, update=update).request()
        method, headers = form.get_method(), dict(form.header_items())

        def request() -> httpx.Request:
            return self._http.build_request(
                method, form.full_url, headers=headers, content=cast("bytes", form.data)
            )

        return self._with_retries(request, idempotent=not update)

    def store(self, method: str, graph: str, body: bytes | None = None) -> Response:
        """PUT, POST or DELETE one graph by the Graph Store Protocol."""
        url = f"{self.remote.store_url}?{urlencode({'graph': graph})}"
        headers = {"User-Agent": user_agent()}
        if body is not None:
            headers["Content-Type"] = "text/turtle"

        def request() -> httpx.Request:
            return self._http.build_request(method, url, headers=headers, content=body)

        return self._with_retries(request, idempotent=method != "POST")

    def _with_retries(self, request: Callable[[], httpx.Request], *, idempotent: bool) -> Response:
        """Send, and send again after a 429 or 503, or after a lost connection if `idempotent`."""
        for retry in range(RETRIES + 1):
            pause = self._backoff * 2**retry
            try:
                response = self._send(request())
            except RemoteDownError as error:
                if retry == RETRIES or not (idempotent and _is_lost(error.__cause__)):
                    raise
            else:
                if response.status_code not in _NO_CAPACITY:
                    return _response(response)
                wait = retry_after(response.headers.get("Retry-After", ""))
                if retry == RETRIES or (wait or 0.0) > MAX_WAIT:
                    raise error_for_status(_url_of(response.request), response)
                pause = pause if wait is None else wait
            url = self.remote.query_url.partition("?")[0]
            log.info("%s is not available: retrying in %.1f s", url, pause)
            time.sleep(pause)
        raise AssertionError  # the last retry returns or raises

    def _send(self, request: httpx.Request) -> httpx.Response:
        """Send one request; raises the typed error for a connection that failed."""
        url = _url_of(request)
        begin = time.monotonic()
        try:
            response = self._authenticated(request)
        except (DeadlineError, httpx.TimeoutException) as error:
            raise RemoteTimeoutError(
                f"no complete response from {url} within {self.remote.timeout:g} s: raise "
                "--sparql-timeout, or request less"
            ) from error
        except ReplySizeError as error:
            raise RemoteStoreError(
                f"the response of {url} is larger than {self.remote.max_reply >> 20} MiB: request "
                "less, or raise --max-reply"
            ) from error
        except httpx.HTTPError as error:
            redact_exception(error)
            if isinstance(error, httpx.RemoteProtocolError) and "message body" in str(error):
                raise RemoteTruncatedError(
                    f"{url} closed the connection during its response: try again, or request less"
                ) from error
            raise RemoteDownError(
                f"cannot connect to {url}: {_reason(error)}: check the URL, and that the server is "
                "running"
            ) from error
        seconds = time.monotonic() - begin
        size = len(response.content)
        log.debug("%s %s: %d bytes in %.3f s", request.method, url, size, seconds)
        return response

    def _authenticated(self, request: httpx.Request) -> httpx.Response:
        """Send with the token, or once more with the password if the endpoint asks for it."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        response = self._http.send(request)
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
                f"{_url_of(request)} requires an unsupported kind of authentication: {error}"
            ) from error
        return self._http.send(authorized)


def _url_of(request: httpx.Request) -> str:
    """The URL of a request for messages, without its query."""
    return str(request.url).partition("?")[0]


def _response(response: httpx.Response) -> Response:
    """The reply, if it is of status 2xx; raises the typed error for any other."""
    url = _url_of(response.request)
    if response.status_code >= 300:
        raise error_for_status(url, response)
    media_type = re.split("[;,]", response.headers.get("Content-Type", "text/plain"))[0]
    return Response(
        url,
        media_type.strip().lower(),
        response.headers,
        response.content,
        bool(response.extensions["has_length"]),
    )


def _is_lost(error: BaseException | None) -> bool:
    """Whether the endpoint closed the connection before it answered."""
    if isinstance(error, httpx.RemoteProtocolError):
        return "disconnected" in str(error)
    return isinstance(error, httpx.ReadError)


def _reason(error: BaseException) -> str:
    """The innermost cause of an error, in the words of the operating system or of OpenSSL."""
    while error.__cause__ is not None:
        error = error.__cause__
    reason = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
    return str(reason or error or type(error).__name__)


_TIMEOUT = re.compile(
    r"time(d)?[ -]?out|time limit|cancell?ed|TimeoutException|S1T00", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (large|long|big|many)|exceeds? the (maximum|limit)|10000 lines|Max row length",
    re.IGNORECASE,
)
_SYNTAX = re.compile(r"syntax|parse|malformed|lexical|expected|SP0", re.IGNORECASE)
_MAX_MESSAGE = 300


def error_for_status(url: str, response: httpx.Response) -> StoreError:
    """The typed error for a reply of status 300 or more, with the endpoint's own message."""
    status, body = response.status_code, response.content
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
        case 408 | 504:
            return _timeout_error(url, status, detail)
        case 413 | 414:
            return RemoteRequestSizeError(f"the request is too large for {url}{detail}")
        case 429 | 503:
            wait = retry_after(response.headers.get("Retry-After", ""))
            when = "" if wait is None else f" for {wait:.0f} s"
            return RemoteRateLimitError(
                f"{url} is overloaded ({status}){when}{detail}: try again later"
            )
    if _TIMEOUT.search(message):
        return _timeout_error(url, status, detail)
    if _TOO_LARGE.search(message):
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


def _timeout_error(url: str, status: int, detail: str) -> RemoteTimeoutError:
    return RemoteTimeoutError(f"{url} exceeded its time limit ({status}){detail}: request less")
