"""Documents by the words that they share with the question: Okapi BM25.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, Foundations and
Trends in Information Retrieval 3(4), 2009, section 3.4, equation 3.15, with the idf that is never
below 0::

    score(d) = sum over words t of the question of
               log(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b |d| / mean |d|))

where t occurs tf times in d and in df of the N documents. A title is part of its document.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class Bm25(RetrieverStrategy):
    """Okapi BM25 with k1 = 1.2 and b = 0.75.

    No model is needed, and the documents have no similarity. Those that share no word with the
    question are left out.
    """

    name = "bm25"

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        words = view.words.scores(query.text).astype(np.float64)
        scores = np.where(words > 0.0, words, -np.inf)
        documents = best_documents(view, scores, self.limit)
        return self.result(view, query, documents)
