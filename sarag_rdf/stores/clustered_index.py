"""The nearest of very many vectors, looked for among a part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sarag_rdf.algo.clusters import Clusters
from sarag_rdf.algo.iri_list import IriList, Rows
from sarag_rdf.ports import Matrix, Vector
from sarag_rdf.stores.exact_index import ExactIndex, Slots


class ClusteredIndex(ExactIndex):
    """An index whose first slots stand in clusters of neighbours; all that is told is exact.

    For the nearest it looks at the vectors of the clusters that are near, and at those in none:
    a few of the nearest may be missed.
    """

    def __init__(
        self, iris: IriList, matrix: Matrix, order: Slots | None, clusters: Clusters
    ) -> None:
        super().__init__(iris, matrix, order)
        self._clusters = clusters

    @property
    def stale(self) -> float:
        """The share of slots that are in no cluster, or gone."""
        inside = int((self.slots < self._clusters.size).sum())
        return 1.0 - inside / len(self._matrix)

    def _scored(self, vector: Vector, k: int) -> tuple[Rows, Vector]:
        beside = slice(self._clusters.size, len(self._matrix))
        rows, scores = self._scored_in(vector, [*self._clusters.near(vector, k), beside])
        if len(rows) < min(k, len(self)):
            return super()._scored(vector, k)
        return rows, scores


class UnclusteredIndex(ExactIndex):
    """A large index that looks at all vectors for the nearest, and says so first."""

    def __init__(
        self, iris: IriList, matrix: Matrix, order: Slots | None, tell: Callable[[], None]
    ) -> None:
        super().__init__(iris, matrix, order)
        self._tell = tell

    def _scored_in(self, vector: Vector, parts: Sequence[slice]) -> tuple[Rows, Vector]:
        self._tell()
        return super()._scored_in(vector, parts)
