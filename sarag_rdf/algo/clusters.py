"""Unit vectors in groups of neighbours, so that the nearest are looked for in few groups.

An inverted file as in Jégou, Douze and Schmid, Product Quantization for Nearest Neighbor Search,
IEEE TPAMI 33(1), 2011, section 4, with the vectors themselves in its lists instead of codes; the
groups are those of spherical k-means (Dhillon and Modha, Machine Learning 42, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.packed import narrow

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]

SAMPLE = 30
"""Vectors a group that the groups are learnt from."""
ROUNDS = 6
BLOCK = 16_384
SHARE = 0.08
"""Share of the vectors that is looked at; for this, about 19 in 20 of the nearest are found."""
EACH = 100
"""Vectors that are looked at for each that is wanted, at least."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Group number i has the vectors from ``starts[i]`` to ``starts[i + 1]`` of a matrix.

    `centres` has a unit vector a group.
    """

    centres: Matrix
    starts: Rows

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

    def near(self, vector: Matrix, k: int) -> list[slice]:
        """Where the vectors of the groups stand that are looked at for the `k` nearest."""
        order = np.argsort(-(self.centres @ vector), kind="stable")
        starts, ends = self.starts[:-1][order], self.starts[1:][order]
        looked = np.cumsum(ends - starts)
        enough = int(np.searchsorted(looked, max(SHARE * self.size, EACH * k))) + 1
        bounds = zip(starts[:enough].tolist(), ends[:enough].tolist(), strict=True)
        return [slice(begin, end) for begin, end in bounds if end > begin]


def clustered(matrix: Matrix, rows: Rows, advance: Callable[[int], None]) -> tuple[Clusters, Rows]:
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


def _centres(matrix: Matrix, rows: Rows) -> Matrix:
    chance = np.random.default_rng(0)
    count = min(len(rows), max(1, round(2 * math.sqrt(len(rows)))))
    chosen = chance.choice(len(rows), min(len(rows), SAMPLE * count), replace=False)
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


def _nearest(vectors: Matrix, centres: Matrix) -> Rows:
    return np.asarray(np.argmax(vectors @ centres.T, axis=1), dtype=np.int64)
