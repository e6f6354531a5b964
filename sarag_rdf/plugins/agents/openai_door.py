"""``/v1``: reasoners as the models of an OpenAI-compatible server.

Any client of OpenAI's chat completions can put questions to the graph. The last message of the
user is the question; the model is a reasoner.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from sarag_rdf.base.errors import one_line
from sarag_rdf.base.iris import source_name
from sarag_rdf.base.options import Spec
from sarag_rdf.kg.registry import strategies
from sarag_rdf.server.asking import EVENT_STREAM, job_of, started
from sarag_rdf.server.jobs import JobReply, Progress, RequestError
from sarag_rdf.server.openapi import (
    INTEGER,
    OBJECT,
    OBJECTS,
    TEXT,
    Door,
    Operation,
    closed,
    operations,
    route,
)
from sarag_rdf.server.requests import (
    Ask,
    Declared,
    Text,
    job_events,
    read_body,
    run_job,
    settings_of,
)
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker_pool import Workers

PREFIX: Final = "/v1"
NO_ANSWER: Final = "The documents of this graph do not state the answer."
"""What is said for the outcome ``insufficient``, since a chat shows nothing else."""
CORRECTION: Final = "\n\nCorrected: "
"""Before an answer that takes the place of what was sent."""
_MOST_BODY: Final = 4 << 20
"""Chats are sent with all earlier messages."""
_UNSUPPORTED: Final = ("tools", "functions", "audio", "logprobs")
_FIXED: Final = frozenset({"q", "question", "reasoner", "stream"})
"""Parameters of ``/ask`` that other fields of a request give."""
_TYPES: Final = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error",
}  # fmt: skip


class Chat(Declared):
    """A request for a chat completion; other fields of OpenAI's are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Text
    """A reasoner: NAME or NAME:KEY=VALUE."""
    messages: list[dict[str, Any]] = Field(min_length=1)
    """The chat: the last message of the role user is the question."""
    stream: bool | None = False
    """Answer as server-sent events."""
    stream_options: dict[str, Any] | None = None
    """With include_usage, the last event has the tokens of all calls."""
    n: Literal[1] | None = None
    """A question has one answer."""
    sarag: dict[str, Any] = Field(default_factory=dict)
    """Further parameters of /ask."""

    def question(self) -> Ask:
        """The parameters of ``/ask``; raises `RequestError` (400, 404)."""
        if Spec.parse(self.model).name not in strategies("reasoner"):
            raise _unknown_model(self.model)
        if named := sorted(self.sarag.keys() & _FIXED):
            raise RequestError(400, f"'sarag' must not have '{named[0]}', which other fields give")
        contents = [m.get("content") for m in self.messages if m.get("role") == "user"]
        text = contents[-1] if contents else None
        if isinstance(text, list):
            parts = [part.get("text") for part in text if isinstance(part, dict)]
            if len(parts) < len(text) or not all(isinstance(part, str) for part in parts):
                raise RequestError(400, "a question is text: leave images, audio and files out")
            text = "\n".join(map(str, parts))
        if not isinstance(text, str) or not text.strip():
            raise RequestError(400, "no question: 'messages' needs one of the role user with text")
        return Ask.checked({**self.sarag, "q": text, "reasoner": self.model})


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer as a chat completion.

    Its text ends with a numbered list of sources, since most clients show nothing but text. The
    same citations are `annotations` of the message, and in full in the field ``sarag``.
    """

    text: str
    annotations: list[dict[str, Any]]
    details: dict[str, Any]
    usage: dict[str, int]

    @classmethod
    def of(cls, reply: JobReply) -> Completion:
        """That of a reply of ``/ask``; raises `RequestError` for an error in it."""
        result = json.loads(reply.body())
        if reply.status != 200:
            error = result["error"]
            raise RequestError(reply.status, error["message"], code=error["code"], **reply.headers)
        citations = list({c["document"]: c for c in result["citations"]}.values())
        text = result["answer"] if result["outcome"] == "answered" else NO_ANSWER
        annotations = []
        for number, citation in enumerate(citations, 1):
            source = source_name(citation["source"])
            title = citation["title"] or source
            text += "\n" if number > 1 else "\n\nSources:\n"
            line = f"{number}. {title} ({source})"
            place = {"start_index": len(text), "end_index": len(text) + len(line)}
            cited = {"url": citation["document"], "title": title, **place}
            annotations.append({"type": "url_citation", "url_citation": cited})
            text += line
        tokens_in, tokens_out = result["usage"]["tokens_in"], result["usage"]["tokens_out"]
        return cls(
            text,
            annotations,
            {"outcome": result["outcome"], "citations": citations},
            {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        )

    def whole(self, model: str) -> dict[str, Any]:
        """The response without streaming."""
        message = {
            "role": "assistant",
            "content": self.text,
            "refusal": None,
            "annotations": self.annotations,
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        head = _head(model, "chat.completion")
        return {**head, "choices": [choice], "usage": self.usage, "sarag": self.details}


async def chunks(
    model: str, events: AsyncGenerator[Progress | JobReply | None], *, with_usage: bool
) -> AsyncGenerator[str]:
    """A completion as server-sent events: the role, the words, the citations, and the usage.

    What was sent cannot be withdrawn: an answer that turns out to be another one follows after
    `CORRECTION`. An error ends the stream as an object ``{"error": ...}``.
    """
    head = _head(model, "chat.completion.chunk")

    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        return _event({**head, "choices": choices, **more})

    def choice(delta: dict[str, Any], finish: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]

    sent, is_withdrawn = "", False
    yield chunk(choice({"role": "assistant", "content": ""}))
    async for event in events:
        if event is None:
            yield ": the server is at work\n\n"
        elif isinstance(event, Progress):
            is_withdrawn |= event.event == "withdrawn"
            if event.event == "text" and not is_withdrawn:
                sent += event.data["text"]
                yield chunk(choice({"content": event.data["text"]}))
        else:
            try:
                answer = Completion.of(event)
            except RequestError as error:
                yield _event(error_object(error))
                return
            is_other = not answer.text.startswith(sent)
            rest = CORRECTION + answer.text if is_other else answer.text.removeprefix(sent)
            yield chunk(choice({"content": rest}))
            yield chunk(choice({"annotations": answer.annotations}, "stop"), sarag=answer.details)
            if with_usage:
                yield chunk([], usage=answer.usage)
            yield "data: [DONE]\n\n"


def _head(model: str, kind: str) -> dict[str, Any]:
    identifier = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": identifier, "object": kind, "created": int(time.time()), "model": model}


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


# --------------------------------------------------------------------------- Routes


def error_object(error: RequestError) -> dict[str, Any]:
    """An error as OpenAI's clients expect it."""
    default = "server_error" if error.status >= 500 else "invalid_request_error"
    type_ = _TYPES.get(error.status, default)
    message = one_line(str(error))
    return {"error": {"message": message, "type": type_, "param": None, "code": error.code}}


