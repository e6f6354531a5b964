"""Work for several threads, and accounts that belong to one of them."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

from sarag_rdf.base.ports import Reply
from sarag_rdf.base.types import Context, Evidence, Query, Retrieved, Subgraph, Usage
from sarag_rdf.plugins.evaluation.qa import Account, Meter
from sarag_rdf.plugins.evaluation.runner import map_as_completed


def test_one_thread_keeps_the_order() -> None:
    assert list(map_as_completed(lambda n: n * n, [3, 1, 2], 1)) == [(3, 9), (1, 1), (2, 4)]
    assert list(map_as_completed(lambda n: n, [], 4)) == []


def test_several_work_at_a_time() -> None:
    """Each waits for the others to have begun."""
    barrier = threading.Barrier(3)

    def work(item: int) -> int:
        return item if barrier.wait(20) >= 0 else -1

    assert sorted(map_as_completed(work, [1, 2, 3], 3)) == [(1, 1), (2, 2), (3, 3)]


def test_an_error_comes_after_what_is_done_and_ends_the_rest() -> None:
    begun = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 3:
            raise OSError("full")
        return item

    seen = []
    with pytest.raises(OSError, match="full"):
        for item, _ in map_as_completed(work, range(1, 100), 1):
            seen.append(item)
    assert seen == [1, 2]
    assert begun == [1, 2, 3]


def test_what_is_not_taken_is_not_begun() -> None:
    begun = []
    go = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        if item > 1:
            go.wait(20)
        return item

    results = map_as_completed(work, range(1, 100), 1)
    assert list(islice(results, 1)) == [(1, 1)]
    results.close()  # type: ignore[attr-defined]
    go.set()
    assert len(begun) <= 2


class Free:
    """Says the same to everything; costs a call at first, then comes from a cache."""

    model = "free"

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def complete(self, prompt: str, schema: object, *, name: str, max_tokens: int) -> Reply:
        new = prompt not in self.seen
        self.seen.add(prompt)
        return Reply({}, Usage(1, 0, 7, 2, 0.5) if new else Usage(cached_calls=1))


def ask(meter: Meter, prompt: str, name: str = "n") -> Account:
    account = meter.open()
    meter.complete(prompt, {}, name=name, max_tokens=1)
    return account


def test_a_reply_from_a_cache_costs_what_it_did() -> None:
    meter = Meter(Free())
    assert meter.model == "free"
    first, second = ask(meter, "a"), ask(meter, "a")
    assert first.usage == second.usage == Usage(1, 0, 7, 2, 0.5)
    assert first.saved == 0.0
    unknown = Meter(meter._llm)  # whose cache was filled before it was there
    assert ask(unknown, "a").usage == Usage(cached_calls=1)


def test_each_thread_has_an_account() -> None:
    meter = Meter(Free())
    barrier = threading.Barrier(4)
    nothing = Retrieved(Query("q"), "none", {}, (), (), (), (), Subgraph((), {}, ()))
    inside: list[int] = []

    def gather(query: Query) -> Evidence:
        inside.append(1)
        assert len(inside) == 1  # one at a time
        inside.pop()
        return Evidence(nothing, Context(()))

    gathered = meter.gathering(gather)

    def work(calls: int) -> Account:
        account = meter.open()
        barrier.wait(20)
        for number in range(calls):
            meter.complete(f"{calls} {number}", {}, name="n", max_tokens=1)
            gathered(Query("q"))
        return account

    for calls, account in map_as_completed(work, [1, 2, 3, 4], 4):
        assert account.usage.calls == len(account.evidence) == calls
