"""The graph in a worker process as its clients may read it, opened again when files have changed.

A `StoreSnapshot` is for queries, `ClientGraphs` are for searches and answers.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.iris import DEFAULT_BASE, Minter
from sarag_rdf.base.ports import Advance
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import (
    ALL,
    accessible_graphs,
    default_graphs,
    imported_graphs,
    part_graphs,
)
from sarag_rdf.graph.store.oxigraph import DefaultGraphUnion, OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.jobs import AccessibleGraphs, RequestError
from sarag_rdf.server.settings import ServeSettings

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


OpenGraph = Callable[..., KnowledgeGraph]
"""Opens the graph; ``over`` and ``facts`` replace the server's."""
_MOST_LIMITED = 4
"""Graphs that are open at the same time for clients that may read some parts only."""
_EMBEDDING_SHARE = 0.25
"""The part of a question's time limit after which texts are embedded by the next request."""
_Key = tuple[tuple[str, ...] | None, frozenset[str] | None]
"""Names of parts, and the named graphs that may be read; None for all."""


@dataclass(slots=True)
class _OpenGraph:
    kg: KnowledgeGraph
    fingerprint: Fingerprint | None = None


class EmbeddingSteps:
    """A Progress that ends requests which embed texts for too long; what is embedded is kept."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """A request embeds for `seconds`, by `clock`, before it ends."""
        self._seconds, self._clock = seconds, clock
        self._end: float | None = None

    def begin(self) -> None:
        """A new request begins; its time counts from the first text."""
        self._end = None

    def __call__(self, what: str, total: int) -> Advance:
        done, calls = 0, 0
        end = self._end = self._end or self._clock() + self._seconds

        def advance(count: int) -> None:
            nonlocal done, calls
            done, calls = done + count, calls + 1
            is_step = calls > 1  # the first call counts what earlier requests embedded
            if is_step and done < total and self._clock() >= end:
                raise RequestError(
                    503,
                    f"the graph lacks vectors: {what}, {done} of {total} are done and kept: repeat "
                    "the request to go on, or run  sarag search  on the graph, which has no limit",
                    Retry_After="1",
                )

        return advance


class ClientGraphs:
    """The graph as clients may read it, reloaded when its files have changed.

    A client that may read some graphs only gets the parts of which it may read everything.
    """

    def __init__(
        self, settings: ServeSettings, open_graph: OpenGraph, snapshot: StoreSnapshot
    ) -> None:
        self._store = settings.store
        self._open_graph = open_graph
        self._snapshot = snapshot
        self._steps = EmbeddingSteps(settings.question_timeout * _EMBEDDING_SHARE)
        self._graphs: OrderedDict[_Key, _OpenGraph] = OrderedDict()

    def of(self, graphs: AccessibleGraphs, over: tuple[str, ...] = ()) -> KnowledgeGraph:
        """The graph for a client, or its parts in `over`.

        Raises `RequestError`: 403 if it may read no part, 400 for a part that is not served.
        """
        if not graphs.is_limited and not over:
            return self._current(None, None)
        self._snapshot.refresh()
        readable = self._snapshot.accessible(graphs)
        parts = tuple(self._snapshot.parts(readable))
        if not parts:
            raise RequestError(403, "this token may not read any graph that is searched here")
        unknown = [name for name in over if name not in parts and name != ALL]
        if unknown:
            raise RequestError(
                400, f"no such graph is searched here: '{unknown[0]}': use all, {', '.join(parts)}"
            )
        return self._current(parts if not over or ALL in over else over, readable)

    def reads_documents(self, graphs: AccessibleGraphs) -> bool:
        """Whether a client may read the whole knowledge graph of the documents."""
        readable = self._snapshot.accessible(graphs)
        return readable is None or DOCUMENTS in self._snapshot.parts(readable)

    def _current(
        self, over: tuple[str, ...] | None, readable: frozenset[str] | None
    ) -> KnowledgeGraph:
        """The graph, or its parts in `over` and what else is `readable`.

        Of several, the last used stay open.
        """
        self._steps.begin()
        current = fingerprint(self._store)
        key = over, readable
        opened = self._graphs.pop(key, None)
        if opened is None:
            limits = {} if over is None else {"over": over, "facts": None}
            opened = _OpenGraph(self._open_graph(progress=self._steps, **limits))
            opened.kg.session.limit_to(readable)
        self._graphs[key] = opened
        limited = [key for key in self._graphs if key != (None, None)]
        if len(limited) > _MOST_LIMITED:
            self._graphs.pop(limited[0]).kg.close()
        if current != opened.fingerprint:
            opened.kg.reload()
            opened.fingerprint = current
        return opened.kg
