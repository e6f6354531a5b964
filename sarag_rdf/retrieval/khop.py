"""Expansion without weights: SA-RAG without its activation.

The seeds and the subgraph are those of SA-RAG (arXiv 2512.15922, section 5.4, with k = 10 as for
2WikiMultiHopQA); all entities of the subgraph have the same weight, whatever the question.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.network import DESCRIBES
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    best_documents,
    document_cosines,
)
from sarag_rdf.retrieval.seeds import nearest_seeds
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class Khop(RetrieverStrategy):
    """Documents that describe an entity within n hops of a seed, by cosine similarity."""

    name = "khop"
    k: int = option(
        10, "Number of nearest descriptions whose entities are seeds.", ge=1, le=MAX_COUNT
    )
    n: int = option(
        2, "Number of hops that the subgraph extends from the seeds.", ge=0, le=MAX_HOPS
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        entities = view.iris.entities
        question = view.vectors.embed_query(query.text)
        seeds = nearest_seeds(view.reader, view.vectors, question, self.k)
        rows = rows_of(entities, [seed.node for seed in seeds])
        hops = view.network.neighbourhood(rows, self.n)
        inside = np.array(sorted(hops), dtype=np.int64)
        closest = view.network.incoming(DESCRIBES, inside).source
        cosines = document_cosines(view, question)
        scores = np.full(len(cosines), -np.inf)
        scores[closest] = cosines[closest]
        best = best_documents(view, scores, self.limit, similarities=cosines)
        explanation = Explanation(seeds, hops={entities[row]: hop for row, hop in hops.items()})
        return self.result(view, query, best, explanation)
