"""Documents by the words that they share with the question: Okapi BM25.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, Foundations and
Trends in Information Retrieval 3(4), 2009, section 3.4, equation 3.15, with the idf that is never
below 0::

    score(d) = sum over words t of the question of
               log(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b |d| / mean |d|))

where t stands tf times in d and in df of the N documents. A title belongs to its document.
"""

from __future__ import annotations

import numpy as np

from sarag_rdf.retrieve.explanation import best_documents, retrieved
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved


class Bm25:
    """BM25 with k1 = 1.2, b = 0.75; it needs no model, and its documents have no similarity."""

    def __init__(self, view: GraphView, *, limit: int | None = None) -> None:
        """`limit` documents at most; those that share no word with the question are left out."""
        self._view = view
        self._limit = limit

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `StoreError` from the store."""
        words = self._view.words.scores(query.text).astype(np.float64)
        scores = np.where(words > 0.0, words, -np.inf)
        documents = best_documents(self._view, scores, self._limit)
        return retrieved(self._view, query, "bm25", {}, documents)
