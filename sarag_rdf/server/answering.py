"""The worker for /search and /ask, which keeps the graph and its models loaded between requests."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    SaragError,
    StoreError,
    StoreLockedError,
    UsageError,
    one_line,
)
from sarag_rdf.base.ports import Advance
from sarag_rdf.base.types import AnswerEvent
from sarag_rdf.graph.parts import ALL
from sarag_rdf.graph.reader import DOCUMENTS
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.report import answer_to_dict, retrieved_to_dict
from sarag_rdf.server.jobs import (
    AccessibleGraphs,
    ErrorReply,
    JobReply,
    LimitedJob,
    Progress,
    QuestionJob,
    RequestError,
)
from sarag_rdf.server.picture.trace import activation_frames
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.snapshot import Fingerprint, StoreSnapshot, fingerprint
from sarag_rdf.server.spool import Spool
from sarag_rdf.server.worker import catch_errors, run_jobs

OpenGraph = Callable[..., KnowledgeGraph]
"""Opens the graph; ``over`` and ``facts`` replace the server's."""
_MOST_LIMITED = 4
"""Graphs that are open at the same time for clients that may read some parts only."""
_EMBEDDING_SHARE = 0.25
"""The part of a question's time limit after which texts are embedded by the next request."""
JSON = "application/json"
_CODES = {
    408: "timeout", 413: "too_large", 415: "wrong_media_type",
    500: "internal", 503: "busy", 504: "timeout", 507: "memory",
}  # fmt: skip


_Key = tuple[tuple[str, ...] | None, frozenset[str] | None]
"""Names of parts, and the named graphs that may be read; None for all."""


@dataclass(slots=True)
class _OpenGraph:
    kg: KnowledgeGraph
    fingerprint: Fingerprint | None = None


