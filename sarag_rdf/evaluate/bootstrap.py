"""How sure the difference of two methods is (Efron and Tibshirani 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
_BLOCK = 500
_CONFIDENCE = (2.5, 97.5)


def paired_interval(
    ours: Sequence[float], theirs: Sequence[float], seed: int
) -> tuple[float, float, float]:
    """Mean of ``ours - theirs``, and the ends of its 95% percentile interval.

    Each of 10,000 resamples draws whole questions, so that both methods meet the same ones.
    Raises ValueError for no questions or unequal lengths.
    """
    differences = np.subtract(ours, theirs, dtype=np.float64)
    if len(ours) != len(theirs) or not len(ours):
        raise ValueError("as many figures of one method as of the other are needed, and one each")
    generator = np.random.default_rng(seed)
    size = len(differences)
    means = np.concatenate(
        [
            differences[generator.integers(0, size, (_BLOCK, size))].mean(axis=1)
            for _ in range(RESAMPLES // _BLOCK)
        ]
    )
    low, high = np.percentile(means, _CONFIDENCE)
    return float(differences.mean()), float(low), float(high)