def _check_enabled(request: Request) -> None:
    """Raise `RequestError` (404) without a language model."""
    if not settings_of(request).has_model:
        raise RequestError(
            404,
            "the OpenAI-compatible interface is off: start sarag serve with --base-url, or set "
            "OPENAI_BASE_URL, so that a language model can answer",
            code="not_enabled",
        )


@operations(get=Operation(gives="Models"))
async def models(request: Request) -> Response:
    """The reasoners as models of OpenAI's API; 404 without a model endpoint."""
    _check_enabled(request)
    data = [_model(reasoner) for reasoner in strategies("reasoner")]
    return JSONResponse({"object": "list", "data": data})


@operations(get=Operation(gives="Model"))
async def model(request: Request) -> Response:
    """One reasoner as a model."""
    _check_enabled(request)
    name = request.path_params["name"]
    if name not in strategies("reasoner"):
        raise _unknown_model(name)
    return JSONResponse(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sarag"}


def _unknown_model(name: str) -> RequestError:
    names = ", ".join(strategies("reasoner"))
    message = f"no such model '{name}': choose from {names}"
    return RequestError(404, message, code="model_not_found")


@operations(post=Operation(body=Chat, gives="Completion"))
async def chat_completions(request: Request) -> Response:
    """Answers the last message of the user as OpenAI's chat completions do.

    Whole or as server-sent events, with the citations as annotations; other parameters of OpenAI
    are ignored.
    """
    _check_enabled(request)
    try:
        body = json.loads(await read_body(request, _MOST_BODY))
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise RequestError(400, "the body must be a JSON object")
    if unsupported := [name for name in _UNSUPPORTED if body.get(name)]:
        raise RequestError(400, f"'{unsupported[0]}' is not supported: leave it out")
    chat = Chat.checked(body)
    job = job_of(chat.question())
    if not chat.stream:
        reply = await run_job(request, job, job.question, "questions")
        return JSONResponse(Completion.of(reply).whole(chat.model))
    streamed = replace(job, stream=True)
    events = await started(job_events(request, streamed, job.question, "questions"))
    with_usage = bool((chat.stream_options or {}).get("include_usage"))
    return StreamingResponse(
        chunks(chat.model, events, with_usage=with_usage), headers=EVENT_STREAM
    )


def door(settings: ServeSettings, workers: Workers) -> Door:  # noqa: ARG001
    """``/v1``; without a language model it says that it is closed."""
    return Door(
        PREFIX,
        "OpenAI clients" if settings.has_model else "",
        [
            route(PREFIX + "/models", models),
            route(PREFIX + "/models/{name}", model),
            route(PREFIX + "/chat/completions", chat_completions),
        ],
        scope="ask",
        error=lambda error: JSONResponse(error_object(error), error.status, error.headers),
        schemas=_SCHEMAS,
    )


_SCHEMAS: Final = {
    "Model": closed(id=TEXT, object=TEXT, created=INTEGER, owned_by=TEXT),
    "Models": closed(object=TEXT, data=OBJECTS),
    "Completion": closed(
        id=TEXT,
        object=TEXT,
        created=INTEGER,
        model=TEXT,
        choices=OBJECTS,
        usage=OBJECT,
        sarag=closed(outcome=TEXT, citations=OBJECTS),
    ),
}
