"""The worker for /search and /ask, which keeps the graph and its models loaded between requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sarag_rdf.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    SaragError,
    StoreError,
    StoreLockedError,
    UsageError,
    one_line,
)
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.report import answer_to_dict, retrieved_to_dict
from sarag_rdf.serve.jobs import ErrorReply, JobReply, QuestionJob, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Fingerprint, fingerprint
from sarag_rdf.serve.spool import Spool
from sarag_rdf.serve.worker import catch_errors, run_jobs

OpenGraph = Callable[[], KnowledgeGraph]
JSON = "application/json"
_CODES = {
    408: "timeout", 413: "too_large", 415: "wrong_media_type",
    500: "internal", 503: "busy", 504: "timeout",
}  # fmt: skip


class QuestionExecutor:
    """Answers one question at a time; the graph is reloaded when its files have changed."""

    def __init__(self, folder: Path, settings: ServeSettings, open_graph: OpenGraph) -> None:
        self._folder = folder
        self._store = settings.store
        self._open_graph = open_graph
        self._kg: KnowledgeGraph | None = None
        self._fingerprint: Fingerprint | None = None
        with suppress(SaragError, OSError):  # reported by the first question
            self._current_graph()

    def answer(self, job: QuestionJob) -> JobReply | ErrorReply:
        """The result as JSON, or the error as JSON with its status."""
        return catch_errors(lambda: self._reply(job))

    def _reply(self, job: QuestionJob) -> JobReply:
        try:
            result = self._run(job)
        except SaragError as error:
            return error_reply(error)
        with Spool(self._folder) as spool:
            spool.write(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())
            head, path = spool.finish()
            return JobReply(200, JSON, head, path)

    def _run(self, job: QuestionJob) -> dict[str, Any]:
        kg = self._current_graph()
        if job.method == "search":
            return retrieved_to_dict(kg.search(job.question, **job.options))
        return answer_to_dict(kg.ask(job.question, **job.options))

    def _current_graph(self) -> KnowledgeGraph:
        current = fingerprint(self._store)
        if self._kg is None:
            self._kg = self._open_graph()
        if current != self._fingerprint:
            self._kg.reload()
            self._fingerprint = current
        return self._kg


def answer_questions(
    pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph
) -> None:
    """Answer `QuestionJob`s until the pipe is closed; models are loaded by the first one."""
    run_jobs(pipe, folder, QuestionExecutor(Path(folder), settings, open_graph).answer)


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
