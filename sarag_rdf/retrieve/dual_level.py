"""Two levels of an index: entities for what the question names, relationships for what it is about.

After LightRAG (Guo et al., 2024, "LightRAG: Simple and Fast Retrieval-Augmented Generation",
section 3.2), a baseline of DotRAG. There a language model writes keywords of both levels; here the
names in the question are the low level, and the question itself is the high level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarag_rdf.arrays import find, rows_of
from sarag_rdf.network.edges import Rows
from sarag_rdf.network.kinds import DESCRIBES, RELATED_TO
from sarag_rdf.options import MAX_COUNT, RetrieverOptions, option
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.explanation import Floats, best_documents, document_cosines, retrieved
from sarag_rdf.retrieve.ket import in_shares
from sarag_rdf.retrieve.seeds import Topics, named_spans
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved


@dataclass(frozen=True, kw_only=True)
class DualLevelOptions(RetrieverOptions):
    """Options of `DualLevel`."""

    name = "dual-level"
    k: int = option(10, "Number of entities, and of relationships.", ge=1, le=MAX_COUNT)
    low_share: float = option(
        0.5,
        "Share of the documents of entities; the rest is for relationships.",
        ge=0.0,
        le=1.0,
    )


class DualLevel:
    """Documents of the nearest entities and of the nearest relationships, in turn, then others.

    A document's score is 1 / (1 + its rank).
    """

    options = DualLevelOptions

    def __init__(self, view: GraphView, options: DualLevelOptions | None = None) -> None:
        self._view = view
        self._options = options or DualLevelOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        view, options = self._view, self._options
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        low = self._of_entities(self._entities(query.text, question), cosines)
        high = self._of_relationships(question, cosines)
        ranking = dict.fromkeys(in_shares((low, high), (options.low_share, 1 - options.low_share)))
        ranking |= dict.fromkeys(np.argsort(-cosines, kind="stable").tolist())
        scores = np.zeros(len(cosines))
        for rank, row in enumerate(ranking, start=1):
            scores[row] = 1.0 / (1 + rank)
        documents = best_documents(view, scores, options.limit, similarities=cosines)
        return retrieved(view, query, "dual-level", options.settings(), documents)

    def _entities(self, text: str, question: Vector) -> list[int]:
        """Entities that the question names, then those with the nearest names."""
        view, k = self._view, self._options.k
        named = [
            find(view.iris.entities, iri)
            for _, entities in named_spans(view.names, text, Topics(view))
            for iri in sorted(entities, key=lambda iri: (-entities[iri], iri))
        ]
        nearest, _ = view.vectors.index("entity").nearest_rows(question, k)
        rows = dict.fromkeys([*(row for row in named if row >= 0), *nearest.tolist()])
        return list(rows)[:k]

    def _of_entities(self, entities: list[int], cosines: Floats) -> Rows:
        """Documents that describe entities, those of the first entity first."""
        position = {row: number for number, row in enumerate(entities)}
        rows = np.array(sorted(entities), dtype=np.int64)
        first: dict[int, int] = {}
        for document, entity in self._view.traversal.incoming(DESCRIBES, rows).pairs().tolist():
            first[document] = min(first.get(document, len(position)), position[entity])
        return _ordered(first, cosines)

    def _of_relationships(self, question: Vector, cosines: Floats) -> Rows:
        """Documents that state the nearest relationships, those of the nearest one first."""
        view = self._view
        if not len(view.network[RELATED_TO]):
            return np.zeros(0, dtype=np.int64)
        nearest, _ = view.vectors.index("relationship").nearest_rows(question, self._options.k)
        iris = [view.iris.relationships[row] for row in nearest.tolist()]
        position = {iri: number for number, iri in enumerate(iris)}
        first: dict[int, int] = {}
        for iri, _, document in view.reader.rows_for("relationships", iris):
            [row] = rows_of(view.iris.documents, [document.value]).tolist()
            if row >= 0:
                first[row] = min(first.get(row, len(position)), position[iri.value])
        return _ordered(first, cosines)


def _ordered(positions: dict[int, int], cosines: Floats) -> Rows:
    """Rows by their places, those of the same place by similarity."""
    order = sorted(positions, key=lambda row: (positions[row], -cosines[row], row))
    return np.array(order, dtype=np.int64)
