"""A store in one state, as workers read it, and what was read from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from sarag_rdf.base.iris import DEFAULT_BASE, Minter
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import accessible_graphs, default_graphs
from sarag_rdf.graph.store.oxigraph import DefaultGraphUnion, OxigraphStore
from sarag_rdf.kg.queries import absent_at
from sarag_rdf.server.jobs import AccessibleGraphs

Fingerprint = frozenset[tuple[str, int, int]]
"""Names, sizes and modification times of files."""
Graphs = frozenset[str] | None
"""IRIs of named graphs; None for all."""
_Item = TypeVar("_Item")
_CACHED = 32
"""Values that are read from one state of a store and cached at the same time."""
_NOT_DATA = ("LOG", "LOCK", "OPTIONS", "IDENTITY")


def fingerprint(store: Path) -> Fingerprint:
    """The fingerprint of a store's data files, which changes with every write."""
    files = set()
    with os.scandir(store) as entries:
        for entry in entries:
            if entry.name.startswith(_NOT_DATA):
                continue
            try:
                state = entry.stat()
            except FileNotFoundError:  # removed by a compaction
                continue
            files.add((entry.name, state.st_size, state.st_mtime_ns))
    return frozenset(files)


@dataclass(frozen=True, slots=True)
class QueriedStore:
    """A store for queries, with the copies of unions of its graphs."""

    store: ox.Store
    union: DefaultGraphUnion = field(default_factory=DefaultGraphUnion)


class StoreSnapshot:
    """A store in one state, and what was read from it."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreError`."""
        self.fingerprint = fingerprint(folder)  # first, so that no change is missed
        self.port = OxigraphStore.open(folder)
        self.meta = read_meta(self.port)
        """The metadata of the graph, if it has any."""
        self.minter = Minter(self.meta.base if self.meta else DEFAULT_BASE)
        self.whole = QueriedStore(self.port.inner)
        self._past: tuple[str, OxigraphStore, QueriedStore] | None = None
        self._cache: dict[Hashable, Any] = {}

    @property
    def store(self) -> ox.Store:
        """The store of pyoxigraph."""
        return self.port.inner

    def at(self, moment: str) -> QueriedStore:
        """The store without what did not hold at a moment; that of the last one is cached."""
        if self._past is None or self._past[0] != moment:
            self._past = None  # first, so that there is one at a time
            absent = absent_at(self.reader(), moment)
            port = self.port.without(absent) if absent else self.port
            self._past = moment, port, QueriedStore(port.inner) if absent else self.whole
        return self._past[2]

    def reader(self, readable: Graphs = None) -> GraphReader:
        """Reads the `readable` graphs, by default all."""
        return GraphReader(self.port, self.minter, readable=readable)

    def accessible(self, graphs: AccessibleGraphs) -> Graphs:
        """The named graphs that a client may read."""
        if not graphs.is_limited:
            return None
        return self.cached(
            graphs, lambda: accessible_graphs(self.reader(), graphs.allow, graphs.deny)
        )

    def default_graphs(self, over: tuple[str, ...], readable: Graphs) -> list[str] | None:
        """The readable graphs of some parts; None for all graphs."""
        return self.cached((over, readable), lambda: default_graphs(self.reader(readable), over))

    def cached(self, key: Hashable, read: Callable[[], _Item]) -> _Item:
        """What `read` returns for a key in this state of the store."""
        if key not in self._cache:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[key] = read()
        value: _Item = self._cache[key]
        return value
