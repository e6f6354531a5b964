"""Documents by the cosine similarity of their embedding to that of the question.

Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020
(arXiv 2004.04906), section 3, equation 1, with unit vectors from the embedder of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents, document_cosines
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class Dense(RetrieverStrategy):
    """All documents by cosine similarity; the graph is not used."""

    name = "dense"

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        documents = best_documents(view, cosines, self.limit, similarities=cosines)
        return self.result(view, query, documents)
