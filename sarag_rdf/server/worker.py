"""The main loop of a worker process, which runs one job at a time and can be killed at any time."""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import SaragError, StoreLockedError
from sarag_rdf.graph.store.writer_lock import remove_holder
from sarag_rdf.server.describe import describe
from sarag_rdf.server.explore import run_explore_job
from sarag_rdf.server.jobs import (
    AccessibleGraphs,
    ErrorReply,
    ExploreJob,
    Job,
    JobReply,
    LimitedJob,
    QueryJob,
    ReadGraphJob,
    ReadJob,
    RequestError,
    ResourceJob,
    Stop,
    UpdateJob,
    WriteGraphJob,
)
from sarag_rdf.server.read import graph_exists, read_graph, run_query
from sarag_rdf.server.resource import run_resource_job
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.snapshot import StoreSnapshot
from sarag_rdf.server.spool import Spool
from sarag_rdf.server.write import update, write_graph

log = logging.getLogger(__name__)
READY = "ready"
_GRACE = 10.0
"""Seconds after the time limit of a job at which the process kills itself."""

Handler = Callable[[Any], JobReply | ErrorReply]
"""Runs a job; must not raise."""


def run_sparql_jobs(pipe: Connection, folder: str, settings: ServeSettings) -> None:
    """Run queries, updates and graph store operations until the pipe is closed."""
    snapshot = StoreSnapshot(settings.store, settings.over)

    def handle(job: Job) -> JobReply | ErrorReply:
        reply = catch_errors(lambda: _run(job, settings, snapshot, Path(folder)))
        if isinstance(job, UpdateJob | WriteGraphJob):
            remove_holder(settings.folder)
            gc.collect()  # pyoxigraph closes a store when its last reference is gone
        return reply

    run_jobs(pipe, folder, handle)


def run_jobs(pipe: Connection, folder: str, handle: Handler) -> None:
    """Run jobs until the pipe is closed; temporary files are created in `folder`.

    SIGINT is ignored: the server handles it, and ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_with_server, daemon=True).start()
    tempfile.tempdir = folder
    pipe.send(READY)
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            return
        if isinstance(message, Stop):
            continue  # the job had ended when it was stopped
        job, seconds = message
        _set_alarm(seconds + _GRACE)
        reply = handle(job)
        _set_alarm(0)
        try:
            pipe.send(reply)
        except OSError:
            return


def catch_errors(run: Callable[[], JobReply]) -> JobReply | ErrorReply:
    """The result of `run`, with any exception turned into an `ErrorReply`."""
    try:
        return run()
    except RequestError as error:
        return ErrorReply(error.status, str(error), error.headers)
    except StoreLockedError as error:
        return ErrorReply(503, str(error), {"Retry-After": "5"})
    except SaragError as error:
        return ErrorReply(500, str(error))
    except MemoryError:
        return ErrorReply(507, "the worker process ran out of memory: request less")
    except OSError as error:
        return ErrorReply(500, f"the server failed: {error.strerror or error}")
    except Exception as error:
        log.exception("a job failed")
        return ErrorReply(500, f"unexpected {type(error).__name__} in the server")


def _exit_with_server() -> None:
    """Exit, even in the middle of a job, when the server process ends."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(1)


def _set_alarm(seconds: float) -> None:
    """Kill this process after that time, in case the server cannot; 0 cancels the alarm."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _run(
    asked: Job | LimitedJob, settings: ServeSettings, snapshot: StoreSnapshot, folder: Path
) -> JobReply:
    graphs = asked.graphs if isinstance(asked, LimitedJob) else AccessibleGraphs()
    job: Job = asked.job if isinstance(asked, LimitedJob) else asked
    snapshot.refresh()
    if graphs.is_limited:
        _check_write(job, graphs, snapshot)
    if isinstance(job, UpdateJob):
        return update(job, settings)
    if isinstance(job, WriteGraphJob):
        return write_graph(job, settings)
    return _read(job, graphs, settings, snapshot, folder)


def _check_write(job: Job, graphs: AccessibleGraphs, snapshot: StoreSnapshot) -> None:
    """Raise `RequestError` (403) for a write that some graphs do not permit."""
    if isinstance(job, UpdateJob):
        raise RequestError(
            403,
            "this token is for some graphs only, and an update can read all: write by the graph "
            "store protocol",
        )
    if not isinstance(job, WriteGraphJob):
        return
    accessible = snapshot.accessible(graphs) or frozenset()
    is_new = job.graph is not None and not graph_exists(snapshot.store, job.graph)
    is_own = job.graph is not None and not snapshot.manages(job.graph)
    may_create = is_new and is_own and graphs.allow is None and job.graph not in graphs.deny
    if job.graph not in accessible and not may_create and job.graph not in (graphs.allow or ()):
        raise RequestError(403, f"this token may not write to {job.graph or 'the default graph'}")


def _read(
    job: ReadJob,
    graphs: AccessibleGraphs,
    settings: ServeSettings,
    snapshot: StoreSnapshot,
    folder: Path,
) -> JobReply:
    readable = snapshot.accessible(graphs)
    if isinstance(job, ExploreJob):
        return run_explore_job(snapshot, job, settings, readable)
    if isinstance(job, ResourceJob):
        return run_resource_job(snapshot, job, readable)
    with Spool(folder) as spool:
        if isinstance(job, QueryJob):
            return run_query(snapshot, job, settings, spool, readable)
        if isinstance(job, ReadGraphJob):
            return read_graph(snapshot.store, job, settings, spool, readable)
        return describe(snapshot, job, settings, readable)
