"""Places and queues: how many wait, who comes next, who gives way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.worker_pool import FairQueue


def run(case: Coroutine[Any, Any, None]) -> None:
    asyncio.run(case)


async def _begun(*tasks: asyncio.Task[None]) -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_no_more_wait_than_may() -> None:
    async def case() -> None:
        turns = FairQueue(1, 16)
        await turns.acquire("a", 60)
        clients = [f"client {n % 3}" for n in range(40)]
        waiting = [asyncio.create_task(turns.acquire(client, 60)) for client in clients]
        await _begun(*waiting)
        assert turns.waiting == 16
        refused = [task for task in waiting if task.done()]
        assert len(refused) == 24
        assert all(isinstance(task.exception(), RequestError) for task in refused)
        turns.release()  # as one goes, one comes: never more than may
        more = [asyncio.create_task(turns.acquire(f"client {n}", 60)) for n in range(5)]
        await _begun(*more)
        assert turns.waiting == 16
        for task in (*waiting, *more):
            task.cancel()
        await asyncio.gather(*waiting, *more, return_exceptions=True)

    run(case())


def test_clients_come_in_turn() -> None:
    async def case() -> None:
        turns, order = FairQueue(1, 16), []
        await turns.acquire("x", 60)

        async def ask(client: str) -> None:
            await turns.acquire(client, 60)
            order.append(client)
            turns.release()

        tasks = [asyncio.create_task(ask(client)) for client in "aaaaabbc"]
        await _begun(*tasks)
        turns.release()
        await asyncio.gather(*tasks)
        assert "".join(order) == "abcabaaa"

    run(case())


def test_no_client_fills_the_queue() -> None:
    async def case() -> None:
        turns = FairQueue(1, 4)
        await turns.acquire("greedy", 60)
        greedy = [asyncio.create_task(turns.acquire("greedy", 60)) for _ in range(4)]
        await _begun(*greedy)
        other = [asyncio.create_task(turns.acquire("other", 60)) for _ in range(3)]
        await _begun(*other)
        assert [task.done() for task in greedy] == [False, False, True, True]  # at once
        assert [task.done() for task in other] == [False, False, True]  # half each, and no more
        assert turns.waiting == 4
        for task in (*greedy, *other):
            task.cancel()
        await asyncio.gather(*greedy, *other, return_exceptions=True)

    run(case())


def test_a_place_is_not_lost_with_whoever_waited_for_it() -> None:
    async def case() -> None:
        turns = FairQueue(1, 4)
        await turns.acquire("a", 60)
        waiting = asyncio.create_task(turns.acquire("b", 60))
        await _begun(waiting)
        turns.release()
        waiting.cancel()  # at the moment at which it has been given the place
        await asyncio.gather(waiting, return_exceptions=True)
        await turns.acquire("c", 60)
        with pytest.raises(RequestError, match="busy"):
            await turns.acquire("d", 0.01)
        assert turns.waiting == 0
        turns.release()
        await turns.acquire("e", 60)

    run(case())


def test_clients_get_the_same_time_and_not_the_same_number_of_turns() -> None:
    async def case() -> None:
        turns, order = FairQueue(1, 64), []
        work = {"long": 0.4, "short": 0.1}
        for client in ("long", "short") * 20:  # what their requests take is learnt
            await turns.acquire(client, 60)
            turns.release(client, work[client])
        await turns.acquire("x", 60)

        async def ask(client: str) -> None:
            await turns.acquire(client, 60)
            order.append(client)
            turns.release(client, work[client])

        tasks = [asyncio.create_task(ask(client)) for client in ["long"] * 4 + ["short"] * 16]
        await _begun(*tasks)
        turns.release()
        await asyncio.gather(*tasks)
        assert [n for n, client in enumerate(order) if client == "long"] == [3, 8, 13, 18]

    run(case())


def test_a_client_with_long_requests_has_its_turn_before_its_time_is_over() -> None:
    async def case() -> None:
        turns, order = FairQueue(1, 64), []
        for _ in range(20):
            await turns.acquire("long", 8)
            turns.release("long", 4.0)
            await turns.acquire("short", 8)
            turns.release("short", 0.5)
        await turns.acquire("x", 8)

        async def ask(client: str) -> None:
            await turns.acquire(client, 8)
            order.append(client)
            turns.release()

        tasks = [asyncio.create_task(ask(client)) for client in ["long", *["short"] * 6]]
        await _begun(*tasks)
        turns.release()
        await asyncio.gather(*tasks)
        assert order.index("long") <= 2

    run(case())


def test_short_requests_do_not_wait_for_long_ones() -> None:
    async def case() -> None:
        turns = FairQueue(2, 16, spare=1)
        for _ in range(2):
            await turns.acquire("a", 60)
        long = asyncio.create_task(turns.acquire("a", 60))
        await _begun(long)
        assert not long.done()  # the spare slot is not for it
        await turns.acquire("a", 60, is_short=True)
        short = asyncio.create_task(turns.acquire("a", 60, is_short=True))
        await _begun(short)
        assert not short.done()
        turns.release(is_short=True)
        await _begun(short)
        assert short.done()
        assert not long.done()
        turns.release()
        await _begun(long)
        assert long.done()
        for is_short in (True, False, False):
            turns.release(is_short=is_short)
        for is_short in (True, False, True):  # short ones may have all slots
            await asyncio.wait_for(turns.acquire("a", 60, is_short=is_short), 1)
        assert turns.waiting == 0

    run(case())


def test_nobody_queues_for_longer_than_may_be_waited() -> None:
    async def case() -> None:
        turns = FairQueue(2, 64)
        for _ in range(40):
            await turns.acquire("a", 60)
            turns.release("a", 10.0)
        for _ in range(2):
            await turns.acquire("a", 60)
        waiting = [asyncio.create_task(turns.acquire(f"client {n}", 60)) for n in range(20)]
        await _begun(*waiting)
        refused = [task.exception() for task in waiting if task.done()]
        assert turns.waiting == 13  # ten seconds each, by two
        assert len(refused) == 7
        for error in refused:
            assert isinstance(error, RequestError)
            assert (error.status, error.headers["Retry-After"]) == (503, "60")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    run(case())
