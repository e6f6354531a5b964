"""A bounded pool of worker processes with timeouts and a fair queue between clients."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sarag_rdf.serve.jobs import Refusal, Reply, RequestError
from sarag_rdf.serve.spool import sweep

Work = Callable[..., None]
"""What a process runs, given its end of the pipe, the folder for answers, and more."""
_START = 60.0
"""Seconds that a new process may take until it is ready."""


class _Worker:
    """One process with its pipe, started when it is first needed or told to."""

    def __init__(self, work: Work, folder: Path, arguments: tuple[Any, ...]) -> None:
        self._work, self._folder, self._arguments = work, folder, arguments
        self._pipe: Connection | None = None
        self._process: BaseProcess
        self._ready = False

    def start(self) -> Connection:
        """Start the process, if that has not been done, and return the pipe to it."""
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            pipe, other = context.Pipe()
            arguments = (other, str(self._folder), *self._arguments)
            self._process = context.Process(target=self._work, args=arguments, daemon=True)
            self._process.start()
            other.close()
            self._pipe = pipe
        return self._pipe

    async def run(self, job: object, seconds: float) -> Reply | Refusal | None:
        """What the process answers; None if it died. Raises `TimeoutError`."""
        pipe = self.start()
        try:
            if not self._ready:
                await _receive(pipe, _START)
                self._ready = True
            pipe.send((job, seconds))
            answer: Reply | Refusal = await _receive(pipe, seconds)
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            return None
        return answer

    async def ends_within(self, seconds: float) -> bool:
        """Whether a job whose client is gone ends by itself in that time; its answer is dropped."""
        if self._pipe is None or not self._ready or not seconds:
            return False
        try:
            answer = await _receive(self._pipe, seconds)
        except (EOFError, OSError):
            return False
        if isinstance(answer, Reply) and answer.path:
            Path(answer.path).unlink(missing_ok=True)
        return True

    def kill(self) -> None:
        """End the process at once, and remove what it left."""
        if self._pipe is None:
            return
        self._process.kill()
        self._process.join()
        self._pipe.close()
        sweep(self._folder, self._process.pid or 0)


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


class Pool:
    """Runs jobs in `size` processes; as many as `queue` may wait for one, clients in turn."""

    def __init__(
        self,
        work: Work,
        folder: Path,
        *arguments: Any,
        size: int,
        queue: int,
        seconds: float,
        option: str,
        lazy: bool = False,
        grace: float = 0.0,
    ) -> None:
        """Processes run ``work(pipe, folder, *arguments)``, of picklable values.

        `option` of the command line sets the `seconds` that a job may take. `lazy` processes start
        with their first job. A job whose client has hung up may still end within `grace` seconds,
        where starting a process again costs more than that.
        """
        self._made = partial(_Worker, work, folder, arguments)
        self._seconds, self._option, self._grace = seconds, option, grace
        self._turns = Turns(size, queue)
        self._idle = [self._made() for _ in range(size)]
        self._all = set(self._idle)
        self._ending: set[asyncio.Task[None]] = set()
        for worker in () if lazy else self._idle:
            worker.start()

    async def run(self, job: object, client: str = "") -> Reply:
        """The answer to a job. Raises `RequestError`: what the job raised, 503 or 504.

        Who is cancelled while a job runs leaves no process at work.
        """
        try:
            await self._turns.take(client, self._seconds)
        except QueueFullError:
            raise RequestError(
                503, "too many requests at a time: try again", Retry_After="2"
            ) from None
        except TimeoutError:
            raise RequestError(503, "too busy: try again", Retry_After="5") from None
        worker = self._idle.pop()
        try:
            answer = await worker.run(job, self._seconds)
        except TimeoutError:
            self._give_back(worker, sound=False)
            raise RequestError(
                504,
                f"stopped: it took longer than {self._seconds:g} seconds; ask for less, or start "
                f"the server with a higher {self._option}",
            ) from None
        except BaseException:
            ending = asyncio.ensure_future(self._end(worker))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            raise
        self._give_back(worker, sound=answer is not None)
        if answer is None:
            raise RequestError(503, "the worker process ended: it may have run out of memory")
        if isinstance(answer, Refusal):
            raise RequestError(answer.status, answer.message, **answer.headers)
        return answer

    async def _end(self, worker: _Worker) -> None:
        """Let a job that nobody waits for end, or end it with its process."""
        self._give_back(worker, sound=await worker.ends_within(self._grace))

    def _give_back(self, worker: _Worker, *, sound: bool) -> None:
        """Let the next job have a worker, or a new one in its place."""
        if worker not in self._all:
            return  # the pool was closed meanwhile
        if not sound:
            self._all.remove(worker)
            worker.kill()
            worker = self._made()
            self._all.add(worker)
            worker.start()
        self._idle.append(worker)
        self._turns.give_back()

    def close(self) -> None:
        """Kill all processes."""
        for ending in self._ending:
            ending.cancel()
        for worker in self._all:
            worker.kill()
        self._all.clear()


class QueueFullError(Exception):
    """As many wait as may; or one that waited lost its place to a client that had fewer waiting."""


class Turns:
    """Gives out `size` places. While none is free, at most `most` requests wait for one.

    A free place goes to the clients in turn, and to the requests of one client in the order in
    which they came. When the queue is full, the last request of the client with the most requests
    waiting gives way to a client that would still have fewer; so no client can fill the queue for
    the others.
    """

    def __init__(self, size: int, most: int) -> None:
        self._free = size
        self._most = most
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return sum(map(len, self._queues.values()))

    async def take(self, client: str, seconds: float) -> None:
        """Wait for a place; raises `QueueFullError`, or `TimeoutError` after that time."""
        if self._free:
            self._free -= 1
            return
        if self.waiting >= self._most:
            self._make_room(client)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(place)
        try:
            async with asyncio.timeout(seconds):
                await place
        except BaseException:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.give_back()  # it was given the place at the moment at which it gave up
            self._remove(client, place)
            raise

    def give_back(self) -> None:
        """Hand a place on to who waits, or keep it free."""
        while self._queues:
            client, queue = self._queues.popitem(last=False)
            place = queue.popleft()
            if queue:
                self._queues[client] = queue  # at the end: the others come first
            if not place.done():
                place.set_result(None)
                return
        self._free += 1

    def _make_room(self, client: str) -> None:
        own = len(self._queues.get(client, ()))
        busiest = max(self._queues, key=lambda name: len(self._queues[name]), default=client)
        if len(self._queues.get(busiest, ())) <= own + 1:
            raise QueueFullError
        last = self._queues[busiest].pop()
        if not last.done():
            last.set_exception(QueueFullError())

    def _remove(self, client: str, place: asyncio.Future[None]) -> None:
        queue = self._queues.get(client)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._queues[client]
