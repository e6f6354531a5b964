"""Three rankings with shares: by entities and relationships, by keywords, and by texts.

The retrieval of the multi-granular index that The Reasoning Bottleneck in Graph-RAG starts from
(section 2): entities and relationships where a model has read (E), keywords elsewhere (K), and
texts (T), each with a share of the context. A keyword is an entity without relationships, as
`sarag_rdf.plugins.papers.budgeted` makes them. Here documents are ranked, and a share is one of
the ranks: of any number of first documents, each ranking has chosen its share, rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.retrieval.network import DESCRIBES, RELATED_TO
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents, document_cosines
from sarag_rdf.retrieval.view import GraphView

_READ = 4
"""Entities and keywords are looked for among this many times `k` nearest names."""


@dataclass(frozen=True, kw_only=True)
class Ket(RetrieverStrategy):
    """Documents by entities and relationships, by keywords, and by similarity, in shares.

    A document's score is 1 / (1 + its rank).
    """

    name = "ket"
    entity_share: float = option(
        0.4, "Share of documents that are ranked by entities and relationships.", ge=0.0, le=1.0
    )
    keyword_share: float = option(
        0.4, "Share of documents that are ranked by keywords.", ge=0.0, le=1.0
    )
    k: int = option(10, "Number of nearest entities, and of keywords.", ge=1, le=MAX_COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entity_share + self.keyword_share > 1.0:
            raise UsageError(
                f"the shares of ket exceed 1: entities {self.entity_share:g} and keywords "
                f"{self.keyword_share:g}"
            )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        names = view.vectors.index("entity")
        rows, similarities = names.nearest_rows(question, _READ * self.k)
        incident = view.network.incident(RELATED_TO, np.sort(rows))
        is_related = np.isin(rows, np.concatenate([incident.source, incident.target]))
        rankings = (
            self._by_entities(view, question, rows[is_related], similarities[is_related], cosines),
            self._by_described(
                view, rows[~is_related][: self.k], similarities[~is_related][: self.k], cosines
            ),
            np.argsort(-cosines, kind="stable"),
        )
        shares = [self.entity_share, self.keyword_share]
        shares.append(1.0 - sum(shares))
        scores = np.full(len(cosines), -np.inf)
        for rank, row in enumerate(in_shares(rankings, shares), start=1):
            scores[row] = 1.0 / (1 + rank)
        best = best_documents(view, scores, self.limit, similarities=cosines)
        return self.result(view, query, best)

    def _by_entities(
        self, view: GraphView, question: Vector, rows: Rows, similarities: Vector, cosines: Floats
    ) -> Rows:
        """Documents that describe the nearest entities or ends of their `k` best relationships.

        An entity counts with the cosine of its name or best relationship, whichever is greater.
        """
        k = self.k
        rows, similarities = rows[:k], similarities[:k]
        edges = view.network.incident(RELATED_TO, np.sort(rows))
        statements = np.unique(edges.statement)
        best = dict(zip(rows.tolist(), similarities.tolist(), strict=True))
        if len(statements):
            values = view.relationship_cosines(question, statements)
            first = np.lexsort((statements, -values))[:k]
            cosine = dict(zip(statements[first].tolist(), values[first].tolist(), strict=True))
            for statement, *ends in zip(
                edges.statement.tolist(), edges.source.tolist(), edges.target.tolist(), strict=True
            ):
                for end in ends if statement in cosine else ():
                    best[end] = max(best.get(end, 0.0), cosine[statement])
        nodes = np.array(sorted(best), dtype=np.int64)
        return self._by_described(view, nodes, np.array([best[n] for n in nodes.tolist()]), cosines)

    def _by_described(
        self, view: GraphView, rows: Rows, weights: NDArray[np.floating], cosines: Floats
    ) -> Rows:
        """Documents by the sum of the weights of entities that they describe, then by cosine."""
        order = np.argsort(rows)
        edges = view.network.incoming(DESCRIBES, rows[order])
        sums = np.zeros(len(cosines))
        positions = np.searchsorted(rows[order], edges.target)
        np.add.at(sums, edges.source, weights[order][positions])
        described = np.unique(edges.source)
        return described[np.lexsort((described, -cosines[described], -sums[described].round(6)))]


def in_shares(rankings: Sequence[Rows], shares: Sequence[float]) -> list[int]:
    """One ranking of several: the next item is that of the ranking that lags behind most.

    Items are taken once, and those of a ranking with share 0 never. An exhausted ranking leaves its
    share to the others; among equals the first one is next.
    """
    waiting = [iter(ranking.tolist()) for ranking in rankings]
    taken = [0] * len(rankings)
    open_ = [number for number, share in enumerate(shares) if share > 0]
    merged: dict[int, None] = {}
    while open_:
        rank = len(merged) + 1
        number = max(open_, key=lambda n: (round(shares[n] * rank - taken[n], 9), -n))
        item = next((item for item in waiting[number] if item not in merged), None)
        if item is None:
            open_.remove(number)
        else:
            taken[number] += 1
            merged[item] = None
    return list(merged)
