"""Oxigraph, embedded: in a folder (RocksDB) or in memory."""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.cache_errors import lack_of_room
from sarag_rdf.errors import (
    DiskFullError,
    NotAGraphError,
    QueryError,
    StoreError,
    StoreLockedError,
    place,
)
from sarag_rdf.ports import Change, Table, Triples
from sarag_rdf.rdf.dataset import Excerpt
from sarag_rdf.rdf.sparql_tokens import undeclared_prefix
from sarag_rdf.rdf.writer_lock import holder_of

log = logging.getLogger(__name__)
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between attempts."""
_astray: list[object] = []
"""Iterators that came into another thread, where they may not even be dropped."""
_UNFINISHED = ("Column family not found", "Inserts are only possible on read-write instances")
"""What the engine says of a store that a killed process had not made whole; writing makes it so."""
_NO_RIGHT = tuple(os.strerror(number) for number in (errno.EROFS, errno.EACCES, errno.EPERM))
"""What the engine says of a folder that may not be written to."""


def _block(keyword: str, quads: Iterable[ox.Quad]) -> str:
    lines = "\n".join(map(_in_graph, quads))
    return f"{keyword} DATA {{\n{lines}\n}}" if lines else ""


def _in_graph(quad: ox.Quad) -> str:
    if isinstance(quad.graph_name, ox.DefaultGraph):
        return f"{quad.triple} ."
    return f"GRAPH {quad.graph_name} {{ {quad.triple} }}"


def open_store(folder: Path, *, writable: bool) -> ox.Store:
    """The bare store in a folder; raises what `OxigraphStore.open` raises.

    A writer beside may remove files between their listing and their opening, so reading is tried
    again for a while.
    """
    for pause in () if writable else _PAUSES:
        with suppress(OSError, RuntimeError, ValueError):
            return ox.Store.read_only(str(folder))
        if not (folder / "CURRENT").exists():
            break
        time.sleep(pause)
    try:
        return ox.Store(str(folder)) if writable else ox.Store.read_only(str(folder))
    except FileNotFoundError as error:
        raise NotAGraphError(f"there is no graph in {place(folder.parent)}") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise _not_opened(folder.parent, error, writable=writable) from error


def _not_opened(folder: Path, error: Exception, *, writable: bool) -> StoreError:
    said = str(error)
    if not writable and any(words in said for words in _UNFINISHED):
        return NotAGraphError(f"there is no graph in {place(folder)}: making it was broken off")
    if re.search(r"\block", said, re.IGNORECASE) and not any(words in said for words in _NO_RIGHT):
        holder = "this very process" if "current process" in said else holder_of(folder)
        if holder is None:
            return StoreLockedError(
                f"another process is writing to {place(folder)}: wait until it is done"
            )
        return StoreLockedError(
            f"{place(folder)} is being written by {holder}: wait until it is done, or stop it"
        )
    if writable:
        _refuse_without_room(folder, error)
    reason = next((words for words in _NO_RIGHT if words in said), "")
    if writable and reason:
        return StoreError(
            f"the graph in {place(folder)} can only be read ({reason}): write to a copy of it, or "
            "make its folder writable"
        )
    return StoreError(f"the graph in {place(folder)} cannot be opened: {said}")


def _refuse_without_room(folder: Path | None, error: Exception) -> None:
    """Raise `DiskFullError` for an error that comes of it."""
    what, remedy = lack_of_room(error)
    if what:
        where = f" ({place(folder)})" if folder else ""
        raise DiskFullError(f"{what}{where}: {remedy} and run it again") from error


IN_MEMORY = 50_000
"""Quads that are written before they are moved into files: else RocksDB holds a gigabyte."""


class OxigraphStore:
    """A GraphStore over one pyoxigraph store.

    Results are materialised before a method returns: pyoxigraph aborts the process when a
    result is read in another thread than the one that made it.
    """

    is_shared = False

    def __init__(
        self, store: ox.Store, *, writable: bool = True, folder: Path | None = None
    ) -> None:
        """`folder` is that of the graph, to name it in errors."""
        self._store: ox.Store | None = store
        self._writable = writable
        self._folder = folder
        self._in_memory = 0
        self._excerpt = Excerpt()

    @classmethod
    def in_memory(cls) -> OxigraphStore:
        """An empty store that lives as long as the object."""
        return cls(ox.Store())

    @classmethod
    def create(cls, folder: Path) -> OxigraphStore:
        """Open for writing, making the store if there is none."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _refuse_without_room(folder.parent, error)
            raise StoreError(
                f"cannot make the graph's folder {place(folder)}: {error.strerror}"
            ) from error
        return cls.open(folder, writable=True)

    @classmethod
    def open(cls, folder: Path, *, writable: bool = False) -> OxigraphStore:
        """Open an existing store; without `writable` it is a snapshot that a writer may overtake.

        Raises `NotAGraphError`, `StoreLockedError`, `StoreError`.
        """
        opened = open_store(folder, writable=writable)
        return cls(opened, writable=writable, folder=folder.parent)

    @property
    def _open_store(self) -> ox.Store:
        if self._store is None:
            raise StoreError("this graph has been closed: open it again")
        return self._store

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        try:
            store = self._open_store
            dataset: dict[str, Any] = {"use_default_graph_as_union": union}
            if default_graphs is not None:
                store, dataset = self._excerpt.place(store, text, default_graphs)
            result = store.query(text, **dataset)
            if isinstance(result, ox.QueryBoolean):
                return bool(result)
            if isinstance(result, ox.QueryTriples):
                return Triples(list(result))
            names = tuple(v.value for v in result.variables)
            return Table(names, [tuple(row) for row in result])
        except SyntaxError as error:
            reason = undeclared_prefix(text) or error
            raise QueryError(f"the SPARQL query does not parse: {reason}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(f"the query failed: {error}") from error

    def select(self, text: str, key: str) -> Table:  # noqa: ARG002 - there is no limit here
        result = self.query(text)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        return result

    def apply(self, change: Change, *, create: Iterable[str] = ()) -> None:
        """Make a change wholly or not at all; graphs to `create` exist then, even without quads.

        Quads may be in the default graph, too.
        """
        operations = [f"DROP SILENT GRAPH <{graph}>" for graph in change.drop]
        operations += [f"CREATE SILENT GRAPH <{graph}>" for graph in create]
        operations += [_block("DELETE", change.delete), _block("INSERT", change.insert)]
        text = " ;\n".join(part for part in operations if part)
        if not text:
            return
        if not self._writable:
            raise StoreError("this graph was opened for reading only")
        self._excerpt.forget()
        try:
            self._open_store.update(text)
            self._relieve(len(change.insert) + len(change.delete))
        except SyntaxError as error:
            raise QueryError(f"the change does not parse: {error}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise self.not_written("nothing changed", error) from error

    def _relieve(self, written: int) -> None:
        """Now and then move what was written from memory into files; it is safe in the log."""
        self._in_memory += written
        if self._in_memory >= IN_MEMORY:
            self._in_memory = 0
            with suppress(OSError, RuntimeError, ValueError):
                self._open_store.flush()

    def load(self, quads: Iterable[ox.Quad]) -> None:
        with self._loading() as store:
            store.bulk_extend(quads)

    def load_ntriples(self, data: bytes, graph: str) -> None:
        with self._loading() as store:
            store.bulk_load(data, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))

    @contextmanager
    def _loading(self) -> Iterator[ox.Store]:
        if not self._writable:
            raise StoreError("this graph was opened for reading only")
        self._excerpt.forget()
        try:
            yield self._open_store
        except (OSError, RuntimeError, ValueError) as error:
            raise self.not_written("part of it may be there", error) from error

    def backup(self, folder: Path) -> None:
        """Make a store in a folder that there is not yet, with the same content.

        On the same file system the tables are hard links to those of this store, so this takes
        milliseconds. Raises `StoreError`.
        """
        try:
            self._open_store.backup(folder)
        except (OSError, RuntimeError, ValueError) as error:
            raise self.not_written("nothing changed", error) from error

    @property
    def engine(self) -> ox.Store:
        """The store itself. Raises `StoreError` after `close`."""
        return self._open_store

    def not_written(self, state: str, error: Exception) -> StoreError:
        """The error to raise for what the engine said; raises `DiskFullError` itself."""
        _refuse_without_room(self._folder, error)
        return StoreError(f"the graph could not be written, {state}: {error}")

    def quads(self, graph: str | None = None) -> Iterator[ox.Quad]:
        name = None if graph is None else ox.NamedNode(graph)
        owner = threading.get_ident()
        found = self._open_store.quads_for_pattern(None, None, None, name)
        while True:
            try:
                quad = next(found)
            except StopIteration:
                return
            except (OSError, RuntimeError, ValueError) as error:
                raise StoreError(f"the graph cannot be read: {error}") from error
            yield quad
            if threading.get_ident() != owner:
                _astray.append(found)
                raise StoreError("quads are read in the thread that asked for them: make a list")

    def graphs(self) -> list[str]:
        names = self._open_store.named_graphs()
        return sorted(name.value for name in names if isinstance(name, ox.NamedNode))

    def close(self) -> None:
        self._excerpt.forget()
        store, self._store = self._store, None
        if store is not None and self._writable:
            with suppress(OSError):
                store.flush()
