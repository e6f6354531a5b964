"""A process that answers questions: it holds the graph and its models between one and the next."""

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
from sarag_rdf.serve.jobs import QuestionJob, Refusal, Reply, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Stamp, stamp_of
from sarag_rdf.serve.spool import Spool
from sarag_rdf.serve.worker import answer_all, refused

OpenGraph = Callable[[], KnowledgeGraph]
JSON = "application/json"
_CODES = {
    408: "timeout", 413: "too_large", 415: "wrong_media_type",
    500: "internal", 503: "busy", 504: "timeout",
}  # fmt: skip


class Answering:
    """Answers one question at a time; the graph is read again when its files have changed."""

    def __init__(self, folder: Path, settings: ServeSettings, open_graph: OpenGraph) -> None:
        self._folder = folder
        self._store = settings.store
        self._open_graph = open_graph
        self._kg: KnowledgeGraph | None = None
        self._stamp: Stamp | None = None
        with suppress(SaragError, OSError):  # the first question will say so
            self._fresh()

    def answer(self, job: QuestionJob) -> Reply | Refusal:
        """The answer as JSON, or the error as JSON with its status."""
        return refused(lambda: self._reply(job))

    def _reply(self, job: QuestionJob) -> Reply:
        try:
            found = self._found(job)
        except SaragError as error:
            return error_reply(error)
        with Spool(self._folder) as spool:
            spool.write(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())
            head, path = spool.done()
            return Reply(200, JSON, head, path)

    def _found(self, job: QuestionJob) -> dict[str, Any]:
        kg = self._fresh()
        if job.method == "search":
            return retrieved_to_dict(kg.search(job.question, **job.options))
        return answer_to_dict(kg.ask(job.question, **job.options))

    def _fresh(self) -> KnowledgeGraph:
        stamp = stamp_of(self._store)
        if self._kg is None:
            self._kg = self._open_graph()
        if stamp != self._stamp:
            self._kg.reload()
            self._stamp = stamp
        return self._kg


def answer_questions(
    pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph
) -> None:
    """Answer `QuestionJob`s until the pipe is closed; models are loaded with the first one."""
    answer_all(pipe, folder, Answering(Path(folder), settings, open_graph).answer)


def error_reply(error: SaragError) -> Reply:
    """An error as JSON: a code for programs, a message for people."""
    status, code = _status(error)
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    found = {"error": {"code": code, "message": one_line(str(error))}}
    return Reply(status, JSON, json.dumps(found, ensure_ascii=False).encode(), headers=headers)


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
