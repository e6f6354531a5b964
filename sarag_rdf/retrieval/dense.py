"""Documents by the cosine similarity of their embedding to that of the question.

Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020
(arXiv 2004.04906), section 3, equation 1, with unit vectors from the embedder of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.base.options import RetrieverOptions
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.explanation import best_documents, document_cosines, retrieved
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class DenseOptions(RetrieverOptions):
    """Options of `Dense`."""

    name = "dense"


class Dense:
    """All documents by cosine similarity; the graph is not used."""

    options = DenseOptions

    def __init__(self, view: GraphView, options: DenseOptions | None = None) -> None:
        self._view = view
        self._options = options or DenseOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._view.vectors.embed_query(query.text)
        cosines = document_cosines(self._view, question)
        documents = best_documents(self._view, cosines, self._options.limit, similarities=cosines)
        return retrieved(self._view, query, "dense", {}, documents)
