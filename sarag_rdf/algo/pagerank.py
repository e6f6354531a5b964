"""Personalised PageRank over undirected weighted edges (Page et al. 1999; Haveliwala 2002)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Rows

TOLERANCE = 1e-9
"""The iteration ends when all ranks together change by less."""

Floats = NDArray[np.float64]


class Walk:
    """A random walk: from a node over each of its edges in proportion to the edge's weight."""

    def __init__(self, edges: Rows, weights: Floats, size: int) -> None:
        """`edges` of shape (m, 2) between nodes below `size`; parallel edges add up.

        `weights` of shape (m,) are above 0. No edge leads from a node to itself.
        """
        both = np.concatenate((weights, weights))
        origin = np.concatenate((edges[:, 0], edges[:, 1]))
        target = np.concatenate((edges[:, 1], edges[:, 0]))
        order = np.lexsort((origin, target))
        self._origin, self._target = origin[order], target[order]
        degrees = np.bincount(origin, both, minlength=size)
        self._share = both[order] / degrees[self._origin]
        self._stuck = degrees == 0.0

    def pagerank(self, reset: Floats, damping: float) -> Floats:
        """Probabilities of the nodes, shape (size,), of a walk that goes on with `damping`.

        Else, and from a node without edges always, it starts anew at a node in proportion to
        `reset`, of shape (size,), at least 0 and not all 0. `damping` is in [0, 1). With P the
        probabilities of a step, the result is the fixed point of::

            rank = damping * P^T rank + (1 - damping) * reset
        """
        reset = reset / reset.sum()
        rank, change = reset, 1.0
        while change >= TOLERANCE:
            step = np.bincount(self._target, self._share * rank[self._origin], len(reset))
            step += rank[self._stuck].sum() * reset
            following = damping * step + (1.0 - damping) * reset
            change = float(np.abs(following - rank).sum())
            rank = following
        return rank
