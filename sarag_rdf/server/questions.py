"""``/search`` and ``/ask``: the JSON of ``sarag search --json`` and ``sarag ask --json``."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import (
    DEFAULT_LIMIT,
    MAX_COUNT,
    Option,
    RetrieverOptions,
    Spec,
    declared_options,
    read_values,
)
from sarag_rdf.kg.registry import context_options, options_of, strategies, strategy
from sarag_rdf.kg.weights import parse_weights, split_weights
from sarag_rdf.server.answering import error_reply
from sarag_rdf.server.http import job_events, query_string, read_body, run, to_response
from sarag_rdf.server.jobs import JobReply, Progress, QuestionJob, RequestError

MAX_LIMIT: Final = MAX_COUNT
"""Documents that an answer has at most."""
MAX_WEIGHTS: Final = 100
"""Activation weights of one question that are given one by one."""
MAX_PARTS: Final = 50
"""Parts of the graph that one question names."""
MAX_TEXT: Final = 1000
"""Characters of a parameter other than the question."""


REPEATED: Final = ("weights", "over")
"""Parameters that may be given more than once."""
FILE_OPTIONS: Final = frozenset({"model"})
"""Options of retrievers that name a file of this machine: no client chooses one."""


def _retriever_parameters() -> dict[str, dict[str, Option]]:
    parameters: dict[str, dict[str, Option]] = {}
    for name, retriever in strategies("retriever").items():
        for declared in declared_options(retriever):
            if declared.name not in FILE_OPTIONS:
                parameters.setdefault(declared.name, {})[name] = declared
    return parameters


RETRIEVER_PARAMETERS: Final = _retriever_parameters()
"""Options of retrievers as parameters: name -> retriever -> declaration."""


def parameter_names(method: Literal["search", "ask"]) -> tuple[str, ...]:
    """The parameters of a path; endpoints, models and paths of files are none of them."""
    more = ("reasoner", "context", "budget", "stream") if method == "ask" else ("trace",)
    return ("q", "retriever", "preset", *RETRIEVER_PARAMETERS, "weights", "over", *more)


_MOST_BODY = 1 << 20
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


async def search(request: Request) -> Response:
    """``/search?q=...``: documents and relationships for a question."""
    return await _answered(request, "search")


async def ask(request: Request) -> Response:
    """``/ask?q=...``: an answer with its evidence, or without a model the evidence alone.

    With ``stream=true`` as events: steps, the words of the answer, and the same JSON as `result`.
    """
    return await _answered(request, "ask")


async def _answered(request: Request, method: Literal["search", "ask"]) -> Response:
    try:
        job = job_of(await _values(request), method)
        if job.stream:
            return await _streamed(request, job)
        return await run(request, job, pool="questions")
    except (RequestError, UsageError) as error:
        return to_response(error_reply(error))


EVENT_STREAM: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
"""Headers of server-sent events; the last one lets nginx pass them on at once."""


async def _streamed(request: Request, job: QuestionJob) -> Response:
    """An answer as server-sent events; what fails before the first of them has its own status."""
    events = job_events(request, job, pool="questions")
    first = await first_event(events)
    if isinstance(first, JobReply) and first.status != 200:
        return to_response(first)
    return StreamingResponse(_sent(first, events), headers=EVENT_STREAM)


async def first_event(
    events: AsyncGenerator[Progress | JobReply | None],
) -> Progress | JobReply:
    """The first event of a job that is not silence; raises `RequestError`."""
    async for event in events:
        if event is not None:
            return event
    raise RequestError(500, "the server failed")


async def following(
    first: Progress | JobReply, events: AsyncGenerator[Progress | JobReply | None]
) -> AsyncGenerator[Progress | JobReply | None]:
    """All events, the first of which has been read; a failure is the reply."""
    yield first
    try:
        async for event in events:
            yield event
    except RequestError as error:
        yield error_reply(error)
    finally:
        await events.aclose()


async def _sent(
    first: Progress | JobReply, events: AsyncGenerator[Progress | JobReply | None]
) -> AsyncGenerator[str]:
    async for event in following(first, events):
        if event is None:
            yield ": the server is at work\n\n"
        elif isinstance(event, Progress):
            yield server_sent(event.event, event.data)
        elif event.status == 200:
            yield server_sent("result", json.loads(body_of(event)))
        else:
            yield server_sent("error", json.loads(body_of(event)))


def server_sent(event: str, data: Any) -> str:
    """An event with JSON data."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def body_of(reply: JobReply) -> bytes:
    """The body of a reply, whose file is deleted."""
    if not reply.path:
        return reply.head
    path = Path(reply.path)
    data = reply.head + path.read_bytes()
    path.unlink()
    return data


