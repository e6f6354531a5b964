"""Reciprocal rank fusion of the rankings by embedding and by words.

Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009, section 2::

    score(d) = sum over rankings r that contain d of 1 / (k + rank of d in r)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.arrays import Floats
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents, document_cosines
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class Rrf(RetrieverStrategy):
    """Reciprocal rank fusion of the rankings of `dense` and `bm25`."""

    name = "rrf"
    k: int = option(
        60,
        "Constant added to each rank (60 in the paper): the higher it is, the less the first "
        "ranks stand out.",
        ge=0,
        le=MAX_COUNT,
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        words = view.words.scores(query.text)
        fused = 1.0 / (self.k + ranks(cosines))
        fused += np.where(words > 0.0, 1.0 / (self.k + ranks(words.astype(np.float64))), 0.0)
        documents = best_documents(view, fused, self.limit, similarities=cosines)
        return self.result(view, query, documents)


def ranks(scores: Floats) -> Floats:
    """Rank of each document by descending score, from 1; ties in the order of rows."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def in_turn(cosines: Floats, others: Floats) -> Floats:
    """Scores of documents of two rankings in turn, each at the better of its places::

        score(d) = 1 / min(2 * rank by cosine - 1, 2 * other rank)

    `others` are ranks, infinite for a document that the other ranking does not have.
    """
    return 1.0 / np.minimum(2.0 * ranks(cosines) - 1.0, 2.0 * others)
