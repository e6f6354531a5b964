"""Figures of one answer: by hand, and against an implementation of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.plugins.evaluation.measures import (
    contains_answer,
    exact_match,
    matches,
    normalize_answer,
    token_f1,
)

CASES = [
    # answer, known, exact, F1, match
    ("Danube", ["Danube"], 1, 1, True),
    ("the  danube!", ["Danube"], 1, 1, True),
    ("Danube", ["Rhine", "The Danube"], 1, 1, True),
    ("Danube river", ["Danube"], 0, 2 / 3, True),
    ("Danube", ["Danube river"], 0, 2 / 3, True),
    ("It is the Danube, in Ulm", ["Danube"], 0, 2 * (1 / 5) * 1 / (1 / 5 + 1), True),
    ("June", ["12 June 1990"], 0, 1 / 2, False),
    ("12 June", ["12 June 1990"], 0, 4 / 5, True),
    ("June 12", ["12 June 1990"], 0, 4 / 5, False),
    ("Danubes", ["Danube"], 0, 0, False),
    ("Dan", ["Danube"], 0, 0, False),
    ("a b b c", ["b b b"], 0, 2 * (2 / 3) * (2 / 3) / (4 / 3), False),
    ("South Korea", ["North Korea"], 0, 1 / 2, False),
    ("yes", ["yes"], 1, 1, True),
    ("Yes, both are", ["yes"], 0, 1 / 2, True),
    ("no one says yes", ["yes"], 0, 2 * (1 / 4) / (5 / 4), False),
    ("", ["Danube"], 0, 0, False),
    ("the", ["Danube"], 0, 0, False),
    ("the", ["the"], 0, 0, False),
    ("Danube", ["the", ""], 0, 0, False),
    ("Danube", [], 0, 0, False),
    ("U.S.", ["US"], 1, 1, True),
    ("Gdańsk", ["Gdansk"], 0, 0, False),
]


@pytest.mark.parametrize(("answer", "known", "same", "f1", "match"), CASES)
def test_by_hand(answer: str, known: list[str], same: int, f1: float, match: bool) -> None:
    assert exact_match(answer, known) == same
    assert token_f1(answer, known) == pytest.approx(f1)
    assert matches(answer, known) is match


def theirs(answer: str, known: list[str]) -> tuple[float, float]:
    """Exact match and F1 by torchmetrics, in [0, 1]."""
    from torchmetrics.functional.text import squad  # brings PyTorch: not while tests are collected

    found = squad(
        {"prediction_text": answer, "id": "1"},
        {"answers": {"answer_start": [0] * len(known), "text": known}, "id": "1"},
    )
    return found["exact_match"].item() / 100, found["f1"].item() / 100


WORDS = st.lists(
    st.sampled_from(["a", "the", "An", "Ulm", "ulm,", "U.l.m", "12", "b-c", "é", "É", "–", "thé"])
    | st.text(max_size=4)
).map(" ".join)


@pytest.mark.interop
@given(WORDS, st.lists(WORDS.filter(normalize_answer), min_size=1, max_size=3))
def test_as_others_compute_it(answer: str, known: list[str]) -> None:
    """For known answers of which something is left, as every data set has them."""
    same, f1 = theirs(answer, known)
    assert exact_match(answer, known) == same
    assert token_f1(answer, known) == pytest.approx(f1, abs=1e-6)


@given(WORDS, st.lists(WORDS, max_size=3))
def test_how_the_figures_lie_to_each_other(answer: str, known: list[str]) -> None:
    same, f1, match = exact_match(answer, known), token_f1(answer, known), matches(answer, known)
    assert 0 <= same <= f1 <= 1
    assert match or not same
    assert f1 > 0 or not match
    assert token_f1(answer, [*known, answer]) >= f1
    assert contains_answer(known, [f"x {answer} y"]) or not same


def test_texts_that_hold_an_answer() -> None:
    assert contains_answer(["the Danube"], ["Ulm", "On the (Danube)."])
    assert contains_answer(["x", "Danube"], ["Danube\nA river."])
    assert not contains_answer(["Danube"], ["Danubes", ""])
    assert not contains_answer(["the", ""], ["the x"])
    assert not contains_answer(["on Ulm"], ["It lies on", "Ulm"])
