"""Queries whose default graph is some of a store's named graphs.

Oxigraph looks up every triple pattern in each graph of such a list: with a graph for each source, a
query that takes milliseconds over the union of all graphs takes minutes. The union of a store that
holds only these graphs gives the same answer, so they are copied into one in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pyoxigraph as ox

FEW_GRAPHS = 8
"""A list of this many graphs is passed to the engine as it is."""
MOST_COPIED = 1_000_000
"""Quads that are copied at most, at 100,000 a second; a larger list is passed as it is."""
_GRAPH = re.compile(r"\bGRAPH\b", re.IGNORECASE)


def uses_graph(text: str) -> bool:
    """Whether a query may have a GRAPH pattern."""
    return _GRAPH.search(text) is not None


class Excerpt:
    """Chooses where a query with a list of default graphs runs, and keeps the copy it made."""

    def __init__(self) -> None:
        self._made: tuple[frozenset[str], ox.Store | None] | None = None

    def forget(self) -> None:
        """Drop the copy: the store has changed."""
        self._made = None

    def place(
        self, store: ox.Store, text: str, graphs: Sequence[str]
    ) -> tuple[ox.Store, dict[str, Any]]:
        """The store to ask, and the data set as keyword arguments of `pyoxigraph.Store.query`.

        A query that may use GRAPH runs on the whole store, for GRAPH reaches every named graph.
        """
        wanted = frozenset(graphs)
        if len(wanted) > FEW_GRAPHS and not uses_graph(text):
            copy = self._copy(store, wanted)
            if copy is not None:
                return copy, {"use_default_graph_as_union": True}
        return store, {"default_graph": [ox.NamedNode(graph) for graph in sorted(wanted)]}

    def _copy(self, store: ox.Store, graphs: frozenset[str]) -> ox.Store | None:
        """These graphs alone, or None where they are too large to be copied."""
        if self._made is None or self._made[0] != graphs:
            self._made = graphs, _copied(_quads(store, graphs))
        return self._made[1]


def _quads(store: ox.Store, graphs: frozenset[str]) -> Iterator[ox.Quad]:
    names = map(ox.NamedNode, sorted(graphs))
    return chain.from_iterable(store.quads_for_pattern(None, None, None, name) for name in names)


def _copied(quads: Iterator[ox.Quad]) -> ox.Store | None:
    copy = ox.Store()
    copy.bulk_extend(islice(quads, MOST_COPIED))
    return None if next(quads, None) is not None else copy
