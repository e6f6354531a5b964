"""Figures, coverage and intervals, by cases that were worked out by hand."""

from __future__ import annotations

import random
import sys
from math import isclose, log2

import numpy as np
import pytest

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document
from sarag_rdf.plugins.evaluation.measures import (
    figures,
    fits_budget,
    mean,
    normalize_answer,
    paired_interval,
    support_ranks,
    words_to_answer,
)


def test_figures_of_one_question() -> None:
    [found] = figures([[4, 9]], [[4, 1, 9, 2]], [1, 2, 3, 10])
    assert [found[f"R@{k}"] for k in (1, 2, 3, 10)] == [0.5, 0.5, 1.0, 1.0]
    assert [found[f"all@{k}"] for k in (1, 2, 3, 10)] == [0.0, 0.0, 1.0, 1.0]
    assert [round(found[f"P@{k}"], 3) for k in (1, 2, 3, 10)] == [1.0, 0.5, 0.667, 0.2]


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[evaluation\]'"):
        figures([[4, 9]], [[4, 1]], [1])


def test_a_further_chunk_of_a_passage_keeps_its_place() -> None:
    """So does a document that is of no passage."""
    [found] = figures([[4, 9]], [[4, 4, None, None, 9]], [2, 4, 5])
    assert [found[f"R@{k}"] for k in (2, 4, 5)] == [0.5, 0.5, 1.0]
    assert [found[f"P@{k}"] for k in (2, 4, 5)] == [0.5, 0.25, 0.4]
    assert support_ranks([4, 9, 7], [4, 4, None, None, 9]) == (1, 5, None)


def test_nothing_returned_and_nothing_to_find() -> None:
    assert figures([[4], []], [[], [4]], [2]) == [
        dict.fromkeys(("R@2", "P@2", "nDCG@2", "all@2"), 0.0),
        {},
    ]
    assert figures([[4], [5]], [[], [5]], [1])[0]["R@1"] == 0.0
    assert figures([[]], [[1, 2]], [2]) == [{}]


def test_order_counts_beyond_any_tie() -> None:
    """Ranks are what is scored, so many documents never stand level."""
    ranking = list(range(500))
    [found] = figures([[499, 250]], [ranking], [250, 251, 499, 500])
    assert [found[f"R@{k}"] for k in (250, 251, 499, 500)] == [0.0, 0.5, 0.5, 1.0]


def test_figures_are_what_their_definitions_say() -> None:
    generator = random.Random(3)
    supporting = [generator.sample(range(30), generator.randint(1, 4)) for _ in range(40)]
    rankings = [generator.sample(range(30), generator.randint(0, 30)) for _ in range(40)]
    ks = [1, 3, 10]
    for passages, ranking, found in zip(
        supporting, rankings, figures(supporting, rankings, ks), strict=True
    ):
        for k in ks:
            hits = len(set(passages) & set(ranking[:k]))
            assert isclose(found[f"R@{k}"], hits / len(passages))
            assert isclose(found[f"P@{k}"], hits / k)
            assert found[f"all@{k}"] == (hits == len(passages))
            gains = [1 / log2(rank + 1) for rank, p in enumerate(ranking[:k], 1) if p in passages]
            best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(passages)) + 1))
            assert isclose(found[f"nDCG@{k}"], sum(gains) / best, abs_tol=1e-9)


def test_mean_is_over_what_has_the_figure() -> None:
    rows = [{"R@2": 1.0}, {}, {"R@2": 0.0, "P@2": 0.5}]
    assert (mean(rows, "R@2"), mean(rows, "P@2"), mean(rows, "x")) == (0.5, 0.5, None)


# ---------------------------------------------------------------------------- Coverage


def document(title: str, text: str) -> Document:
    return Document("a:b", "a:c", title, text, 0, len(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The  U.S. Army", "us army"),
        ("An  apple, a day!", "apple day"),
        ("theatre", "theatre"),
        ("A", ""),
        ("Gdańsk\n1997", "gdańsk 1997"),
    ],
)
def test_normalisation(text: str, wanted: str) -> None:
    assert normalize_answer(text) == wanted


def test_words_up_to_the_document_with_the_answer() -> None:
    documents = [document("One two", "three four five"), document("", "The U.S. Army, they say.")]
    assert words_to_answer(["two"], documents) == 5
    assert words_to_answer(["us army"], documents) == 10
    assert words_to_answer(["nobody", "an army"], documents) == 10
    assert words_to_answer(["arm"], documents) is None
    assert words_to_answer(["two three"], documents) is None  # of the title and the text
    assert words_to_answer(["five US"], documents) is None  # of two documents
    assert words_to_answer(["the", ""], documents) is None
    assert words_to_answer([], documents) is None
    assert words_to_answer(["two"], []) is None


def test_a_word_is_four_thirds_of_a_token() -> None:
    assert fits_budget(750, 1000)
    assert not fits_budget(751, 1000)
    assert fits_budget(0, 1)
    assert not fits_budget(1, 1)


# --------------------------------------------------------------------------- Intervals


def test_interval_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap  # takes seconds

    generator = np.random.default_rng(5)
    ours = generator.integers(0, 2, 200).astype(float)
    theirs = np.where(generator.random(200) < 0.7, ours, 0.0)
    middle, low, high = paired_interval(list(ours), list(theirs), 1)
    wanted = bootstrap(
        (ours, theirs),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        paired=True,
        method="percentile",
        n_resamples=10_000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert middle == np.mean(ours - theirs)
    assert abs(low - wanted.low) < 0.011
    assert abs(high - wanted.high) < 0.011


def test_interval_of_the_same_and_of_one_question() -> None:
    assert paired_interval([0.5, 1.0], [0.5, 1.0], 0) == (0.0, 0.0, 0.0)
    assert paired_interval([1.0], [0.25], 0) == (0.75, 0.75, 0.75)
    for ours, theirs in (([], []), ([1.0], [1.0, 0.0])):
        with pytest.raises(ValueError, match="the same number"):
            paired_interval(ours, theirs, 0)


def test_interval_depends_on_the_seed_alone() -> None:
    ours, theirs = [0.0, 1.0, 0.5, 1.0, 0.3] * 7, [0.5, 0.5, 0.0, 1.0, 0.1] * 7
    assert paired_interval(ours, theirs, 4) == paired_interval(ours, theirs, 4)
    assert paired_interval(ours, theirs, 4) != paired_interval(ours, theirs, 5)
