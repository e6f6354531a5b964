"""Calibration of similarities per question, so that no threshold depends on the embedder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def calibrated(
    similarities: NDArray[np.float32], floor: float, ceiling: float
) -> NDArray[np.float64]:
    """Map `floor` to 0 and `ceiling` to 1, linearly, clipped: shape (n,), in [0, 1].

    With both taken from the similarities to one question (a quantile and the maximum), an
    affine change of all similarities changes nothing. A ceiling not above the floor gives zeros.
    """
    values = np.asarray(similarities, dtype=np.float64)
    if not ceiling > floor:
        return np.zeros(len(values))
    return np.clip((values - floor) / (ceiling - floor), 0.0, 1.0)


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile with linear interpolation, 0 for no values; `q` in [0, 1]."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), q)) if len(values) else 0.0
