"""A bounded pool of worker processes with time limits and a fair queue."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.base.sandbox import process_memory
from sarag_rdf.server.graphs import OpenGraph
from sarag_rdf.server.jobs import (
    AccessibleGraphs,
    JobReply,
    Progress,
    RequestError,
    Stop,
    remove_spools,
)
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.worker import Job, work

OnProgress = Callable[[Progress], None]
"""Called with what happens before the reply to a job."""
_STARTUP_TIMEOUT = 60.0
"""Seconds until a new process must be ready."""
_EXIT_TIMEOUT = 5.0
"""Seconds until a process whose pipe is closed must have ended."""
_GRACE = 1.0
"""Seconds for a question to finish after its client disconnected, so that models stay loaded."""
_MEMORY_PERIOD = 0.1
"""Seconds between two looks at the memory of a process that runs a job."""


class _WorkerProcess:
    """A process and the pipe to it; `run` starts the process if necessary."""

    def __init__(self, folder: Path, settings: ServeSettings, open_graph: OpenGraph) -> None:
        self._folder, self._arguments = folder, (settings, open_graph)
        self._max_memory = settings.worker_memory
        self._pipe: Connection | None = None
        self._process: BaseProcess
        self._ready = False

    def start(self) -> Connection:
        """Start the process, unless it is running, and return the pipe to it.

        Raises `RequestError` (503) if the system does not allow it.
        """
        if self._pipe is None:
            context = _context()
            pipe, child_end = context.Pipe()
            arguments = (child_end, str(self._folder), *self._arguments)
            self._process = context.Process(target=work, args=arguments, daemon=True)
            try:
                self._process.start()
            except OSError as error:
                pipe.close()
                raise RequestError(
                    503,
                    f"cannot start a worker process ({error}): if the path of the temporary folder "
                    "is long, set TMPDIR to a shorter one",
                ) from error
            finally:
                child_end.close()
            self._pipe = pipe
        return self._pipe

    async def run(
        self, message: tuple[Job, AccessibleGraphs], seconds: float, on_progress: OnProgress | None
    ) -> JobReply | RequestError:
        """The reply to a job; raises `TimeoutError`, or `RequestError`: 507 (memory), 500 (crash).

        After an exception, the process must be replaced.
        """
        pipe = self.start()
        try:
            if not self._ready:
                await self._receive(pipe, _STARTUP_TIMEOUT)
                self._ready = True
            pipe.send(message)
            end = time.monotonic() + seconds
            while isinstance(event := await self._receive(pipe, end - time.monotonic()), Progress):
                if on_progress is not None:
                    on_progress(event)
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise self._death() from None
        reply: JobReply | RequestError = event
        return reply

    async def _receive(self, pipe: Connection, seconds: float) -> Any:
        """The next message; raises `TimeoutError`, `RequestError` (507), `EOFError`, `OSError`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        readable = asyncio.Event()
        loop.add_reader(pipe.fileno(), readable.set)
        try:
            while not readable.is_set():
                if self.memory > self._max_memory:
                    raise RequestError(
                        507,
                        f"the memory limit of {self._max_memory >> 20} MiB was exceeded: request "
                        "less, or start the server with a higher --max-memory",
                    )
                if (remaining := end - loop.time()) <= 0:
                    raise TimeoutError
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(remaining, _MEMORY_PERIOD)):
                        await readable.wait()
        finally:
            loop.remove_reader(pipe.fileno())
        return pipe.recv()

    def _death(self) -> RequestError:
        """The error for a process that has died by itself.

        The system kills a process if memory is short, and the engine aborts it if an allocation
        fails.
        """
        self._process.join(_EXIT_TIMEOUT)
        code = self._process.exitcode or 0
        if code in (-signal.SIGKILL, -signal.SIGABRT):
            return RequestError(507, "the worker process ran out of memory: request less")
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return RequestError(500, f"the worker process crashed ({cause}): see the server's log")

    @property
    def memory(self) -> int:
        """Bytes of memory that the process uses."""
        return process_memory(self._process.pid or 0)

    async def finishes_within(self, seconds: float) -> bool:
        """Tell a cancelled job to stop, wait that long for its end, and discard its reply."""
        if self._pipe is None or not self._ready or not seconds:
            return False
        end = time.monotonic() + seconds
        try:
            self._pipe.send(Stop())
            while isinstance(
                reply := await self._receive(self._pipe, end - time.monotonic()), Progress
            ):
                pass
        except (EOFError, OSError, RequestError):
            return False
        if isinstance(reply, JobReply):
            reply.body()
        return True

    def kill(self) -> None:
        """Kill the process and delete its files."""
        if self._pipe is None:
            return
        self._process.kill()
        self._process.join()
        self._pipe.close()
        remove_spools(self._folder, self._process.pid or 0)


