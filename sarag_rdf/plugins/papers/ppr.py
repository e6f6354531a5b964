"""Personalised PageRank over documents and entities, in the manner of HippoRAG 2.

Gutiérrez et al., From RAG to Memory: Non-Parametric Continual Learning for Large Language Models,
2025 (arXiv 2502.14802), section 3, without the model that filters triples. Nodes are documents
and entities. Edges join entities (of weight 1 for each relationship and each identity, and of
their cosine where their names are alike), and, half as strong, a document and each entity that it
describes: as in the published program, which counts the former in both directions. A question
restarts the walk at entities of the relationships nearest to it, and faintly at all documents::

    s(e)     = mean cosine of the question and those of the k nearest relationships that e ends
    reset(e) = s(e) / df(e)     for the k entities of greatest s, else 0
    reset(d) = weight * (cosine(d) - least cosine) / (greatest cosine - least cosine)

where df(e) is the number of documents that describe e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.network import DESCRIBES
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents, document_cosines
from sarag_rdf.retrieval.view import GraphView

DOCUMENT = 0.5
"""Weight of the edge between a document and an entity, where a relationship has 1."""
BLOCK = 512
"""Names that are compared with all others at a time."""


@dataclass(frozen=True, kw_only=True)
class Ppr(RetrieverStrategy):
    """Documents by personalised PageRank, or by similarity in a graph without relationships.

    The setting `order` records which. The first question to a graph compares all pairs of names,
    and reads the whole network: with the engine ``sparql``, too, as the rank of a node depends on
    all others.
    """

    name = "ppr"
    k: int = option(
        5,
        "Number of nearest relationships, and of their entities, at which the walk restarts.",
        ge=1,
        le=MAX_COUNT,
    )
    damping: float = option(
        0.5, "Probability that the walk continues instead of restarting.", ge=0.0, lt=1.0
    )
    weight: float = option(
        0.05,
        "Weight of documents in the restart; entities have weight 1.",
        gt=0.0,
        le=MAX_COUNT,
    )
    synonyms: float = option(
        0.8,
        "Minimum cosine between two names for an edge between their entities; at 1 there are no "
        "such edges and no names are compared.",
        gt=0.0,
        le=1.0,
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        scores, order = cosines, "similarity"
        if view.iris.relationships:
            documents = self.weight * _scaled(cosines)
            reset = np.concatenate((documents, self._entities(view, question)))
            rank = walk_of(view, self.synonyms).pagerank(reset, self.damping)
            scores, order = rank[: len(documents)], "pagerank"
        best = best_documents(view, scores, self.limit, similarities=cosines)
        return self.result(view, query, best, settings={"order": order})

    def _entities(self, view: GraphView, question: Vector) -> Floats:
        """The share of each entity in the restart."""
        network, k = view.network, self.k
        ends, cosines = self._nearest(view, question)
        rows, places = np.unique(ends, return_inverse=True)
        means = np.bincount(places, cosines) / np.bincount(places)
        best = np.argsort(-means, kind="stable")[:k]
        reset = np.zeros(len(view.iris.entities))
        reset[rows[best]] = means[best] / network.frequencies(rows[best])
        return reset

    def _nearest(self, view: GraphView, question: Vector) -> tuple[Rows, Floats]:
        """The ends of the k nearest relationships between entities, with their cosines."""
        index, k = view.vectors.index("relationship"), self.k
        count = k
        while True:
            rows, cosines = index.nearest_rows(question, count)
            edges = view.network.stated(np.sort(rows))
            if len(edges) >= k or len(rows) < count:
                break
            count *= 2
        order = np.argsort(rows)
        places = order[np.searchsorted(rows, edges.statement, sorter=order)]
        first = np.argsort(places)[:k]
        nearest = np.maximum(0.0, cosines[places[first]].astype(np.float64))
        return edges.take(first).pairs().ravel(), np.repeat(nearest, 2)


def walk_of(view: GraphView, synonyms: float) -> Walk:
    """The walk over the documents and then the entities of a graph, computed once for each view."""
    return view.derived(_walk, synonyms)


def _walk(view: GraphView, synonyms: float) -> Walk:
    network, first = view.network, len(view.iris.documents)
    between = {k: network.edges(k).pairs() for k in network.kinds if k.source == "entity"}
    related = [
        pairs[pairs[:, 0] != pairs[:, 1]] for k, pairs in between.items() if k.is_association
    ]
    identical = [pairs for kind, pairs in between.items() if kind.is_identity]
    alike, cosines = _alike(view, synonyms)
    described = network.edges(DESCRIBES).pairs() + np.array([0, first])
    others = np.concatenate((*related, alike, *identical))
    edges = np.concatenate((described, others + first))
    weights = np.ones(len(edges))
    weights[: len(described)] = DOCUMENT
    begin = len(described) + sum(map(len, related))
    weights[begin : begin + len(alike)] = cosines
    return Walk(edges, weights, first + len(view.iris.entities))


def _alike(view: GraphView, least: float) -> tuple[Rows, Floats]:
    """Pairs of entities, by row, whose names have at least this cosine; and the cosines."""
    pairs, cosines = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    every = np.arange(len(view.iris.entities))
    names = np.empty((0, 0), dtype=np.float32)
    if least < 1.0:
        names = view.vectors.index("entity").vectors(every)
    for begin in range(0, len(names), BLOCK):
        block = names[begin : begin + BLOCK] @ names[begin:].T
        one, other = np.nonzero(np.triu(block >= least, 1))
        pairs.append(np.stack((one, other), axis=1) + begin)
        cosines.append(block[one, other].astype(np.float64))
    return np.concatenate(pairs), np.concatenate(cosines)


def _scaled(values: Floats) -> Floats:
    """Brought to [0, 1] by the least and the greatest; 1 where all are equal."""
    least, range_ = values.min(), np.ptp(values)
    return (values - least) / range_ if range_ > 0.0 else np.ones(len(values))


TOLERANCE = 1e-9
"""The iteration ends when all ranks together change by less."""


class Walk:
    """A random walk: from a node over each of its edges in proportion to the edge's weight."""

    def __init__(self, edges: Rows, weights: Floats, size: int) -> None:
        """`edges` of shape (m, 2) between nodes below `size`; parallel edges add up.

        `weights` of shape (m,) are above 0. No edge leads from a node to itself.
        """
        from scipy import sparse

        forth = sparse.coo_array((weights, edges.T), shape=(size, size)).tocsr()
        both = forth + forth.T
        degrees = both.sum(axis=0)
        self._stuck = degrees == 0.0
        self._steps = both @ sparse.diags_array(1.0 / np.where(self._stuck, 1.0, degrees))
        """Shape (size, size): the probability of a step to a row from a column."""

    def pagerank(self, reset: Floats, damping: float) -> Floats:
        """Probabilities of the nodes, shape (size,), of a walk that goes on with `damping`.

        Else, and from a node without edges always, it restarts at a node in proportion to
        `reset`, of shape (size,), at least 0 and not all 0. `damping` is in [0, 1). With P the
        probabilities of a step, the result is the fixed point of::

            rank = damping * P^T rank + (1 - damping) * reset
        """
        reset = reset / reset.sum()
        rank, change = reset, 1.0
        while change >= TOLERANCE:
            step = self._steps @ rank + rank[self._stuck].sum() * reset
            following = damping * step + (1.0 - damping) * reset
            change = float(np.abs(following - rank).sum())
            rank = following
        return rank
