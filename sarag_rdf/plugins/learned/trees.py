"""Gradient-boosted decision trees as arrays, evaluated by NumPy.

Friedman: Greedy function approximation: a gradient boosting machine (2001). Trained elsewhere
(``benchmarks/train_typed.py``); the library reads the arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELDS = ("feature", "threshold", "left", "right", "value", "missing_left", "leaf")
"""Names of the arrays of trees."""
_CHUNK = 1024
"""Number of rows that descend at a time."""


@dataclass(frozen=True)
class BoostedTrees:
    """Binary classifier; all arrays but `baseline` have the shape (trees, nodes).

    A row goes to the left child if its feature is at most the threshold; a missing feature (NaN)
    goes left where `missing_left`. The node 0 is the root.
    """

    baseline: float
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    leaf: NDArray[np.bool_]

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities in (0, 1) for rows of shape (n, features)."""
        return sigmoid(self.log_odds(rows))

    def log_odds(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Logarithms of the odds, for rows of shape (n, features)."""
        total = np.empty(len(rows))
        for begin in range(0, len(rows), _CHUNK):
            part = rows[begin : begin + _CHUNK]
            total[begin : begin + len(part)] = self.baseline + self._sums(part)
        return total

    @cached_property
    def _flat(self) -> tuple[NDArray[np.intp], ...]:
        """The places of the left and right children in the flat arrays; leaves are their own."""
        trees, size = self.feature.shape
        base = np.arange(trees)[:, None] * size
        own = base + np.arange(size)
        sides = (np.where(self.leaf, own, base + side) for side in (self.left, self.right))
        return base[:, 0], *(side.ravel().astype(np.intp) for side in sides)

    def _sums(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """The sums of the values of all trees, which descend together."""
        base, left, right = self._flat
        feature, threshold = self.feature.ravel(), self.threshold.ravel()
        missing, leaf = self.missing_left.ravel(), self.leaf.ravel()
        node = np.repeat(base[None, :], len(rows), axis=0)
        every = np.arange(len(rows))[:, None]
        while not leaf[node].all():
            x = rows[every, feature[node]]
            goes_left = np.where(np.isnan(x), missing[node], x <= threshold[node])
            node = np.where(goes_left, left[node], right[node])
        sums: NDArray[np.float64] = self.value.ravel()[node].sum(axis=1)
        return sums

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays by name, in small types, for `numpy.savez_compressed`."""
        small = {"feature": np.uint8, "threshold": np.float64, "left": np.uint8, "right": np.uint8}
        arrays: dict[str, NDArray[Any]] = {f"{prefix}_baseline": np.array(self.baseline)}
        for name in FIELDS:
            array = getattr(self, name)
            arrays[f"{prefix}_{name}"] = array.astype(
                small.get(name, bool if array.dtype == bool else np.float32)
            )
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Any, prefix: str) -> BoostedTrees:
        """The inverse of `arrays`."""
        wide = {"feature": np.int64, "left": np.int64, "right": np.int64, "value": np.float64}
        columns = {}
        for name in FIELDS:
            array = arrays[f"{prefix}_{name}"]
            columns[name] = array.astype(wide.get(name, array.dtype))
        return cls(float(arrays[f"{prefix}_baseline"]), **columns)


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of log-odds."""
    result: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-log_odds))
    return result
