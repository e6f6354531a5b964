"""Vector indexes: exact cosine search, and an inverted file (IVF) for large collections."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Rows, narrow, rows_of
from sarag_rdf.base.ports import Matrix, Vector

SAMPLE = 4096
"""The maximum size of the sample for quantiles and moments."""
BLOCK = 16_384
"""Vectors that are copied at a time."""
ROUNDING = 1e-4
"""An upper bound of the rounding error of a cosine in single precision."""


class AnyIndex(ABC):
    """Base class of a `VectorIndex`, for a list of IRIs and two methods."""

    def __init__(self, iris: IriList) -> None:
        self._iris = iris

    @abstractmethod
    def vectors(self, positions: Rows) -> Matrix:
        """See `VectorIndex`; positions may be in any order, and repeated."""

    @abstractmethod
    def near(self, vector: Vector, k: int) -> Rows:
        """Distinct candidate positions that include the k nearest; ``1 <= k <= len(self)``.

        Also includes positions whose cosine is less than the k-th by at most `ROUNDING`, since the
        candidates are ranked by exact cosines afterwards.
        """

    @property
    def iris(self) -> IriList:
        return self._iris

    def __len__(self) -> int:
        return len(self._iris)

    def nearest(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        rows, cosines = self.nearest_rows(vector, k)
        return [
            (self._iris[row], cosine)
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]

    def nearest_rows(self, vector: Vector, k: int) -> tuple[Rows, Vector]:
        if not len(self) or k < 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return self._ranked(vector, self.near(vector, min(k, len(self))), k)

    def _ranked(self, vector: Vector, rows: Rows, k: int) -> tuple[Rows, Vector]:
        """The k best of some rows, by cosines that do not depend on the position of a vector."""
        exact = np.empty(len(rows), dtype=np.float32)
        for begin in range(0, len(rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            exact[block] = self.vectors(rows[block]).astype(np.float64) @ vector
        best = np.lexsort((rows, -exact))[:k]
        return rows[best], exact[best]

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        return self.cosines(vector, rows_of(self._iris, iris))

    def blocks(self) -> Iterator[Matrix]:
        """All vectors by row, in at least one block."""
        for begin in range(0, max(1, len(self)), BLOCK):
            yield self.vectors(np.arange(begin, min(begin + BLOCK, len(self))))

    def cosines(self, vector: Vector, positions: Rows) -> NDArray[np.float32]:
        cosines = np.empty(len(positions), dtype=np.float32)
        for begin in range(0, len(positions), BLOCK):
            block = slice(begin, begin + BLOCK)
            cosines[block] = self.vectors(positions[block]) @ vector
        return cosines

    @cached_property
    def _sample(self) -> Matrix:
        """A deterministic random sample of the vectors."""
        count = len(self)
        if count <= SAMPLE:
            return self.vectors(np.arange(count))
        chosen = np.random.default_rng(0).choice(count, SAMPLE, replace=False)
        return self.vectors(np.sort(chosen))

    def _sampled(self, vector: Vector) -> NDArray[np.float64]:
        return np.asarray(self._sample @ vector, dtype=np.float64)

    def quantile(self, vector: Vector, q: float) -> tuple[float, float]:
        if not len(self):
            return 0.0, 0.0
        cosines = self._sampled(vector)
        return float(np.quantile(cosines, q)), float(cosines.max())

    def moments(self, vector: Vector) -> tuple[float, float]:
        if not len(self):
            return 0.0, 0.0
        cosines = self._sampled(vector)
        return float(cosines.mean()), float(cosines.std())


Slots = NDArray[np.signedinteger]


class ExactIndex(AnyIndex):
    """A `VectorIndex` with exhaustive search."""

    def __init__(self, iris: IriList, matrix: Matrix, order: Slots | None = None) -> None:
        """`matrix` has a unit vector per slot; `order` is the slot of each IRI.

        Without `order`, the slots are in the order of the IRIs. Slots not in `order` are unused.
        """
        super().__init__(iris)
        self._matrix, self._order = matrix, order

    @property
    def matrix(self) -> Matrix:
        """The vectors by slot."""
        return self._matrix

    @property
    def slots(self) -> Slots:
        """The slot of each row."""
        return np.arange(len(self)) if self._order is None else self._order

    def vectors(self, positions: Rows) -> Matrix:
        slots = positions if self._order is None else self._order[positions]
        return self._matrix[slots]

    def near(self, vector: Vector, k: int) -> Rows:
        rows, scores = self._scored(vector, k)
        if k < len(rows):
            threshold = np.partition(scores, len(rows) - k)[len(rows) - k] - ROUNDING
            rows = rows[scores >= threshold]
        return rows

    def _scored(self, vector: Vector, k: int) -> tuple[Rows, Vector]:  # noqa: ARG002
        """Candidate rows, and their cosines in single precision."""
        return self._scored_in(vector, [slice(0, len(self._matrix))])

    def _scored_in(self, vector: Vector, parts: Sequence[slice]) -> tuple[Rows, Vector]:
        """The rows in ranges of slots, and their cosines."""
        scores = np.concatenate([self._matrix[part] @ vector for part in parts])
        rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        if self._order is not None:
            rows = self._rows[rows]
            rows, scores = rows[rows >= 0], scores[rows >= 0]
        return rows, scores

    @cached_property
    def _rows(self) -> Rows:
        """Slot -> row, or -1."""
        rows = np.full(len(self._matrix), -1, dtype=np.int64)
        rows[self._order] = np.arange(len(self))
        return rows


class ClusteredIndex(ExactIndex):
    """An inverted file: the first slots are grouped in clusters; all cosines are exact.

    A search for the nearest considers the nearest clusters, and vectors outside of clusters; it may
    miss a few of the nearest.
    """

    def __init__(
        self, iris: IriList, matrix: Matrix, order: Slots | None, clusters: Clusters
    ) -> None:
        super().__init__(iris, matrix, order)
        self._clusters = clusters

    @property
    def stale(self) -> float:
        """The share of slots that are outside of clusters, or deleted."""
        inside = int((self.slots < self._clusters.size).sum())
        return 1.0 - inside / len(self._matrix)

    def _scored(self, vector: Vector, k: int) -> tuple[Rows, Vector]:
        unclustered = slice(self._clusters.size, len(self._matrix))
        rows, scores = self._scored_in(vector, [*self._clusters.near(vector, k), unclustered])
        if len(rows) < min(k, len(self)):
            return super()._scored(vector, k)
        return rows, scores


class UnclusteredIndex(ExactIndex):
    """A large index without clusters, which calls a function before each exhaustive search."""

    def __init__(
        self, iris: IriList, matrix: Matrix, order: Slots | None, on_search: Callable[[], None]
    ) -> None:
        super().__init__(iris, matrix, order)
        self._on_search = on_search

    def _scored_in(self, vector: Vector, parts: Sequence[slice]) -> tuple[Rows, Vector]:
        self._on_search()
        return super()._scored_in(vector, parts)


RowNumbers = NDArray[np.int64]

CLUSTER_SAMPLE = 30
"""Training vectors per cluster."""
ROUNDS = 6
"""Iterations of k-means."""
SHARE = 0.2
"""The share of the vectors that is searched; this finds about 97% of the 10 nearest."""
EACH = 100
"""The minimum number of vectors that are searched for each one requested."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster i has the vectors from ``starts[i]`` to ``starts[i + 1]`` of a matrix.

    `centres` has a unit vector per cluster.
    """

    centres: Matrix
    starts: RowNumbers

    @property
    def size(self) -> int:
        """The number of vectors in all clusters."""
        return int(self.starts[-1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The clusters as named arrays, for a file."""
        return {"centres": self.centres, "starts": self.starts}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Clusters:
        """The inverse of `arrays`; raises ValueError for inconsistent arrays."""
        centres, starts = arrays["centres"], arrays["starts"]
        if centres.ndim != 2 or starts.shape != (len(centres) + 1,) or starts[0] != 0:
            raise ValueError("the numbers of clusters and centres differ")
        if np.any(np.diff(starts) < 0):
            raise ValueError("clusters overlap")
        return cls(centres, starts)

    def near(self, vector: Matrix, k: int) -> list[slice]:
        """The ranges of the nearest clusters, which are searched for the `k` nearest."""
        order = np.argsort(-(self.centres @ vector), kind="stable")
        starts, ends = self.starts[:-1][order], self.starts[1:][order]
        totals = np.cumsum(ends - starts)
        count = int(np.searchsorted(totals, max(SHARE * self.size, EACH * k))) + 1
        bounds = zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)
        return [slice(begin, end) for begin, end in bounds if end > begin]


