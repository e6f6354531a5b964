"""The rankings by meaning and by words, fused by reciprocal ranks.

Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009, section 2::

    score(d) = sum over rankings r that hold d of 1 / (k + rank of d in r)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.errors import UsageError
from sarag_rdf.options import Count
from sarag_rdf.retrieve.explanation import best_documents, document_cosines, retrieved
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved

Floats = NDArray[np.float64]


class Rrf:
    """Fusion of the cosines of all documents with BM25 of those that share a word."""

    def __init__(self, view: GraphView, *, k: Count = 60, limit: int | None = None) -> None:
        """`k`, at least 0, lessens what the first ranks count; 60 is the paper's."""
        if k < 0:
            raise UsageError("rrf needs k of at least 0")
        self._view = view
        self._k = k
        self._limit = limit

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._view.vectors.embedder.embed([query.text])[0]
        cosines = document_cosines(self._view, question)
        words = self._view.words.scores(query.text)
        fused = 1.0 / (self._k + _ranks(cosines))
        fused += np.where(words > 0.0, 1.0 / (self._k + _ranks(words.astype(np.float64))), 0.0)
        documents = best_documents(self._view, fused, self._limit, similarities=cosines)
        return retrieved(self._view, query, "rrf", {"k": self._k}, documents)


def _ranks(scores: Floats) -> Floats:
    """The rank of each by falling score, from 1; ties by row."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks
