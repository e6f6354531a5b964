"""Vector indexes: exact cosine search over a matrix that may be memory-mapped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Rows, rows_of
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
    def slots(self) -> Slots:
        """The slot of each row."""
        return np.arange(len(self)) if self._order is None else self._order

    def vectors(self, positions: Rows) -> Matrix:
        slots = positions if self._order is None else self._order[positions]
        return self._matrix[slots]

    def near(self, vector: Vector, k: int) -> Rows:
        rows, scores = np.arange(len(self._matrix)), self._matrix @ vector
        if self._order is not None:
            rows = self._rows[rows]
            rows, scores = rows[rows >= 0], scores[rows >= 0]
        if k < len(rows):
            threshold = np.partition(scores, len(rows) - k)[len(rows) - k] - ROUNDING
            rows = rows[scores >= threshold]
        return rows

    @cached_property
    def _rows(self) -> Rows:
        """Slot -> row, or -1."""
        rows = np.full(len(self._matrix), -1, dtype=np.int64)
        rows[self._order] = np.arange(len(self))
        return rows
