"""A bounded pool of worker processes with time limits and a fair queue."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sarag_rdf.serve.jobs import ErrorReply, JobReply, Progress, RequestError, Stop
from sarag_rdf.serve.spool import remove_spools

Target = Callable[..., None]
"""The main function of a process: takes its end of the pipe, the scratch folder, and arguments."""
OnProgress = Callable[[Progress], None]
"""Called with what happens before the reply to a job."""
_STARTUP_TIMEOUT = 60.0
"""Seconds until a new process must be ready."""


class _WorkerProcess:
    """A process and the pipe to it; `run` starts the process if necessary."""

    def __init__(self, target: Target, folder: Path, arguments: tuple[Any, ...]) -> None:
        self._target, self._folder, self._arguments = target, folder, arguments
        self._pipe: Connection | None = None
        self._process: BaseProcess
        self._ready = False

    def start(self) -> Connection:
        """Start the process, unless it is running, and return the pipe to it."""
        if self._pipe is None:
            context = _context(self._target.__module__)
            pipe, child_end = context.Pipe()
            arguments = (child_end, str(self._folder), *self._arguments)
            self._process = context.Process(target=self._target, args=arguments, daemon=True)
            self._process.start()
            child_end.close()
            self._pipe = pipe
        return self._pipe

    async def run(
        self, job: object, seconds: float, on_progress: OnProgress | None = None
    ) -> JobReply | ErrorReply | None:
        """The reply to a job; None if the process died. Raises `TimeoutError`."""
        pipe = self.start()
        try:
            if not self._ready:
                await _receive(pipe, _STARTUP_TIMEOUT)
                self._ready = True
            pipe.send((job, seconds))
            end = time.monotonic() + seconds
            while isinstance(found := await _receive(pipe, end - time.monotonic()), Progress):
                if on_progress is not None:
                    on_progress(found)
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            return None
        reply: JobReply | ErrorReply = found
        return reply

    async def finishes_within(self, seconds: float) -> bool:
        """Tell a cancelled job to stop, wait that long for its end, and discard its reply."""
        if self._pipe is None or not self._ready or not seconds:
            return False
        end = time.monotonic() + seconds
        try:
            self._pipe.send(Stop())
            while isinstance(reply := await _receive(self._pipe, end - time.monotonic()), Progress):
                pass
        except (EOFError, OSError):
            return False
        if isinstance(reply, JobReply) and reply.path:
            Path(reply.path).unlink(missing_ok=True)
        return True

    def kill(self) -> None:
        """Kill the process and delete its files."""
        if self._pipe is None:
            return
        self._process.kill()
        self._process.join()
        self._pipe.close()
        remove_spools(self._folder, self._process.pid or 0)


def _context(module: str) -> SpawnContext | ForkServerContext:
    """The start method: on Linux, forking from a process that has already imported `module`.

    Such processes share memory and start in milliseconds. On other systems libraries may not
    survive a fork, so that each process imports everything itself.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


async def _receive(pipe: Connection, seconds: float) -> Any:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(pipe.fileno(), readable.set)
    try:
        async with asyncio.timeout(seconds):
            await readable.wait()
    finally:
        loop.remove_reader(pipe.fileno())
    return pipe.recv()


