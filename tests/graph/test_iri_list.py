"""Lists of IRIs as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import (
    IriList,
    distinct,
    find,
    find_all,
    place_in,
    places_in,
    rows_of,
)

TEXTS = st.lists(st.text(max_size=12), max_size=60)


@given(TEXTS, st.lists(st.text(max_size=12), max_size=20))
def test_is_a_sorted_list_that_finds_its_rows(texts: list[str], others: list[str]) -> None:
    made = IriList.of(texts)
    expected = sorted(set(texts))
    assert list(made) == expected
    assert [made[row] for row in range(len(made))] == expected == made[:]
    assert rows_of(made, expected).tolist() == list(range(len(expected)))
    asked = [*others, *texts]
    rows = [expected.index(text) if text in expected else -1 for text in asked]
    assert find_all(made, asked).tolist() == rows
    assert [find(made, text) for text in asked] == rows
    assert [text in made for text in asked] == [row >= 0 for row in rows]


@given(TEXTS, st.integers(-70, 70), st.integers(-70, 70), st.sampled_from([1, 2, -1]))
def test_slices_are_those_of_a_list(texts: list[str], begin: int, end: int, step: int) -> None:
    made = IriList.packed(iter(texts))
    assert made[begin:end:step] == texts[begin:end:step]
    assert made[begin:] == texts[begin:]


def test_few_of_many_are_found_without_decoding_all() -> None:
    made = IriList.of(f"urn:x:{number:05d}" for number in range(5000))
    assert find_all(made, ["urn:x:00017", "urn:y", "urn:x:04999"]).tolist() == [17, -1, 4999]
    assert made[-1] == "urn:x:04999"
    assert [find(made, made[row]) for row in range(300)] == list(range(300))
    assert [find(made, f"urn:x:{row:05d}a") for row in range(300)] == [-1] * 300


ROWS = st.lists(st.integers(0, 30), max_size=40)


@given(ROWS, ROWS)
def test_rows_of_a_list_of_rows(rows: list[int], others: list[int]) -> None:
    ascending = distinct(np.array(rows, dtype=np.int64))
    expected = sorted(set(rows))
    assert ascending.tolist() == expected
    places = [expected.index(row) if row in expected else -1 for row in others]
    assert places_in(ascending, np.array(others, dtype=np.int64)).tolist() == places
    assert [place_in(ascending, row) for row in others] == places


def test_an_unknown_one_is_named() -> None:
    with pytest.raises(KeyError, match="urn:b"):
        rows_of(IriList.of(["urn:a"]), ["urn:a", "urn:b"])
    with pytest.raises(IndexError):
        IriList.of(["urn:a"])[1]


def test_its_arrays_make_it_again() -> None:
    made = IriList.of(["urn:b", "urn:a", "urn:\udc80"])
    again = IriList.of_arrays(made.arrays("iris"), "iris")
    assert again == made
    assert hash(again) == hash(made)
    assert made != IriList.of(["urn:b"])
    assert made != ["urn:a"]
    assert IriList(np.zeros(0, np.uint8), np.zeros(0, np.int64))[:] == []
