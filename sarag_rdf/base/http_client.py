"""An HTTP client over httpx: bounded in time and size, and without secrets in replies.

Model endpoints, SPARQL endpoints and downloads use it. Only downloads, which have no credentials,
follow redirects.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import ssl
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx

from sarag_rdf.base.redaction import RedactingFilter, redacted_body, redacted_remark

for _name in ("httpx", "httpcore.http11", "httpcore.connection", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(RedactingFilter())

_CHUNK: Final = 1 << 20
MAX_REDIRECTS: Final = 5
"""The maximum number of redirects of a download."""


class DeadlineError(Exception):
    """The reply was not complete before the deadline."""


class ReplySizeError(Exception):
    """A reply that is larger than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit >> 20} MiB")
        self.limit = limit


def reason_of(error: BaseException) -> str:
    """The innermost cause of an error, in the words of the operating system or of OpenSSL."""
    while error.__cause__ is not None:
        error = error.__cause__
    reason = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
    return " ".join(str(reason or error).split()) or type(error).__name__


def retry_after(value: str) -> float | None:
    """The seconds in a Retry-After header, a number or a date (RFC 9110, 10.2.3), or None."""
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return seconds if seconds >= 0 and math.isfinite(seconds) else None
    with contextlib.suppress(TypeError, ValueError):
        moment = parsedate_to_datetime(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None


@cache
def _ssl_context(cert_file: str | None, cert_dir: str | None) -> ssl.SSLContext:
    """The certificates, read once (40 ms) for each value of the variables that httpx reads."""
    del cert_file, cert_dir  # keys of the cache
    return httpx.create_ssl_context()


class BoundedClient(httpx.Client):
    """An HTTP client whose replies are whole, in time, of bounded size, and without secrets.

    Redirects are not followed, because a request may have credentials: they are replies like any
    other. Each request has its own connection, and waits for it until the deadline. A client that
    `keeps` its connection is for one request at a time, and for requests that may be sent twice:
    one is sent again if the server has closed the connection since the request before it.
    """

    def __init__(
        self,
        seconds: float,
        max_reply: int,
        *,
        deadline: float,
        max_error: int | None = None,
        keeps: bool = False,
    ) -> None:
        """`seconds` for a wait, `deadline` for a reply; `max_reply`, `max_error` in bytes."""
        headers = {"Accept-Encoding": "identity"}
        # callers limit how many requests run at once
        limits = httpx.Limits(max_connections=1 if keeps else None)
        context = _ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        super().__init__(
            timeout=seconds, follow_redirects=False, headers=headers, limits=limits, verify=context
        )
        self._seconds, self._max_reply, self._max_error = deadline, max_reply, max_error
        self._kept = _Deadline() if keeps else None

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send, and read the reply, or a `stream` later; `DeadlineError`, `ReplySizeError`."""
        request.headers["Connection"] = "keep-alive" if self._kept else "close"
        deadline = self._kept or _Deadline()
        deadline.begin(self._seconds)
        request.extensions = {**request.extensions, "trace": deadline.trace}
        with deadline.watched():
            response = self._begin(request, deadline, {**options, "stream": True})
        is_error = response.status_code >= 300
        shown = self._max_error if is_error else None
        body = _BoundedStream(response, deadline, self._max_reply, shown)
        if options.get("stream") and not is_error:
            headers = _safe_headers(response)
            return httpx.Response(
                response.status_code, headers=headers, stream=body, request=request
            )
        try:
            content = b"".join(body)
        finally:
            response.close()
        # Where the length is announced, truncation is detected.
        chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
        reply = httpx.Response(
            response.status_code,
            headers=_safe_headers(response),
            content=redacted_body(content, remark=is_error),
            request=request,
            extensions={
                "has_length": chunked or "Content-Length" in response.headers,
                "reason_phrase": redacted_body(response.reason_phrase.encode(), remark=True),
            },
        )
        reply.next_request = response.next_request
        return reply

    def _begin(
        self, request: httpx.Request, deadline: _Deadline, options: dict[str, Any]
    ) -> httpx.Response:
        """Send, and read the head of the reply."""
        try:
            return super().send(request, **options)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if deadline.has_connected:
                raise
            return super().send(request, **options)  # over a new connection


def _safe_headers(response: httpx.Response) -> list[tuple[str, str]]:
    """The headers without secrets, and without those about the transfer."""
    return [
        (name, redacted_remark(value))
        for name, value in response.headers.multi_items()
        if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
    ]


class _BoundedStream(httpx.SyncByteStream):
    """The body of a reply until the deadline, up to `limit` bytes; `shown` of an error page."""

    def __init__(
        self, response: httpx.Response, deadline: _Deadline, limit: int, shown: int | None
    ) -> None:
        self._response, self._deadline = response, deadline
        self._limit, self._shown = limit, shown

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        with self._deadline.watched():
            for part in self._response.iter_bytes():
                size += len(part)
                if self._shown is None and size > self._limit:
                    raise ReplySizeError(self._limit)
                yield part
                if self._shown is not None and size >= self._shown:
                    return

    def close(self) -> None:
        self._response.close()


class _Deadline:
    """Bounds each wait for a connection by the time that is left for the reply."""

    def begin(self, seconds: float) -> None:
        """Begin with a request."""
        self._until = time.monotonic() + seconds
        self.has_connected = False

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Bound what waits for a new connection; httpx calls this as the request proceeds."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.has_connected = True
            stream = info["return_value"]
            stream.read, stream.write = self._bounded(stream.read), self._bounded(stream.write)

    def _bounded(self, wait: Callable[[Any, float], Any]) -> Callable[..., Any]:
        def bounded(data: Any, timeout: float | None = None) -> Any:
            left = self._until - time.monotonic()
            if left <= 0:
                raise DeadlineError
            return wait(data, left if timeout is None else min(timeout, left))

        return bounded

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Raise `DeadlineError` for a wait that the deadline has ended."""
        try:
            yield
        except httpx.TimeoutException as error:
            if time.monotonic() >= self._until:
                raise DeadlineError from error
            raise


def download(url: str, path: Path, *, seconds: float, deadline: float, most: int) -> None:
    """Write what a URL returns to a file.

    `seconds` for each wait and `deadline` for each reply; at most `most` bytes. Up to
    `MAX_REDIRECTS` redirects are followed: no credentials are sent. Raises `DeadlineError`,
    `ReplySizeError`, errors of httpx, and OSError.
    """
    with (
        BoundedClient(seconds, most, deadline=deadline, max_error=_CHUNK) as client,
        contextlib.ExitStack() as replies,
        path.open("wb") as out,
    ):
        request = client.build_request("GET", url, headers={"User-Agent": "sarag-rdf"})
        for _ in range(MAX_REDIRECTS + 1):
            response = client.send(request, stream=True)
            replies.callback(response.close)
            if response.next_request is None:
                break
            request = response.next_request
        else:
            raise httpx.TooManyRedirects(f"more than {MAX_REDIRECTS} redirects", request=request)
        response.raise_for_status()
        for part in response.iter_bytes(_CHUNK):
            out.write(part)
