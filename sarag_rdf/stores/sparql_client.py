"""Requests to a SPARQL endpoint: SPARQLWrapper writes them, and what it lacks is done here.

A named user agent, one time limit for a whole answer, bounded retries that obey Retry-After,
credentials that no other host ever sees, and a typed error with one line for every failure.
"""

from __future__ import annotations

import base64
import http.client
import importlib.metadata
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from SPARQLWrapper import POST, URLENCODED, SPARQLWrapper

from sarag_rdf.errors import (
    RemoteAuthError,
    RemoteDownError,
    RemoteRateLimitError,
    RemoteStoreError,
    RemoteTimeoutError,
    RemoteTruncatedError,
)
from sarag_rdf.redaction import redact_exception, redacted_body, remember
from sarag_rdf.remote import Remote
from sarag_rdf.stores.sparql_failures import failure, waiting_time

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

    def __init__(self, remote: Remote, *, backoff: float = BACKOFF) -> None:
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


def _opener(remote: Remote) -> urllib.request.OpenerDirector:
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
