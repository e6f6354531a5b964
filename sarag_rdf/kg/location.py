"""Where a graph lives: a folder (``store/`` the truth, ``cache/`` rebuildable), memory, or behind
a SPARQL endpoint, whose caches are among the user's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sarag_rdf.endpoints import SparqlEndpoint, is_url
from sarag_rdf.errors import (
    EmptyGraphError,
    NotAGraphError,
    StoreError,
    StoreLockedError,
    UsageError,
    place,
)
from sarag_rdf.graph.delta import Journal
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import searched
from sarag_rdf.graph.reader import GraphReader, Part
from sarag_rdf.index.repair import heal
from sarag_rdf.iris import DEFAULT_BASE, Minter
from sarag_rdf.ports import GraphStore
from sarag_rdf.rdf import writer_lock
from sarag_rdf.rdf.oxigraph import OxigraphStore
from sarag_rdf.rdf.writer_lock import UNFINISHED_WRITE, remove_leftovers


class GraphLocation:
    """Opens the graph: a snapshot for reading, kept until `forget`; a lock only for writing."""

    def __init__(
        self,
        location: str | Path | SparqlEndpoint | None,
        base: str | None,
        over: Sequence[str] = (),
    ) -> None:
        """`location` None is a graph in memory; `base` is for a graph that does not exist yet.

        `over` names the parts that are searched: none for all that there are.
        """
        self._over = over
        self._remote = _remote(location)
        self._folder = (
            _absolute(Path(location))
            if isinstance(location, str | Path) and self._remote is None
            else None
        )
        self._wanted = Minter.for_base(base) if base else None
        self._memory = OxigraphStore.in_memory() if location is None else None
        self._snapshot: GraphStore | None = None
        self._reading: GraphReader | None = None
        self._turn = threading.RLock()

    def is_new(self) -> bool:
        """Whether there is no graph yet, and writing would make one; never so in memory."""
        self._refuse_other_folder()
        if self._folder is not None:
            return not _holds_graph(self._folder)
        return self._memory is None and read_meta(self.reader(or_empty=True).store) is None

    @property
    def over(self) -> Sequence[str]:
        """The parts that were named when the graph was opened."""
        return self._over

    def reader(self, *, or_empty: bool = False) -> GraphReader:
        """The graph as it was when first read; `or_empty` gives an empty one if there is none.

        Raises `NotAGraphError`, `StoreError`.
        """
        snapshot = self._snapshot
        if snapshot is None:
            snapshot = self._snapshot = self._memory or self._open(or_empty=or_empty)
        if self._remote is not None:
            return self._remote_reader(self._remote, snapshot, or_empty=or_empty)
        return GraphReader(snapshot, self._minter(snapshot))

    def own(self) -> GraphReader:
        """What sarag wrote; raises `UsageError` for a graph of another kind."""
        reader = self.reader()
        if reader.over is not None:
            raise UsageError(
                f"this needs a graph that sarag wrote, and not one of kind {reader.parts[0].kind}"
            )
        return reader

    def reading(self) -> GraphReader:
        """The parts that are searched, as they were when first read.

        Raises `NotAGraphError`, `StoreError`, `UsageError` for a part that there is not.
        """
        reading = self._reading
        if reading is None:
            reader = self.reader()
            reading = searched(reader, self._over) if reader.over is None else reader
            self._reading = reading
        return reading

    @contextmanager
    def writing(self) -> Iterator[GraphReader]:
        """The graph for one writer, made if there is none; raises `StoreLockedError`.

        What other threads read meanwhile is a snapshot; at the end it is forgotten, too.
        """
        self.forget()
        try:
            with self._opened_for_writing() as reader:
                yield reader
        finally:
            self.forget()

    @contextmanager
    def _opened_for_writing(self) -> Iterator[GraphReader]:
        if self._remote is not None:
            yield self._remote_writer(self._remote)
            return
        if self._folder is None:
            assert self._memory is not None  # noqa: S101 - without a folder it is in memory
            with self._turn:
                yield _journalled(self._memory, self._minter(self._memory))
            return
        self._refuse_other_folder()
        store = OxigraphStore.create(self._folder / "store")
        try:
            writer_lock.record_holder(self._folder)
            remove_leftovers(self._folder)
            reader = _journalled(store, self._minter(store))
            self._heal(reader)
            yield reader
        finally:
            writer_lock.remove_holder(self._folder)
            store.close()

    def _heal(self, reader: GraphReader) -> None:
        """Complete a write that an earlier version of the library left unfinished."""
        assert self._folder is not None  # noqa: S101 - only a folder has such a mark
        mark = self._folder / UNFINISHED_WRITE
        if mark.exists():
            heal(reader)
            mark.unlink(missing_ok=True)

    def _heal_for_reading(self) -> None:
        """The same before reading, which needs the lock for once; raises `StoreError`."""
        if self._folder is None or not (self._folder / UNFINISHED_WRITE).exists():
            return
        try:
            with self._opened_for_writing():
                pass
        except StoreLockedError:  # who holds the lock heals it
            raise
        except StoreError as error:
            raise StoreError(
                f"a write to {place(self._folder)} was broken off, and the graph cannot be put in "
                f"order here: run  sarag fsck --repair  where its folder can be written ({error})"
            ) from error

    def undisturbed(self) -> AbstractContextManager[object]:
        """Keeps writers of other threads away from a graph in memory; others have snapshots."""
        return nullcontext() if self._memory is None else self._turn

    @contextmanager
    def changing(self) -> Iterator[GraphReader]:
        """Like `writing`, for a graph that there must be: writing alone would make one."""
        self.reader()
        with self.writing() as reader:
            yield reader

    def cache(self, name: str) -> Path | None:
        """Where a cache is kept; None in memory. A folder that is no graph is never written to."""
        if self._remote is not None:
            return self._remote.cache() / name
        if self._folder is None:
            return None
        self._refuse_other_folder()
        return self._folder / "cache" / name

    def forget(self) -> None:
        """Drop the snapshot: what is read next is what is there then.

        It is not closed: another thread may be reading it, and closes it by ending.
        """
        self._snapshot = None
        self._reading = None

    def _open(self, *, or_empty: bool) -> GraphStore:
        if self._remote is not None:
            from sarag_rdf.rdf.sparql_endpoint import SparqlStore

            return SparqlStore(self._remote)
        assert self._folder is not None  # noqa: S101 - what is in memory is not opened
        if _holds_graph(self._folder):
            self._heal_for_reading()
            try:
                return OxigraphStore.open(self._folder / "store")
            except NotAGraphError:  # making it was broken off
                if not or_empty:
                    raise
        if or_empty and not _holds_other_things(self._folder):
            return OxigraphStore.in_memory()
        if self._folder.exists():
            raise NotAGraphError(
                f"{place(self._folder)} holds no graph: name the graph's folder with --kg"
            )
        raise NotAGraphError(
            f"there is no graph at {place(self._folder)}: make one with  sarag index PATH --kg "
            f"{place(self._folder)}"
        )

    def _remote_reader(
        self, remote: SparqlEndpoint, store: GraphStore, *, or_empty: bool
    ) -> GraphReader:
        """What sarag wrote there, or the graph of another kind that is named."""
        if remote.kind not in ("", "sarag"):
            part = Part(remote.query_url, remote.kind, {"kg": remote.graph}, store)
            return GraphReader(store, self._wanted or Minter(), (part,))
        if not or_empty and read_meta(store) is None:
            raise EmptyGraphError(
                f"{remote.query_url} holds no graph that sarag wrote: say with --graph-kind what "
                "it holds (wikibase, skos or rdf), or index into it with  sarag index PATH --kg "
                f"{remote.query_url}"
            )
        return GraphReader(store, self._minter(store))

    def _remote_writer(self, remote: SparqlEndpoint) -> GraphReader:
        from sarag_rdf.rdf.sparql_endpoint import SparqlStore

        if remote.kind not in ("", "sarag"):
            raise UsageError(f"a graph of kind {remote.kind} is only read: leave --graph-kind out")
        store = SparqlStore(remote, writable=True)
        return _journalled(store, self._minter(store))

    def _refuse_other_folder(self) -> None:
        if self._folder is not None and _holds_other_things(self._folder):
            raise NotAGraphError(
                f"{place(self._folder)} holds other things and no graph: name a new or empty "
                "folder with --kg"
            )

    def _minter(self, store: GraphStore) -> Minter:
        meta = read_meta(store)
        if meta is None:
            return self._wanted or Minter(DEFAULT_BASE)
        if self._wanted is not None and self._wanted.base != meta.base:
            raise UsageError(
                f"the graph's base is {meta.base}, not {self._wanted.base}: leave --base out, or "
                "make another graph"
            )
        return Minter(meta.base)


def _journalled(store: GraphStore, minter: Minter) -> GraphReader:
    return GraphReader(store, minter, journal=Journal())


def _remote(location: str | Path | SparqlEndpoint | None) -> SparqlEndpoint | None:
    if isinstance(location, str) and is_url(location):
        return SparqlEndpoint(location)
    return location if isinstance(location, SparqlEndpoint) else None


def _absolute(folder: Path) -> Path:
    try:
        return folder.expanduser().absolute()
    except (OSError, RuntimeError) as error:  # the working folder is gone, or there is no such user
        raise UsageError(f"{folder} cannot be found ({error}): give another path") from error


def _holds_graph(folder: Path) -> bool:
    return (folder / "store" / "CURRENT").is_file()


def _holds_other_things(folder: Path) -> bool:
    """Whether a folder, or a file in its place, holds something but no graph."""
    if _holds_graph(folder) or not folder.exists():
        return False
    if not folder.is_dir():
        return True
    return any(entry.name not in ("store", "cache", writer_lock.NAME) for entry in folder.iterdir())
