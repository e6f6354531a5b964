"""``/v1``: reasoners as the models of an OpenAI-compatible server.

Any client of OpenAI's chat completions can put questions to the graph. The last message of the
user is the question; the model is a reasoner.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from sarag_rdf.base.errors import UsageError, one_line
from sarag_rdf.base.options import Spec
from sarag_rdf.kg.registry import strategies
from sarag_rdf.kg.report import source_name
from sarag_rdf.server.asking import EVENT_STREAM, QuestionJob, job_of, started
from sarag_rdf.server.jobs import JobReply, Progress, RequestError
from sarag_rdf.server.openapi import INTEGER, OBJECT, OBJECTS, TEXT, closed, content
from sarag_rdf.server.requests import Ask, job_events, read_body, run_job, settings_of

PREFIX: Final = "/v1"
EXTRA: Final = "sarag"
"""The field of a request for parameters of ``/ask``, and of a response for its citations."""
NO_ANSWER: Final = "The documents of this graph do not state the answer."
"""What is said for the outcome ``insufficient``, since a chat shows nothing else."""
_OFF: Final = (
    "the OpenAI-compatible interface is off: start sarag serve with --base-url, or set "
    "OPENAI_BASE_URL, so that a language model can answer"
)
_MOST_BODY: Final = 4 << 20
"""Chats are sent with all earlier messages."""
_UNSUPPORTED: Final = ("tools", "functions", "audio", "logprobs")
FIXED: Final = frozenset({"q", "question", "reasoner", "stream"})
"""Parameters of ``/ask`` that other fields of a request give."""
_TYPES: Final = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error",
}  # fmt: skip
CORRECTION: Final = "\n\nCorrected: "
"""Before an answer that takes the place of what was sent."""


class OpenAIError(RequestError):
    """A request that cannot be served, with one of OpenAI's codes."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(status, message, code=code)


def openai_error(error: RequestError) -> Response:
    """An error as OpenAI's clients expect it."""
    return JSONResponse(error_object(error), error.status, error.headers)


def error_object(error: RequestError) -> dict[str, Any]:
    """The same as an object."""
    default = "server_error" if error.status >= 500 else "invalid_request_error"
    body = {
        "message": one_line(str(error)),
        "type": _TYPES.get(error.status, default),
        "param": None,
        "code": error.code if isinstance(error, OpenAIError) else None,
    }
    return {"error": body}


async def models(request: Request) -> Response:
    """``/v1/models``: the reasoners; ``/v1/models/NAME``: one of them."""
    try:
        _check_enabled(request)
    except RequestError as error:
        return openai_error(error)
    name = request.path_params.get("name")
    if name is None:
        data = [_model(reasoner) for reasoner in strategies("reasoner")]
        return JSONResponse({"object": "list", "data": data})
    if name not in strategies("reasoner"):
        return openai_error(_unknown_model(name))
    return JSONResponse(_model(name))


async def chat_completions(request: Request) -> Response:
    """``/v1/chat/completions``: the answer to the user's last message, whole or as a stream."""
    try:
        _check_enabled(request)
        body = _body(await read_body(request, _MOST_BODY))
        model = _model_name(body)
        values = {**_extra(body), "q": _question(body), "reasoner": model}
        job = job_of(Ask.checked(values))
        if body.get("stream"):
            return await _streamed(request, body, model, replace(job, stream=True))
        reply = await run_job(request, job, pool="questions")
        answer = Completion(model, _result(reply))
    except UsageError as error:
        return openai_error(RequestError(400, str(error)))
    except RequestError as error:
        return openai_error(error)
    return JSONResponse(answer.whole())


async def _streamed(
    request: Request, body: Mapping[str, Any], model: str, job: QuestionJob
) -> Response:
    """The answer as chunks; raises `RequestError` for what fails before the first of them."""
    options = body.get("stream_options")
    with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    events = await started(job_events(request, job, pool="questions"))
    chunks = Chunks(model, with_usage=with_usage)
    return StreamingResponse(chunks.of(events), headers=EVENT_STREAM)


OPENAI_ROUTES: Final[list[BaseRoute]] = [
    Route(PREFIX + "/models", models),
    Route(PREFIX + "/models/{name}", models),
    Route(PREFIX + "/chat/completions", chat_completions, methods=["POST"]),
]


