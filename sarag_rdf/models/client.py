"""Clients of OpenAI-compatible endpoints: key, URL, size limits, typed errors; embeddings."""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import urlsplit, urlunsplit

import httpx
import numpy as np
import openai

from sarag_rdf.base.endpoints import ModelEndpoint, check_url
from sarag_rdf.base.errors import (
    ContextTooLongError,
    EndpointAuthError,
    EndpointDownError,
    EndpointError,
    EndpointTimeoutError,
    ModelError,
    RateLimitError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.base.http_client import (
    BoundedClient,
    DeadlineError,
    ReplySizeError,
    reason_of,
    retry_after,
)
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.redaction import (
    MASK,
    redacted_data,
    redacted_remark,
    remember,
    remember_url,
)
from sarag_rdf.models.embedding_names import ModelName, Prompts

_LOG = logging.getLogger(__name__)
_DEADLINE: Final = 1.5
"""Deadline of a reply, in multiples of the timeout of each wait."""
_LISTING: Final = 30.0
"""Time limit in seconds of a list of models."""
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


def endpoint_client(endpoint: ModelEndpoint, key: str, max_retries: int = 4) -> openai.OpenAI:
    """A client of the `openai` package; raises `UsageError` for an invalid base URL.

    The key becomes a secret.
    """
    base_url, is_valid = endpoint.base_url, True
    try:
        httpx.URL(base_url)
    except (httpx.InvalidURL, ValueError):
        is_valid = False
    check_url(base_url, "SARAG_API_KEY or OPENAI_API_KEY", is_valid=is_valid)
    remember(key)
    remember_url(base_url)
    return openai.OpenAI(
        base_url=base_url,
        api_key=key,
        timeout=endpoint.timeout,
        max_retries=max_retries,
        http_client=cast("Any", _ModelClient(endpoint)),
    )


def check_model(name: str) -> None:
    """Raise `UsageError` for a model name with a secret: names are displayed and stored."""
    if redacted_data(name) != name:
        raise UsageError(
            "the name of the model holds a key, password or token: give the bare name, and the "
            "key in SARAG_API_KEY"
        )


def endpoint_model(endpoint: ModelEndpoint, api_key: str | None = None) -> str:
    """The name of the model of an endpoint, else of the only one that it serves.

    Raises `UsageError` if there are several models or none, and `EndpointError` if the endpoint
    does not list them, or if the name contains a secret.
    """
    if endpoint.model:
        return endpoint.model
    key = endpoint_key(api_key)
    try:
        client = endpoint_client(replace(endpoint, timeout=_LISTING), key, 1)
        names = sorted(model.id for model in client.models.list().data or [])
    except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
        raise typed_error(error, endpoint.base_url) from None
    where = public_url(endpoint.base_url)
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


class _ModelClient(BoundedClient):
    """Sends the requests of the `openai` package, and waits while a server loads its model."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        seconds, most = endpoint.timeout, endpoint.max_reply << 20
        super().__init__(seconds, most, deadline=_DEADLINE * seconds)
        self._loading_wait = endpoint.loading_wait
        self._is_waiting = False
        self._lock = threading.Lock()

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send, and read the whole reply. Raises errors of the `openai` package and of httpx.

        While the server reports that it is loading its model, the request is sent again, after the
        time in Retry-After or else a short pause, for at most `loading_wait` seconds.
        """
        until = time.monotonic() + self._loading_wait
        while True:
            response = self._send_once(request, options)
            if response.status_code != 503 or not is_loading(503, response.text):
                self._is_waiting = False
                return response
            left = until - time.monotonic()
            if left <= 0:
                response.headers["x-should-retry"] = "false"  # a header of the `openai` package
                return response
            with self._lock:  # the first thread that waits for the server says so
                if not self._is_waiting:
                    wait = self._loading_wait
                    _LOG.warning("the model server is still loading; waiting up to %g s", wait)
                self._is_waiting = True
            pause = retry_after(response.headers.get("retry-after", ""))
            if pause is None:
                pause = min(self._loading_wait / 20, _LONGEST_PAUSE)
            time.sleep(min(left, max(pause, _SHORTEST_PAUSE)))

    def _send_once(self, request: httpx.Request, options: dict[str, Any]) -> httpx.Response:
        """Send; for late and large replies, raises errors that the `openai` package passes on."""
        try:
            return super().send(request, **options)
        except DeadlineError as error:
            raise openai.APITimeoutError(request=cast("Any", request)) from error
        except ReplySizeError as error:
            raise ModelReplySizeError(str(error)) from error


_CONTEXT: Final = re.compile(
    r"context[ _](?:length|size|window)|exceeds? the (?:available|model'?s?) .{0,30}context"
    r"|prompt is too long|input is too long|too many (?:input )?tokens|exceed_context_size"
    r"|maximum context",
    re.IGNORECASE,
)
_FILTER: Final = re.compile(r"content[ _](?:filter|management|policy)", re.IGNORECASE)
_FORMAT: Final = re.compile(r"response_?format|json_?schema|grammar", re.IGNORECASE)
_BOUND: Final = re.compile(r"\b(?:max|min)(?:Length|Items|imum)\b|repetitions? exceeds")
_LOADING: Final = re.compile(
    r"\bloading\b.{0,40}\bmodel\b|\bmodel\b.{0,100}\bloading\b", re.IGNORECASE | re.DOTALL
)
_REFUSED: Final = (400, 404, 415, 422, 501)
_TOLD: Final = 200


class ModelReplySizeError(openai.OpenAIError):
    """A reply that is larger than the limit."""


class CutReplyError(openai.OpenAIError):
    """A stream that ended before the reply was complete."""


def public_url(url: str) -> str:
    """The URL without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def is_loading(status: int, body: str) -> bool:
    """Whether a response reports that the server is still loading its model."""
    return status == 503 and _LOADING.search(body[:2000]) is not None


def is_context_error(error: openai.APIStatusError) -> bool:
    """Whether the endpoint reports that the prompt is too long for the model."""
    return error.status_code == 413 or (
        error.status_code in (400, 422, 500)
        and bool(_CONTEXT.search(_words(error)) or error.code == "context_length_exceeded")
    )


def is_refusal(error: openai.APIStatusError, request: Mapping[str, Any]) -> str:
    """The optional part of `request` that the endpoint does not support; empty if there is none.

    One of ``max_tokens``, ``temperature``, ``seed``, ``stream``, ``stream_options``, ``schema
    bounds``, ``json_schema``.
    """
    if error.status_code not in _REFUSED:
        return ""
    words = _words(error)
    if "max_completion_tokens" in words and "max_tokens" in request:
        return "max_tokens"
    for option in ("temperature", "seed"):
        if option in request and (error.param == option or re.search(rf"['\"`]{option}\b", words)):
            return option
    if "stream" in request and re.search(r"\bstream_options\b", words):
        return "stream_options"
    if "stream" in request and re.search(r"\bstream(?:ing)?\b", words):
        return "stream"
    schema = request["response_format"].get("json_schema")
    if schema and _BOUND.search(words) and _BOUND.search(str(schema["schema"])):
        return "schema bounds"
    return "json_schema" if schema and _FORMAT.search(words) else ""


def typed_error(error: Exception, base_url: str) -> EndpointError:
    """The error of this library for one of the `openai` package."""
    where, reason = public_url(base_url), redacted_remark(reason_of(error))[:_TOLD]
    if isinstance(error, ModelReplySizeError):
        return EndpointError(
            f"{where} gave an answer of {error}: is it a model's endpoint? Else raise --max-reply"
        )
    if isinstance(error, openai.APITimeoutError):
        return EndpointTimeoutError(
            f"{where} did not answer in time: see whether the server is overloaded, lower the "
            "concurrency, or allow a longer timeout"
        )
    if isinstance(error, openai.APIConnectionError):
        return EndpointDownError(
            f"no connection with {where} ({reason}): start the server, or check the base URL"
        )
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, where)
    if isinstance(error, CutReplyError | openai.APIError):
        return EndpointDownError(
            f"{where} broke its reply off ({reason}): look at the server's log, and ask again"
        )
    return EndpointError(
        f"{where} did not answer like an OpenAI-compatible endpoint "
        f"({type(error).__name__}): check the base URL, which mostly ends in /v1"
    )


def _of_status(error: openai.APIStatusError, where: str) -> EndpointError:
    status = error.status_code
    remark = f". It said: {redacted_remark(_words(error))[:_TOLD]}"
    if status in (401, 403):
        return EndpointAuthError(
            f"{where} refused the API key ({status}): set SARAG_API_KEY to a key that is valid "
            "there and may use this model"
        )
    if status == 429:
        return RateLimitError(
            f"{where} still limits the rate after all retries (429): lower the concurrency, or "
            f"wait or raise the quota, and run the same again{remark}"
        )
    if is_context_error(error):
        return ContextTooLongError(
            f"the prompt does not fit the context of the model at {where}: use smaller chunks or "
            f"fewer documents, or serve the model with a larger context{remark}"
        )
    if status == 400 and _FILTER.search(f"{error.code} {_words(error)}"):
        return UnparsableReplyError(
            f"the content filter of {where} stopped this prompt: leave the document out, or use "
            f"another endpoint{remark}"
        )
    if status == 404:
        return EndpointError(
            f"{where} knows no such model or path (404): check the model's name and the base URL, "
            f"which mostly ends in /v1{remark}"
        )
    if 300 <= status < 400:
        target = public_url(error.response.headers.get("location", "another place"))
        return EndpointError(
            f"{where} redirects to {target} ({status}): nothing is sent there unasked; if it is "
            "the endpoint, name that URL"
        )
    if status in (408, 504):
        return EndpointTimeoutError(
            f"{where} gave up waiting for its model ({status}) after all retries: lower the "
            f"concurrency, or run the same again later{remark}"
        )
    if is_loading(status, _words(error)):
        return EndpointDownError(
            f"{where} is still loading its model: run the same again when it is ready, or wait "
            f"longer with --loading-wait{remark}"
        )
    if status >= 500:
        return EndpointDownError(
            f"{where} failed with status {status} after all retries: look at the server's log, "
            f"and run the same again when it is well{remark}"
        )
    return EndpointError(
        f"{where} refused the request ({status}): check that the model takes chat messages and "
        f"JSON output{remark}"
    )


def _words(error: openai.APIStatusError) -> str:
    """The endpoint's message, on one line; error bodies differ between servers."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        details = body.get("detail") or message or body
        return " ".join(str(message or details).split())
    return " ".join(str(body or error.message).split())


# -------------------------------------------------------------------------------- Embeddings


class OpenAIEmbedder:
    """Embeds with ``POST /embeddings``; prompts are put before the texts here."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        batch_size: int = 64,
        max_retries: int = 4,
        prompts: Prompts = Prompts(),  # noqa: B008 - frozen
    ) -> None:
        """`endpoint` has a model."""
        self._base_url, self._model = endpoint.base_url, endpoint.model
        self.model = f"openai:{self._model}"
        """The model's name without prompts."""
        self.prompts, self.batch_size = prompts, batch_size
        self._client = endpoint_client(endpoint, endpoint_key(), max_retries)
        check_model(self._model)

    @property
    def name(self) -> str:
        return str(ModelName(self.model, self.prompts))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises an `EndpointError`, or `ModelError` for a reply of another shape."""
        return self._embed(texts, self.prompts.passage or "")

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        return self._embed(texts, self.prompts.query or "")

    def _embed(self, texts: Sequence[str], prompt: str) -> Matrix:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), self.batch_size):
            batch = [prompt + text for text in texts[start : start + self.batch_size]]
            try:
                reply = self._client.embeddings.create(
                    model=self._model, input=batch, encoding_format="float"
                )
            except (openai.OpenAIError, ValueError) as error:
                raise typed_error(error, self._base_url) from None
            rows += self._vectors(reply, len(batch))
            if len(rows[0]) != len(rows[-1]):
                raise ModelError(
                    f"the endpoint gave embeddings of {len(rows[0])} and of {len(rows[-1])} "
                    f"numbers for '{self._model}': is it one model?"
                )
        matrix = np.asarray(rows, dtype=np.float32)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return np.asarray(matrix / np.maximum(norms, 1e-12), dtype=np.float32)

    def _vectors(self, reply: object, count: int) -> list[Sequence[float]]:
        """The vectors of a reply in the order of the texts; raises `ModelError`."""
        data = getattr(reply, "data", None)
        if not isinstance(data, list) or len(data) != count:
            number = len(data) if isinstance(data, list) else "no"
            raise ModelError(
                f"the endpoint gave {number} embeddings for {count} texts: "
                f"is '{self._model}' an embedding model?"
            )
        vectors: dict[str, Any] = {
            str(getattr(each, "index", None)): getattr(each, "embedding", None) for each in data
        }
        sizes = {
            len(v) if isinstance(v, list) and all(map(_is_number, v)) else 0
            for v in vectors.values()
        }
        if 0 in sizes or len(sizes) != 1 or vectors.keys() != set(map(str, range(count))):
            raise ModelError(
                f"the endpoint gave embeddings of '{self._model}' that are no vectors of one "
                "length, one for each text: is it an embedding model?"
            )
        return [vectors[str(position)] for position in range(count)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
