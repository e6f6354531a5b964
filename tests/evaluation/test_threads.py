"""Work for several threads, and accounts that belong to one of them."""

from __future__ import annotations

import threading
from itertools import islice
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.ports import silent
from sarag_rdf.base.types import Context, Evidence, Query, Retrieved, Subgraph
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.plugins.evaluation.qa import Account, SystemSpec, ask_all, build_systems
from sarag_rdf.plugins.threads import map_in_order
from sarag_rdf.retrieval.retriever import question_of
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.evaluation.fixed import Fixed, without_models
from tests.evaluation.scripted import Scripted
from tests.sample_graph import SOURCES, CapitalExtractor


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


NOTHING = Evidence(
    Retrieved(Query("q"), "none", {}, (), (), (), (), Subgraph((), {}, ())), Context(())
)


def test_a_reply_from_a_cache_costs_what_it_did() -> None:
    llm = CachedLLM(QueuedLLM([{}, {}], model="free"), ":memory:")
    first, second = Account(llm, lambda _: NOTHING), Account(llm, lambda _: NOTHING)
    for account in (first, second):
        account.complete("a b", {"type": "object"}, name="n", max_tokens=1)
    assert first.model == "free"
    assert first.usage == second.usage
    assert (first.usage.calls, first.usage.tokens_in) == (1, 2)
    assert first.saved == 0.0 <= second.saved


def test_each_question_has_an_account_and_searches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_models(monkeypatch)
    barrier = threading.Barrier(4)
    inside: list[int] = []
    retrieve = Fixed.retrieve

    def alone(fixed: Fixed, view: Any, query: Query) -> Retrieved:
        inside.append(1)
        assert len(inside) == 1  # one at a time
        found = retrieve(fixed, view, query)
        inside.pop()
        return found

    def together(name: str, prompt: str) -> dict[str, Any]:
        barrier.wait(20)
        return {"final_answer": "Danube"}

    monkeypatch.setattr(Fixed, "retrieve", alone)
    options = {"full_context": "whole", "budget": None, "tokenizer": None}
    questions = [Question(str(n), question_of(f"Which river is {n}?"), ("D",)) for n in range(4)]
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        spec = SystemSpec.parse("fixed+single:brief=true")
        systems = build_systems(kg, [spec], Scripted(together), options)
        [rows] = ask_all(systems, questions, 4, silent).values()
    costs = [(row.costs["calls"], row.costs["retrievals"], row.answer) for row in rows]
    assert costs == [(1, 1, "Danube")] * 4
