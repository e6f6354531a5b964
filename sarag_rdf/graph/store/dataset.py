"""Queries whose default graph is the union of some of a store's named graphs.

For such a dataset, Oxigraph looks up every triple pattern in each of the graphs: with one graph per
source, a query that takes milliseconds over the union of all graphs takes minutes. The union of a
store that holds only these graphs gives the same solutions, so they are copied into a store in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pyoxigraph as ox

from sarag_rdf.graph.store.sparql_tokens import keywords

FEW_GRAPHS = 8
"""Up to this many graphs are passed to the engine as a list."""
MOST_COPIED = 1_000_000
"""The maximum number of quads to copy, at 100,000 per second; beyond it the list is passed."""


def uses_graph(text: str) -> bool:
    """Whether a query may contain a GRAPH pattern."""
    return "GRAPH" in keywords(text)


class DefaultGraphUnion:
    """Runs queries over the union of named graphs, and caches the last copy of such graphs."""

    def __init__(self) -> None:
        self._cached: tuple[frozenset[str], ox.Store | None] | None = None

    def invalidate(self) -> None:
        """Discard the copy, because the store has changed."""
        self._cached = None

    def resolve(
        self, store: ox.Store, text: str, graphs: Sequence[str]
    ) -> tuple[ox.Store, dict[str, Any]]:
        """The store to query, and the dataset as keyword arguments of `pyoxigraph.Store.query`.

        A query that may use GRAPH runs on the whole store, because GRAPH ranges over all named
        graphs.
        """
        names = frozenset(graphs)
        if len(names) > FEW_GRAPHS and not uses_graph(text):
            copy = self._copy(store, names)
            if copy is not None:
                return copy, {"use_default_graph_as_union": True}
        return store, {"default_graph": [ox.NamedNode(name) for name in sorted(names)]}

    def _copy(self, store: ox.Store, graphs: frozenset[str]) -> ox.Store | None:
        """A store with only these graphs, or None if they are too large to be copied."""
        if self._cached is None or self._cached[0] != graphs:
            self._cached = graphs, _copy_quads(_quads(store, graphs))
        return self._cached[1]


def _quads(store: ox.Store, graphs: frozenset[str]) -> Iterator[ox.Quad]:
    names = map(ox.NamedNode, sorted(graphs))
    return chain.from_iterable(store.quads_for_pattern(None, None, None, name) for name in names)


def _copy_quads(quads: Iterator[ox.Quad]) -> ox.Store | None:
    copy = ox.Store()
    copy.bulk_extend(islice(quads, MOST_COPIED))
    return None if next(quads, None) is not None else copy
