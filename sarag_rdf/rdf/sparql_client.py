"""Requests to a SPARQL endpoint over SPARQLWrapper, and one typed error for each failure."""

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
"""Seconds before the first retry where the endpoint names none; doubled with each further one."""
LONGEST_WAIT = 60.0
"""Seconds that an endpoint may ask to wait before a retry; more is told as an error."""
_CHUNK = 1 << 16
_MOST_SAID = 40_000
_LONGEST_SECRET = 20_000
"""Bytes that are read of an error, and of these the last that are not shown: what the end cuts in
two is not seen to be a secret."""

DataSet = Mapping[str, Sequence[str]]
"""Parameters of the protocol that choose what a query sees, with their values."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer of status 2xx; `framed` if its length was announced."""

    url: str
    media_type: str
    headers: http.client.HTTPMessage
    body: bytes
    framed: bool


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the error that it is: a request may carry credentials."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:  # noqa: ARG002
        return None


class _Basic(urllib.request.HTTPBasicAuthHandler):
    """Answers a server that wants a basic password, and leaves any other to its own handler."""

    def http_error_401(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        if not headers.get("WWW-Authenticate", "").lower().startswith("basic"):
            return None
        return super().http_error_401(req, fp, code, msg, headers)


@cache
def user_agent() -> str:
    """Names this library, its version, and its page if the package tells one."""
    try:
        found = importlib.metadata.metadata("sarag-rdf")
    except importlib.metadata.PackageNotFoundError:
        return "sarag_rdf/dev"
    pages = found.get_all("Project-URL") or []
    page = f" (+{pages[0].partition(',')[2].strip()})" if pages else ""
    return f"sarag_rdf/{found['Version']}{page}"


class Client:
    """Sends requests to one endpoint."""

    def __init__(self, remote: SparqlEndpoint, *, backoff: float = BACKOFF) -> None:
        self.remote = remote
        self._backoff = backoff
        self._token = os.environ.get("SARAG_SPARQL_TOKEN", "")
        self._opener = _opener(remote)

    def query(self, text: str, accept: str, dataset: DataSet) -> Response:
        """Send a query, with parameters that choose what it sees."""
        return self._form(self.remote.query_url, text, accept, dataset, update=False)

    def update(self, text: str) -> Response:
        """Send an update."""
        return self._form(self.remote.update_url, text, "*/*", {}, update=True)

    def _form(self, url: str, text: str, accept: str, more: DataSet, *, update: bool) -> Response:
        wrapper = SPARQLWrapper(url, updateEndpoint=url, agent=user_agent())
        wrapper.setMethod(POST)
        wrapper.setRequestMethod(URLENCODED)
        wrapper.setOnlyConneg(True)
        wrapper.addCustomHttpHeader("Accept", accept)
        for name, values in more.items():
            for value in values:
                wrapper.addParameter(name, value)
        wrapper.queryString = text
        wrapper.queryType = "INSERT" if update else "SELECT"
        return self._patiently(wrapper._createRequest, idempotent=not update)

    def store(self, method: str, graph: str, body: bytes | None = None) -> Response:
        """PUT, POST or DELETE one graph by the Graph Store Protocol."""

        def request() -> urllib.request.Request:
            url = f"{self.remote.store_url}?{urlencode({'graph': graph})}"
            made = urllib.request.Request(url, body, method=method)  # noqa: S310 - http(s) alone
            made.add_header("User-Agent", user_agent())
            if body is not None:
                made.add_header("Content-Type", "text/turtle")
            return made

        return self._patiently(request, idempotent=method != "POST")

    def _patiently(
        self, request: Callable[[], urllib.request.Request], *, idempotent: bool
    ) -> Response:
        """Send, and send again after a 429 or 503, or a broken connection if that is harmless."""
        for retry in range(RETRIES + 1):
            try:
                return self._send(request())
            except RemoteRateLimitError as error:
                wait = waiting_time(error.__cause__)
                if retry == RETRIES or (wait or 0.0) > LONGEST_WAIT:
                    raise
            except RemoteDownError as error:
                broken = isinstance(error.__cause__, ConnectionResetError)
                if retry == RETRIES or not (broken and idempotent):
                    raise
                wait = None
            pause = self._backoff * 2**retry if wait is None else wait
            url = self.remote.query_url.partition("?")[0]
            log.info("%s asks for patience: next request in %.1f s", url, pause)
            time.sleep(pause)
        raise AssertionError  # the last retry returns or raises

    def _send(self, request: urllib.request.Request) -> Response:
        url, limit = request.full_url.partition("?")[0], self.remote.timeout
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        until = time.monotonic() + limit
        try:
            try:
                with self._opener.open(request, timeout=limit) as response:
                    body = _read(url, response, until, self.remote.max_reply)
                    return _received(url, response, body)
            except Exception as error:
                redact_exception(error)
                raise
        except urllib.error.HTTPError as error:
            with error:
                raise failure(url, error, _beginning(error)) from error
        except TimeoutError as error:
            raise RemoteTimeoutError(_late(url, limit)) from error
        except http.client.IncompleteRead as error:
            raise RemoteTruncatedError(
                f"{url} broke off in the middle of its answer: try again, or ask for less"
            ) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise RemoteTimeoutError(_late(url, limit)) from error
            raise RemoteDownError(_unreachable(url, error.reason)) from error
        except (OSError, http.client.HTTPException) as error:
            raise RemoteDownError(_unreachable(url, error)) from error
        except ValueError as error:  # urllib's handlers, for a scheme of authentication
            raise RemoteAuthError(f"{url} wants credentials of another kind: {error}") from error


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


def _read(url: str, response: Any, until: float, most: int) -> bytes:
    """The whole body; raises `TimeoutError` when it takes longer than `until` altogether."""
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise RemoteStoreError(
                f"{url} gave an answer of more than {most >> 20} MiB: ask for less, or raise "
                "--max-reply"
            )
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)


