"""Bounded pools of worker processes with time limits and a fair queue."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import sys
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from typing import Any, Self

from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.base.plugins import plugins
from sarag_rdf.base.sandbox import process_memory
from sarag_rdf.server.jobs import AccessibleGraphs, JobReply, Progress, RequestError, Stop
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import Job, OpenGraph, work

_STARTUP_TIMEOUT = 60.0
"""Seconds until a new process must be ready."""
_EXIT_TIMEOUT = 5.0
"""Seconds until a process whose pipe is closed must have ended."""
_GRACE = 1.0
"""Seconds for a question to finish after its client disconnected, so that models stay loaded."""
_MEMORY_PERIOD = 0.1
"""Seconds between two looks at the memory of a process that runs a job."""
_LEAST_RETRY, _MOST_RETRY = 1, 60
"""Bounds of the seconds after which a refused request may be repeated."""
_FIRST_COST = 0.1
"""Seconds that the first request of all is expected to take."""
_NEWEST = 0.2
"""The weight of the newest request in the mean of those of its client."""
_TURNS = 8
"""The part of its time limit that a request counts as at most, so that its turn comes in time."""
_MOST_CLIENTS = 10_000
"""Clients whose work is known at the same time."""


class _WorkerProcess:
    """A process and the pipe to it."""

    def __init__(self, folder: Path, settings: ServeSettings, open_graph: OpenGraph) -> None:
        """Start the process; raises `RequestError` (503) if the system does not allow it."""
        context = _context()
        self._folder, self._max_memory = folder, settings.worker_memory
        self._pipe, child_end = context.Pipe()
        self._process = context.Process(
            target=work, args=(child_end, str(folder), settings, open_graph), daemon=True
        )
        self._is_ready = False
        try:
            self._process.start()
        except OSError as error:
            self._pipe.close()
            raise RequestError(
                503,
                f"cannot start a worker process ({error}): if the path of the temporary folder is "
                "long, set TMPDIR to a shorter one",
            ) from error
        finally:
            child_end.close()

    async def run(
        self, message: object, seconds: float, on_progress: Callable[[Progress], None]
    ) -> JobReply | RequestError:
        """The answer to a message; raises `TimeoutError`, `RequestError` (507: memory, 500: crash).

        After an exception, the process must be replaced.
        """
        loop = asyncio.get_running_loop()
        try:
            if not self._is_ready:
                await self._receive(loop.time() + _STARTUP_TIMEOUT)
                self._is_ready = True
            self._pipe.send(message)
            end = loop.time() + seconds
            while isinstance(event := await self._receive(end), Progress):
                on_progress(event)
        except TimeoutError:
            raise
        except (EOFError, OSError):
            raise self._death() from None
        reply: JobReply | RequestError = event
        return reply

    async def _receive(self, end: float) -> Any:
        """The next message; raises `TimeoutError`, `RequestError` (507), `EOFError`, `OSError`."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._pipe.fileno(), readable.set)
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
            loop.remove_reader(self._pipe.fileno())
        return self._pipe.recv()

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
        if not self._is_ready:
            return False
        try:
            reply = await self.run(Stop(), seconds, lambda _: None)
        except (TimeoutError, RequestError):
            return False
        if isinstance(reply, JobReply):
            reply.body()
        return True

    def kill(self) -> None:
        """Kill the process and delete its files."""
        self._process.kill()
        self._process.join()
        self._pipe.close()
        for path in self._folder.glob(f"{self._process.pid}-*"):
            path.unlink(missing_ok=True)


