"""Adjusting the scorer of objects to an ontology by its own examples.

A logistic regression on the log-odds of the scorer and on what is compared with the examples, with
an intercept for each property. It is fitted on the examples, each scored without itself, and kept
near the scorer by a ridge penalty: few examples change little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.plugins.learned.trees import sigmoid

_STEPS = 25
_PENALTY = 3.0
_PENALTY_OF_PROPERTY = 1.0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The fitted weights; `means` and `scales` standardise the features, whose NaN is the mean.

    `weights` are those of the log-odds, of 1, of the features, and of the properties.
    """

    means: Array
    scales: Array
    weights: Array

    @classmethod
    def fit(
        cls,
        log_odds: Array,
        features: NDArray[np.float32],
        properties: NDArray[np.int64],
        gold: NDArray[np.bool_],
        size: int,
    ) -> Calibration:
        """Fit to rows of pairs; `properties` are the places of their properties among `size`."""
        known = np.isfinite(features)
        counts = np.maximum(1, known.sum(axis=0))
        values = np.where(known, features, 0).astype(np.float64)
        means = values.sum(axis=0) / counts
        deviations = np.where(known, values - means, 0)
        scales = np.maximum(1e-3, np.sqrt((deviations**2).sum(axis=0) / counts))
        prior = np.zeros(2 + features.shape[1] + size)
        prior[0] = 1.0
        penalties = np.full(len(prior), _PENALTY)
        penalties[1] = 0.1
        penalties[-size:] = _PENALTY_OF_PROPERTY
        design = _design(log_odds, deviations / scales, properties, size)
        weights = prior.copy()
        loss = _loss(design, weights, gold, prior, penalties)
        for _ in range(_STEPS):
            p = sigmoid(design @ weights)
            gradient = design.T @ (p - gold) + penalties * (weights - prior)
            curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalties)
            step = np.linalg.solve(curvature, gradient)
            for _ in range(8):
                following = _loss(design, weights - step, gold, prior, penalties)
                if following <= loss:
                    break
                step /= 2
            else:
                break
            weights = weights - step
            if loss - following < 1e-4:
                break
            loss = following
        return cls(means, scales, weights)

    def log_odds(
        self, log_odds: Array, features: NDArray[np.float32], properties: NDArray[np.int64]
    ) -> Array:
        """The adjusted log-odds of pairs: the means of the scorer's and those of the regression."""
        values = np.nan_to_num((features - self.means) / self.scales, nan=0.0)
        size = len(self.weights) - 2 - len(self.means)
        fitted: Array = _design(log_odds, values, properties, size) @ self.weights
        return (log_odds + fitted) / 2


def _design(log_odds: Array, values: Array, properties: NDArray[np.int64], size: int) -> Array:
    own = np.eye(size)[properties]
    return np.hstack((log_odds[:, None], np.ones((len(log_odds), 1)), values, own))


def _loss(
    design: Array, weights: Array, gold: NDArray[np.bool_], prior: Array, penalties: Array
) -> float:
    odds = design @ weights
    likelihood = np.logaddexp(0, odds) - odds * gold
    return float(likelihood.sum() + (penalties * (weights - prior) ** 2).sum() / 2)
