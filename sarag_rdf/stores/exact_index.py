"""Cosines with vectors that stand in any order: rows go by IRI, slots by where a vector stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.iri_list import IriList, Rows
from sarag_rdf.ports import Matrix, Vector
from sarag_rdf.stores.any_index import ROUNDING, AnyIndex

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
