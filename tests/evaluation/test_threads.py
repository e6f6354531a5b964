"""Work for several threads, and accounts that belong to one of them."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

from sarag_rdf.base.types import Context, Evidence, Query, Retrieved, Subgraph
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.qa import Account, Meter
from sarag_rdf.plugins.threads import map_in_order
from sarag_rdf.testing.fakes import QueuedLLM


def test_one_thread_keeps_the_order() -> None:
    assert list(map_in_order(lambda n, _: n * n, [3, 1, 2], 1)) == [9, 1, 4]
    assert list(map_in_order(lambda n, _: n * n, [3, 1, 2], 2)) == [9, 1, 4]
    assert list(map_in_order(lambda n, _: n, [], 4)) == []


def test_several_work_at_a_time() -> None:
    """Each waits for the others to have begun."""
    barrier = threading.Barrier(3)

    def work(item: int, _: object) -> int:
        return item if barrier.wait(20) >= 0 else -1

    assert list(map_in_order(work, [1, 2, 3], 3)) == [1, 2, 3]


def test_an_error_comes_after_what_is_done_and_ends_the_rest() -> None:
    begun = []

    def work(item: int, _: object) -> int:
        begun.append(item)
        if item == 3:
            raise OSError("full")
        return item

    seen = []
    with pytest.raises(OSError, match="full"):
        for item in map_in_order(work, range(1, 100), 1):
            seen.append(item)
    assert seen == [1, 2]
    assert begun == [1, 2, 3]


def test_what_is_not_taken_is_not_begun() -> None:
    begun = []
    go = threading.Event()

    def work(item: int, _: object) -> int:
        begun.append(item)
        if item > 1:
            go.wait(20)
        return item

    results = map_in_order(work, range(1, 100), 1)
    assert list(islice(results, 1)) == [1]
    results.close()  # type: ignore[attr-defined]
    go.set()
    assert len(begun) <= 2


def ask(meter: Meter, prompt: str) -> Account:
    account = meter.open()
    meter.complete(prompt, {"type": "object"}, name="n", max_tokens=1)
    return account


def test_a_reply_from_a_cache_costs_what_it_did() -> None:
    meter = Meter(CachedLLM(QueuedLLM([{}, {}], model="free"), ":memory:"))
    assert meter.model == "free"
    first, second = ask(meter, "a b"), ask(meter, "a b")
    assert first.usage == second.usage
    assert (first.usage.calls, first.usage.tokens_in) == (1, 2)
    assert first.saved == 0.0 <= second.saved


def test_each_thread_has_an_account() -> None:
    meter = Meter(QueuedLLM({} for _ in range(10)))
    barrier = threading.Barrier(4)
    nothing = Retrieved(Query("q"), "none", {}, (), (), (), (), Subgraph((), {}, ()))
    inside: list[int] = []

    def gather(query: Query) -> Evidence:
        inside.append(1)
        assert len(inside) == 1  # one at a time
        inside.pop()
        return Evidence(nothing, Context(()))

    gathered = meter.gathering(gather)

    def work(calls: int, _: object) -> Account:
        account = meter.open()
        barrier.wait(20)
        for number in range(calls):
            meter.complete(f"{calls} {number}", {"type": "object"}, name="n", max_tokens=1)
            gathered(Query("q"))
        return account

    accounts = map_in_order(work, [1, 2, 3, 4], 4)
    for calls, account in enumerate(accounts, start=1):
        assert account.usage.calls == len(account.evidence) == calls
