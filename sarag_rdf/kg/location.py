"""Where a graph is stored: in a folder, in memory, or behind a SPARQL endpoint.

A folder has ``store/``, which is the graph, and ``cache/``, which can be deleted at any time. The
caches of a graph behind an endpoint are in the user's cache folder.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sarag_rdf.base.endpoints import SparqlEndpoint, is_url
from sarag_rdf.base.errors import EmptyGraphError, NotAGraphError, UsageError, shown_path
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.redaction import masked
from sarag_rdf.graph.graph_reader import Part
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.store.oxigraph import (
    COPY,
    WRITER_FILE,
    Holder,
    OxigraphStore,
    holder_of,
    record_holder,
    remove_holder,
    remove_leftovers,
)


class Location(ABC):
    """Opens the store of one graph."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether a graph is stored here; always in memory."""

    @abstractmethod
    def open(self, *, missing_ok: bool = False) -> GraphStore:
        """Open the store for reading; with `missing_ok`, an empty one if there is no graph.

        Raises `NotAGraphError`, `EmptyGraphError`, `StoreError`.
        """

    @abstractmethod
    def open_locked(self) -> AbstractContextManager[GraphStore]:
        """Open the store for one writer, and create it if there is none.

        Raises `StoreLockedError` while another process is writing, `StoreError`.
        """

    @abstractmethod
    def cache(self, name: str) -> Path | None:
        """Path of the cache of that name; None in memory."""

    def excluding_writers(self) -> AbstractContextManager[object]:
        """Keep writers of other threads out where a reader would see their unfinished changes."""
        return nullcontext()

    def writer(self) -> Holder | None:
        """The process that is writing to the graph, where this is known."""
        return None

    def foreign_part(self, store: GraphStore) -> Part | None:  # noqa: ARG002
        """The graph in `store`, if it is one that sarag did not write."""
        return None


def location_of(location: str | Path | SparqlEndpoint | None) -> Location:
    """The location that a folder, an endpoint or its URL names; None is a new graph in memory."""
    if location is None:
        return MemoryLocation()
    if isinstance(location, SparqlEndpoint):
        return EndpointLocation(location)
    if isinstance(location, str) and is_url(location):
        return EndpointLocation(SparqlEndpoint(location))
    return FolderLocation(Path(location))


def endpoint_beside(remote: SparqlEndpoint, graph: Location) -> SparqlEndpoint:
    """A second endpoint of a command: the credentials of the environment are for the graph's."""
    return remote.beside(graph.endpoint) if isinstance(graph, EndpointLocation) else remote


class MemoryLocation(Location):
    """A graph in memory: readers and writers use the same store and take turns."""

    def __init__(self) -> None:
        self._store = OxigraphStore.in_memory()
        self._lock = threading.RLock()

    def __str__(self) -> str:
        return "in memory"

    def exists(self) -> bool:
        return True

    def open(self, *, missing_ok: bool = False) -> GraphStore:  # noqa: ARG002 - it always exists
        return self._store

    @contextmanager
    def open_locked(self) -> Iterator[GraphStore]:
        with self._lock:
            yield self._store

    def excluding_writers(self) -> AbstractContextManager[object]:
        return self._lock

    def cache(self, name: str) -> Path | None:  # noqa: ARG002
        return None