class Completion:
    """An answer as a chat completion.

    Its text ends with a numbered list of sources, since most clients show nothing but text. The
    same citations are `annotations` of the message, and in full in the field ``sarag``.
    """

    def __init__(self, model: str, result: Mapping[str, Any]) -> None:
        self._head = _head(model)
        citations = list({c["document"]: c for c in result["citations"]}.values())
        text = result["answer"] if result["outcome"] == "answered" else NO_ANSWER
        self._annotations = []
        for number, citation in enumerate(citations, 1):
            title = citation["title"] or source_name(citation["source"])
            text += f"{'' if number > 1 else f'{chr(10)}{chr(10)}Sources:'}\n"
            begin = len(text)
            text += f"{number}. {title} ({source_name(citation['source'])})"
            self._annotations.append(
                {
                    "type": "url_citation",
                    "url_citation": {
                        "url": citation["document"],
                        "title": title,
                        "start_index": begin,
                        "end_index": len(text),
                    },
                }
            )
        self._text = text
        self._extra = {"outcome": result["outcome"], "citations": citations}
        usage = result["usage"]
        self._usage = {
            "prompt_tokens": usage["tokens_in"],
            "completion_tokens": usage["tokens_out"],
            "total_tokens": usage["tokens_in"] + usage["tokens_out"],
        }

    def whole(self) -> dict[str, Any]:
        """The response without streaming."""
        message = {
            "role": "assistant",
            "content": self._text,
            "refusal": None,
            "annotations": self._annotations,
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage,
            EXTRA: self._extra,
        }

    @property
    def text(self) -> str:
        """The answer with the list of its sources."""
        return self._text

    @property
    def end(self) -> dict[str, Any]:
        """The last chunk that has a choice, without its head."""
        return _choice({"annotations": self._annotations}, "stop") | {EXTRA: self._extra}

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of all calls."""
        return self._usage


class Chunks:
    """A completion as chunks, sent while the answer is written.

    What was sent cannot be withdrawn: an answer that turns out to be another one follows after
    `CORRECTION`. An error ends the stream as an object ``{"error": ...}``.
    """

    def __init__(self, model: str, *, with_usage: bool) -> None:
        self._head = _head(model)
        self._model, self._with_usage = model, with_usage
        self._sent = ""
        self._is_withdrawn = False

    async def of(self, events: AsyncGenerator[Progress | JobReply | None]) -> AsyncGenerator[str]:
        """Server-sent events: the role, the words, the end with the citations, and the usage."""
        yield self._line(_choice({"role": "assistant", "content": ""}))
        async for event in events:
            if event is None:
                yield ": the server is at work\n\n"
            elif isinstance(event, Progress):
                self._is_withdrawn |= event.event == "withdrawn"
                if event.event == "text" and not self._is_withdrawn:
                    yield self._content(event.data["text"])
            else:
                for line in self._last(event):
                    yield line

    def _last(self, reply: JobReply) -> Iterator[str]:
        try:
            answer = Completion(self._model, _result(reply))
        except RequestError as error:
            yield f"data: {json.dumps(error_object(error), ensure_ascii=False)}\n\n"
            return
        rest = answer.text.removeprefix(self._sent)
        if not answer.text.startswith(self._sent):
            rest = CORRECTION + answer.text
        yield self._content(rest)
        yield self._line(answer.end)
        if self._with_usage:
            yield self._line({"choices": [], "usage": answer.usage})
        yield "data: [DONE]\n\n"

    def _content(self, text: str) -> str:
        self._sent += text
        return self._line(_choice({"content": text}))

    def _line(self, data: Mapping[str, Any]) -> str:
        chunk = {**self._head, "object": "chat.completion.chunk", **data}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def _head(model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}


def _choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {"choices": [choice]}


def _check_enabled(request: Request) -> None:
    if not settings_of(request).has_model:
        raise OpenAIError(404, _OFF, "not_enabled")


def _unknown_model(name: str) -> OpenAIError:
    names = ", ".join(strategies("reasoner"))
    message = f"no such model '{name}': choose from {names}"
    return OpenAIError(404, message, "model_not_found")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sarag"}


def _body(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise RequestError(400, "the body is no JSON object")
    for name in _UNSUPPORTED:
        if body.get(name):
            raise RequestError(400, f"'{name}' is not supported: leave it out")
    if body.get("n") not in (None, 1):
        raise RequestError(400, "'n' must be 1: a question has one answer")
    return body


def _model_name(body: Mapping[str, Any]) -> str:
    """The reasoner, with options if there are any."""
    name = body.get("model")
    if not isinstance(name, str) or not name.strip():
        raise RequestError(400, "'model' must be text: the name of a reasoner")
    if Spec.parse(name).name not in strategies("reasoner"):
        raise _unknown_model(name)
    return name.strip()


def _extra(body: Mapping[str, Any]) -> dict[str, Any]:
    """Further parameters of ``/ask``."""
    extra = body.get(EXTRA, {})
    if not isinstance(extra, dict) or extra.keys() & FIXED:
        raise RequestError(
            400,
            f"'{EXTRA}' must be an object with parameters of /ask other than "
            f"{', '.join(sorted(FIXED))}",
        )
    return extra


def _question(body: Mapping[str, Any]) -> str:
    """The text of the last message of the user."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise RequestError(400, "'messages' must be a list of objects")
    content = next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), None)
    if isinstance(content, list):
        content = "\n".join(_part(part) for part in content)
    if not isinstance(content, str) or not content.strip():
        raise RequestError(400, "no question: 'messages' needs one of the role 'user' with text")
    return content


