"""The graph as a worker reads it: a snapshot, taken anew when the files on disk have changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import covers_all_graphs, dataset_graphs
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.rdf.dataset import Excerpt
from sarag_rdf.rdf.oxigraph import OxigraphStore, open_store

Stamp = frozenset[tuple[str, int, int]]
_NO_DATA = ("LOG", "LOCK", "OPTIONS", "IDENTITY")


def stamp_of(store: Path) -> Stamp:
    """Changes with every write to a store: names, sizes and times of the files with its data."""
    found = set()
    with os.scandir(store) as entries:
        for entry in entries:
            if entry.name.startswith(_NO_DATA):
                continue
            try:
                state = entry.stat()
            except FileNotFoundError:  # compacted away meanwhile
                continue
            found.add((entry.name, state.st_size, state.st_mtime_ns))
    return frozenset(found)


class Snapshot:
    """Opens the store for reading, and again when it is another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp: Stamp | None = None
        self._store: ox.Store | None = None
        self._excerpt = Excerpt()
        self._asked: tuple[frozenset[str], list[str] | None] | None = None

    def store(self) -> ox.Store:
        """The store as it is now; raises `StoreError`."""
        stamp = stamp_of(self.folder)
        if self._store is None or stamp != self._stamp:
            self.forget()
            self._store, self._stamp = open_store(self.folder, writable=False), stamp
        return self._store

    @property
    def stamp(self) -> Stamp | None:
        """That of the store which was read last."""
        return self._stamp

    def meta(self) -> Meta | None:
        """What the graph says of itself."""
        return read_meta(OxigraphStore(self.store(), writable=False))

    def covers_all_graphs(self, over: Sequence[str]) -> bool:
        """Whether `over` names all parts of the graph; raises `UsageError` for an unknown name."""
        return self._graphs(self.store(), over) is None

    def place(self, text: str, over: Sequence[str]) -> tuple[ox.Store, dict[str, Any]]:
        """The store to ask, and the union of the parts in `over` as its data set.

        The data set is keyword arguments of `pyoxigraph.Store.query`. Raises `StoreError`,
        `UsageError` for an unknown name.
        """
        store = self.store()
        graphs = self._graphs(store, over)
        if graphs is None:
            return store, {"use_default_graph_as_union": True}
        return self._excerpt.place(store, text, graphs)

    def _graphs(self, store: ox.Store, over: Sequence[str]) -> list[str] | None:
        """The graphs of the parts in `over`, None for all; kept while the same parts are asked.

        A store that does not describe itself has no parts.
        """
        wanted = frozenset(over)
        if self._asked is None or self._asked[0] != wanted:
            port = OxigraphStore(store, writable=False)
            meta = read_meta(port)
            reader = GraphReader(port, Minter(meta.base)) if meta else None
            graphs = None
            if reader is not None and not covers_all_graphs(reader, over):
                graphs = dataset_graphs(reader, over)
            self._asked = wanted, graphs
        return self._asked[1]

    def forget(self) -> None:
        """Close the snapshot: a writer comes."""
        self._store, self._stamp = None, None
        self._excerpt.forget()
        self._asked = None
