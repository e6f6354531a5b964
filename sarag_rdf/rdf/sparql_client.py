"""An HTTP client for SPARQL endpoints, with retries and one exception type per kind of failure."""

from __future__ import annotations

import base64
import html
import http.client
import importlib.metadata
import logging
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

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
from sarag_rdf.redaction import redact_exception, redacted_body, redacted_remark, remember

log = logging.getLogger(__name__)

RETRIES = 4
BACKOFF = 1.0
"""Seconds before the first retry without a Retry-After header; doubled with each retry."""
MAX_WAIT = 60.0
"""The longest Retry-After that is honoured, in seconds; a longer one raises an error."""
_CHUNK = 1 << 16
_MAX_ERROR_BODY = 40_000
"""Bytes of an error response that are read."""
_MAX_SECRET = 20_000
"""Bytes at the end of a truncated error that are discarded, as a partial secret is not redacted."""

DataSet = Mapping[str, Sequence[str]]
"""The protocol parameters that select the dataset of a query, with their values."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response with status 2xx; `has_length` if its length was announced."""

    url: str
    media_type: str
    headers: http.client.HTTPMessage
    body: bytes
    has_length: bool


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats redirects as errors, because a request may contain credentials."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:  # noqa: ARG002
        return None


class _Basic(urllib.request.HTTPBasicAuthHandler):
    """Handles Basic authentication, and leaves other schemes to their own handlers."""

    def http_error_401(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        if not headers.get("WWW-Authenticate", "").lower().startswith("basic"):
            return None
        return super().http_error_401(req, fp, code, msg, headers)


@cache
def user_agent() -> str:
    """The name and version of this library, and its home page if the package has one."""
    try:
        metadata = importlib.metadata.metadata("sarag-rdf")
    except importlib.metadata.PackageNotFoundError:
        return "sarag_rdf/dev"
    pages = metadata.get_all("Project-URL") or []
    page = f" (+{pages[0].partition(',')[2].strip()})" if pages else ""
    return f"sarag_rdf/{metadata['Version']}{page}"


class SparqlClient:
    """Sends requests to a SPARQL endpoint."""

    def __init__(self, remote: SparqlEndpoint, *, backoff: float = BACKOFF) -> None:
        self.remote = remote
        self._backoff = backoff
        self._token = os.environ.get("SARAG_SPARQL_TOKEN", "")
        self._opener = _opener(remote)

    def query(self, text: str, accept: str, dataset: DataSet) -> Response:
        """Send a query with the parameters of its dataset."""
        return self._post(self.remote.query_url, text, accept, dataset, is_update=False)

    def update(self, text: str) -> Response:
        """Send an update."""
        return self._post(self.remote.update_url, text, "*/*", {}, is_update=True)

    def _post(
        self, url: str, text: str, accept: str, parameters: DataSet, *, is_update: bool
    ) -> Response:
        wrapper = SPARQLWrapper(url, updateEndpoint=url, agent=user_agent())
        wrapper.setMethod(POST)
        wrapper.setRequestMethod(URLENCODED)
        wrapper.setOnlyConneg(True)
        wrapper.addCustomHttpHeader("Accept", accept)
        for name, values in parameters.items():
            for value in values:
                wrapper.addParameter(name, value)
        wrapper.queryString = text
        wrapper.queryType = "INSERT" if is_update else "SELECT"
        return self._send_with_retries(wrapper._createRequest, is_idempotent=not is_update)

    def store(self, method: str, graph: str, body: bytes | None = None) -> Response:
        """PUT, POST or DELETE a graph by the Graph Store Protocol."""

        def create() -> urllib.request.Request:
            url = f"{self.remote.store_url}?{urlencode({'graph': graph})}"
            request = urllib.request.Request(url, body, method=method)  # noqa: S310 - http(s) only
            request.add_header("User-Agent", user_agent())
            if body is not None:
                request.add_header("Content-Type", "text/turtle")
            return request

        return self._send_with_retries(create, is_idempotent=method != "POST")

    def _send_with_retries(
        self, create: Callable[[], urllib.request.Request], *, is_idempotent: bool
    ) -> Response:
        """Send a request; retry after 429, 503, or a broken connection if it is idempotent."""
        for retry in range(RETRIES + 1):
            try:
                return self._send(create())
            except RemoteRateLimitError as error:
                wait = retry_after(error.__cause__)
                if retry == RETRIES or (wait or 0.0) > MAX_WAIT:
                    raise
            except RemoteDownError as error:
                is_reset = isinstance(error.__cause__, ConnectionResetError)
                if retry == RETRIES or not (is_reset and is_idempotent):
                    raise
                wait = None
            delay = self._backoff * 2**retry if wait is None else wait
            url = self.remote.query_url.partition("?")[0]
            log.info("%s is not available: retrying in %.1f s", url, delay)
            time.sleep(delay)
        raise AssertionError  # the last retry returns or raises

    def _send(self, request: urllib.request.Request) -> Response:
        url, limit = request.full_url.partition("?")[0], self.remote.timeout
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        begin = time.monotonic()
        try:
            try:
                with self._opener.open(request, timeout=limit) as response:
                    body = _read(url, response, begin + limit, self.remote.max_reply)
                    seconds = time.monotonic() - begin
                    method = request.get_method()
                    log.debug("%s %s: %d bytes in %.3f s", method, url, len(body), seconds)
                    return _response(url, response, body)
            except Exception as error:
                redact_exception(error)
                raise
        except urllib.error.HTTPError as error:
            with error:
                raise error_for_status(url, error, _read_error(error)) from error
        except TimeoutError as error:
            raise RemoteTimeoutError(_timeout_message(url, limit)) from error
        except http.client.IncompleteRead as error:
            raise RemoteTruncatedError(
                f"{url} closed the connection during its response: try again, or request less"
            ) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise RemoteTimeoutError(_timeout_message(url, limit)) from error
            raise RemoteDownError(_unreachable_message(url, error.reason)) from error
        except (OSError, http.client.HTTPException) as error:
            raise RemoteDownError(_unreachable_message(url, error)) from error
        except ValueError as error:  # raised by urllib for an unknown authentication scheme
            raise RemoteAuthError(
                f"{url} requires an unsupported kind of authentication: {error}"
            ) from error


def _opener(remote: SparqlEndpoint) -> urllib.request.OpenerDirector:
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    user, password = (os.environ.get(f"SARAG_SPARQL_{n}", "") for n in ("USER", "PASSWORD"))
    if user:
        remember(base64.b64encode(f"{user}:{password}".encode()).decode())
        for url in filter(None, (remote.query_url, remote.update_url, remote.store_url)):
            passwords.add_password(None, url, user, password)
    return urllib.request.build_opener(
        _NoRedirect,
        urllib.request.HTTPDigestAuthHandler(passwords),
        _Basic(passwords),
    )


def _read(url: str, response: Any, deadline: float, limit: int) -> bytes:
    """The body, up to `limit` bytes; raises `TimeoutError` after the deadline."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise RemoteStoreError(
                f"the response of {url} is larger than {limit >> 20} MiB: request less, or raise "
                "--max-reply"
            )
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(chunks)


def _response(url: str, response: Any, body: bytes) -> Response:
    headers = response.headers
    length = headers.get("Content-Length")
    if length is not None and length.isdecimal() and len(body) < int(length):
        raise http.client.IncompleteRead(body, int(length) - len(body))
    has_length = length is not None or "chunked" in headers.get("Transfer-Encoding", "").lower()
    body = redacted_body(body, remark=False)
    return Response(url, headers.get_content_type(), headers, body, has_length)


def _read_error(error: urllib.error.HTTPError) -> str:
    try:
        body = redacted_body(error.read(_MAX_ERROR_BODY), remark=True)
        return body[: _MAX_ERROR_BODY - _MAX_SECRET].decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _timeout_message(url: str, limit: float) -> str:
    return (
        f"no complete response from {url} within {limit:g} s: raise --sparql-timeout, or request "
        "less"
    )


def _unreachable_message(url: str, reason: object) -> str:
    text = getattr(reason, "strerror", None) or getattr(reason, "verify_message", None) or reason
    return f"cannot connect to {url}: {text}: check the URL, and that the server is running"


_TIMEOUT = re.compile(
    r"time(d)?[ -]?out|time limit|cancell?ed|TimeoutException|S1T00", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (large|long|big|many)|exceeds? the (maximum|limit)|10000 lines|Max row length",
    re.IGNORECASE,
)
_SYNTAX = re.compile(r"syntax|parse|malformed|lexical|expected|SP0", re.IGNORECASE)
_MAX_MESSAGE = 300
"""Characters of an endpoint's error message."""


def error_for_status(url: str, error: urllib.error.HTTPError, body: str) -> StoreError:
    """The exception for an HTTP error status and the message of the endpoint."""
    message = summarize(body)
    detail = f": {message}" if message else ""
    match error.code:
        case 300 | 301 | 302 | 303 | 307 | 308:
            target = redacted_remark(error.headers.get("Location", "another URL"))
            return RemoteStoreError(
                f"{url} redirects to {target}: redirects are not followed; if that is the "
                "endpoint, give its URL"
            )
        case 401 | 403 | 407:
            return RemoteAuthError(
                f"{url} denied access ({error.code}){detail}: set SARAG_SPARQL_USER and "
                "SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN"
            )
        case 404 | 405 | 406 | 410 | 415 | 501:
            return RemoteStoreError(
                f"{url} does not support this request ({error.code}){detail}: check the path of "
                "the endpoint"
            )
        case 408 | 504:
            return _timeout_error(url, error.code, detail)
        case 413 | 414:
            return RemoteRequestSizeError(f"the request is too large for {url}{detail}")
        case 429 | 503:
            return RemoteRateLimitError(
                f"{url} is overloaded ({error.code}){_wait_hint(error)}{detail}: try again later"
            )
    if _TIMEOUT.search(message):
        return _timeout_error(url, error.code, detail)
    if _TOO_LARGE.search(message):
        return RemoteRequestSizeError(f"the request is too large for {url}{detail}")
    if error.code == 400 or (error.code == 500 and _SYNTAX.search(message)):
        return QueryError(f"{url} rejected the SPARQL{detail or ' (400)'}")
    return RemoteDownError(f"{url} failed ({error.code}){detail}")


def summarize(body: str) -> str:
    """The beginning of an error page or message, on one line and without markup."""
    if re.search(r"<html|<!doctype", body, re.IGNORECASE):
        body = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>", " ", body)
        body = html.unescape(body)
    line = " ".join(body.partition("SPARQL query:")[0].split())  # Virtuoso repeats the query
    return line if len(line) <= _MAX_MESSAGE else line[:_MAX_MESSAGE] + "..."


def retry_after(error: object) -> float | None:
    """The Retry-After of an error in seconds, also if it is a date; None without one."""
    if not isinstance(error, urllib.error.HTTPError):
        return None
    value = (error.headers.get("Retry-After") or "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _wait_hint(error: urllib.error.HTTPError) -> str:
    wait = retry_after(error)
    return "" if wait is None else f" for {wait:.0f} s"


def _timeout_error(url: str, status: int, detail: str) -> RemoteTimeoutError:
    return RemoteTimeoutError(f"{url} exceeded its time limit ({status}){detail}: request less")