class FolderLocation(Location):
    """A graph in a folder: readers have snapshots, and one process at a time writes.

    A folder that holds other files is never written to.
    """

    def __init__(self, folder: Path) -> None:
        """Raises `UsageError` for a path that cannot be resolved."""
        try:
            self.folder = folder.expanduser().absolute()
        except (OSError, RuntimeError) as error:  # no working folder any more, or no such user
            raise UsageError(f"{folder} cannot be found ({error}): give another path") from error

    def __str__(self) -> str:
        return f"in {self.folder}"

    def exists(self) -> bool:
        """Whether the folder holds a graph; raises `NotAGraphError` if it holds other files."""
        self._refuse_other_folder()
        return self._holds_graph()

    def open(self, *, missing_ok: bool = False) -> GraphStore:
        if self._holds_graph():
            try:
                return OxigraphStore.open(self.folder / "store")
            except NotAGraphError:  # its creation was interrupted
                if not missing_ok:
                    raise
        if missing_ok and not self._holds_other_files():
            return OxigraphStore.in_memory()
        if self.folder.exists():
            raise NotAGraphError(
                f"{shown_path(self.folder)} holds no graph: give the graph's folder with --kg"
            )
        raise NotAGraphError(
            f"no graph at {shown_path(self.folder)}: create one with sarag index PATH --kg "
            f"{shown_path(self.folder)}"
        )

    @contextmanager
    def open_locked(self) -> Iterator[GraphStore]:
        self._refuse_other_folder()
        store = OxigraphStore.create(self.folder / "store")
        try:
            record_holder(self.folder)
            remove_leftovers(self.folder)
            yield store
        finally:
            remove_holder(self.folder)
            store.close()

    def writer(self) -> Holder | None:
        return holder_of(self.folder)

    def cache(self, name: str) -> Path | None:
        """Path of the cache of that name; raises `NotAGraphError` in a folder of other files."""
        self._refuse_other_folder()
        return self.folder / "cache" / name

    def _holds_graph(self) -> bool:
        return (self.folder / "store" / "CURRENT").is_file()

    def _holds_other_files(self) -> bool:
        """Whether the folder, or a file in its place, holds something but no graph."""
        if self._holds_graph() or not self.folder.exists():
            return False
        if not self.folder.is_dir():
            return True
        ours = ("store", "cache", WRITER_FILE)
        names = {entry.name for entry in self.folder.iterdir()}.difference(ours)
        return any(not name.startswith(COPY) for name in names)

    def _refuse_other_folder(self) -> None:
        if self._holds_other_files():
            raise NotAGraphError(
                f"{shown_path(self.folder)} holds other files but no graph: give a new or "
                "empty folder with --kg"
            )


class EndpointLocation(Location):
    """A graph behind a SPARQL endpoint, which isolates readers from writers itself."""

    def __init__(self, endpoint: SparqlEndpoint) -> None:
        self.endpoint = endpoint

    def __str__(self) -> str:
        return f"at {masked(self.endpoint.query_url)}"

    def exists(self) -> bool:
        return read_meta(self._connect()) is not None

    def open(self, *, missing_ok: bool = False) -> GraphStore:
        store = self._connect()
        if not (missing_ok or self._is_foreign() or read_meta(store)):
            url = self.endpoint.query_url
            raise EmptyGraphError(
                f"{url} holds no graph written by sarag: give the kind of its graph with "
                "--graph-kind (wikibase, skos or rdf), or index into it with "
                f"sarag index PATH --kg {url}"
            )
        return store

    @contextmanager
    def open_locked(self) -> Iterator[GraphStore]:
        """Open the endpoint for updates; SPARQL has no locks, so that writers must take turns."""
        if self._is_foreign():
            kind = self.endpoint.kind
            raise UsageError(f"a graph of kind {kind} is read-only: omit --graph-kind")
        yield self._connect(writable=True)

    def foreign_part(self, store: GraphStore) -> Part | None:
        if not self._is_foreign():
            return None
        endpoint = self.endpoint
        return Part(endpoint.query_url, endpoint.kind, {"kg": endpoint.graph}, store)

    def cache(self, name: str) -> Path | None:
        return self.endpoint.cache() / name

    def _is_foreign(self) -> bool:
        return self.endpoint.kind not in ("", "sarag")

    def _connect(self, *, writable: bool = False) -> GraphStore:
        from sarag_rdf.graph.store.sparql_endpoint import SparqlStore

        return SparqlStore(self.endpoint, writable=writable)