def _context() -> SpawnContext | ForkServerContext:
    """The start method: on Linux, forking from a process that has imported what workers need.

    Such processes share memory and start in milliseconds. All pools fork from the same process, so
    that it imports what any of them needs. On other systems libraries may not survive a fork, so
    that each process imports everything itself.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sarag_rdf.server.app"])  # with all jobs
    return context


class WorkerPool:
    """Runs jobs in `size` processes, with a fair queue of at most `queue` waiting jobs."""

    def __init__(
        self,
        folder: Path,
        settings: ServeSettings,
        open_graph: OpenGraph,
        *,
        size: int,
        seconds: float,
        option: str,
        lazy: bool = False,
        grace: float = 0.0,
    ) -> None:
        """`open_graph` must be picklable.

        `seconds` is the time limit of a job, and `option` the command line option that sets it.
        A process that uses more memory than the settings permit is killed.
        `lazy` processes are started by their first job. A job whose client has disconnected may
        finish within `grace` seconds, which is cheaper than restarting its process.
        """
        self._new_worker = partial(_WorkerProcess, folder, settings, open_graph)
        self._seconds, self._option, self._grace = seconds, option, grace
        self._max_memory = settings.worker_memory
        self._queue = FairQueue(size, settings.queue)
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
        self,
        job: Job,
        graphs: AccessibleGraphs,
        client: str = "",
        on_progress: OnProgress | None = None,
    ) -> JobReply:
        """The reply to a job of a client that may read these graphs.

        Raises `RequestError`: that of the job, 503 (busy), 504 (time), 507 (memory) or 500 (crash).
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
            reply = await worker.run((job, graphs), self._seconds, on_progress)
        except RequestError:
            self._release(worker, is_usable=False)
            raise
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
        # a large process is replaced, to return its memory, unless it may hold models
        self._release(worker, is_usable=bool(self._grace) or worker.memory < self._max_memory / 2)
        if isinstance(reply, RequestError):
            raise reply
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
            with suppress(RequestError):  # raised again by its first job
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


class Workers:
    """The worker processes of a server and their scratch folder, from `__enter__` on.

    `readers` run queries, `writer` updates one after the other, and `questions` searches and
    answers. Those of `lazy` workers are started by their first job.
    """

    folder: Path
    readers: WorkerPool
    writer: WorkerPool
    questions: WorkerPool

    def __init__(
        self, settings: ServeSettings, open_graph: OpenGraph, *, lazy: bool = False
    ) -> None:
        """`open_graph` opens the graph in a process; it must be picklable."""
        self._settings, self.open_graph, self._lazy = settings, open_graph, lazy
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        settings = self._settings
        self.folder = self._stack.enter_context(ScratchFolder("serve")).path
        self.readers = self._start(
            size=settings.workers, seconds=settings.timeout, option="--timeout", lazy=self._lazy
        )
        self.writer = self._start(
            size=int(settings.writable),
            seconds=settings.write_timeout,
            option="--write-timeout",
        )
        self.questions = self._start(
            size=settings.question_workers,
            seconds=settings.question_timeout,
            option="--question-timeout",
            lazy=True,
            grace=_GRACE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, **options: Any) -> WorkerPool:
        pool = WorkerPool(self.folder, self._settings, self.open_graph, **options)
        self._stack.callback(pool.close)
        return pool
