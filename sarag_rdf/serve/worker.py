"""A process that runs one job at a time, and that can be killed at any moment."""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from sarag_rdf.errors import SaragError, StoreError, StoreLockedError
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
from sarag_rdf.serve.run_graph import read_graph
from sarag_rdf.serve.run_query import run_query
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Snapshot
from sarag_rdf.serve.spool import Spool, sweep
from sarag_rdf.serve.write import update, write_graph
from sarag_rdf.stores.holder import leave

log = logging.getLogger(__name__)
READY = "ready"
_GRACE = 10.0


def work(pipe: Connection, settings: ServeSettings, folder: str) -> None:
    """Answer jobs until the pipe is closed; an interrupt is the server's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    tempfile.tempdir = folder
    snapshot = Snapshot(settings.store)
    pipe.send(READY)
    while True:
        try:
            job, seconds = pipe.recv()
        except (EOFError, OSError):
            return
        _alarm(seconds + _GRACE)
        answer = _answer(job, settings, snapshot, Path(folder))
        if isinstance(job, UpdateJob | WriteGraphJob):
            leave(settings.folder)
            gc.collect()  # a store is closed when nothing refers to it any more
        _alarm(0)
        try:
            pipe.send(answer)
        except OSError:
            return


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


def _answer(job: Job, settings: ServeSettings, snapshot: Snapshot, folder: Path) -> Reply | Refusal:
    try:
        if isinstance(job, UpdateJob):
            return update(job, settings)
        if isinstance(job, WriteGraphJob):
            return write_graph(job, settings)
        return _read(job, settings, snapshot, folder)
    except RequestError as error:
        refusal = Refusal(error.status, str(error), error.headers)
    except StoreLockedError as error:
        refusal = Refusal(503, str(error), {"Retry-After": "5"})
    except SaragError as error:
        refusal = Refusal(500, str(error))
    except MemoryError:
        refusal = Refusal(503, "the query needs more memory than there is: ask for less")
    except OSError as error:
        refusal = Refusal(500, f"the server could not answer: {error.strerror or error}")
    except Exception as error:
        log.exception("a job failed")
        refusal = Refusal(500, f"unexpected {type(error).__name__} in the server")
    sweep(folder, os.getpid())
    return refusal


def _read(job: ReadJob, settings: ServeSettings, snapshot: Snapshot, folder: Path) -> Reply:
    """Run a job that reads; once more if a writer beside has removed files meanwhile."""
    try:
        return _run(job, settings, snapshot, Spool(folder))
    except (OSError, StoreError):
        sweep(folder, os.getpid())
        snapshot.forget()
        return _run(job, settings, snapshot, Spool(folder))


def _run(job: ReadJob, settings: ServeSettings, snapshot: Snapshot, spool: Spool) -> Reply:
    if isinstance(job, QueryJob):
        return run_query(snapshot.store(), job, settings, spool)
    if isinstance(job, ReadGraphJob):
        return read_graph(snapshot.store(), job, settings, spool)
    return describe(snapshot, job, settings)
