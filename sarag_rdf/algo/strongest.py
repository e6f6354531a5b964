"""For each of many nodes, which of the things that brought it something brought most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Rows


class Strongest:
    """The two largest amounts above 0 for each node, ties by position."""

    def __init__(self, nodes: Rows, amounts: NDArray[np.float64], size: int) -> None:
        """Position i brought ``amounts[i]`` to ``nodes[i]``, a number below `size`."""
        positions = np.flatnonzero(amounts > 0.0)
        order = positions[np.lexsort((positions, -amounts[positions], nodes[positions]))]
        starts = np.searchsorted(nodes[order], np.arange(size + 1))
        self._first = np.full(size, -1)
        self._second = np.full(size, -1)
        counts = np.diff(starts)
        for rank, places in enumerate((self._first, self._second)):
            places[counts > rank] = order[starts[:-1][counts > rank] + rank]

    def first(self, node: int) -> int:
        """The position that brought most, or -1 where nothing did."""
        return int(self._first[node])

    def second(self, node: int) -> int:
        """The position that brought most after the first, or -1."""
        return int(self._second[node])
