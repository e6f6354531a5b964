"""A graph in one state, as workers read it, and what was read from it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.iris import DEFAULT_BASE, Minter, sha256_hex
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.building.entailed_graph import absent_at
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import accessible_graphs, default_graphs, local_store
from sarag_rdf.graph.store.oxigraph import DefaultGraphUnion, OxigraphStore, holder_of
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.server.endpoint_store import EndpointStore, EndpointUnion
from sarag_rdf.server.jobs import AccessibleGraphs

Graphs = frozenset[str] | None
"""IRIs of named graphs; None for all."""
_Item = TypeVar("_Item")
_CACHED = 32
"""Values that are read from one state of a store and cached at the same time."""
STALE_SECONDS = 30
"""Seconds for which a graph behind an endpoint is taken to be the same if it has no revision."""
_NOT_DATA = ("LOG", "LOCK", "OPTIONS", "IDENTITY")


def fingerprint(store: Path) -> str:
    """A digest of a store's data files, which changes with every write."""
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
    return sha256_hex(repr(sorted(files)))


@dataclass(frozen=True, slots=True)
class QueriedStore:
    """A store for queries, with the copies of unions of its graphs."""

    store: Any
    union: DefaultGraphUnion = field(default_factory=DefaultGraphUnion)


class StoreSnapshot:
    """A store in one state, and what was read from it.

    `store` is that of pyoxigraph, or an `EndpointStore`; `meta` is the metadata of the graph, if it
    has any.
    """

    def __init__(
        self, state: str, port: GraphStore, whole: QueriedStore, meta: Meta | None
    ) -> None:
        self.state, self.port, self.whole, self.meta = state, port, whole, meta
        self.store = whole.store
        self.minter = Minter(meta.base if meta else DEFAULT_BASE)
        self._past: tuple[str, OxigraphStore | None, QueriedStore] | None = None
        self._cache: dict[Hashable, Any] = {}

    def at(self, moment: str) -> QueriedStore:
        """The store without what did not hold at a moment; that of the last one is cached."""
        if self._past is None or self._past[0] != moment:
            self._past = None  # first, so that there is one at a time
            absent = absent_at(self.reader(), moment)
            port = self._local.without(absent) if absent else None
            self._past = moment, port, QueriedStore(port.inner) if port else self.whole
        return self._past[2]

    @cached_property
    def _local(self) -> OxigraphStore:
        return local_store(self.reader())

    def reader(self, readable: Graphs = None) -> GraphReader:
        """Reads the `readable` graphs, by default all."""
        return GraphReader(self.port, self.minter, readable=readable)

    def accessible(self, graphs: AccessibleGraphs) -> Graphs:
        """The named graphs that a client may read."""
        if not graphs.is_limited:
            return None
        if isinstance(self.store, EndpointStore):
            self.cached("limits", self.store.check_limits)
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


class ServedFolder:
    """The graph in a folder, whose states are those of its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def state(self) -> str:
        """Differs after every write."""
        return fingerprint(self._folder / "store")

    @property
    def is_being_written(self) -> bool:
        """Whether a writer is at work."""
        return holder_of(self._folder) is not None

    def snapshot(self) -> StoreSnapshot:
        """The graph as it is now; raises `StoreError`."""
        state = self.state  # first, so that no change is missed
        port = OxigraphStore.open(self._folder / "store")
        return StoreSnapshot(state, port, QueriedStore(port.inner), read_meta(port))


class ServedEndpoint:
    """The graph behind an endpoint, whose state is its revision.

    One that sarag did not write has none, nor has one that is being written: their states last for
    `STALE_SECONDS`.
    """

    def __init__(self, endpoint: SparqlEndpoint) -> None:
        self._endpoint, self._port = endpoint, SparqlStore(endpoint)
        self._is_foreign = endpoint.kind not in ("", "sarag")
        self._meta: Meta | None = None

    @property
    def state(self) -> str:
        """Differs after every write of sarag; raises `StoreError`."""
        self._meta = None if self._is_foreign else read_meta(self._port)
        return (self._meta.revision if self._meta else "") or str(int(time.time() / STALE_SECONDS))

    @property
    def is_being_written(self) -> bool:
        """Whether a writer was at work when the state was last read, or was interrupted."""
        return self._meta is not None and not self._meta.revision

    def snapshot(self) -> StoreSnapshot:
        """The graph as it is now; raises `StoreError`."""
        state = self.state
        store = EndpointStore(self._port, self._endpoint, is_foreign=self._is_foreign)
        return StoreSnapshot(state, self._port, QueriedStore(store, EndpointUnion()), self._meta)


def served(kg: Path | SparqlEndpoint) -> ServedFolder | ServedEndpoint:
    """The graph in a folder or behind an endpoint."""
    return ServedFolder(kg) if isinstance(kg, Path) else ServedEndpoint(kg)
