"""Who works next: a bounded number at a time, and clients in turn while they wait."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque


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
