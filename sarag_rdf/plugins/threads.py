"""Work for several threads whose results come in the order of the items."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Item, threading.Event], Result]
"""What is called for an item; the event is set when the results are no longer wanted."""
Job = tuple["Future[Result]", Item]


def map_in_order(
    work: Work[Item, Result], items: Iterable[Item], concurrency: int
) -> Iterator[Result]:
    """Yield the results of `work` in the order of `items`, from `concurrency` threads.

    After an exception, or when the iterator is closed, no more items are started; the exception is
    raised in the place of its item. The threads are daemons: Python waits at exit for the threads
    of a ThreadPoolExecutor, which takes minutes if an endpoint hangs, even after Ctrl-C.
    """
    jobs: queue.SimpleQueue[Job[Result, Item] | None] = queue.SimpleQueue()
    stop, broken = threading.Event(), threading.Event()
    pending: deque[Future[Result]] = deque()
    threads = 0
    try:
        for item in items:
            pending.append(Future())
            jobs.put((pending[-1], item))
            if threads < concurrency:
                threads += 1
                threading.Thread(
                    target=_run_worker, args=(jobs, work, stop, broken), daemon=True
                ).start()
            if len(pending) >= 2 * concurrency:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        stop.set()
        for future in pending:
            future.cancel()
        for _ in range(threads):
            jobs.put(None)


def _run_worker(
    jobs: queue.SimpleQueue[Job[Result, Item] | None],
    work: Work[Item, Result],
    stop: threading.Event,
    broken: threading.Event,
) -> None:
    """Process jobs until None; after a failed job, jobs that have not started are cancelled."""
    while (job := jobs.get()) is not None:
        future, item = job
        if broken.is_set():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(work(item, stop))
        except BaseException as error:  # noqa: BLE001 - raised by Future.result
            broken.set()
            future.set_exception(error)