def job_of(values: dict[str, Any], method: Literal["search", "ask"]) -> QuestionJob:
    """The job for parameters, the question as ``q``; raises `RequestError`, `UsageError`."""
    _check_values(values, method)
    arguments: dict[str, Any] = {"retriever": _retriever(values)}
    if "weights" in values:
        arguments["weights"] = _weights(values["weights"])
    if method == "ask":
        arguments |= _reasoning(values)
    return QuestionJob(
        method,
        values["q"],
        arguments,
        _truth(values, "trace"),
        _truth(values, "stream"),
        _parts(values),
    )


async def _values(request: Request) -> dict[str, Any]:
    """The parameters of a request, the question as ``q``; raises `RequestError`."""
    values: dict[str, Any] = {}
    if request.method == "POST":
        values = _object(request, await read_body(request, _MOST_BODY))
    in_body = frozenset(values)
    for name, value in await query_string(request):
        repeated = name in REPEATED and name not in in_body
        if name in values and not repeated:
            raise RequestError(400, f"'{name}' is given more than once")
        values[name] = [*values.get(name, ()), value] if repeated else value
    if "question" in values and "q" not in values:
        values["q"] = values.pop("question")
    return values


def _check_values(values: dict[str, Any], method: Literal["search", "ask"]) -> None:
    if not isinstance(values.get("q"), str) or not values["q"].strip():
        raise RequestError(400, "no question: put it into the parameter 'q'")
    names = parameter_names(method)
    unknown = sorted(values.keys() - set(names))
    if unknown:
        raise RequestError(
            400, f"unknown: {', '.join(unknown)}; the parameters are {', '.join(names)}"
        )
    for name, value in values.items():
        if name == "weights":
            _check_weights(value)
        elif name == "over":
            for part in _texts(value):
                _check("over", part)
        else:
            _check(name, value)


def _check_weights(value: Any) -> None:
    """Text, a list of texts, or an object with a number for each term."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | dict) or len(texts) > MAX_WEIGHTS:
        raise RequestError(
            400, f"'weights' must be text, or a list or object of at most {MAX_WEIGHTS} weights"
        )
    for text in texts:
        if not isinstance(text, str):
            raise RequestError(400, "'weights' has a part that is not text: write TERM=WEIGHT")
        _check("weights", text)
    if isinstance(value, dict):
        for term, number in value.items():
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise RequestError(400, f"the weight of {term} must be a number")


def _weights(value: str | list[str] | dict[str, float]) -> dict[str, float]:
    if isinstance(value, dict):
        return value
    texts = [value] if isinstance(value, str) else value
    return parse_weights(part for text in texts for part in split_weights(text))


def _check(name: str, value: Any) -> None:
    if not isinstance(value, str | int | float):
        raise RequestError(400, f"'{name}' must be text, a number, true or false")
    if isinstance(value, str) and len(value) > MAX_TEXT and name != "q":
        raise RequestError(400, f"'{name}' is longer than {MAX_TEXT} characters")
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        raise RequestError(400, f"'{name}' contains half of a surrogate pair, which is not text")


def _retriever(values: Mapping[str, Any]) -> RetrieverOptions:
    """The options of the retriever; parameters take precedence over those within ``retriever``."""
    spec = _spec(values, "retriever", "sarag")
    declared = strategy("retriever", spec.name)
    names = {"preset", *RETRIEVER_PARAMETERS}
    given = {name: value for name, value in values.items() if name in names}
    files = sorted(FILE_OPTIONS & spec.options.keys())
    if files:
        raise RequestError(400, f"'{files[0]}' names a file, which a request cannot choose")
    options: RetrieverOptions = spec.read(declared, read_values(declared, given))
    if options.limit is None:
        return replace(options, limit=DEFAULT_LIMIT)
    if options.limit > MAX_LIMIT:
        raise RequestError(
            400, f"limit of {spec.name} must be at most {MAX_LIMIT}, not {options.limit}"
        )
    return options


def _reasoning(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the reasoner and of the context."""
    spec = _spec(values, "context", "whole")
    given = {name: value for name, value in values.items() if name == "budget"}
    budget = read_values(strategy("context", spec.name), given).get("budget")
    return {
        "reasoner": options_of("reasoner", _spec(values, "reasoner", "single")),
        "context": context_options(spec.label, budget),
    }


def _texts(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    is_list = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    if not is_list or len(texts) > MAX_PARTS:
        raise RequestError(400, f"'over' must be text, or a list of at most {MAX_PARTS} texts")
    return list(texts)


def _parts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of the graph to search; empty for those of the server."""
    return tuple(dict.fromkeys(_texts(values.get("over", []))))


def _truth(values: Mapping[str, Any], name: str) -> bool:
    """A parameter that is true or false; false if it is missing."""
    value = values.get(name, False)
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise RequestError(400, f"'{name}' must be true or false")


def _spec(values: Mapping[str, Any], name: str, default: str) -> Spec:
    text = values.get(name, default)
    if not isinstance(text, str):
        raise RequestError(400, f"'{name}' must be text")
    return Spec.parse(text)


def _object(request: Request, body: bytes) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestError(415, "send the question as application/json")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RequestError(400, "the body is no JSON object")
    return value
