"""An HTTP client over httpx: bounded in time and size, and without secrets in replies.

Model endpoints, SPARQL endpoints and downloads use it. Only downloads, which have no credentials,
follow redirects.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import ssl
import threading
from collections.abc import Iterator
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
    other. Each request has its own connection, which is closed at the deadline.
    """

    def __init__(
        self, seconds: float, max_reply: int, *, deadline: float, max_error: int | None = None
    ) -> None:
        """`seconds` for a wait, `deadline` for a reply; `max_reply`, `max_error` in bytes."""
        headers = {"Accept-Encoding": "identity", "Connection": "close"}
        limits = httpx.Limits(max_connections=None)  # callers limit how many requests run at once
        context = _ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        super().__init__(
            timeout=seconds, follow_redirects=False, headers=headers, limits=limits, verify=context
        )
        self._deadline, self._max_reply, self._max_error = deadline, max_reply, max_error

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send, and read the reply, or a `stream` later; `DeadlineError`, `ReplySizeError`."""
        with _Alarm(self._deadline) as alarm:
            request.extensions = {**request.extensions, "trace": alarm.trace}
            with alarm.deadline():
                response = super().send(request, **{**options, "stream": True})
            is_error = response.status_code >= 300
            shown = self._max_error if is_error else None
            body = _BoundedStream(response, alarm, self._max_reply, shown)
            if options.get("stream") and not is_error:
                alarm.keep()
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
        self, response: httpx.Response, alarm: _Alarm, limit: int, shown: int | None
    ) -> None:
        self._response, self._alarm = response, alarm
        self._limit, self._shown = limit, shown

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        with self._alarm.deadline():
            for part in self._response.iter_bytes():
                size += len(part)
                if self._shown is None and size > self._limit:
                    raise ReplySizeError(self._limit)
                yield part
                if self._shown is not None and size >= self._shown:
                    return

    def close(self) -> None:
        self._alarm.cancel()
        self._response.close()


class _Alarm:
    """Closes the connection of a request at the deadline."""

    def __init__(self, seconds: float) -> None:
        self.has_expired = False
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._socket: socket.socket | None = None
        self._is_kept = False

    def __enter__(self) -> _Alarm:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_kept:
            self.cancel()

    @contextlib.contextmanager
    def deadline(self) -> Iterator[None]:
        """Raise `DeadlineError` for what the deadline cuts off."""
        try:
            yield
        except httpx.HTTPError as error:
            if self.has_expired:
                raise DeadlineError from error
            raise
        if self.has_expired:  # a reply of unknown length looks whole where it was cut
            raise DeadlineError

    def keep(self) -> None:
        """Stay active after the block, until `cancel`."""
        self._is_kept = True

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the connection; httpx calls this as the request proceeds."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.has_expired:
                self._expire()

    def _expire(self) -> None:
        self.has_expired = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


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
