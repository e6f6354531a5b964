"""``/search`` and ``/ask``: the JSON of ``sarag search --json`` and ``sarag ask --json``."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sarag_rdf.base.errors import SaragError, UsageError, one_line
from sarag_rdf.base.options import (
    DEFAULT_LIMIT,
    MAX_COUNT,
    RetrieverOptions,
    Spec,
    read_values,
)
from sarag_rdf.base.types import AnswerEvent
from sarag_rdf.kg.registry import context_options, options_of, strategy
from sarag_rdf.kg.report import answer_to_dict, retrieved_to_dict
from sarag_rdf.kg.schemas import parse_weights
from sarag_rdf.server.http import job_events, run, to_response
from sarag_rdf.server.jobs import JSON, JobReply, Progress, RequestError
from sarag_rdf.server.parameters import Ask, Search
from sarag_rdf.server.picture.trace import activation_frames
from sarag_rdf.server.worker import Worker

FILE_OPTIONS: Final = frozenset({"model"})
"""Options of retrievers that name a file of this machine: no client chooses one."""


@dataclass(frozen=True, slots=True)
class QuestionJob:
    """A question for the method `search` or `ask` of a graph, with keyword arguments.

    With `trace`, the result of a search has the frames of its activation; with `stream`, what
    happens while an answer is made is reported as `Progress`. `over` names parts of the graph;
    empty for those of the server.
    """

    method: Literal["search", "ask"]
    question: str
    options: dict[str, Any]
    trace: bool = False
    stream: bool = False
    over: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.question

    def run(self, worker: Worker) -> JobReply:
        """The result as JSON; raises `SaragError`."""
        kg = worker.kg(self.over)
        if self.method == "search":
            retrieved = kg.search(self.question, **self.options)
            result = retrieved_to_dict(retrieved)
            result |= {"trace": activation_frames(retrieved)} if self.trace else {}
        else:

            def report(event: AnswerEvent) -> None:
                worker.report(_progress(event))

            on_event = report if self.stream else None
            result = answer_to_dict(kg.ask(self.question, on_event=on_event, **self.options))
        data = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
        return worker.reply(JSON, data, len(result.get("documents", ())) or None)


def _progress(event: AnswerEvent) -> Progress:
    data: dict[str, Any] = {"name": event.name} if event.name else {}
    if event.kind == "text":
        data["text"] = event.text
    if event.stage is not None:
        data = {"kind": event.stage.kind, "name": event.name, "detail": event.stage.detail}
    return Progress(event.kind, data)


def error_reply(error: SaragError) -> JobReply:
    """An error as JSON, with a machine-readable code and a message."""
    failed = RequestError.of(error)
    data = {"error": {"code": failed.code, "message": one_line(str(error))}}
    body = json.dumps(data, ensure_ascii=False).encode()
    return JobReply(failed.status, JSON, body, headers=failed.headers)


async def search(request: Request) -> Response:
    """``/search?q=...``: documents and relationships for a question."""
    return await _answered(request, Search)


async def ask(request: Request) -> Response:
    """``/ask?q=...``: an answer with its evidence, or without a model the evidence alone.

    With ``stream=true`` as events: steps, the words of the answer, and the same JSON as `result`.
    """
    return await _answered(request, Ask)


async def _answered(request: Request, kind: type[Search]) -> Response:
    try:
        job = job_of(await kind.of(request))
        if job.stream:
            return await _streamed(request, job)
        return await run(request, job, pool="questions")
    except SaragError as error:
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
            yield server_sent("result", json.loads(event.body()))
        else:
            yield server_sent("error", json.loads(event.body()))


def server_sent(event: str, data: Any) -> str:
    """An event with JSON data."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def job_of(asked: Search) -> QuestionJob:
    """The job for a question; raises `UsageError`."""
    options: dict[str, Any] = {"retriever": _retriever(asked)}
    weights = asked.weights
    if weights or weights == "":
        texts = [weights] if isinstance(weights, str) else weights
        options["weights"] = weights if isinstance(weights, dict) else parse_weights(texts)
    if not isinstance(asked, Ask):
        return QuestionJob("search", asked.q, options, trace=asked.trace, over=asked.over)
    spec = Spec.parse(asked.context)
    declared = strategy("context", spec.name)
    budget = {} if asked.budget is None else {"budget": asked.budget}
    options |= {
        "reasoner": options_of("reasoner", asked.reasoner),
        "context": context_options(spec.label, read_values(declared, budget).get("budget")),
    }
    return QuestionJob("ask", asked.q, options, stream=asked.stream, over=asked.over)


def _retriever(asked: Search) -> RetrieverOptions:
    """The options of the retriever; parameters take precedence over those within ``retriever``."""
    spec = Spec.parse(asked.retriever)
    declared = strategy("retriever", spec.name)
    given = dict(asked.model_extra or {})
    if asked.limit is not None:
        given["limit"] = asked.limit
    if files := sorted(FILE_OPTIONS & {*spec.options, *given}):
        raise UsageError(f"'{files[0]}' names a file, which a request cannot choose")
    options = spec.read(declared, read_values(declared, given))
    assert isinstance(options, RetrieverOptions)  # noqa: S101 - all retrievers have these
    if options.limit is None:
        return replace(options, limit=DEFAULT_LIMIT)
    if options.limit > MAX_COUNT:
        raise UsageError(f"limit of {spec.name} must be at most {MAX_COUNT}, not {options.limit}")
    return options