class EmbeddingSteps:
    """A Progress that ends requests which embed texts for too long; what is embedded is kept."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """A request embeds for `seconds`, by `clock`, before it ends."""
        self._seconds, self._clock = seconds, clock
        self._end: float | None = None

    def begin(self) -> None:
        """A new request begins; its time counts from the first text."""
        self._end = None

    def __call__(self, what: str, total: int) -> Advance:
        done, calls = 0, 0
        end = self._end = self._end or self._clock() + self._seconds

        def advance(count: int) -> None:
            nonlocal done, calls
            done, calls = done + count, calls + 1
            is_step = calls > 1  # the first call counts what earlier requests embedded
            if is_step and done < total and self._clock() >= end:
                raise RequestError(
                    503,
                    f"the graph lacks vectors: {what}, {done} of {total} are done and kept: repeat "
                    "the request to go on, or run  sarag search  on the graph, which has no limit",
                    Retry_After="1",
                )

        return advance


class ClientGraphs:
    """The graph as clients may read it, reloaded when its files have changed.

    A client that may read some graphs only gets the parts of which it may read everything.
    """

    def __init__(self, settings: ServeSettings, open_graph: OpenGraph) -> None:
        self._store = settings.store
        self._open_graph = open_graph
        self._steps = EmbeddingSteps(settings.question_timeout * _EMBEDDING_SHARE)
        self.snapshot = StoreSnapshot(settings.store, settings.over)
        self._graphs: OrderedDict[_Key, _OpenGraph] = OrderedDict()
        with suppress(SaragError, OSError):  # reported by the first question
            self._current(None, None)

    def of(self, graphs: AccessibleGraphs, over: tuple[str, ...] = ()) -> KnowledgeGraph:
        """The graph for a client, or its parts in `over`.

        Raises `RequestError`: 403 if it may read no part, 400 for a part that is not served.
        """
        if not graphs.is_limited and not over:
            return self._current(None, None)
        self.snapshot.refresh()
        readable = self.snapshot.accessible(graphs)
        parts = tuple(self.snapshot.parts(readable))
        if not parts:
            raise RequestError(403, "this token may not read any graph that is searched here")
        unknown = [name for name in over if name not in parts and name != ALL]
        if unknown:
            raise RequestError(
                400, f"no such graph is searched here: '{unknown[0]}': use all, {', '.join(parts)}"
            )
        return self._current(parts if not over or ALL in over else over, readable)

    def reads_documents(self, graphs: AccessibleGraphs) -> bool:
        """Whether a client may read the whole knowledge graph of the documents."""
        readable = self.snapshot.accessible(graphs)
        return readable is None or DOCUMENTS in self.snapshot.parts(readable)

    def _current(
        self, over: tuple[str, ...] | None, readable: frozenset[str] | None
    ) -> KnowledgeGraph:
        """The graph, or its parts in `over` and what else is `readable`.

        Of several, the last used stay open.
        """
        self._steps.begin()
        current = fingerprint(self._store)
        key = over, readable
        opened = self._graphs.pop(key, None)
        if opened is None:
            limits = {} if over is None else {"over": over, "facts": None}
            opened = _OpenGraph(self._open_graph(progress=self._steps, **limits))
            opened.kg.session.limit_to(readable)
        self._graphs[key] = opened
        limited = [key for key in self._graphs if key != (None, None)]
        if len(limited) > _MOST_LIMITED:
            self._graphs.pop(limited[0]).kg.close()
        if current != opened.fingerprint:
            opened.kg.reload()
            opened.fingerprint = current
        return opened.kg


class QuestionExecutor:
    """Answers one question at a time."""

    def __init__(
        self,
        folder: Path,
        settings: ServeSettings,
        open_graph: OpenGraph,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        """`report` is called with the progress of streamed answers; what it raises ends them."""
        self._folder, self._report = folder, report
        self._graphs = ClientGraphs(settings, open_graph)

    def answer(self, job: QuestionJob | LimitedJob) -> JobReply | ErrorReply:
        """The result as JSON, or the error as JSON with its status."""
        return catch_errors(lambda: self._reply(job))

    def _reply(self, job: QuestionJob | LimitedJob) -> JobReply:
        try:
            graphs = job.graphs if isinstance(job, LimitedJob) else AccessibleGraphs()
            asked = job.job if isinstance(job, LimitedJob) else job
            result = self._run(asked, self._graphs.of(graphs, asked.over))
        except SaragError as error:
            return error_reply(error)
        with Spool(self._folder) as spool:
            spool.write(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())
            head, path = spool.finish()
            return JobReply(200, JSON, head, path, rows=len(result.get("documents", ())) or None)

    def _run(self, job: QuestionJob, kg: KnowledgeGraph) -> dict[str, Any]:
        if job.method == "search":
            retrieved = kg.search(job.question, **job.options)
            result = retrieved_to_dict(retrieved)
            return result | ({"trace": activation_frames(retrieved)} if job.trace else {})
        on_event = self._tell if job.stream else None
        return answer_to_dict(kg.ask(job.question, on_event=on_event, **job.options))

    def _tell(self, event: AnswerEvent) -> None:
        data: dict[str, Any] = {"name": event.name} if event.name else {}
        if event.kind == "text":
            data["text"] = event.text
        if event.stage is not None:
            data = {"kind": event.stage.kind, "name": event.name, "detail": event.stage.detail}
        self._report(Progress(event.kind, data))


def answer_questions(
    pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph
) -> None:
    """Answer `QuestionJob`s until the pipe is closed; models are loaded by the first one."""

    def report(progress: Progress) -> None:
        pipe.send(progress)
        if pipe.poll():  # nothing else is sent before the reply
            pipe.recv()
            raise RequestError(499, "the client disconnected")

    run_jobs(pipe, folder, QuestionExecutor(Path(folder), settings, open_graph, report).answer)


def error_reply(error: SaragError) -> JobReply:
    """An error as JSON, with a machine-readable code and a message."""
    status, code = _status(error)
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    data = {"error": {"code": code, "message": one_line(str(error))}}
    return JobReply(status, JSON, json.dumps(data, ensure_ascii=False).encode(), headers=headers)


def _status(error: SaragError) -> tuple[int, str]:
    if isinstance(error, RequestError):
        return error.status, _CODES.get(error.status, "bad_request")
    kinds: list[tuple[type[SaragError], int, str]] = [
        (UsageError, 400, "bad_request"),
        (EmptyGraphError, 409, "empty_graph"),
        (EndpointError, 502, "model_endpoint"),
        (ModelError, 500, "model"),
        (StoreLockedError, 503, "busy"),
        (StoreError, 500, "store"),
    ]
    return next(((s, c) for kind, s, c in kinds if isinstance(error, kind)), (400, "bad_request"))
