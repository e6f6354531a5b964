"""From what the `openai` package raises to the library's errors, one line each, never a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import openai

from sarag_rdf.errors import (
    ContextTooLongError,
    EndpointAuthError,
    EndpointDownError,
    EndpointError,
    EndpointTimeoutError,
    RateLimitError,
    UnparsableReplyError,
)
from sarag_rdf.redaction import redacted_remark

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


class ReplySizeError(openai.OpenAIError):
    """An answer of more bytes than are taken."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most >> 20} MiB")
        self.most = most


def public_url(url: str) -> str:
    """The URL without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def is_loading(status: int, body: str) -> bool:
    """Whether a response says that the server has not loaded its model yet."""
    return status == 503 and _LOADING.search(body[:2000]) is not None


def is_context_error(error: openai.APIStatusError) -> bool:
    """Whether the endpoint says that the prompt is too long for the model."""
    return error.status_code == 413 or (
        error.status_code in (400, 422, 500)
        and bool(_CONTEXT.search(_words(error)) or error.code == "context_length_exceeded")
    )


def is_refusal(error: openai.APIStatusError, request: Mapping[str, Any]) -> str:
    """Name the optional part of `request` that the endpoint does not know, or return "".

    One of ``max_tokens``, ``temperature``, ``seed``, ``schema bounds``, ``json_schema``.
    """
    if error.status_code not in _REFUSED:
        return ""
    words = _words(error)
    if "max_completion_tokens" in words and "max_tokens" in request:
        return "max_tokens"
    for option in ("temperature", "seed"):
        if option in request and (error.param == option or re.search(rf"['\"`]{option}\b", words)):
            return option
    schema = request["response_format"].get("json_schema")
    if schema and _BOUND.search(words) and _BOUND.search(str(schema["schema"])):
        return "schema bounds"
    return "json_schema" if schema and _FORMAT.search(words) else ""


def typed_error(error: Exception, base_url: str) -> EndpointError:
    """Return the error of this library that stands for one of the `openai` package."""
    where = public_url(base_url)
    if isinstance(error, ReplySizeError):
        return EndpointError(
            f"{where} gave an answer of {error}: is it a model's endpoint? Else raise --max-reply"
        )
    if isinstance(error, openai.APITimeoutError):
        return EndpointTimeoutError(
            f"{where} did not answer in time: see whether the server is overloaded, lower the "
            "concurrency, or allow a longer timeout"
        )
    if isinstance(error, openai.APIConnectionError):
        reason = _reason(error)
        return EndpointDownError(
            f"no connection with {where} ({reason}): start the server, or check the base URL"
        )
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, where)
    return EndpointError(
        f"{where} did not answer like an OpenAI-compatible endpoint "
        f"({type(error).__name__}): check the base URL, which mostly ends in /v1"
    )


def _of_status(error: openai.APIStatusError, where: str) -> EndpointError:
    status = error.status_code
    said = f". It said: {redacted_remark(_words(error))[:_TOLD]}"
    if status in (401, 403):
        return EndpointAuthError(
            f"{where} refused the API key ({status}): set SARAG_API_KEY to a key that is valid "
            "there and may use this model"
        )
    if status == 429:
        return RateLimitError(
            f"{where} still limits the rate after all retries (429): lower the concurrency, or "
            f"wait or raise the quota, and run the same again{said}"
        )
    if is_context_error(error):
        return ContextTooLongError(
            f"the prompt does not fit the context of the model at {where}: use smaller chunks or "
            f"fewer documents, or serve the model with a larger context{said}"
        )
    if status == 400 and _FILTER.search(f"{error.code} {_words(error)}"):
        return UnparsableReplyError(
            f"the content filter of {where} stopped this prompt: leave the document out, or use "
            f"another endpoint{said}"
        )
    if status == 404:
        return EndpointError(
            f"{where} knows no such model or path (404): check the model's name and the base URL, "
            f"which mostly ends in /v1{said}"
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
            f"concurrency, or run the same again later{said}"
        )
    if is_loading(status, _words(error)):
        return EndpointDownError(
            f"{where} is still loading its model: run the same again when it is ready, or wait "
            f"longer with --loading-wait{said}"
        )
    if status >= 500:
        return EndpointDownError(
            f"{where} failed with status {status} after all retries: look at the server's log, "
            f"and run the same again when it is well{said}"
        )
    return EndpointError(
        f"{where} refused the request ({status}): check that the model takes chat messages and "
        f"JSON output{said}"
    )


def _words(error: openai.APIStatusError) -> str:
    """What the endpoint said, on one line; error bodies differ between servers."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        told = inner.get("message") if isinstance(inner, Mapping) else inner
        details = body.get("detail") or told or body
        return " ".join(str(told or details).split())
    return " ".join(str(body or error.message).split())


def _reason(error: BaseException) -> str:
    """The innermost cause, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return redacted_remark(" ".join(str(error).split()))[:_TOLD] or type(error).__name__
