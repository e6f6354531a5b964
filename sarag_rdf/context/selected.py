"""Sentences instead of documents: less and sharper context, which small models need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.answers import Context, Excerpt, Section
from sarag_rdf.context.budget import Budget
from sarag_rdf.context.sentences import sentence_spans
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.relevance import Scale
from sarag_rdf.ports import CountTokens, Embedder, WordIndex
from sarag_rdf.spec import Count, Tokens
from sarag_rdf.types import Document, Retrieved

WORDS = 0.6
"""Weight of BM25 among the sentences, beside cosine and document; all are z-scores."""
OPENING = 0.3
"""What the first sentence of a document gets: it says what the document is about."""

Floats = NDArray[np.float64]


class Selected:
    """The sentences that promise most, up to the budget, in the order of their documents.

    A sentence's score adds up, as z-scores over all sentences of the first `documents`
    documents, its cosine with the question (with the document's title before it), its words in
    common with the question (BM25), and the score of its document; first sentences get a
    little more. Relationships are left out: their sentences are there. No language model is
    called.
    """

    def __init__(
        self,
        count: CountTokens,
        embedder: Embedder,
        word_index: Callable[[Sequence[str]], WordIndex],
        *,
        budget: Tokens = 400,
        documents: Count = 10,
    ) -> None:
        if documents < 1:
            raise UsageError("a context needs documents of at least 1")
        self._count, self._embedder, self._word_index = count, embedder, word_index
        self._budget, self._documents = budget, documents

    def build(self, retrieved: Retrieved) -> Context:
        found = retrieved.documents[: self._documents]
        places = [
            (rank, span)
            for rank, ranked in enumerate(found)
            for span in sentence_spans(ranked.document.text)
        ]
        if not places:
            return Context((), 0, "selected")
        texts = [_shown(found[rank].document, span) for rank, span in places]
        scores = np.array([found[rank].score for rank, _ in places])
        total = (
            _z(self._cosines(retrieved.query.text, texts))
            + _z(scores)
            + OPENING * np.array([span[0] == 0 for _, span in places])
            + WORDS * _z(self._word_index(texts).scores(retrieved.query.text).astype(np.float64))
        )
        budget = Budget(self._count, self._budget)
        kept: dict[int, Excerpt] = {}
        for place in np.argsort(-total, kind="stable"):
            rank, span = places[place]
            before = kept.get(rank, Excerpt(found[rank].document, ()))
            more = replace(before, spans=tuple(sorted((*before.spans, span))))
            if budget.take(more.titled_text, instead_of=before.titled_text if before.spans else ""):
                kept[rank] = more
        excerpts = {f"D{number}": kept[rank] for number, rank in enumerate(sorted(kept), start=1)}
        sections = (Section("", excerpts),) if excerpts else ()
        return Context(sections, budget.used, "selected")

    def _cosines(self, question: str, texts: Sequence[str]) -> Floats:
        vectors = self._embedder.embed([question, *texts]).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0], dtype=np.float64)


def _shown(document: Document, span: tuple[int, int]) -> str:
    text = document.text[slice(*span)]
    return f"{document.title}: {text}" if document.title else text


def _z(values: Floats) -> Floats:
    return Scale.of(values).z(values)
