"""Sentences instead of documents: less and sharper context, which small models need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.options import MAX_COUNT, budget_option, option
from sarag_rdf.base.ports import CountTokens, Embedder, embed_queries
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Context, Document, Excerpt, Retrieved, Section
from sarag_rdf.retrieval.context.base import Budget, ContextStrategy
from sarag_rdf.retrieval.relevance import Scale
from sarag_rdf.retrieval.view import GraphView

WORDS = 0.6
"""Weight of the BM25 z-score; those of cosine and document score have weight 1."""
OPENING = 0.3
"""Bonus of the first sentence of a document, which names its topic."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Selected(ContextStrategy):
    """The best sentences up to the budget, in the order of their documents.

    With z-scores over all sentences of the first `documents` documents, the score of a sentence is

        z(cosine) + WORDS z(BM25) + z(score of its document) + OPENING if it is the first

    where the cosine is that of the question and the sentence after the title of its document.
    Relationships are omitted, as their sentences are available. No language model is called.
    """

    name = "selected"
    budget: int = budget_option(400)
    documents: int = option(
        10, "Maximum number of documents from which sentences are selected.", ge=1, le=MAX_COUNT
    )

    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:
        documents = retrieved.documents[: self.documents]
        places = [
            (rank, span)
            for rank, ranked in enumerate(documents)
            for span in sentence_spans(ranked.document.text)
        ]
        if not places:
            return Context((), 0, "selected")
        texts = [_shown(documents[rank].document, span) for rank, span in places]
        scores = np.array([documents[rank].score for rank, _ in places])
        total = (
            _z(_cosines(view.vectors.embedder, retrieved.query.text, texts))
            + _z(scores)
            + OPENING * np.array([span[0] == 0 for _, span in places])
            + WORDS * _z(view.word_index(texts).scores(retrieved.query.text).astype(np.float64))
        )
        budget = Budget(count, self.budget)
        excerpt_at: dict[int, Excerpt] = {}
        for place in np.argsort(-total, kind="stable"):
            rank, span = places[place]
            before = excerpt_at.get(rank, Excerpt(documents[rank].document, ()))
            more = replace(before, spans=tuple(sorted((*before.spans, span))))
            if budget.take(more.titled_text, instead_of=before.titled_text if before.spans else ""):
                excerpt_at[rank] = more
        excerpts = {
            f"D{number}": excerpt_at[rank]
            for number, rank in enumerate(sorted(excerpt_at), start=1)
        }
        sections = (Section("", excerpts),) if excerpts else ()
        return Context(sections, budget.used, "selected")


def _cosines(embedder: Embedder, question: str, texts: Sequence[str]) -> Floats:
    query = embed_queries(embedder, [question])[0].astype(np.float64)
    vectors = embedder.embed(texts).astype(np.float64)
    return np.asarray(vectors @ query, dtype=np.float64)


def _shown(document: Document, span: tuple[int, int]) -> str:
    text = document.text[slice(*span)]
    return f"{document.title}: {text}" if document.title else text


def _z(values: Floats) -> Floats:
    return Scale.of(values).z(values)