class WorkerPool:
    """Runs jobs in `size` processes, with a fair queue of at most `queue` waiting jobs."""

    def __init__(
        self,
        target: Target,
        folder: Path,
        *arguments: Any,
        size: int,
        queue: int,
        seconds: float,
        option: str,
        lazy: bool = False,
        grace: float = 0.0,
    ) -> None:
        """Each process runs ``target(pipe, folder, *arguments)``; arguments must be picklable.

        `seconds` is the time limit of a job, and `option` the command line option that sets it.
        `lazy` processes are started by their first job. A job whose client has disconnected may
        finish within `grace` seconds, which is cheaper than restarting its process.
        """
        self._new_worker = partial(_WorkerProcess, target, folder, arguments)
        self._seconds, self._option, self._grace = seconds, option, grace
        self._queue = FairQueue(size, queue)
        self._idle = [self._new_worker() for _ in range(size)]
        self._workers = set(self._idle)
        self._cancellations: set[asyncio.Task[None]] = set()
        for worker in () if lazy else self._idle:
            worker.start()

    @property
    def waiting(self) -> int:
        """The number of queued jobs."""
        return self._queue.waiting

    async def run(
        self, job: object, client: str = "", on_progress: OnProgress | None = None
    ) -> JobReply:
        """The reply to a job. Raises `RequestError`: that of the job, 503 or 504.

        If the task is cancelled, the job is stopped as well.
        """
        try:
            await self._queue.acquire(client, self._seconds)
        except QueueFullError:
            raise RequestError(
                503, "too many concurrent requests: try again later", Retry_After="2"
            ) from None
        except TimeoutError:
            raise RequestError(
                503, "the server is busy: try again later", Retry_After="5"
            ) from None
        worker = self._idle.pop()
        try:
            reply = await worker.run(job, self._seconds, on_progress)
        except TimeoutError:
            self._release(worker, is_usable=False)
            raise RequestError(
                504,
                f"the time limit of {self._seconds:g} seconds was exceeded: request less, or start "
                f"the server with a higher {self._option}",
            ) from None
        except BaseException:
            cancellation = asyncio.ensure_future(self._cancel(worker))
            self._cancellations.add(cancellation)
            cancellation.add_done_callback(self._cancellations.discard)
            raise
        self._release(worker, is_usable=reply is not None)
        if reply is None:
            raise RequestError(503, "the worker process died: it may have run out of memory")
        if isinstance(reply, ErrorReply):
            raise RequestError(reply.status, reply.message, **reply.headers)
        return reply

    async def _cancel(self, worker: _WorkerProcess) -> None:
        """Let a job finish within the grace period, or kill its process."""
        self._release(worker, is_usable=await worker.finishes_within(self._grace))

    def _release(self, worker: _WorkerProcess, *, is_usable: bool) -> None:
        """Make a worker, or a new one in its place, available to the next job."""
        if worker not in self._workers:
            return  # the pool was closed in the meantime
        if not is_usable:
            self._workers.remove(worker)
            worker.kill()
            worker = self._new_worker()
            self._workers.add(worker)
            worker.start()
        self._idle.append(worker)
        self._queue.release()

    def close(self) -> None:
        """Kill all processes."""
        for cancellation in self._cancellations:
            cancellation.cancel()
        for worker in self._workers:
            worker.kill()
        self._workers.clear()


class QueueFullError(Exception):
    """The queue is full, or a queued request was displaced by a client with fewer requests."""


class FairQueue:
    """A semaphore of `size` slots, with at most `limit` waiting requests and round-robin fairness.

    A free slot goes to the clients in turn, and to the requests of one client in order of arrival.
    When the queue is full, a new request displaces the last request of the client with the most
    queued requests, if its own client has fewer; so no client can fill the queue for the others.
    """

    def __init__(self, size: int, limit: int) -> None:
        self._free = size
        self._limit = limit
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return sum(map(len, self._queues.values()))

    async def acquire(self, client: str, seconds: float) -> None:
        """Wait for a slot; raises `QueueFullError`, or `TimeoutError` after that time."""
        if self._free:
            self._free -= 1
            return
        if self.waiting >= self._limit:
            self._displace(client)
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(slot)
        try:
            async with asyncio.timeout(seconds):
                await slot
        except BaseException:
            if slot.done() and not slot.cancelled() and slot.exception() is None:
                self.release()  # the slot was granted at the moment of the cancellation
            self._remove(client, slot)
            raise

    def release(self) -> None:
        """Pass a slot on to the next waiting request, or mark it free."""
        while self._queues:
            client, queue = self._queues.popitem(last=False)
            slot = queue.popleft()
            if queue:
                self._queues[client] = queue  # move the client to the end of the round
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1

    def _displace(self, client: str) -> None:
        own = len(self._queues.get(client, ()))
        busiest = max(self._queues, key=lambda name: len(self._queues[name]), default=client)
        if len(self._queues.get(busiest, ())) <= own + 1:
            raise QueueFullError
        last = self._queues[busiest].pop()
        if not last.done():
            last.set_exception(QueueFullError())

    def _remove(self, client: str, slot: asyncio.Future[None]) -> None:
        queue = self._queues.get(client)
        if queue is not None and slot in queue:
            queue.remove(slot)
            if not queue:
                del self._queues[client]
