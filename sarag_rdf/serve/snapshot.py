"""The graph as a worker reads it: a snapshot, taken anew when the files on disk have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pyoxigraph as ox

from sarag_rdf.graph.meta import Meta, read_meta
from sarag_rdf.stores.oxigraph import OxigraphStore, open_store

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

    def store(self) -> ox.Store:
        """The store as it is now; raises `StoreError`."""
        stamp = stamp_of(self.folder)
        if self._store is None or stamp != self._stamp:
            self._store = None
            self._store, self._stamp = open_store(self.folder, writable=False), stamp
        return self._store

    @property
    def stamp(self) -> Stamp | None:
        """That of the store which was read last."""
        return self._stamp

    def meta(self) -> Meta | None:
        """What the graph says of itself."""
        return read_meta(OxigraphStore(self.store(), writable=False))

    def forget(self) -> None:
        """Close the snapshot: a writer comes."""
        self._store, self._stamp = None, None
