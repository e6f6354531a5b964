"""``/search`` and ``/ask``: the JSON of ``sarag search --json`` and ``sarag ask --json``."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import DEFAULT_LIMIT, MAX_COUNT, RetrieverOptions, Spec, read_values
from sarag_rdf.base.types import AnswerEvent
from sarag_rdf.kg.evidence import answer_to_dict, retrieved_to_dict
from sarag_rdf.kg.registry import context_options, options_of, strategy
from sarag_rdf.kg.schemas import parse_weights
from sarag_rdf.server.jobs import JSON, JobReply, Progress, RequestError
from sarag_rdf.server.openapi import Operation, operations
from sarag_rdf.server.picture.trace import activation_frames
from sarag_rdf.server.requests import Ask, Search, job_events, run
from sarag_rdf.server.worker import Worker

FILE_OPTIONS: Final = frozenset({"model"})
"""Options of retrievers that name a file of this machine: no client chooses one."""
EVENT_STREAM: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
"""Headers of server-sent events; the last one lets nginx pass them on at once."""
Events = AsyncGenerator[Progress | JobReply | None]


@dataclass(frozen=True, slots=True)
class QuestionJob:
    """A question for the method `search` or `ask` of a graph, with keyword arguments.

    With `trace`, the result of a search has the frames of its activation; with `stream`, what
    happens while an answer is generated is reported as `Progress`. `over` names parts of the graph;
    empty for those of the server.
    """

    method: Literal["search", "ask"]
    question: str
    options: dict[str, Any]
    trace: bool = False
    stream: bool = False
    over: tuple[str, ...] = ()

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
        return JobReply(200, JSON, data, rows=len(result.get("documents", ())) or None)


def _progress(event: AnswerEvent) -> Progress:
    data: dict[str, Any] = {"name": event.name} if event.name else {}
    if event.kind == "text":
        data["text"] = event.text
    if event.stage is not None:
        data = {"kind": event.stage.kind, "name": event.name, "detail": event.stage.detail}
    return Progress(event.kind, data)


@operations(
    get=Operation(Search, gives="Found"),
    post=Operation(body=Search, gives="Found"),
)
async def search(request: Request) -> Response:
    """Documents and relationships for a question, as sarag search --json prints them.

    The question and its options are parameters, or a JSON object as the body.
    """
    job = job_of(await Search.of(request))
    return await run(request, job, job.question, "searches")


@operations(get=Operation(Ask, gives="Answer"), post=Operation(body=Ask, gives="Answer"))
async def ask(request: Request) -> Response:
    """An answer with its evidence, as sarag ask --json prints it; without a model, the evidence.

    The question and its options are parameters, or a JSON object as the body. With stream=true
    events are sent: steps, the words of the answer, and the same JSON as the result.
    """
    job = job_of(await Ask.of(request))
    if not job.stream:
        return await run(request, job, job.question, "questions")
    events = await started(job_events(request, job, job.question, "questions"))
    return StreamingResponse(_sent(events), headers=EVENT_STREAM)


async def started(events: Events) -> Events:
    """The events, once the first has come; raises `RequestError` for what fails before it.

    What fails later is the last reply.
    """
    first = await anext(events)
    while first is None:
        first = await anext(events)

    async def all_events() -> Events:
        yield first
        try:
            async for event in events:
                yield event
        except RequestError as error:
            yield error.reply()
        finally:
            await events.aclose()

    return all_events()


async def _sent(events: Events) -> AsyncGenerator[str]:
    """Server-sent events with JSON data."""
    async for event in events:
        if event is None:
            yield ": the server is at work\n\n"
        elif isinstance(event, Progress):
            data = json.dumps(event.data, ensure_ascii=False)
            yield f"event: {event.event}\ndata: {data}\n\n"
        else:
            name = "result" if event.status == 200 else "error"
            yield f"event: {name}\ndata: {event.body().decode()}\n\n"


def job_of(asked: Search) -> QuestionJob:
    """The job for a question; raises `UsageError`."""
    options: dict[str, Any] = {"retriever": _retriever(asked)}
    weights = [asked.weights] if isinstance(asked.weights, str) else asked.weights
    if isinstance(weights, list):
        weights = parse_weights(weights)
    if weights:
        options["weights"] = weights
    if asked.at:
        options["at"] = asked.at
    if not isinstance(asked, Ask):
        return QuestionJob("search", asked.q, options, trace=asked.trace, over=asked.over)
    options["reasoner"] = options_of("reasoner", asked.reasoner)
    options["context"] = context_options(asked.context, asked.budget)
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