def _context() -> SpawnContext | ForkServerContext:
    """The start method: on Linux, forking from a process that has imported what workers need.

    Such processes share memory and start in milliseconds. All pools fork from the same process, so
    that it imports what any of them needs. On other systems libraries may not survive a fork, so
    that each process imports everything itself.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    jobs = (plugin.entry.module for plugin in plugins("updates").values())
    context.set_forkserver_preload(["sarag_rdf.server.app", "sarag_rdf.kg.graph", *jobs])
    return context


class WorkerPool:
    """Runs jobs in `size` processes, with a fair queue of waiting jobs."""

    def __init__(
        self,
        folder: Path,
        settings: ServeSettings,
        open_graph: OpenGraph,
        *,
        size: int,
        seconds: float,
        option: str,
        grace: float = 0.0,
        spare: int = 0,
    ) -> None:
        """`open_graph` must be picklable.

        `seconds` is the time limit of a job, and `option` the command line option that sets it.
        A process that uses more memory than the settings permit is killed. A job whose client has
        disconnected may finish within `grace` seconds, which is cheaper than restarting its
        process. `spare` processes more are started when short jobs would wait for others.
        """
        self._start = partial(_WorkerProcess, folder, settings, open_graph)
        self._seconds, self._option, self._grace = seconds, option, grace
        self._max_memory = settings.worker_memory
        self._queue = FairQueue(size, settings.queue, spare)
        self._processes: set[_WorkerProcess] = set()
        self._idle: list[_WorkerProcess | None] = [None] * spare
        self._idle += [self._started() for _ in range(size)]
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """The number of queued jobs."""
        return self._queue.waiting

    async def run(
        self,
        job: Job,
        graphs: AccessibleGraphs,
        client: str = "",
        on_progress: Callable[[Progress], None] = lambda _: None,
        *,
        is_short: bool = False,
    ) -> JobReply:
        """The reply to a job of a client that may read these graphs.

        A job that is short by its nature, whatever the client sends, does not wait until all the
        others are done. Raises `RequestError`: that of the job, 503 (busy), 504 (time), 507
        (memory) or 500 (crash). If the task is cancelled, the job is stopped as well.
        """
        await self._queue.acquire(client, self._seconds, is_short=is_short)
        begin = asyncio.get_running_loop().time()
        process, grace, is_usable = self._idle.pop(), 0.0, False
        try:
            process = process or self._started()
            reply = await process.run((job, graphs), self._seconds, on_progress)
            # a large process is replaced, to return its memory, unless it may hold models
            is_usable = bool(self._grace) or process.memory < self._max_memory / 2
        except TimeoutError:
            raise RequestError(
                504,
                f"the time limit of {self._seconds:g} seconds was exceeded: request less, or start "
                f"the server with a higher {self._option}",
            ) from None
        except asyncio.CancelledError:
            grace = self._grace
            raise
        finally:
            used = asyncio.get_running_loop().time() - begin
            ended = partial(self._queue.release, client, used, is_short=is_short)
            ending = asyncio.ensure_future(
                self._release(process, grace, ended, is_usable=is_usable)
            )
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
        if isinstance(reply, RequestError):
            raise reply
        return reply

    def _started(self) -> _WorkerProcess:
        """A new process; raises `RequestError` (503)."""
        process = self._start()
        self._processes.add(process)
        return process

    async def _release(
        self,
        process: _WorkerProcess | None,
        grace: float,
        ended: Callable[[], None],
        *,
        is_usable: bool,
    ) -> None:
        """Free a process for the next job, or replace it; its job may finish within `grace`."""
        if process and not is_usable and not (grace and await process.finishes_within(grace)):
            is_open = process in self._processes  # else it was killed when the pool was closed
            killed, process = process, None
            if is_open:
                self._processes.remove(killed)
                killed.kill()
                with suppress(RequestError):  # the next job tries again, and says why
                    process = self._started()
        self._idle.append(process)
        ended()

    def close(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
        self._processes.clear()


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a request waits: the next one has the least `due`, which is in seconds of work."""

    due: float
    arrival: int
    client: str = field(compare=False)
    is_short: bool = field(compare=False)
    slot: asyncio.Future[None] = field(compare=False)


