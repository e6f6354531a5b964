"""Expansion without weights: what SA-RAG is when nothing is activated.

The seeds and the subgraph are those of SA-RAG (arXiv 2512.15922, section 5.4, with k = 10 as for
2WikiMultiHopQA); every entity of the subgraph then counts the same, whatever the question.
"""

from __future__ import annotations

import numpy as np

from sarag_rdf.arrays import rows_of
from sarag_rdf.errors import UsageError
from sarag_rdf.network.kinds import DESCRIBES
from sarag_rdf.options import Count, Hops
from sarag_rdf.retrieve.explanation import (
    Explanation,
    best_documents,
    document_cosines,
    retrieved,
)
from sarag_rdf.retrieve.neighbourhood import neighbourhood
from sarag_rdf.retrieve.seeds import nearest_seeds
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved


class Khop:
    """The documents that describe an entity near a seed, by similarity to the question."""

    def __init__(
        self, view: GraphView, *, k: Count = 10, n: Hops = 2, limit: int | None = None
    ) -> None:
        """Seeds are the entities of the `k` nearest descriptions; `n` hops lead away from them."""
        if k < 1 or n < 0:
            raise UsageError("khop needs k of at least 1, n of at least 0")
        self._view = view
        self._k, self._n = k, n
        self._limit = limit

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        view, entities = self._view, self._view.iris.entities
        question = view.vectors.embedder.embed([query.text])[0]
        seeds = nearest_seeds(view.reader, view.vectors, question, self._k)
        rows = rows_of(entities, [seed.node for seed in seeds])
        hops = neighbourhood(view.traversal, rows, self._n)
        inside = np.array(sorted(hops), dtype=np.int64)
        near = view.traversal.incoming(DESCRIBES, inside).source
        cosines = document_cosines(view, question)
        scores = np.full(len(cosines), -np.inf)
        scores[near] = cosines[near]
        return retrieved(
            view,
            query,
            "khop",
            {"k": self._k, "n": self._n},
            best_documents(view, scores, self._limit, similarities=cosines),
            Explanation(seeds, hops={entities[row]: hop for row, hop in hops.items()}),
        )
