"""Clients of OpenAI-compatible endpoints: the key, the URL, and what an answer may cost.

An answer has one time limit and one limit of size, however slowly or densely it comes; a redirect
is not followed, for it would take prompts to another place. Secrets are removed from every response
before anything reads it. A server that is still loading its model is waited for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from typing import Any, Final
from urllib.parse import urlsplit

import openai

from sarag_rdf.errors import EndpointError, UsageError
from sarag_rdf.models.endpoint_errors import ReplySizeError, is_loading, public_url, typed_error
from sarag_rdf.redaction import (
    MASK,
    RedactingFilter,
    holds_password,
    masked,
    public_origin,
    redacted_body,
    redacted_data,
    redacted_remark,
    remember,
    remember_url,
)
from sarag_rdf.remote import LOADING_WAIT, MAX_REPLY

_LOG = logging.getLogger(__name__)
for _name in ("httpx", "httpcore.http11", "httpx2", "httpcore2.http11"):
    logging.getLogger(_name).addFilter(RedactingFilter())

_GRACE: Final = 1.5
"""An answer is cut after so many times its seconds: one that stands still ends before."""
_LONGEST_PAUSE: Final = 1.0
_SHORTEST_PAUSE: Final = 0.05
"""Seconds between two requests to a server that is loading, unless it says Retry-After."""


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
        f"'{public_origin(masked(text))}' cannot be the base URL of an endpoint: give one that "
        "begins with "
        "http:// or https://, for example http://127.0.0.1:8080/v1"
    )


def endpoint_client(
    base_url: str,
    key: str,
    timeout: float,
    max_retries: int = 4,
    max_reply: int = MAX_REPLY,
    loading_wait: float = LOADING_WAIT,
) -> openai.OpenAI:
    """A client of the `openai` package; raises `UsageError` for what is no base URL.

    `timeout` and `loading_wait` in seconds, `max_reply` in bytes. The key is a secret from now on.
    """
    check_base_url(base_url)
    remember(key)
    remember_url(base_url)
    try:
        return openai.OpenAI(
            base_url=base_url,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            http_client=_BoundedClient(timeout, max_reply, loading_wait),
        )
    except Exception as error:
        raise _no_base_url(base_url) from error  # the package has no error of its own for these


def check_model(name: str) -> None:
    """Raise `UsageError` for a model's name with a secret in it: the name is shown and stored."""
    if redacted_data(name) != name:
        raise UsageError(
            "the name of the model holds a key, password or token: give the bare name, and the "
            "key in SARAG_API_KEY"
        )


def endpoint_model(
    base_url: str,
    *,
    api_key: str | None = None,
    timeout: float = 30.0,
    loading_wait: float = LOADING_WAIT,
) -> str:
    """Return the name of the only model that the endpoint serves.

    Raises `UsageError` that lists the names if there are several, or says that there is none, and
    an `EndpointError` if the endpoint does not tell, or tells a name that repeats a secret.
    """
    key = endpoint_key(api_key)
    try:
        client = endpoint_client(base_url, key, timeout, 1, loading_wait=loading_wait)
        names = sorted(model.id for model in client.models.list().data or [])
    except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
        raise typed_error(error, base_url) from None
    where = public_url(base_url)
    if len(names) == 1:
        if MASK in redacted_data(names[0]):
            raise EndpointError(
                f"{where} repeats a key, password or token in the name of its model: give the "
                "name with --model, and look into what runs there"
            )
        return names[0]
    if not names:
        raise UsageError(f"{where} serves no model: load one there, or name one")
    shown = ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
    raise UsageError(f"{where} serves {len(names)} models: name one of {shown}")


class _BoundedClient(openai.DefaultHttpxClient):
    """An HTTP client for whole answers, which come in time and fit, or are an error."""

    def __init__(self, seconds: float, max_reply: int, loading_wait: float) -> None:
        # A connection serves one request, so that it can be cut without harm to another.
        headers = {"Accept-Encoding": "identity", "Connection": "close"}
        super().__init__(timeout=seconds, follow_redirects=False, headers=headers)
        self._seconds, self._most = seconds, max_reply
        self._loading_wait = loading_wait
        self._is_waiting = False
        self._turn = threading.Lock()

    def send(self, request: Any, **options: Any) -> Any:
        """Send, and read the whole answer, without secrets. Raises errors of the `openai` package.

        While the server says that it is loading its model, the request is sent again, after what
        Retry-After says or else a short pause, until `loading_wait` is over.
        """
        until = time.monotonic() + self._loading_wait
        while (response := self._sent(request, options)).status_code == 503:
            if not is_loading(503, response.text):
                break
            left = until - time.monotonic()
            if left <= 0:
                response.headers["x-should-retry"] = "false"  # the `openai` package heeds it
                return response
            self._tell()
            time.sleep(min(left, self._pause(response.headers.get("retry-after", ""))))
        self._is_waiting = False
        return response

    def _tell(self) -> None:
        """Say once, whichever thread is first, that the server is waited for."""
        with self._turn:
            if not self._is_waiting:
                _LOG.warning(
                    "the model server is still loading; waiting up to %g s", self._loading_wait
                )
            self._is_waiting = True

    def _pause(self, retry_after: str) -> float:
        try:
            seconds = float(retry_after)
        except ValueError:
            seconds = self._loading_wait / 20
            return min(max(seconds, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        return max(seconds, _SHORTEST_PAUSE)

    def _sent(self, request: Any, options: dict[str, Any]) -> Any:
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
            (name, redacted_remark(value))
            for name, value in response.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
        ]
        content = redacted_body(body, remark=response.status_code >= 300)
        return type(response)(
            response.status_code, headers=headers, content=content, request=request
        )

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