class FairQueue:
    """A semaphore of `size` slots for which at most `limit` requests wait, shared by work.

    Clients that wait get the same time, not the same number of turns: a request is due when its
    client has had as much work done as the others (start-time fair queueing; Goyal, Vin and Cheng,
    1996), where the work of a request is taken to be the mean of those of its client so far.
    Requests of one client come in order of arrival. A client may fill half of the queue, so that
    there is room for the others. `spare` further slots are for short requests only, so that these
    do not wait until long ones are done.
    """

    def __init__(self, size: int, limit: int, spare: int = 0) -> None:
        self._size, self._limit, self._spare = size, limit, spare
        self._running, self._long = 0, 0
        self._now, self._arrivals = 0.0, count()
        self._places: list[_Place] = []
        self._costs = _Costs()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._places)

    async def acquire(self, client: str, seconds: float, *, is_short: bool = False) -> None:
        """Wait for a slot; raises `RequestError` (503) if the queue is full, or after that time.

        It is also full if the wait would be longer than that, by the mean work of those before it.
        """
        if self._is_free(is_short=is_short):  # nobody waits who could have it
            self._take(is_short=is_short)
            return
        own = [place.due for place in self._places if place.client == client]
        cost = min(self._costs.of(client), seconds / _TURNS)
        due = max([self._now, *own]) + cost
        before = [self._costs.of(place.client) for place in self._places if place.due <= due]
        wait = sum(before) / self._size
        if (
            self.waiting >= self._limit
            or len(own) >= (self._limit + 1) // 2
            or (before and wait > seconds)
        ):
            after = min(max(round(wait), _LEAST_RETRY), _MOST_RETRY)
            text = "too many concurrent requests: try again later"
            raise RequestError(503, text, Retry_After=str(after))
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = _Place(due, next(self._arrivals), client, is_short, slot)
        insort(self._places, place)
        try:
            async with asyncio.timeout(seconds):
                await slot
        except BaseException as error:
            if place in self._places:
                self._places.remove(place)
            elif slot.done() and not slot.cancelled():
                self.release(is_short=is_short)  # it was granted at the moment of the cancellation
            if isinstance(error, TimeoutError):
                raise RequestError(
                    503, "the server is busy: try again later", Retry_After="5"
                ) from None
            raise

    def release(self, client: str = "", used: float = 0.0, *, is_short: bool = False) -> None:
        """Pass on a slot, after so many seconds of work for a client."""
        if used:
            self._costs.add(client, used)
        self._running -= 1
        self._long -= not is_short
        self._grant()

    def _grant(self) -> None:
        """Give the free slots to those that are due."""
        for place in list(self._places):
            if place.slot.done():  # cancelled, and about to be removed
                continue
            if self._is_free(is_short=place.is_short):
                self._places.remove(place)
                self._now = max(self._now, place.due)
                self._take(is_short=place.is_short)
                place.slot.set_result(None)

    def _is_free(self, *, is_short: bool) -> bool:
        if is_short:
            return self._running < self._size + self._spare
        return self._long < self._size and self._running < self._size + self._spare

    def _take(self, *, is_short: bool) -> None:
        self._running += 1
        self._long += not is_short


class _Costs:
    """Means of the seconds of work of requests, in which the latest count most."""

    def __init__(self) -> None:
        self.mean = _FIRST_COST
        self._of: OrderedDict[str, float] = OrderedDict()

    def of(self, client: str) -> float:
        """The mean of a client; for a new one, that of all."""
        return self._of.get(client, self.mean)

    def add(self, client: str, seconds: float) -> None:
        before = self.of(client)
        self._of[client] = before + _NEWEST * (seconds - before)
        self._of.move_to_end(client)
        if len(self._of) > _MOST_CLIENTS:
            self._of.popitem(last=False)
        self.mean += _NEWEST * (seconds - self.mean)


class Workers:
    """The worker processes of a server and their scratch folder, from `__enter__` on.

    `readers` run queries, `writer` updates one after the other, and `questions` searches and
    answers. A reader more is for pages, and if a model answers, a process more for searches, unless
    there may be one only.
    """

    def __init__(self, settings: ServeSettings, open_graph: OpenGraph) -> None:
        """`open_graph` opens the graph in a process; it must be picklable."""
        self._settings, self._open_graph = settings, open_graph
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        settings = self._settings
        self.folder = self._stack.enter_context(ScratchFolder("serve")).path
        self.readers = self._pool("--timeout", settings.timeout, settings.workers, spare=1)
        self.writer = self._pool("--write-timeout", settings.write_timeout, settings.writable)
        self.questions = self._pool(
            "--question-timeout",
            settings.question_timeout,
            settings.question_workers,
            grace=_GRACE,
            spare=int(settings.has_model and settings.question_workers > 1),
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _pool(self, option: str, seconds: float, size: int, **options: Any) -> WorkerPool:
        options |= {"option": option, "seconds": seconds, "size": size}
        pool = WorkerPool(self.folder, self._settings, self._open_graph, **options)
        self._stack.callback(pool.close)
        return pool
