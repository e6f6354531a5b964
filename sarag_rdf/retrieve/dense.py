"""Documents by the cosine of their embedding and the question's.

Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020
(arXiv 2004.04906), section 3, equation 1, with unit vectors of whichever embedder the graph has.
"""

from __future__ import annotations

from sarag_rdf.retrieve.explanation import best_documents, document_cosines, retrieved
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved


class Dense:
    """All documents by similarity; the graph is not used."""

    def __init__(self, view: GraphView, *, limit: int | None = None) -> None:
        """`limit` documents at most."""
        self._view = view
        self._limit = limit

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._view.vectors.embedder.embed([query.text])[0]
        cosines = document_cosines(self._view, question)
        documents = best_documents(self._view, cosines, self._limit, similarities=cosines)
        return retrieved(self._view, query, "dense", {}, documents)
