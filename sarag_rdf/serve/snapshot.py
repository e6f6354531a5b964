"""The read-only snapshot of a graph in a worker, reopened when the files on disk have changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import (
    accessible_graphs,
    default_graphs,
    imported_graphs,
    part_graphs,
)
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import DEFAULT_BASE, Minter
from sarag_rdf.rdf.dataset import DefaultGraphUnion
from sarag_rdf.rdf.oxigraph import OxigraphStore
from sarag_rdf.serve.jobs import AccessibleGraphs

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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fingerprint: Fingerprint | None = None
        self._port: OxigraphStore | None = None
        self._union = DefaultGraphUnion()
        self._dataset: tuple[frozenset[str], list[str] | None] | None = None
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

    def _reader(self) -> GraphReader:
        meta = self.meta()
        return GraphReader(self.port, Minter(meta.base if meta else DEFAULT_BASE))

    def covers_all_graphs(self, over: Sequence[str]) -> bool:
        """Whether `over` names all parts of the graph; raises `UsageError` for an unknown name."""
        return self._default_graphs(over) is None

    def accessible(self, graphs: AccessibleGraphs) -> frozenset[str] | None:
        """The named graphs that a client may read; None for all."""
        if not graphs.is_limited:
            return None
        if graphs not in self._accessible:
            reader = self._reader()
            self._accessible[graphs] = accessible_graphs(reader, graphs.allow, graphs.deny)
        return self._accessible[graphs]

    def parts(self, over: Sequence[str]) -> dict[str, frozenset[str]]:
        """The parts in `over`, by default all complete ones, with their named graphs."""
        return part_graphs(self._reader(), over)

    def imports(self, readable: frozenset[str]) -> list[str]:
        """The names of imported graphs that may be read."""
        imports = imported_graphs(self._reader())
        return [each.name for each in imports if each.graph in readable]

    def resolve(
        self, text: str, over: Sequence[str], readable: frozenset[str] | None = None
    ) -> tuple[ox.Store, dict[str, Any]]:
        """The store to query, and the union of the parts in `over` as the default graph.

        Only the `readable` graphs are in the dataset, by default all. The dataset is returned as
        keyword arguments of `pyoxigraph.Store.query`. Raises `StoreError`, or `UsageError` for an
        unknown name.
        """
        store, graphs = self.store, self._default_graphs(over)
        if readable is None:
            if graphs is None:
                return store, {"use_default_graph_as_union": True}
            return self._union.resolve(store, text, graphs)
        default = readable if graphs is None else readable.intersection(graphs)
        chosen, dataset = self._union.resolve(store, text, sorted(default))
        if chosen is store:
            dataset["named_graphs"] = [ox.NamedNode(graph) for graph in sorted(readable)]
        return chosen, dataset

    def _default_graphs(self, over: Sequence[str]) -> list[str] | None:
        """`default_graphs` of the parts in `over`; the last result is cached.

        A store without metadata has no parts: all its graphs are queried.
        """
        parts = frozenset(over)
        if self._dataset is None or self._dataset[0] != parts:
            self._dataset = parts, default_graphs(self._reader(), over) if self.meta() else None
        return self._dataset[1]
