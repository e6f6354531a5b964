"""A bounded pool of workers, which replaces those that die; and workers as processes here.

A worker of any kind has two methods (`Worker`). Calls come from several threads; each waits for a
worker, so that no more calls are under way than there are workers.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final, Protocol

from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.sandbox import Limits, start_process
from sarag_rdf.plugins.workers.work import perform

log = logging.getLogger(__name__)
MOST: Final = 1000
"""The maximum number of workers."""
STARTS: Final = 3
"""How often a worker that dies while it starts is started."""
_PATIENCE: Final = 60.0
"""Seconds until another worker is started where there was no room for it."""


class WorkerDiedError(ModelError):
    """A worker ended during a call, which may be made again."""


class NoRoomError(ModelError):
    """There is no room for another worker now."""


class ClosedError(ModelError):
    """A call to a pool that is closed."""


class Worker(Protocol):
    """A process, here or elsewhere, with the models of a recipe."""

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of `work.Models`; raises what it raises, or `WorkerDiedError`."""

    def end(self) -> None:
        """End the worker at once, also during a call; a second time does nothing."""


class Pool:
    """At most `size` workers, each started when it is first needed."""

    def __init__(self, start: Callable[[], Worker], size: int) -> None:
        self._start, self.size = start, size
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._starting = self._waiting = 0
        self._failure: Exception | None = None
        """Why a worker cannot be started, which ends all calls."""
        self._full_until = 0.0
        """When another worker may be started again, on the monotonic clock."""
        self._is_closed = False
        self._changed = threading.Condition()

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method in the next worker that is free.

        Raises what the method raises, `WorkerDiedError` if the worker ended, after which the next
        call has another one, and `ClosedError`.
        """
        with self._worker() as worker:
            return worker.call(method, *arguments, **options)

    def close(self) -> None:
        """End all workers, also those that are at work."""
        with self._changed:
            self._is_closed = True
            workers, self._workers = self._workers, set()
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        worker = self._take()
        try:
            yield worker
        except WorkerDiedError as error:
            self._replace(worker)
            self._require_open()
            log.debug("%s", error)
            raise
        except BaseException:
            self._give_back(worker)
            raise
        self._give_back(worker)

    def _take(self) -> Worker:
        """The next worker that is free; meanwhile another one is started if there is room."""
        with self._changed:
            self._waiting += 1
            try:
                while not self._idle:
                    self._require_open()
                    if self._failure is not None:
                        raise self._failure
                    if self._has_room():
                        self._starting += 1
                        threading.Thread(target=self._add, daemon=True).start()
                    self._changed.wait(_PATIENCE)
                self._require_open()
                return self._idle.pop()
            finally:
                self._waiting -= 1

    def _has_room(self) -> bool:
        is_small = len(self._workers) + self._starting < self.size
        is_free = not (self._workers or self._starting) or monotonic() >= self._full_until
        return is_small and is_free and self._starting < self._waiting

    def _add(self) -> None:
        """Start a worker; without room for it, the others do its work."""
        worker, failure = None, None
        try:
            worker = self._started()
        except Exception as error:  # noqa: BLE001 - raised where a worker is waited for
            failure = error
        with self._changed:
            self._starting -= 1
            if isinstance(failure, NoRoomError) and (self._workers or self._starting):
                self._full_until = monotonic() + _PATIENCE
            elif failure is not None:
                self._failure = failure
            is_open = not self._is_closed
            if worker is not None and is_open:
                self._workers.add(worker)
                self._idle.append(worker)
            self._changed.notify_all()
        if worker is not None and not is_open:
            worker.end()

    def _started(self) -> Worker:
        for _ in range(STARTS - 1):
            with suppress(WorkerDiedError):
                return self._start()
        return self._start()

    def _give_back(self, worker: Worker) -> None:
        with self._changed:
            if worker in self._workers:
                self._idle.append(worker)
            self._changed.notify_all()

    def _replace(self, worker: Worker) -> None:
        with self._changed:
            self._workers.discard(worker)
            self._changed.notify_all()
        worker.end()

    def _require_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the workers have ended: run the command again")


_NO_LIMITS: Final = Limits(float("inf"), resource.RLIM_INFINITY)


class ProcessWorker:
    """A process of this machine, which ends when this one does, however that ends."""

    def __init__(self, recipe: bytes, threads: int) -> None:
        """Start it, with `threads` threads in numerical libraries, unless the user set a number."""
        variables = {"OMP_NUM_THREADS": str(threads), **os.environ}
        self._process, self._connection = start_process(variables)
        self._lock, self._recipe = threading.Lock(), recipe
        try:
            self._receive()
            self.call("check")
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        task = self._recipe, method, arguments, options
        try:
            self._connection.send((perform, task, _NO_LIMITS, None))
        except OSError as error:
            raise self._death() from error
        kind, result = self._receive()
        if kind == "failed":
            raise result
        return result

    def _receive(self) -> Any:
        try:
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error

    def _death(self) -> WorkerDiedError:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5)
            how = f" ({signal.Signals(-code).name})" if code < 0 else f" with code {code}"
            return WorkerDiedError(f"the worker process has ended{how}")
        return WorkerDiedError("the worker process does not answer")

    def end(self) -> None:
        with self._lock:
            self._process.kill()
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()


def process_pool(size: int, recipe: bytes) -> Pool:
    """So many processes of this machine, which share its cores."""
    threads = max(1, (os.cpu_count() or 1) // size)
    return Pool(lambda: ProcessWorker(recipe, threads), size)
