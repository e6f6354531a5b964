"""Work for several threads, whose results are taken as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_done(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result; begun in order, and with one thread done in order.

    The first error is raised, after what was done by then. Items that have not begun by then, or
    when the iterator is closed, are not begun; those under way are not waited for, since the
    threads are daemons: an endpoint that hangs does not hold up the end of the program.
    """
    jobs: queue.SimpleQueue[Item] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Item, Result] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    count = 0
    for item in items:
        jobs.put(item)
        count += 1

    def serve() -> None:
        while not stop.is_set():
            try:
                item = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:  # noqa: BLE001 - raised where results are taken
                done.put(error)
                return

    for _ in range(min(threads, count)):
        threading.Thread(target=serve, daemon=True).start()
    try:
        for _ in range(count):
            outcome = done.get()
            if isinstance(outcome, BaseException):
                stop.set()
                yield from _rest(done)
                raise outcome
            yield outcome
    finally:
        stop.set()


def _rest(
    done: queue.SimpleQueue[tuple[Item, Result] | BaseException],
) -> Iterator[tuple[Item, Result]]:
    while not done.empty():
        outcome = done.get()
        if not isinstance(outcome, BaseException):
            yield outcome
