"""All that a VectorIndex tells, made of vectors at positions and of which are near."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.iri_list import IriList, Rows, rows_of
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
