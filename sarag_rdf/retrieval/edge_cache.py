"""Edges that were read from a store: those at a node are asked for once.

The nodes that many questions reach are the hubs, whose edges are most of what there is to read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from sarag_rdf.base.arrays import Rows

MOST = 4_000_000
"""The most edges that are kept, about 100 MB; when there are more, all are read anew."""
Columns = tuple[Rows, Rows, Rows]
"""Source, target and statement of edges: shape (m,) each."""


class EdgeCache:
    """The edges of one kind by the nodes at one of their ends.

    The edges of a node are a stretch of the columns, which grow; threads may share a cache.
    """

    def __init__(self, nodes: int, end: int, read: Callable[[Rows], Columns]) -> None:
        """`nodes`: how many there are; `end`: their column; `read` gives the edges of some."""
        self._nodes, self._end, self._read = nodes, end, read
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        # memory of zeros is used where something is written
        self._begins, self._counts = np.zeros((2, self._nodes), dtype=np.int64)
        self._columns, self._size = np.empty((3, 1024), dtype=np.int64), 1

    def at(self, nodes: Rows) -> Columns:
        """The edges at these nodes, one node after the other."""
        while True:
            with self._lock:
                missing = nodes[self._begins[nodes] == 0]
                if not len(missing):
                    return self._known(nodes)
            edges = self._read(missing)
            with self._lock:
                if self._size + len(edges[0]) > MOST:
                    self._clear()
                    break
                self._add(missing, edges)
        return self._read(nodes)

    def _known(self, nodes: Rows) -> Columns:
        begins, counts = self._begins[nodes], self._counts[nodes]
        offsets = np.repeat(begins - np.cumsum(counts) + counts, counts)
        source, target, statement = self._columns[:, offsets + np.arange(int(counts.sum()))]
        return source, target, statement

    def _add(self, nodes: Rows, edges: Columns) -> None:
        order = np.argsort(edges[self._end], kind="stable")
        ends = edges[self._end][order]
        begin, self._size = self._size, self._size + len(ends)
        if self._size > self._columns.shape[1]:
            grown = np.empty((3, 2 * self._size), dtype=np.int64)
            grown[:, :begin] = self._columns[:, :begin]
            self._columns = grown
        self._columns[:, begin : self._size] = [column[order] for column in edges]
        first, last = np.searchsorted(ends, nodes), np.searchsorted(ends, nodes, side="right")
        self._begins[nodes], self._counts[nodes] = begin + first, last - first
