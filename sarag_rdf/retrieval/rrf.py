"""Reciprocal rank fusion of the rankings by embedding and by words.

Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009, section 2::

    score(d) = sum over rankings r that contain d of 1 / (k + rank of d in r)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.options import MAX_COUNT, RetrieverOptions, option
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.explanation import best_documents, document_cosines, retrieved
from sarag_rdf.retrieval.view import GraphView

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RrfOptions(RetrieverOptions):
    """Options of `Rrf`."""

    name = "rrf"
    k: int = option(
        60,
        "Constant added to each rank (60 in the paper): the higher it is, the less the first "
        "ranks stand out.",
        ge=0,
        le=MAX_COUNT,
    )


class Rrf:
    """Reciprocal rank fusion of the rankings of `dense` and `bm25`."""

    options = RrfOptions

    def __init__(self, view: GraphView, options: RrfOptions | None = None) -> None:
        self._view = view
        self._options = options or RrfOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._view.vectors.embed_query(query.text)
        cosines = document_cosines(self._view, question)
        words = self._view.words.scores(query.text)
        k, limit, settings = self._options.k, self._options.limit, self._options.settings()
        fused = 1.0 / (k + ranks(cosines))
        fused += np.where(words > 0.0, 1.0 / (k + ranks(words.astype(np.float64))), 0.0)
        documents = best_documents(self._view, fused, limit, similarities=cosines)
        return retrieved(self._view, query, "rrf", settings, documents)


def ranks(scores: Floats) -> Floats:
    """Rank of each document by descending score, from 1; ties in the order of rows."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks
