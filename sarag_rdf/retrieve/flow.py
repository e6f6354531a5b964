"""Paths between entities by how much of a resource flows along them.

After PathRAG (Chen et al., 2025, "PathRAG: Pruning Graph-based Retrieval Augmented Generation with
Relational Paths", section 3.3), a baseline of DotRAG. Each of the entities nearest to the question
has a resource of 1. An entity passes a share `alpha` of what it has on, in equal parts, to its
neighbours; a part below `theta` is not passed on. The reliability of a path from one of these
entities to another is the mean resource of the entities on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sarag_rdf.network.kinds import DESCRIBES, RELATED_TO
from sarag_rdf.options import MAX_COUNT, MAX_HOPS, RetrieverOptions, option
from sarag_rdf.retrieve.explanation import best_documents, document_cosines, retrieved
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved

_FROM_ONE = 20
"""Paths from one entity to another that are compared at most."""


@dataclass(frozen=True, kw_only=True)
class FlowOptions(RetrieverOptions):
    """Options of `Flow`."""

    name = "flow"
    k: int = option(10, "Entities between which paths are looked for.", ge=2, le=MAX_COUNT)
    n: int = option(3, "Maximum number of steps of a path.", ge=1, le=MAX_HOPS)
    alpha: float = option(0.8, "Share of a resource that is passed on.", gt=0.0, le=1.0)
    theta: float = option(0.01, "Minimum part that is passed to a neighbour.", ge=0.0, le=1.0)
    paths: int = option(15, "Number of most reliable paths.", ge=1, le=MAX_COUNT)


class Flow:
    """Documents of entities on the most reliable paths, in turn with those nearest to the question.

    A document's score is 1 / (1 + the better of its two places).
    """

    options = FlowOptions

    def __init__(self, view: GraphView, options: FlowOptions | None = None) -> None:
        self._view = view
        self._options = options or FlowOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        view, options = self._view, self._options
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        rows, _ = view.vectors.index("entity").nearest_rows(question, options.k)
        reliability: dict[int, float] = {}
        for amount, path in sorted(self.paths(rows.tolist()), key=lambda p: (-p[0], p[1]))[
            : options.paths
        ]:
            for row in path:
                reliability[row] = max(reliability.get(row, 0.0), amount)
        entities = np.array(sorted(reliability), dtype=np.int64)
        best: dict[int, float] = {}
        for document, entity in view.traversal.incoming(DESCRIBES, entities).pairs().tolist():
            best[document] = max(best.get(document, 0.0), reliability[entity])
        positions = np.empty(len(cosines))
        positions[np.argsort(-cosines, kind="stable")] = 2.0 * np.arange(1, len(cosines) + 1)
        order = sorted(best, key=lambda row: (-best[row], -cosines[row], row))
        for position, row in enumerate(order, start=1):
            positions[row] = min(positions[row], 2.0 * position - 1.0)
        documents = best_documents(
            view, 1.0 / (1.0 + positions), options.limit, similarities=cosines
        )
        return retrieved(view, query, "flow", options.settings(), documents)

    def paths(self, rows: list[int]) -> Iterator[tuple[float, tuple[int, ...]]]:
        """(reliability, rows of entities) of paths between these entities, each pair once."""
        for start in rows:
            resource, before = self._flow(start)
            for end in rows:
                if end > start and end in before:
                    for path in _traced(start, end, before):
                        yield float(np.mean([resource[row] for row in path])), path

    def _flow(self, start: int) -> tuple[dict[int, float], dict[int, list[int]]]:
        """Entity -> its resource, and the entities of the step before that passed it on."""
        options = self._options
        resource: dict[int, float] = {start: 1.0}
        before: dict[int, list[int]] = {}
        level = [start]
        for _ in range(options.n):
            arrived: dict[int, list[int]] = {}
            for row in level:
                neighbours = self._neighbours(row)
                part = options.alpha * resource[row] / max(1, len(neighbours))
                if part < options.theta:
                    continue
                for neighbour in neighbours:
                    if neighbour != start and neighbour not in before:
                        arrived.setdefault(neighbour, []).append(row)
                        resource[neighbour] = resource.get(neighbour, 0.0) + part
            before |= arrived
            level = sorted(arrived)
        return resource, before

    def _neighbours(self, row: int) -> list[int]:
        edges = self._view.traversal.incident(RELATED_TO, np.array([row], dtype=np.int64))
        ends = {*edges.source.tolist(), *edges.target.tolist()}
        return sorted(ends - {row})


def _traced(start: int, end: int, before: dict[int, list[int]]) -> Iterator[tuple[int, ...]]:
    """The paths along which a resource came from one entity to another, some of many."""
    waiting: list[tuple[int, ...]] = [(end,)]
    count = 0
    while waiting and count < _FROM_ONE:
        path = waiting.pop()
        if path[0] == start:
            count += 1
            yield path
        else:
            waiting += [(row, *path) for row in before[path[0]]]
