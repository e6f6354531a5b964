"""Cosines with vectors that stand in any order: rows go by IRI, slots by where a vector stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.iri_list import IriList, rows_of
from sarag_rdf.ports import Matrix, Vector

SAMPLE = 4096
"""Vectors that quantiles and moments are taken from, where there are more."""
BLOCK = 16_384
"""Vectors that are copied at a time."""
ROUNDING = 1e-4
"""Single precision may be wrong by so much, at most, in the cosine of two unit vectors."""

Rows = NDArray[np.int64]
Slots = NDArray[np.signedinteger]


class ExactIndex:
    """A VectorIndex that looks at every vector for the nearest, and else at those asked for."""

    def __init__(self, iris: IriList, matrix: Matrix, order: Slots | None = None) -> None:
        """`matrix` has a unit vector a slot; `order` tells the slot of each IRI.

        Without it they stand in the order of the IRIs. Slots that it leaves out do not count.
        """
        self._iris, self._matrix, self._order = iris, matrix, order

    @property
    def matrix(self) -> Matrix:
        """A vector a slot."""
        return self._matrix

    @property
    def slots(self) -> Slots:
        """The slot of each row."""
        return np.arange(len(self)) if self._order is None else self._order

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
        rows, scores = self._scored(vector, k)
        if k < len(rows):
            least = np.partition(scores, len(rows) - k)[len(rows) - k] - ROUNDING
            rows = rows[scores >= least]
        return self._ranked(vector, rows, k)

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

    def _ranked(self, vector: Vector, rows: Rows, k: int) -> tuple[Rows, Vector]:
        """The k best of some rows, by cosines that do not depend on where a vector stands."""
        exact = np.empty(len(rows), dtype=np.float32)
        for begin in range(0, len(rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            exact[block] = self.vectors(rows[block]).astype(np.float64) @ vector
        best = np.lexsort((rows, -exact))[:k]
        return rows[best], exact[best]

    @cached_property
    def _rows(self) -> Rows:
        """Slot -> row, or -1."""
        rows = np.full(len(self._matrix), -1, dtype=np.int64)
        rows[self._order] = np.arange(len(self))
        return rows

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        return self.cosines(vector, rows_of(self._iris, iris))

    def vectors(self, positions: Rows) -> Matrix:
        slots = positions if self._order is None else self._order[positions]
        return self._matrix[slots]

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
