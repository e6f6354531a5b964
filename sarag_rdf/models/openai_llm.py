"""Chat models behind any OpenAI-compatible endpoint: OpenAI, vLLM, llama.cpp, Ollama, LM Studio.

Work is bounded: one `OpenAILLM.complete` makes at most four completions (one more with twice the
tokens if the reply was cut, and one repair of a reply that violates the schema) after at most five
adaptations to what the endpoint refuses, and each is sent at most ``max_retries + 1`` times.
Between tries the `openai` package waits as long as Retry-After says, up to a limit of its own
(60 s before its version 3, 120 s since; beyond that it waits its usual time, or gives up), and
else 0.5 s doubling up to 8 s. While a server says that it is loading its model (503), the request
is sent again until `loading_wait` is over, and then no more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import httpx
import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import (
    ContextTooLongError,
    EndpointError,
    TruncatedReplyError,
    UnparsableReplyError,
)
from sarag_rdf.base.http_client import DeadlineError, ReplySizeError
from sarag_rdf.base.ports import Reply, Seen
from sarag_rdf.base.prompts import defused
from sarag_rdf.base.redaction import redacted_data, redacted_remark
from sarag_rdf.base.types import Usage
from sarag_rdf.models.client import (
    CutReplyError,
    ModelReplySizeError,
    check_model,
    endpoint_client,
    endpoint_key,
    is_context_error,
    is_refusal,
    public_url,
    typed_error,
)
from sarag_rdf.models.json_reply import parse_reply

_LOG = logging.getLogger(__name__)
_BOUNDS: Final = frozenset(
    {"maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "pattern"}
)
_SAMPLING: Final = ("temperature", "seed", "top_p")
_Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of a call of the model, apart from the messages."""

    schema: Mapping[str, Any]
    name: str
    max_tokens: int
    seen: Seen | None = None


class OpenAILLM:
    """An `sarag_rdf.base.ports.LLM`; safe to use from several threads. Makes no request when built.

    `endpoint` has a model. Without `api_key` it is SARAG_API_KEY or OPENAI_API_KEY of the
    environment, else a dummy, which local servers accept.
    """

    def __init__(
        self, endpoint: ModelEndpoint, *, api_key: str | None = None, max_retries: int = 4
    ) -> None:
        self._client = endpoint_client(endpoint, endpoint_key(api_key), max_retries)
        check_model(endpoint.model)
        self._url, self.model = endpoint.base_url, endpoint.model
        self._sampling = {name: getattr(endpoint, name) for name in _SAMPLING}
        self._prices = (endpoint.price_in, endpoint.price_out)
        self._refused: frozenset[str] = frozenset()

    @property
    def base_url(self) -> str:
        """The endpoint, without credentials that its URL may hold."""
        return public_url(self._url)

    @property
    def settings(self) -> Mapping[str, str]:
        """What replies depend on besides model, prompt and schema."""
        sampling = self._sampling.items()
        return {name: str(value) for name, value in sampling if (name, value) != ("top_p", 1.0)}

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """US dollars for so many tokens."""
        return (tokens_in * self._prices[0] + tokens_out * self._prices[1]) / 1_000_000

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """Answer with an object that satisfies `schema`, secrets masked; raises `EndpointError`."""
        return self._complete(prompt, _Call(schema, name, max_tokens))

    def stream(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int, seen: Seen
    ) -> Reply:
        """The same; `seen` is called with the text so far, if the endpoint can stream."""
        return self._complete(prompt, _Call(schema, name, max_tokens, seen))

    def _complete(self, prompt: str, call: _Call) -> Reply:
        messages: list[_Message] = [{"role": "user", "content": prompt}]
        usage, problem = Usage(), ""
        for _ in range(2):
            try:
                text, more = self._text(messages, call)
            except ContextTooLongError:
                if problem:
                    break
                raise
            usage += more
            try:
                return Reply(redacted_data(parse_reply(text, call.schema)), usage)
            except ValueError as error:
                problem = str(error)
            _LOG.info("%s: the reply is not valid: %s", call.name, problem)
            remark = (
                f"This reply is not valid: {problem}. Give the whole answer again, corrected, as "
                "one JSON object and nothing else."
            )
            messages.append({"role": "assistant", "content": text or "{}"})
            messages.append({"role": "user", "content": remark})
        raise UnparsableReplyError(
            f"{self.model} at {self.base_url} gave no valid reply to '{call.name}', even when "
            f"told what was wrong ({problem}): use a larger model, or a server that enforces "
            "json_schema"
        )

    def _text(self, messages: list[_Message], call: _Call) -> tuple[str, Usage]:
        """The text of the reply; one that was cut is requested again with twice the tokens."""
        completion = self._send(messages, call)
        usage = self._usage(completion)
        if completion.choices[0].finish_reason == "length":
            longer = replace(call, max_tokens=2 * call.max_tokens)
            cut = TruncatedReplyError(
                f"{self.model} at {self.base_url} did not finish its reply to '{call.name}' "
                f"within {longer.max_tokens} tokens: allow more tokens, use smaller chunks, or "
                "serve the model with a larger context"
            )
            try:
                completion = self._send(messages, longer)
            except EndpointError as error:
                if type(error) in (EndpointError, ContextTooLongError):
                    raise cut from None
                raise
            usage += self._usage(completion)
            if completion.choices[0].finish_reason == "length":
                raise cut
        message = completion.choices[0].message
        if message.content is None and message.refusal:
            raise UnparsableReplyError(
                f"{self.model} at {self.base_url} refused to answer '{call.name}': "
                f"{redacted_remark(message.refusal)[:200]}"
            )
        return message.content or "", usage

    def _send(self, messages: list[_Message], call: _Call) -> ChatCompletion:
        """Send; and once for each option that the endpoint refuses, send again without it."""
        refused = self._refused
        while True:
            request = self._request(messages, call, refused)
            try:
                if call.seen is None or "stream" in refused:
                    completion = self._client.chat.completions.create(**request)
                else:
                    request["stream"] = True
                    if "stream_options" not in refused:
                        request["stream_options"] = {"include_usage": True}
                    completion = self._streamed(request, call.seen)
            except openai.APIStatusError as error:
                refusal = "" if is_context_error(error) else is_refusal(error, request)
                if not refusal or refusal in refused:
                    raise typed_error(error, self._url) from None
                _LOG.warning("%s does not take %s: going on without", self.base_url, refusal)
                refused |= {refusal}
                self._refused |= refused
            except (openai.OpenAIError, ValueError) as error:
                raise typed_error(error, self._url) from None
            else:
                return self._checked(completion)

    def _streamed(self, request: dict[str, Any], seen: Seen) -> ChatCompletion:
        """The completion of a stream, or the whole one if the endpoint sends that."""
        seen("")
        response = self._client.chat.completions.with_raw_response.create(**request)
        try:
            if "event-stream" not in response.headers.get("content-type", ""):
                return ChatCompletion.construct(**json.loads(response.http_response.read()))
            with response.parse() as stream:
                return collected(stream, seen)
        except DeadlineError as error:
            raise openai.APITimeoutError(request=response.http_response.request) from error
        except ReplySizeError as error:
            raise ModelReplySizeError(str(error)) from error
        except httpx.HTTPError as error:
            raise openai.APIConnectionError(request=cast("Any", error.request)) from error

    def _checked(self, completion: object) -> ChatCompletion:
        choices = getattr(completion, "choices", None)
        if isinstance(completion, ChatCompletion) and choices and choices[0].message:
            return completion
        error = getattr(completion, "error", None) or completion
        raise EndpointError(
            f"{self.base_url} did not answer like an OpenAI-compatible endpoint: check the base "
            f"URL, which mostly ends in /v1. It said: {redacted_remark(str(error))[:160]!r}"
        )

    def _request(
        self, messages: list[_Message], call: _Call, refused: frozenset[str]
    ) -> dict[str, Any]:
        room = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        request: dict[str, Any] = {"model": self.model, room: call.max_tokens}
        request |= {name: self._sampling[name] for name in self.settings if name not in refused}
        if "json_schema" in refused:
            request["response_format"] = {"type": "json_object"}
            request["messages"] = _defused([_with_schema(messages[0], call.schema), *messages[1:]])
            return request
        has_bounds = "schema bounds" not in refused
        schema = call.schema if has_bounds else _without_bounds(call.schema)
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": call.name, "strict": True, "schema": schema},
        }
        request["messages"] = _defused(messages)
        return request

    def _usage(self, completion: ChatCompletion) -> Usage:
        counts = ("prompt_tokens", "completion_tokens")
        tokens_in, tokens_out = (getattr(completion.usage, name, 0) or 0 for name in counts)
        return Usage(1, 0, tokens_in, tokens_out, self.cost(tokens_in, tokens_out))