def _part(part: Any) -> str:
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        raise RequestError(400, "a question is text: leave images, audio and files out")
    return str(part["text"])


def _result(reply: JobReply) -> dict[str, Any]:
    """The JSON of ``/ask``; raises `RequestError` for an error in it."""
    result: dict[str, Any] = json.loads(reply.body())
    if reply.status != 200:
        raise RequestError(reply.status, result["error"]["message"], **reply.headers)
    return result


# --------------------------------------------------------------------------- Description


def paths() -> dict[str, Any]:
    """The paths for OpenAPI."""
    options = Ask.schema_of()["properties"]
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "Name of a reasoner.",
        "schema": {"type": "string", "enum": list(strategies("reasoner"))},
    }
    model = closed(id=TEXT, object=TEXT, created=INTEGER, owned_by=TEXT)
    listed = closed(object=TEXT, data={"type": "array", "items": model})
    body = {
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": {**TEXT, "description": "A reasoner: NAME or NAME:KEY=VALUE."},
            "messages": {
                "type": "array",
                "items": {"type": "object", "properties": {"role": TEXT, "content": {}}},
                "minItems": 1,
            },
            "stream": {"type": "boolean", "default": False},
            "stream_options": {
                "type": "object",
                "properties": {"include_usage": {"type": "boolean"}},
            },
            EXTRA: {
                "type": "object",
                "description": "Further parameters of /ask.",
                "properties": {key: each for key, each in options.items() if key not in FIXED},
            },
        },
    }
    return {
        PREFIX + "/models": {
            "get": _operation(
                "models",
                "The reasoners as models of OpenAI's API; 404 without a model endpoint.",
                {"application/json": listed},
                "401 403 404",
            )
        },
        PREFIX + "/models/{name}": {
            "get": _operation(
                "model", "One reasoner as a model.", {"application/json": model}, "401 403 404"
            )
            | {"parameters": [name]}
        },
        PREFIX + "/chat/completions": {
            "post": _operation(
                "chatCompletions",
                "Answers the last message of the user as OpenAI's chat completions do, with the "
                "citations as annotations; other parameters of OpenAI are ignored.",
                {"application/json": _COMPLETION, "text/event-stream": TEXT},
                "400 401 403 404 408 409 413 429 500 502 503 504 507",
            )
            | {"requestBody": {"required": True, "content": content(["application/json"], body)}}
        },
    }


SCHEMAS: Final = {
    "OpenAIError": closed(
        error={
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": TEXT,
                "type": TEXT,
                "param": {"type": "null"},
                "code": {"type": ["string", "null"]},
            },
        }
    )
}
_COMPLETION: Final = closed(
    id=TEXT,
    object=TEXT,
    created=INTEGER,
    model=TEXT,
    choices=OBJECTS,
    usage=OBJECT,
    sarag=closed(outcome=TEXT, citations=OBJECTS),
)


def _operation(
    name: str, description: str, results: Mapping[str, Any], errors: str
) -> dict[str, Any]:
    error = content(["application/json"], {"$ref": "#/components/schemas/OpenAIError"})
    result = {each: {"schema": schema} for each, schema in results.items()}
    return {
        "operationId": name,
        "description": description,
        "responses": {
            "200": {"description": "The result.", "content": result},
            **{each: {"description": "The error.", "content": error} for each in errors.split()},
        },
    }
