"""Rankings without activation, to compare with: by cosine, by words, by both, and k-hop expansion.

``dense`` is Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP
2020 (arXiv 2004.04906), section 3, equation 1, with unit vectors from the embedder of the graph.

``bm25`` is Okapi BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and
Beyond, Foundations and Trends in Information Retrieval 3(4), 2009, section 3.4, equation 3.15, with
the idf that is never below 0; t occurs tf times in d and in df of the N documents::

    score(d) = sum over words t of the question of
               log(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b |d| / mean |d|))

``rrf`` is Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual
Rank Learning Methods, SIGIR 2009, section 2::

    score(d) = sum over rankings r that contain d of 1 / (k + rank of d in r)

``khop`` has the seeds and the subgraph of SA-RAG (arXiv 2512.15922, section 5.4, with k = 10 as for
2WikiMultiHopQA); all entities of the subgraph have the same weight, whatever the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.arrays import Floats, find_all, rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_seeds
from sarag_rdf.retrieval.network import DESCRIBES
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    best_documents,
    document_cosines,
)
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class Dense(RetrieverStrategy):
    """All documents by cosine similarity; the graph is not used."""

    name = "dense"

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        cosines = document_cosines(view, view.vectors.embed_query(query.text))
        documents = best_documents(view, cosines, self.limit, similarities=cosines)
        return self.result(view, query, documents)


@dataclass(frozen=True, kw_only=True)
class Bm25(RetrieverStrategy):
    """Okapi BM25 with k1 = 1.2 and b = 0.75.

    No model is needed, and the documents have no similarity. Those that share no word with the
    question are left out. A title is part of its document.
    """

    name = "bm25"

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        words = view.words.scores(query.text).astype(np.float64)
        scores = np.where(words > 0.0, words, -np.inf)
        return self.result(view, query, best_documents(view, scores, self.limit))


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
        cosines = document_cosines(view, view.vectors.embed_query(query.text))
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


def most_active(view: GraphView, activation: Mapping[str, float]) -> dict[int, str]:
    """Document, by row -> the most active of these entities that it describes, ties by IRI."""
    names = sorted(activation)
    rows = find_all(view.iris.entities, names).tolist()
    entities = {row: name for row, name in zip(rows, names, strict=True) if row >= 0}
    described = view.network.incoming(DESCRIBES, np.array([*entities], dtype=np.int64))
    best: dict[int, str] = {}
    for document, row in described.pairs().tolist():
        entity = entities[row]
        if document not in best or activation[entity] > activation[best[document]]:
            best[document] = entity
    return best