def collected(stream: Iterable[ChatCompletionChunk], seen: Seen) -> ChatCompletion:
    """The completion of these chunks; raises `CutReplyError` if they end before the reply."""
    text, refusal, finish = "", "", ""
    last: ChatCompletionChunk | None = None
    usage = None
    for chunk in stream:
        last, usage = chunk, getattr(chunk, "usage", None) or usage
        for choice in (chunk.choices or [])[:1]:
            finish = choice.finish_reason or finish
            refusal += getattr(choice.delta, "refusal", None) or ""
            if piece := getattr(choice.delta, "content", None):
                text += piece
                seen(text)
    if last is None or not finish:
        raise CutReplyError("it ended before the reply did")
    message = {"role": "assistant", "content": text or None, "refusal": refusal or None}
    choices = [{"index": 0, "finish_reason": finish, "message": message, "logprobs": None}]
    whole: dict[str, Any] = {"id": last.id, "created": last.created, "model": last.model}
    return ChatCompletion.construct(object="chat.completion", choices=choices, usage=usage, **whole)


def _defused(messages: list[_Message]) -> list[_Message]:
    """The messages without special tokens, which replies and schemas may contain."""
    return [{**message, "content": defused(message["content"])} for message in messages]


def _with_schema(message: _Message, schema: Mapping[str, Any]) -> _Message:
    text = json.dumps(schema, ensure_ascii=False)
    return {
        "role": message["role"],
        "content": f"{message['content']}\n\nAnswer with one JSON object, and nothing else, that "
        f"satisfies this JSON Schema:\n{text}",
    }


def _without_bounds(value: Any) -> Any:
    """The schema without limits of length and number, against which replies are still checked."""
    if isinstance(value, list):
        return [_without_bounds(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: {name: _without_bounds(part) for name, part in inner.items()}
        if key == "properties"
        else _without_bounds(inner)
        for key, inner in value.items()
        if key not in _BOUNDS
    }
