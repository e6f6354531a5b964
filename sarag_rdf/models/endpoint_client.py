"""Clients of OpenAI-compatible endpoints: the key, the URL, and what an answer may cost.

An answer has one time limit and one limit of size, however slowly or densely it comes; a redirect
is not followed, for it would take prompts to another place.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Any, Final
from urllib.parse import urlsplit

import openai

from sarag_rdf.errors import UsageError
from sarag_rdf.models.endpoint_errors import ReplySizeError, public_url, typed_error
from sarag_rdf.remote import MAX_REPLY, holds_password

_GRACE: Final = 1.5
"""An answer is cut after so many times its seconds: one that stands still ends before."""


def endpoint_key(given: str | None = None) -> str:
    """The key given, else SARAG_API_KEY, else OPENAI_API_KEY, else a dummy; checked."""
    key = given or os.environ.get("SARAG_API_KEY") or os.environ.get("OPENAI_API_KEY") or "none"
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            "the API key holds a space, a line break or a character that is not ASCII: set "
            "SARAG_API_KEY to the bare key"
        )
    return key


def check_base_url(base_url: str) -> None:
    """Raise `UsageError` for what is no URL of an endpoint, or holds a password."""
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if holds_password(base_url):
        raise UsageError(
            "an endpoint's URL may hold no password: set SARAG_API_KEY in the environment, or "
            "OPENAI_API_KEY"
        )
    if not sound:
        raise _no_base_url(base_url)


def _no_base_url(text: str) -> UsageError:
    return UsageError(
        f"'{text}' cannot be the base URL of an endpoint: give one that begins with "
        "http:// or https://, for example http://127.0.0.1:8080/v1"
    )


def endpoint_client(
    base_url: str,
    key: str,
    timeout: float,
    max_retries: int = 4,
    max_reply: int = MAX_REPLY,
) -> openai.OpenAI:
    """A client of the `openai` package; raises `UsageError` for what is no base URL."""
    check_base_url(base_url)
    try:
        return openai.OpenAI(
            base_url=base_url,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            http_client=_BoundedClient(timeout, max_reply),
        )
    except Exception as error:
        raise _no_base_url(base_url) from error  # the package has no error of its own for these


def endpoint_model(base_url: str, *, api_key: str | None = None, timeout: float = 30.0) -> str:
    """Return the name of the only model that the endpoint serves.

    Raises `UsageError` that lists the names if there are several, or says that there is none, and
    an `EndpointError` if the endpoint does not tell.
    """
    key = endpoint_key(api_key)
    try:
        page = endpoint_client(base_url, key, timeout, 1).models.list()
        names = sorted(model.id for model in page.data or [])
    except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
        raise typed_error(error, base_url, key) from None
    if len(names) == 1:
        return names[0]
    where = public_url(base_url)
    if not names:
        raise UsageError(f"{where} serves no model: load one there, or name one")
    shown = ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
    raise UsageError(f"{where} serves {len(names)} models: name one of {shown}")


class _BoundedClient(openai.DefaultHttpxClient):
    """An HTTP client for whole answers, which come in time and fit, or are an error."""

    def __init__(self, seconds: float, max_reply: int) -> None:
        # A connection serves one request, so that it can be cut without harm to another.
        headers = {"Accept-Encoding": "identity", "Connection": "close"}
        super().__init__(timeout=seconds, follow_redirects=False, headers=headers)
        self._seconds, self._most = seconds, max_reply

    def send(self, request: Any, **options: Any) -> Any:
        """Send, and read the whole answer. Raises errors of the `openai` package."""
        with _Alarm(_GRACE * self._seconds) as alarm:
            request.extensions = {**request.extensions, "trace": alarm.trace}
            try:
                response = super().send(request, **{**options, "stream": True})
                try:
                    body = self._read(response)
                finally:
                    response.close()
                if alarm.rang:  # what has no length looks whole where it was cut
                    raise openai.APITimeoutError(request=request)  # noqa: TRY301
            except openai.OpenAIError:
                raise
            except Exception as error:
                if alarm.rang:
                    raise openai.APITimeoutError(request=request) from error
                raise
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
        ]
        return type(response)(response.status_code, headers=headers, content=body, request=request)

    def _read(self, response: Any) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > self._most:
                raise ReplySizeError(self._most)
            parts.append(part)
        return b"".join(parts)


class _Alarm:
    """Shuts the connection of a request when its time is up."""

    def __init__(self, seconds: float) -> None:
        self.rang = False
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._socket: socket.socket | None = None

    def __enter__(self) -> _Alarm:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, told: dict[str, Any]) -> None:
        """Learn of the connection as the HTTP client makes it."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = told["return_value"].get_extra_info("socket")
            if self.rang:
                self._shut()

    def _ring(self) -> None:
        self.rang = True
        self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
