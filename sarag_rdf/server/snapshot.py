"""The read-only snapshot of a graph in a worker, reopened when the files on disk have changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.iris import DEFAULT_BASE, Minter
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import (
    ALL,
    accessible_graphs,
    default_graphs,
    imported_graphs,
    part_graphs,
)
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.store.oxigraph import DefaultGraphUnion, OxigraphStore
from sarag_rdf.server.jobs import AccessibleGraphs

Fingerprint = frozenset[tuple[str, int, int]]
"""Names, sizes and modification times of files."""
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


class StoreSnapshot:
    """A store opened for reading; what is read between two calls of `refresh` is one revision."""

    def __init__(self, folder: Path, over: Sequence[str] = ()) -> None:
        """`over` names the parts that are served, by default those of `sarag query`."""
        self.folder, self._over = folder, over
        self._fingerprint: Fingerprint | None = None
        self._port: OxigraphStore | None = None
        self._union = DefaultGraphUnion()
        self._dataset: (
            tuple[tuple[frozenset[str], frozenset[str] | None], list[str] | None] | None
        ) = None
        self._accessible: dict[AccessibleGraphs, frozenset[str]] = {}

    def refresh(self) -> None:
        """Open the store again if it has changed; raises `StoreError`."""
        if self._port is None or fingerprint(self.folder) != self._fingerprint:
            self._open()

    def _open(self) -> OxigraphStore:
        self._fingerprint = fingerprint(self.folder)  # before, so that no change is missed
        self._port = OxigraphStore.open(self.folder)
        self._union.invalidate()
        self._dataset = None
        self._accessible.clear()
        return self._port

    @property
    def port(self) -> OxigraphStore:
        """The store, which is opened by the first use; raises `StoreError`."""
        return self._port or self._open()

    @property
    def store(self) -> ox.Store:
        """The store of pyoxigraph, to be used until the next `refresh`; raises `StoreError`."""
        return self.port.inner

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of the store that was opened last."""
        return self._fingerprint

    def meta(self) -> Meta | None:
        """The metadata of the graph, if it has any."""
        return read_meta(self.port)

    def _reader(self, readable: frozenset[str] | None = None) -> GraphReader:
        """Reads the `readable` graphs, by default all."""
        meta = self.meta()
        minter = Minter(meta.base if meta else DEFAULT_BASE)
        return GraphReader(self.port, minter, readable=readable)

    def accessible(self, graphs: AccessibleGraphs) -> frozenset[str] | None:
        """The named graphs that a client may read; None for all."""
        if not graphs.is_limited:
            return None
        if graphs not in self._accessible:
            self._accessible[graphs] = accessible_graphs(self._reader(), graphs.allow, graphs.deny)
        return self._accessible[graphs]

    def parts(self, readable: frozenset[str] | None) -> dict[str, frozenset[str]]:
        """The served parts that may be read as a whole, with their named graphs."""
        reader = self._reader(readable)
        served = self._served(reader)
        parts = {} if served is None else part_graphs(reader, served)
        return {n: own for n, own in parts.items() if readable is None or own <= readable}

    def _served(self, reader: GraphReader) -> list[str] | None:
        """The names of the parts that are served and may be read, none for the default.

        None if there are names, but none that may be read.
        """
        if reader.readable is None or not self._over:
            return [*self._over]
        known = {ALL, DOCUMENTS, *(each.name for each in imported_graphs(reader))}
        return [name for name in self._over if name in known] or None

    def manages(self, graph: str) -> bool:
        """Whether the IRI is below those of the graphs that the library writes."""
        return graph.startswith(self._reader().minter.graphs)

    def imports(self, readable: frozenset[str]) -> list[str]:
        """The names of imported graphs that may be read."""
        return [each.name for each in imported_graphs(self._reader(readable))]

    def resolve(
        self, text: str, over: Sequence[str], readable: frozenset[str] | None = None
    ) -> tuple[ox.Store, dict[str, Any]]:
        """The store to query, and the union of the parts in `over` as the default graph.

        Without `over`, it is that of the served parts. Only the `readable` graphs are in the
        dataset, by default all. The dataset is returned as keyword arguments of
        `pyoxigraph.Store.query`. Raises `StoreError`, or `UsageError` for an unknown name.
        """
        store, graphs = self.store, self.default_graphs(over, readable)
        if readable is None:
            if graphs is None:
                return store, {"use_default_graph_as_union": True}
            return self._union.resolve(store, text, graphs)
        default = readable if graphs is None else readable.intersection(graphs)
        chosen, dataset = self._union.resolve(store, text, sorted(default))
        if chosen is store:
            dataset["named_graphs"] = [ox.NamedNode(graph) for graph in sorted(readable)]
        return chosen, dataset

    def default_graphs(
        self, over: Sequence[str], readable: frozenset[str] | None
    ) -> list[str] | None:
        """`default_graphs` of the parts in `over`, or of those that are served.

        None if these are all graphs that may be read. The last result is cached. A store without
        metadata has no parts: all its graphs are queried. Raises `UsageError` for a name of no part
        that may be read.
        """
        key = frozenset(over), readable
        if self._dataset is None or self._dataset[0] != key:
            self._dataset = key, self._read_default_graphs(over, readable)
        return self._dataset[1]

    def _read_default_graphs(
        self, over: Sequence[str], readable: frozenset[str] | None
    ) -> list[str] | None:
        if self.meta() is None:
            return None
        reader = self._reader(readable)
        names = over or self._served(reader)
        return [] if names is None else default_graphs(reader, names)
