"""Chunks: offsets reproduce the text, every word is covered, overlaps are exact."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Document, Source
from sarag_rdf.building.plan import chunk

IRI = "https://example.org/kg/source/a.txt"
ALPHABET = st.one_of(
    st.sampled_from(" \n\t\u00a0\u3000"),
    st.sampled_from("ab\u0301\u05d0\u202b\U0001f600\u200d"),
    st.characters(exclude_categories=["Cs"]),
)
SIZES = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


def cut(text: str, words: int = 500, overlap: int = 200) -> list[Document]:
    source = Source(text, "Title", "a.txt", "he")
    return chunk(source, IRI, Minter(), words=words, overlap=overlap)


def spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


@given(st.text(ALPHABET, max_size=200), SIZES)
def test_windows(text: str, sizes: tuple[int, int]) -> None:
    words, overlap = sizes
    documents = cut(text, words, overlap)
    begins = [begin for begin, _ in spans(text)]
    ends = [end for _, end in spans(text)]
    assert bool(documents) == bool(begins)
    covered: set[int] = set()
    previous: range | None = None
    for document in documents:
        assert text[document.begin : document.end] == document.text
        window = range(begins.index(document.begin), ends.index(document.end) + 1)
        assert len(window) == words or document is documents[-1]
        if previous is not None:
            assert previous.stop - window.start == overlap
            assert window.stop > previous.stop
        covered.update(window)
        previous = window
    assert covered == set(range(len(begins)))


@given(st.text(ALPHABET, max_size=100))
def test_iris_are_distinct_and_stable(text: str) -> None:
    documents = cut(text, 3, 1)
    assert len({document.iri for document in documents}) == len(documents)
    assert documents == cut(text, 3, 1)


def test_worked_example() -> None:
    documents = cut("  one two\nthree  four five ", 3, 1)
    assert [document.text for document in documents] == ["one two\nthree", "three  four five"]
    assert [(document.begin, document.end) for document in documents] == [(2, 15), (10, 26)]


def test_documents_take_title_language_and_source() -> None:
    (document,) = cut("\u05e9\u05dc\u05d5\u05dd \U0001f600")
    assert (document.title, document.language, document.source_iri) == ("Title", "he", IRI)
    assert document.iri == Minter().document(IRI, 0, 6, document.text)


@pytest.mark.parametrize(("count", "windows"), [(0, 0), (1, 1), (500, 1), (501, 2), (801, 3)])
def test_defaults_of_the_paper(count: int, windows: int) -> None:
    assert len(cut(" ".join(["word"] * count))) == windows


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (-1, 0), (5, 5), (5, 6), (5, -1)])
def test_impossible_windows(words: int, overlap: int) -> None:
    with pytest.raises(UsageError, match="give"):
        cut("some text", words, overlap)
