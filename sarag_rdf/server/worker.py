"""The main loop of a worker process, which runs one job at a time and can be killed at any time.

A job is a command: a picklable object with ``run(worker)``, which stands beside the code that it
runs.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from functools import cached_property
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from sarag_rdf.base.errors import SaragError
from sarag_rdf.graph.store.oxigraph import remove_holder
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.graphs import ClientGraphs, OpenGraph, StoreSnapshot
from sarag_rdf.server.jobs import (
    AccessibleGraphs,
    JobReply,
    Progress,
    RequestError,
    Spool,
    Stop,
)
from sarag_rdf.server.settings import ServeSettings

log = logging.getLogger(__name__)
READY = "ready"


class Worker:
    """What a job works with: the graph as the client of the current job may read it.

    The graph and its models stay loaded between jobs. `report` is called with what happens before
    the reply; what it raises ends the job.
    """

    def __init__(
        self,
        settings: ServeSettings,
        folder: Path,
        open_graph: OpenGraph,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.settings, self.folder, self.report = settings, folder, report
        self.client = AccessibleGraphs()
        self.has_written = False
        self._open_graph = open_graph
        self._snapshot = StoreSnapshot(settings.store, settings.over)
        self._is_current = False

    def begin(self, client: AccessibleGraphs) -> None:
        """Begin a job of a client."""
        self.client, self._is_current, self.has_written = client, False, False

    @property
    def snapshot(self) -> StoreSnapshot:
        """The store, of one revision for the whole job; raises `StoreError`."""
        if not self._is_current:
            self._snapshot.refresh()
            self._is_current = True
        return self._snapshot

    @property
    def readable(self) -> frozenset[str] | None:
        """The named graphs that the client may read; None for all."""
        return self.snapshot.accessible(self.client)

    @cached_property
    def _graphs(self) -> ClientGraphs:
        return ClientGraphs(self.settings, self._open_graph, self._snapshot)

    def kg(self, over: tuple[str, ...] = ()) -> KnowledgeGraph:
        """The graph for the client, or its parts in `over`; raises `RequestError` (400, 403)."""
        return self._graphs.of(self.client, over)

    def reads_documents(self) -> bool:
        """Whether the client may read the whole knowledge graph of the documents."""
        return self._graphs.reads_documents(self.client)

    def spool(self) -> Spool:
        """Takes the body of a reply; a context manager."""
        return Spool(self.folder)

    def reply(self, media_type: str, data: bytes, rows: int | None = None) -> JobReply:
        """A reply with these data."""
        with self.spool() as spool:
            spool.write(data)
            head, path = spool.finish()
            return JobReply(200, media_type, head, path, rows=rows)


class Job(Protocol):
    """Something to do in a worker process."""

    @property
    def text(self) -> str:
        """What it is about, for the audit log."""

    def run(self, worker: Worker) -> JobReply:
        """Do it; raises `SaragError`."""


def work(pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph) -> None:
    """Run jobs until the pipe is closed; temporary files are created in `folder`.

    SIGINT is ignored: the server handles it, and ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_with_server, daemon=True).start()
    tempfile.tempdir = folder

    def report(progress: Progress) -> None:
        pipe.send(progress)
        if pipe.poll():  # nothing else is sent before the reply
            pipe.recv()
            raise RequestError(499, "the client disconnected")

    worker = Worker(settings, Path(folder), open_graph, report)
    pipe.send(READY)
    while True:
        try:
            message = pipe.recv()
            if isinstance(message, Stop):
                continue  # the job had ended when it was stopped
            job, client = message
            worker.begin(client)
            reply = attempt(job, worker)
            if worker.has_written:
                remove_holder(settings.folder)
                gc.collect()  # pyoxigraph closes a store when its last reference is gone
            pipe.send(reply)
        except (EOFError, OSError):
            return


def attempt(job: Job, worker: Worker) -> JobReply | RequestError:
    """The reply to a job, or its error."""
    try:
        return job.run(worker)
    except SaragError as error:
        return RequestError.of(error)
    except MemoryError:
        return RequestError(507, "the worker process ran out of memory: request less")
    except OSError as error:
        return RequestError(500, f"the server failed: {error.strerror or error}")
    except Exception as error:
        log.exception("a job failed")
        return RequestError(500, f"unexpected {type(error).__name__} in the server")


def _exit_with_server() -> None:
    """Exit, even in the middle of a job, when the server process ends."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(1)
