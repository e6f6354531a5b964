"""A process that runs one job at a time, and that can be killed at any moment."""

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

from sarag_rdf.errors import SaragError, StoreError, StoreLockedError
from sarag_rdf.rdf.writer_lock import leave
from sarag_rdf.serve.describe import describe
from sarag_rdf.serve.jobs import (
    Job,
    QueryJob,
    ReadGraphJob,
    ReadJob,
    Refusal,
    Reply,
    RequestError,
    UpdateJob,
    WriteGraphJob,
)
from sarag_rdf.serve.read import read_graph, run_query
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Snapshot, stamp_of
from sarag_rdf.serve.spool import Spool
from sarag_rdf.serve.write import update, write_graph

log = logging.getLogger(__name__)
READY = "ready"
_GRACE = 10.0


Answer = Callable[[Any], Reply | Refusal]
"""What a process makes of a job; it may not raise."""


def work(pipe: Connection, folder: str, settings: ServeSettings) -> None:
    """Answer queries, updates and requests for graphs until the pipe is closed."""
    snapshot = Snapshot(settings.store)

    def answer(job: Job) -> Reply | Refusal:
        answer = refused(lambda: _run(job, settings, snapshot, Path(folder)))
        if isinstance(job, UpdateJob | WriteGraphJob):
            leave(settings.folder)
            gc.collect()  # a store is closed when nothing refers to it any more
        return answer

    answer_all(pipe, folder, answer)


def answer_all(pipe: Connection, folder: str, answer: Answer) -> None:
    """Answer jobs until the pipe is closed; an interrupt is the server's business.

    Temporary files go to the folder.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    tempfile.tempdir = folder
    pipe.send(READY)
    while True:
        try:
            job, seconds = pipe.recv()
        except (EOFError, OSError):
            return
        _alarm(seconds + _GRACE)
        answered = answer(job)
        _alarm(0)
        try:
            pipe.send(answered)
        except OSError:
            return


def refused(run: Callable[[], Reply]) -> Reply | Refusal:
    """What `run` returns; whatever it raises as a status and one line."""
    try:
        return run()
    except RequestError as error:
        return Refusal(error.status, str(error), error.headers)
    except StoreLockedError as error:
        return Refusal(503, str(error), {"Retry-After": "5"})
    except SaragError as error:
        return Refusal(500, str(error))
    except MemoryError:
        return Refusal(503, "the request needs more memory than there is: ask for less")
    except OSError as error:
        return Refusal(500, f"the server could not answer: {error.strerror or error}")
    except Exception as error:
        log.exception("a job failed")
        return Refusal(500, f"unexpected {type(error).__name__} in the server")


def _end_with_the_server() -> None:
    """End this process, whatever it does, when the server is gone."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(1)


def _alarm(seconds: float) -> None:
    """End this process after that time, though nobody be left to kill it; 0 takes it back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _run(job: Job, settings: ServeSettings, snapshot: Snapshot, folder: Path) -> Reply:
    if isinstance(job, UpdateJob):
        return update(job, settings)
    if isinstance(job, WriteGraphJob):
        return write_graph(job, settings)
    try:
        return _read(job, settings, snapshot, folder)
    except (OSError, StoreError):
        if stamp_of(settings.store) == snapshot.stamp:
            raise
    snapshot.forget()  # a writer beside has removed files meanwhile
    return _read(job, settings, snapshot, folder)


def _read(job: ReadJob, settings: ServeSettings, snapshot: Snapshot, folder: Path) -> Reply:
    with Spool(folder) as spool:
        if isinstance(job, QueryJob):
            return run_query(snapshot, job, settings, spool)
        if isinstance(job, ReadGraphJob):
            return read_graph(snapshot.store(), job, settings, spool)
        return describe(snapshot, job, settings)