def _received(url: str, response: Any, body: bytes) -> Response:
    headers = response.headers
    length = headers.get("Content-Length")
    if length is not None and length.isdecimal() and len(body) < int(length):
        raise http.client.IncompleteRead(body, int(length) - len(body))
    framed = length is not None or "chunked" in headers.get("Transfer-Encoding", "").lower()
    body = redacted_body(body, remark=False)
    return Response(url, headers.get_content_type(), headers, body, framed)


def _beginning(error: urllib.error.HTTPError) -> str:
    try:
        said = redacted_body(error.read(_MOST_SAID), remark=True)
        return said[: _MOST_SAID - _LONGEST_SECRET].decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _late(url: str, limit: float) -> str:
    return (
        f"{url} gave no whole answer within {limit:g} s: give it longer with --sparql-timeout, "
        "or ask for less"
    )


def _unreachable(url: str, reason: object) -> str:
    told = getattr(reason, "strerror", None) or getattr(reason, "verify_message", None) or reason
    return f"{url} cannot be reached: {told}: is the URL right, and the server running?"


_TOO_LATE = re.compile(
    r"time(d)?[ -]?out|time limit|cancell?ed|TimeoutException|S1T00", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (large|long|big|many)|exceeds? the (maximum|limit)|10000 lines|Max row length",
    re.IGNORECASE,
)
_SYNTAX = re.compile(r"syntax|parse|malformed|lexical|expected|SP0", re.IGNORECASE)
_SHOWN = 300


def failure(url: str, error: urllib.error.HTTPError, body: str) -> StoreError:
    """The error that stands for an HTTP status with what the endpoint told."""
    told = brief(body)
    said = f": {told}" if told else ""
    match error.code:
        case 300 | 301 | 302 | 303 | 307 | 308:
            target = redacted_remark(error.headers.get("Location", "another place"))
            return RemoteStoreError(
                f"{url} redirects to {target}: nothing is sent there unasked; if it is the "
                "endpoint, name that URL"
            )
        case 401 | 403 | 407:
            return RemoteAuthError(
                f"{url} refused access ({error.code}){said}; credentials are taken from "
                "SARAG_SPARQL_USER and SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN"
            )
        case 404 | 405 | 406 | 410 | 415 | 501:
            return RemoteStoreError(
                f"{url} is no endpoint for this request ({error.code}){said}: is its path right?"
            )
        case 408 | 504:
            return _too_late(url, error.code, said)
        case 413 | 414:
            return RemoteRequestSizeError(f"{url} takes no request of this size{said}")
        case 429 | 503:
            return RemoteRateLimitError(
                f"{url} has no capacity ({error.code}){_when(error)}{said}: try again later"
            )
    if _TOO_LATE.search(told):
        return _too_late(url, error.code, said)
    if _TOO_LARGE.search(told):
        return RemoteRequestSizeError(f"{url} takes no request of this size{said}")
    if error.code == 400 or (error.code == 500 and _SYNTAX.search(told)):
        return QueryError(f"{url} does not take the SPARQL{said or ' (400)'}")
    return RemoteDownError(f"{url} failed ({error.code}){said}")


def brief(body: str) -> str:
    """The first of what an error page or message says, on one line, without markup."""
    if re.search(r"<html|<!doctype", body, re.IGNORECASE):
        body = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>", " ", body)
        body = html.unescape(body)
    line = " ".join(body.partition("SPARQL query:")[0].split())  # Virtuoso repeats the query
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def waiting_time(error: object) -> float | None:
    """Seconds of a Retry-After, a number or a date; None without one."""
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


def _when(error: urllib.error.HTTPError) -> str:
    wait = waiting_time(error)
    return "" if wait is None else f" for {wait:.0f} s"


def _too_late(url: str, status: int, said: str) -> RemoteTimeoutError:
    return RemoteTimeoutError(f"{url} ran out of time ({status}){said}: ask for less")
