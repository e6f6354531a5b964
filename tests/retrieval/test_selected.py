"""Sentences instead of documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Context, RankedDocument
from sarag_rdf.retrieval import context as contexts
from sarag_rdf.retrieval.context import Selected
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.sample import found, found_for, view_with, words


def shown(context: Context) -> dict[str, str]:
    """Text by title."""
    return {excerpt.document.title: excerpt.text for excerpt in context.excerpts.values()}


def selected(question: str, *documents: RankedDocument, budget: int) -> Context:
    view = view_with(HashEmbedder())
    return Selected(budget=budget).build(view, found_for(question, *documents), words)


# ------------------------------------------------------------------------------ By hand


class Flat:
    """Every text is as near to the question as any other; notes what is embedded."""

    name = "flat"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts = list(texts)
        return np.ones((len(texts), 1), dtype=np.float32)


class LastWins:
    """A word index in which the last text has 4, all others nothing."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)

    def scores(self, text: str) -> NDArray[np.float32]:
        return np.array([0.0] * (self._size - 1) + [4.0], dtype=np.float32)


@pytest.fixture
def last_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "Bm25Index", LastWins)


A = found("A", "Aa bb. Cc dd.", 0, score=1.0)
B = found("B", "Ee ff. Gg hh.", 1, score=-1.0)


@pytest.mark.usefixtures("last_wins")
@pytest.mark.parametrize(
    ("budget", "texts", "tokens"),
    [
        (2, {}, 0),
        (3, {"A": "Aa bb."}, 3),
        (5, {"A": "Aa bb. Cc dd."}, 5),
        (7, {"A": "Aa bb. Cc dd."}, 5),
        (8, {"A": "Aa bb. Cc dd.", "B": "Gg hh."}, 8),
        (10, {"A": "Aa bb. Cc dd.", "B": "Ee ff. Gg hh."}, 10),
    ],
)
def test_the_best_sentences_that_fit(budget: int, texts: dict[str, str], tokens: int) -> None:
    """z of the documents' scores is 1, 1, -1, -1, that of words -0.58, -0.58, -0.58, 1.73.

    With 0.6 of the words, and 0.3 for first sentences: 0.95, 0.65, -1.05, 0.04.
    """
    context = Selected(budget=budget).build(view_with(Flat()), found_for("?", A, B), words)
    assert (shown(context), context.tokens, context.builder) == (texts, tokens, "selected")
    assert all(not section.relationships for section in context.sections)


@pytest.mark.usefixtures("last_wins")
@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (3, "Ee ff."),
        (5, "Cc dd. Ee ff."),
        (6, "Aa bb. ... Ee ff."),
        (7, "Aa bb. Cc dd. Ee ff."),
    ],
)
def test_an_ellipsis_counts(budget: int, text: str) -> None:
    """The last sentence is the best, then the first; these two have 6 words with the title."""
    document = found("A", "Aa bb. Cc dd. Ee ff.")
    context = Selected(budget=budget).build(view_with(Flat()), found_for("?", document), words)
    assert (shown(context), context.tokens) == ({"A": text}, budget)


@pytest.mark.usefixtures("last_wins")
def test_sentences_are_embedded_with_the_title_before_them() -> None:
    embedder = Flat()
    untitled = found("", "Ii jj.", 2)
    Selected().build(view_with(embedder), found_for("What?", A, untitled), words)
    assert embedder.texts == ["A: Aa bb.", "A: Cc dd.", "Ii jj."]


@pytest.mark.usefixtures("last_wins")
def test_relationships_that_no_document_states_are_sentences_too() -> None:
    """urn:r0 is stated by a document, urn:r1 by none; LastWins gives the last text 4."""
    view = view_with(Flat())
    stated = {"urn:r0": ("Ii jj.", "urn:d0"), "urn:r1": ("Kk ll.", "")}
    view.statements = lambda relationships: {r: stated[r] for r in relationships}  # type: ignore[method-assign]
    retrieved = found_for("?", A, facts=["Ii jj.", "Kk ll."])
    context = Selected(budget=5).build(view, retrieved, words)
    assert (shown(context), context.tokens) == ({"A": "Aa bb."}, 5)
    assert context.sections[0].relationships == ("Kk ll.",)
    alone = Selected(budget=5).build(view, found_for("?", facts=["Ii jj.", "Kk ll."]), words)
    assert ([*alone.texts], alone.tokens) == (["Kk ll."], 2)


@pytest.mark.usefixtures("last_wins")
def test_documents_beyond_the_first_are_not_read() -> None:
    embedder = Flat()
    Selected(documents=1).build(view_with(embedder), found_for("What?", A, B), words)
    assert embedder.texts == ["A: Aa bb.", "A: Cc dd."]
    with pytest.raises(UsageError, match="documents of selected must be an integer between 1 and"):
        Selected(documents=0)


# ------------------------------------------------------------------------- With real words


def test_the_sentence_with_the_words_of_the_question_wins() -> None:
    ulm = found("Ulm", "Ulm has a minster. Trade was rich. The Danube passes it. Beer is made.", 0)
    context = selected("Which Danube passes?", ulm, budget=5)
    assert shown(context) == {"Ulm": "The Danube passes it."}
    [excerpt] = context.excerpts.values()
    assert ulm.document.text[slice(*excerpt.spans[0])] == "The Danube passes it."
    assert (excerpt.citation.begin, excerpt.citation.end) == (35, 56)


def test_nothing_to_choose_from() -> None:
    assert selected("?", budget=9) == Context((), 0, "selected")
    assert selected("?", found("T", " \n"), budget=9) == Context((), 0, "selected")


TEXT = st.lists(st.sampled_from(["Ada met Bo.", "It rained.", "Ulm lies far.\n\n", "Who? "]))


@given(st.lists(TEXT, max_size=4), st.integers(1, 30))
def test_what_holds_of_any_choice(texts: list[list[str]], budget: int) -> None:
    documents = [found(f"T{n}", " ".join(parts), n, score=-n) for n, parts in enumerate(texts)]
    context = selected("Whom did Ada meet?", *documents, budget=budget)
    assert context == selected("Whom did Ada meet?", *documents, budget=budget)
    assert context.tokens == sum(map(words, context.texts)) <= budget
    assert list(context.excerpts) == [f"D{n}" for n in range(1, len(context.excerpts) + 1)]
    order = [excerpt.document.begin for excerpt in context.excerpts.values()]
    assert order == sorted(order)
    for excerpt in context.excerpts.values():
        assert list(excerpt.spans) == sorted(set(excerpt.spans))
        assert set(excerpt.spans) <= set(sentence_spans(excerpt.document.text))