def build_clusters(
    matrix: Matrix, rows: RowNumbers, advance: Callable[[int], None]
) -> tuple[Clusters, RowNumbers]:
    """Cluster rows of a matrix by spherical k-means; the clusters, and the rows in their order.

    Deterministic. `advance` is called with the number of rows that were assigned.
    """
    centres = _centres(matrix, rows)
    groups = np.empty(len(rows), dtype=np.int64)
    for begin in range(0, len(rows), BLOCK):
        block = rows[begin : begin + BLOCK]
        groups[begin : begin + BLOCK] = _nearest(matrix[block], centres)
        advance(len(block))
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(len(centres) + 1))
    return Clusters(centres, narrow(starts)), rows[order]


def _centres(matrix: Matrix, rows: RowNumbers) -> Matrix:
    generator = np.random.default_rng(0)
    count = min(len(rows), max(1, round(2 * math.sqrt(len(rows)))))
    size = min(len(rows), CLUSTER_SAMPLE * count)
    sample = matrix[rows[np.sort(generator.choice(len(rows), size, replace=False))]]
    centres = sample[np.sort(generator.choice(len(sample), count, replace=False))]
    for _ in range(ROUNDS):
        groups = np.concatenate(
            [_nearest(sample[b : b + BLOCK], centres) for b in range(0, len(sample), BLOCK)]
        )
        order = np.argsort(groups, kind="stable")
        filled, starts = np.unique(groups[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[filled] = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres[filled])
    return centres


def _nearest(vectors: Matrix, centres: Matrix) -> RowNumbers:
    return np.asarray(np.argmax(vectors @ centres.T, axis=1), dtype=np.int64)
