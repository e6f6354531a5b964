"""Vector indexes: exact cosine search, and an inverted file for very many vectors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.arrays import IriList, Rows, narrow, rows_of
from sarag_rdf.ports import Matrix, Vector

SAMPLE = 4096
"""Vectors that quantiles and moments are taken from, where there are more."""
BLOCK = 16_384
"""Vectors that are copied at a time."""
ROUNDING = 1e-4
"""Single precision may be wrong by so much, at most, in the cosine of two unit vectors."""


class AnyIndex(ABC):
    """A VectorIndex of a list of IRIs and two methods, wherever its vectors are."""

    def __init__(self, iris: IriList) -> None:
        self._iris = iris

    @abstractmethod
    def vectors(self, positions: Rows) -> Matrix:
        """See `VectorIndex`; positions may come in any order, and twice."""

    @abstractmethod
    def near(self, vector: Vector, k: int) -> Rows:
        """Positions, each once, among which are the k nearest; ``1 <= k <= len(self)``.

        Also those that may be as near as the last of them: cosines that differ by less than
        `ROUNDING` are compared here.
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
        """The k best of some rows, by cosines that do not depend on where a vector stands."""
        exact = np.empty(len(rows), dtype=np.float32)
        for begin in range(0, len(rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            exact[block] = self.vectors(rows[block]).astype(np.float64) @ vector
        best = np.lexsort((rows, -exact))[:k]
        return rows[best], exact[best]

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        return self.cosines(vector, rows_of(self._iris, iris))

    def blocks(self) -> Iterator[Matrix]:
        """All vectors by row, some at a time, at least one block."""
        for begin in range(0, max(1, len(self)), BLOCK):
            yield self.vectors(np.arange(begin, min(begin + BLOCK, len(self))))

    def cosines(self, vector: Vector, positions: Rows) -> NDArray[np.float32]:
        found = np.empty(len(positions), dtype=np.float32)
        for begin in range(0, len(positions), BLOCK):
            block = slice(begin, begin + BLOCK)
            found[block] = self.vectors(positions[block]) @ vector
        return found

    @cached_property
    def _sample(self) -> Matrix:
        """Vectors of rows that are the same for every question, every run and every history."""
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
    """A VectorIndex that looks at every vector for the nearest, and else at those asked for."""

    def __init__(self, iris: IriList, matrix: Matrix, order: Slots | None = None) -> None:
        """`matrix` has a unit vector a slot; `order` tells the slot of each IRI.

        Without it they stand in the order of the IRIs. Slots that it leaves out do not count.
        """
        super().__init__(iris)
        self._matrix, self._order = matrix, order

    @property
    def matrix(self) -> Matrix:
        """A vector a slot."""
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
            least = np.partition(scores, len(rows) - k)[len(rows) - k] - ROUNDING
            rows = rows[scores >= least]
        return rows

    def _scored(self, vector: Vector, k: int) -> tuple[Rows, Vector]:  # noqa: ARG002
        """Rows among which the nearest are, and their cosines in single precision."""
        return self._scored_in(vector, [slice(0, len(self._matrix))])

    def _scored_in(self, vector: Vector, parts: Sequence[slice]) -> tuple[Rows, Vector]:
        """The rows that stand in some slots, and their cosines."""
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


Vectors = NDArray[np.float32]
RowNumbers = NDArray[np.int64]

CLUSTER_SAMPLE = 30
"""Vectors a group that the groups are learnt from."""
ROUNDS = 6
SHARE = 0.08
"""Share of the vectors that is looked at; for this, about 19 in 20 of the nearest are found."""
EACH = 100
"""Vectors that are looked at for each that is wanted, at least."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Group number i has the vectors from ``starts[i]`` to ``starts[i + 1]`` of a matrix.

    `centres` has a unit vector a group.
    """

    centres: Vectors
    starts: RowNumbers

    @property
    def size(self) -> int:
        """How many vectors there are in all groups."""
        return int(self.starts[-1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds, to be kept in a file."""
        return {"centres": self.centres, "starts": self.starts}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Clusters:
        """The groups whose `arrays` these are; raises ValueError if they do not fit together."""
        centres, starts = arrays["centres"], arrays["starts"]
        if centres.ndim != 2 or starts.shape != (len(centres) + 1,) or starts[0] != 0:
            raise ValueError("there are not as many groups as centres")
        if np.any(np.diff(starts) < 0):
            raise ValueError("groups overlap")
        return cls(centres, starts)

    def near(self, vector: Vectors, k: int) -> list[slice]:
        """Where the vectors of the groups stand that are looked at for the `k` nearest."""
        order = np.argsort(-(self.centres @ vector), kind="stable")
        starts, ends = self.starts[:-1][order], self.starts[1:][order]
        looked = np.cumsum(ends - starts)
        enough = int(np.searchsorted(looked, max(SHARE * self.size, EACH * k))) + 1
        bounds = zip(starts[:enough].tolist(), ends[:enough].tolist(), strict=True)
        return [slice(begin, end) for begin, end in bounds if end > begin]


def clustered(
    matrix: Vectors, rows: RowNumbers, advance: Callable[[int], None]
) -> tuple[Clusters, RowNumbers]:
    """Groups of some rows of a matrix, and these rows group by group.

    The same vectors in the same order give the same groups. `advance` is called with how many
    rows have been put into one.
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


def _centres(matrix: Vectors, rows: RowNumbers) -> Vectors:
    chance = np.random.default_rng(0)
    count = min(len(rows), max(1, round(2 * math.sqrt(len(rows)))))
    chosen = chance.choice(len(rows), min(len(rows), CLUSTER_SAMPLE * count), replace=False)
    sample = matrix[rows[np.sort(chosen)]]
    centres = sample[np.sort(chance.choice(len(sample), count, replace=False))]
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


def _nearest(vectors: Vectors, centres: Vectors) -> RowNumbers:
    return np.asarray(np.argmax(vectors @ centres.T, axis=1), dtype=np.int64)
