"""Worker processes for jobs: a bounded number at a time, each killed when its time is up."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from sarag_rdf.serve.jobs import Job, Refusal, Reply, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.spool import sweep
from sarag_rdf.serve.worker import work

log = logging.getLogger(__name__)
_START = 60.0
"""Seconds that a new process may take until it is ready."""


class _Worker:
    """One process with its pipe."""

    def __init__(self, settings: ServeSettings, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = folder
        self._pipe: Connection
        self._pipe, other = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=work, args=(other, settings, str(folder)), daemon=True
        )
        self._process.start()
        other.close()
        self._ready = False

    async def run(self, job: Job, seconds: float) -> Reply | Refusal | None:
        """What the process answers; None if it died. Raises `TimeoutError`."""
        try:
            if not self._ready:
                await self._receive(_START)
                self._ready = True
            self._pipe.send((job, seconds))
            answer: Reply | Refusal = await self._receive(seconds)
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            return None
        return answer

    async def _receive(self, seconds: float) -> Reply | Refusal:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._pipe.fileno(), readable.set)
        try:
            await asyncio.wait_for(readable.wait(), seconds)
        finally:
            loop.remove_reader(self._pipe.fileno())
        answer: Reply | Refusal = self._pipe.recv()
        return answer

    def kill(self) -> None:
        """End the process at once, and remove what it left."""
        self._process.kill()
        self._process.join()
        self._pipe.close()
        sweep(self._folder, self._process.pid or 0)


class Pool:
    """Runs jobs in `size` processes; as many as `queue` may wait for one."""

    def __init__(
        self, settings: ServeSettings, folder: Path, *, size: int, seconds: float, option: str
    ) -> None:
        """`option` of the command line sets the seconds that a job may take."""
        self._settings = settings
        self._folder = folder
        self._seconds = seconds
        self._option = option
        self._waiting = 0
        self._all = {self._made() for _ in range(size)}
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        for worker in self._all:
            self._idle.put_nowait(worker)

    def _made(self) -> _Worker:
        return _Worker(self._settings, self._folder)

    async def run(self, job: Job) -> Reply:
        """The answer to a job. Raises `RequestError`: what the job raised, 503 or 504.

        Who is cancelled while a job runs leaves no process at work.
        """
        worker = await self._taken()
        done = False
        try:
            answer = await worker.run(job, self._seconds)
            done = answer is not None
        except TimeoutError:
            raise RequestError(
                504,
                f"stopped: it took longer than {self._seconds:g} seconds; ask for less, or start "
                f"the server with a higher {self._option}",
            ) from None
        finally:
            self._give_back(worker, sound=done)
        if answer is None:
            raise RequestError(503, "the worker process ended: it may have run out of memory")
        if isinstance(answer, Refusal):
            raise RequestError(answer.status, answer.message, **answer.headers)
        return answer

    async def _taken(self) -> _Worker:
        if self._idle.empty() and self._waiting >= self._settings.queue:
            raise RequestError(503, "too many requests at a time: try again", Retry_After="2")
        self._waiting += 1
        try:
            return await asyncio.wait_for(self._idle.get(), self._seconds)
        except TimeoutError:
            raise RequestError(503, "too busy: try again", Retry_After="5") from None
        finally:
            self._waiting -= 1

    def _give_back(self, worker: _Worker, *, sound: bool) -> None:
        """Let the next job have a worker, or a new one in its place."""
        if not sound and worker in self._all:
            self._all.remove(worker)
            worker.kill()
            worker = self._made()
            self._all.add(worker)
        self._idle.put_nowait(worker)

    def close(self) -> None:
        """Kill all processes."""
        for worker in self._all:
            worker.kill()
        self._all.clear()
