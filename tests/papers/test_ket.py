"""Three rankings with shares."""

from __future__ import annotations

import numpy as np
import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Extraction, Mention, Query, Relation
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.plugins.papers.budgeted import in_shares
from tests.retrieval.graphs import AxesEmbedder, indexed, view_of

QUESTION = "Who sleeps?"


def rows(*items: int) -> np.ndarray:
    return np.array(items, dtype=np.int64)


def test_each_ranking_has_its_share_of_every_first_documents() -> None:
    rankings = (rows(*range(100)), rows(*range(100, 200)), rows(*range(200, 300)))
    shares = (0.5, 0.3, 0.2)
    merged = in_shares(rankings, shares)
    assert sorted(merged) == list(range(300))
    for count in range(1, 101):
        for number, share in enumerate(shares):
            chosen = sum(item // 100 == number for item in merged[:count])
            assert abs(chosen - share * count) < 1.0


def test_an_item_is_taken_once_and_a_short_ranking_leaves_its_share() -> None:
    assert in_shares((rows(1, 2), rows(2, 1), rows(3)), (0.5, 0.5, 0.0)) == [1, 2]
    assert in_shares((rows(), rows(4), rows(5, 4, 6)), (0.4, 0.4, 0.2)) == [4, 5, 6]
    assert in_shares((rows(), rows(), rows()), (0.4, 0.4, 0.2)) == []


def documents(**options: object) -> list[int]:
    """Numbers of the documents, of which 1 states a relationship and 2 has a keyword."""
    vectors: dict[str, dict[str, float]] = {
        QUESTION: {"q": 1.0},
        "Ada": {"q": 0.5, "a": 0.8}, "Bea": {"b": 1.0}, "sleep": {"q": 0.6, "c": 0.8},
        "Ada knows Bea": {"q": 0.7, "d": 0.7},
        "one": {"q": 0.1}, "two": {"q": 0.2}, "three": {"q": 0.9}, "four": {"q": 0.3},
    }  # fmt: skip
    ada, bea, sleep = (Mention(n, descriptions=(f"{n}: x",)) for n in ("Ada", "Bea", "sleep"))
    for mention in (ada, bea, sleep):
        vectors[mention.descriptions[0]] = {"q": 0.1}
    contents = [
        ("", "one", Extraction((ada, bea), (Relation("Ada", "knows", "Bea"),))),
        ("", "two", Extraction((sleep,))),
        ("", "three", Extraction()),
        ("", "four", Extraction((bea,))),
    ]
    reader, iris = indexed(contents)
    view = view_of(reader, AxesEmbedder("qabcd", vectors))
    found = make_retriever("ket", view, options).retrieve(Query(QUESTION))
    return [iris.index(d.document.iri) + 1 for d in found.documents]


def test_shares_choose_among_entities_keywords_and_texts() -> None:
    assert documents(entity_share=1.0, keyword_share=0.0) == [
        1,
        4,
    ]  # 4 describes an end of the statement
    assert documents(entity_share=0.0, keyword_share=1.0) == [2]
    assert documents(entity_share=0.0, keyword_share=0.0) == [3, 4, 2, 1]
    assert documents() == [1, 2, 3, 4]


def test_more_than_everything_cannot_be_shared() -> None:
    with pytest.raises(UsageError, match="shares of ket exceed 1"):
        documents(entity_share=0.7, keyword_share=0.4)
