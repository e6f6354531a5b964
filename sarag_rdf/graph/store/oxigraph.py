"""The embedded store: Oxigraph in a folder (RocksDB) or in memory.

RocksDB opens most tables of a store when they are first read. A writer deletes tables that it has
merged into others, and a store that another process has opened for reading fails from then on. A
`Checkpoint` opens all files first: what is open stays readable until it is closed, deleted or not.

For a query whose default graph is the union of some named graphs, Oxigraph looks up every triple
pattern in each of them: with one graph per source, a query that takes milliseconds over the union
of all graphs takes minutes. `DefaultGraphUnion` copies these graphs into a store in memory, whose
union gives the same solutions.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import re
import resource
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox

from sarag_rdf.base.errors import (
    DiskFullError,
    NotAGraphError,
    QueryError,
    QueryTimeoutError,
    StoreError,
    StoreLockedError,
    lack_of_room,
    shown_path,
)
from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, run
from sarag_rdf.graph.store.sparql_syntax import split_prologue, syntax_reason, uses_graph

log = logging.getLogger(__name__)
_ENGINE_ERRORS = (OSError, RuntimeError, ValueError)
_RETRY_DELAYS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between attempts to open a store for reading."""
_leaked: list[object] = []
"""Iterators that reached another thread, kept alive because dropping them there would abort."""
_INCOMPLETE = ("Column family not found", "Inserts are only possible on read-write instances")
"""Messages of the engine for a store whose creation was interrupted; opening for writing fixes it.
"""
_PERMISSION = tuple(os.strerror(number) for number in (errno.EROFS, errno.EACCES, errno.EPERM))
"""Messages of the engine for a folder that is not writable."""
INGESTED = 20_000
"""Quads from which on they are ingested as files of RocksDB, five times as fast as a transaction.

Seldom, if it compacts small files at that moment, RocksDB ends the process with a segmentation
fault (pyoxigraph 0.5.13), so what is written in a moment is not ingested.
"""
FLUSH_INTERVAL = 50_000
"""Quads written between flushes of RocksDB's memory tables, which would take a gigabyte otherwise.
"""


_VALUES = re.compile(r"(VALUES \S+ \{ \S+) [^{}]+\}")
_LOGGED = 200
"""Characters of a query in the debug log."""


def _data_block(keyword: str, quads: Iterable[ox.Quad]) -> str:
    lines = "\n".join(
        f"{quad.triple} ."
        if isinstance(quad.graph_name, ox.DefaultGraph)
        else f"GRAPH {quad.graph_name} {{ {quad.triple} }}"
        for quad in quads
    )
    return f"{keyword} DATA {{\n{lines}\n}}" if lines else ""


def open_store(folder: Path) -> ox.Store:
    """The pyoxigraph store in a folder, for writing; raises what `OxigraphStore.open` raises."""
    try:
        return ox.Store(str(folder))
    except FileNotFoundError as error:
        raise _no_graph(folder) from error
    except _ENGINE_ERRORS as error:
        raise _open_error(folder.parent, error, writable=True) from error


def _open_checkpoint(folder: Path) -> tuple[ox.Store, Checkpoint | None]:
    """The store as it is now, and its files, to be kept with it; a writer may be creating it."""
    for pause in _RETRY_DELAYS:
        with suppress(*_ENGINE_ERRORS):
            checkpoint = Checkpoint(folder)
            return ox.Store.read_only(str(checkpoint.folder)), checkpoint
        if not (folder / "CURRENT").exists():
            break
        time.sleep(pause)
    try:
        return ox.Store.read_only(str(folder)), None
    except FileNotFoundError as error:
        raise _no_graph(folder) from error
    except _ENGINE_ERRORS as error:
        raise _open_error(folder.parent, error, writable=False) from error


def _no_graph(folder: Path) -> NotAGraphError:
    return NotAGraphError(f"no graph in {shown_path(folder.parent)}")


def _open_error(folder: Path, error: Exception, *, writable: bool) -> StoreError:
    message = str(error)
    if not writable and any(text in message for text in _INCOMPLETE):
        return NotAGraphError(f"no graph in {shown_path(folder)}: its creation was interrupted")
    is_denied = any(text in message for text in _PERMISSION)
    if re.search(r"\block", message, re.IGNORECASE) and not is_denied:
        where = shown_path(folder)
        holder = "this process itself" if "current process" in message else holder_of(folder)
        if holder is None:
            return StoreLockedError(
                f"another process is writing to {where}: wait until it has finished"
            )
        return StoreLockedError(
            f"{where} is locked by {holder}: wait until it has finished, or stop it"
        )
    if writable:
        _raise_if_full(folder, error)
    reason = next((text for text in _PERMISSION if text in message), "")
    if writable and reason:
        return StoreError(
            f"the graph in {shown_path(folder)} is read-only ({reason}): write to a copy of it, or "
            "make its folder writable"
        )
    return StoreError(f"cannot open the graph in {shown_path(folder)}: {message}")


def _raise_if_full(folder: Path | None, error: Exception) -> None:
    """Raise `DiskFullError` if the error means that there is no space left."""
    cause, remedy = lack_of_room(error)
    if cause:
        where = f" ({shown_path(folder)})" if folder else ""
        raise DiskFullError(f"{cause}{where}: {remedy} and run it again") from error


class OxigraphStore:
    """A `GraphStore` over pyoxigraph, which aborts when another thread reads a result."""

    is_shared = False
    max_values = 500

    def __init__(
        self,
        store: ox.Store,
        *,
        writable: bool = True,
        folder: Path | None = None,
        files: Checkpoint | None = None,
    ) -> None:
        """`folder` is the graph's folder, which has ``store/``; `files` are those of the store."""
        self._store: ox.Store | None = store
        self._files = files  # after the store, which is closed first
        self._writable = writable
        self.folder = folder
        self._unflushed = 0
        self._union = DefaultGraphUnion()
        self._scratch: ScratchFolder | None = None

    @classmethod
    def in_memory(cls) -> OxigraphStore:
        """An empty store that lives as long as the object."""
        return cls(ox.Store())

    @classmethod
    def create(cls, folder: Path) -> OxigraphStore:
        """Open for writing; the store is created if it does not exist."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _raise_if_full(folder.parent, error)
            raise StoreError(
                f"cannot create folder {shown_path(folder)}: {error.strerror}"
            ) from error
        return cls.open(folder, writable=True)

    @classmethod
    def open(cls, folder: Path, *, writable: bool = False) -> OxigraphStore:
        """Open an existing store; without `writable`, as a snapshot of its current state.

        The snapshot can be read as long as this object exists, whatever is written meanwhile.
        Raises `NotAGraphError`, `StoreLockedError`, `StoreError`.
        """
        if writable:
            return cls(open_store(folder), folder=folder.parent)
        store, files = _open_checkpoint(folder)
        return cls(store, writable=False, folder=folder.parent, files=files)

    @classmethod
    def copy_of(cls, quads: Iterable[ox.Quad]) -> OxigraphStore:
        """A store of some quads in a temporary folder, which is deleted with this object."""
        scratch = ScratchFolder("copy")
        writer = cls.create(scratch.path / "store")
        writer.load(quads)
        writer.close()
        store = cls.open(scratch.path / "store")
        store._scratch = scratch
        return store

    @property
    def checkpoint(self) -> Path | None:
        """The folder with the files of a snapshot, unchanged as long as this object exists.

        None for other stores, and where `Checkpoint` has no such folder.
        """
        return self._files.folder if self._files is not None and self._files.is_scratch else None

    @property
    def inner(self) -> ox.Store:
        """The pyoxigraph store, as long as this object exists; `StoreError` after `close`."""
        if self._store is None:
            raise StoreError("this graph is closed: open it again")
        return self._store

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        begin = time.monotonic()
        try:
            store = self.inner
            dataset: dict[str, Any] = {"use_default_graph_as_union": union}
            if default_graphs is not None:
                store, dataset = self._union.resolve(store, text, default_graphs)
            result = _materialize(store.query(text, **dataset))
        except SyntaxError as error:
            reason = syntax_reason(text, error)
            raise QueryError(f"the SPARQL query does not parse: {reason}") from error
        except _ENGINE_ERRORS as error:
            raise StoreError(f"the query failed: {error}") from error
        if log.isEnabledFor(logging.DEBUG):
            log.debug("query took %.3f s: %s", time.monotonic() - begin, _abbreviate(text))
        return result

    def select(self, text: str, key: str, *, iris: bool = False) -> Table:  # noqa: ARG002
        result = self.query(text)
        if not isinstance(result, Table):
            raise StoreError("not a SELECT query")
        return result

    def each_row(self, text: str, key: str, *, iris: bool = False) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002
        try:
            solutions: Any = self.inner.query(text)
        except _ENGINE_ERRORS as error:
            raise StoreError(f"the query failed: {error}") from error
        yield from map(tuple, _in_one_thread(solutions))

    def apply(self, change: Change) -> None:
        """Apply a change as one transaction; quads may be in the default graph."""
        operations = [f"DROP SILENT GRAPH <{graph}>" for graph in change.drop]
        operations += [f"CREATE SILENT GRAPH <{graph}>" for graph in change.create]
        operations += [_data_block("DELETE", change.delete), _data_block("INSERT", change.insert)]
        text = " ;\n".join(part for part in operations if part)
        if not text:
            return
        if not self._writable:
            raise StoreError("this graph was opened read-only")
        self._union.invalidate()
        try:
            self.inner.update(text)
            self._unflushed += len(change.insert) + len(change.delete)
            if self._unflushed >= FLUSH_INTERVAL:  # the log ensures durability
                self._unflushed = 0
                with suppress(*_ENGINE_ERRORS):
                    self.inner.flush()
        except SyntaxError as error:
            raise QueryError(f"the change does not parse: {error}") from error
        except _ENGINE_ERRORS as error:
            raise self.write_error("nothing changed", error) from error

    def load(self, quads: Iterable[ox.Quad]) -> None:
        pending = iter(quads)
        first = [*islice(pending, INGESTED)]
        with self._loading() as store:
            if len(first) < INGESTED:
                store.extend(first)
            else:
                store.bulk_extend(chain(first, pending))

    def load_ntriples(self, data: bytes, graph: str) -> None:
        is_large = data.count(b"\n") >= INGESTED
        with self._loading() as store:
            load = store.bulk_load if is_large else store.load
            load(data, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))

    @contextmanager
    def _loading(self) -> Iterator[ox.Store]:
        if not self._writable:
            raise StoreError("this graph was opened read-only")
        self._union.invalidate()
        try:
            yield self.inner
        except _ENGINE_ERRORS as error:
            raise self.write_error("part of the data may be stored", error) from error

    def backup(self, folder: Path) -> None:
        """Copy the store into a new folder, by hard links where possible; raises `StoreError`."""
        try:
            self.inner.backup(folder)
        except _ENGINE_ERRORS as error:
            raise self.write_error("nothing changed", error) from error

    def write_error(self, state: str, error: Exception) -> StoreError:
        """The error to raise for an exception of the engine; raises `DiskFullError` itself."""
        _raise_if_full(self.folder, error)
        return StoreError(f"cannot write to the graph, {state}: {error}")

    def quads(self, graph: str | None = None) -> Iterator[ox.Quad]:
        name = None if graph is None else ox.NamedNode(graph)
        yield from _in_one_thread(self.inner.quads_for_pattern(None, None, None, name))

    def graphs(self) -> list[str]:
        names = self.inner.named_graphs()
        return sorted(name.value for name in names if isinstance(name, ox.NamedNode))

    def without(self, quads: Collection[ox.Quad]) -> OxigraphStore:
        """A store of all other quads, which does not change this one.

        That of a snapshot is a `Checkpoint` with the same tables, from which the quads are removed;
        any other store is copied in memory, some 100,000 quads a second.
        """
        files = Checkpoint(self._files.folder) if self._files is not None else None
        if files is not None and files.is_scratch:
            copy = open_store(files.folder)
            for quad in quads:
                copy.remove(quad)
            return OxigraphStore(copy, writable=False, files=files)
        copy, absent = ox.Store(), frozenset(quads)
        copy.bulk_extend(quad for quad in self.quads() if quad not in absent)
        return OxigraphStore(copy, writable=False)

    def close(self) -> None:
        self._union.invalidate()
        store, self._store = self._store, None
        if store is not None and self._writable:
            with suppress(OSError):
                store.flush()


def _in_one_thread(items: Iterator[Any]) -> Iterator[Any]:
    """What an iterator of the engine yields; raises `StoreError`, also in another thread."""
    owner = threading.get_ident()
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except _ENGINE_ERRORS as error:
            raise StoreError(f"cannot read the graph: {error}") from error
        yield item
        if threading.get_ident() != owner:
            _leaked.append(items)
            raise StoreError("the graph was read in another thread: pass on a list instead")


def _materialize(result: Any) -> Table | Triples | bool:
    if isinstance(result, ox.QueryBoolean):
        return bool(result)
    if isinstance(result, ox.QueryTriples):
        return Triples(list(result))
    names = tuple(variable.value for variable in result.variables)
    return Table(names, [tuple(row) for row in result])


def _abbreviate(text: str) -> str:
    """The beginning of a query on one line, without its prologue and all values but the first."""
    line = " ".join(split_prologue(text)[1].split())
    line = _VALUES.sub(r"\1 ... }", line)
    return line if len(line) <= _LOGGED else f"{line[:_LOGGED]} ..."


# -------------------------------------------------------- One state of the files of a store


_OPEN_FILES = Path("/proc/self/fd")
"""Where the system names the files that a process has open."""
_TABLE = re.compile(r"\d+\.sst")
_ATTEMPTS = 1000
"""At opening all files while they change; each attempt opens only tables that are new."""
_DESCRIPTORS = 6
"""File descriptors for each table: this process and RocksDB open it, for three states at a time."""


class Checkpoint:
    """A folder with one state of a store, which can be opened until this object is deleted.

    Tables are links to files that this process has open, so that they are not copied and nothing
    need be writable. The manifest, which lists the tables of a state, is a copy, as are the logs:
    RocksDB writes new ones over the files of old ones. Where the system does not name open files,
    or has no folder for temporary ones, the folder is the store's.
    """

    def __init__(self, store: Path) -> None:
        """Raises `OSError`: `FileNotFoundError` if there is no store."""
        self.folder = store
        self.is_scratch = False
        if not _OPEN_FILES.is_dir():
            return
        try:
            self._scratch = ScratchFolder("read")
        except OSError:
            return
        self.folder = self._scratch.path
        self.is_scratch = True
        self._inodes: dict[str, int] = {}
        self._descriptors: list[int] = []
        weakref.finalize(self, lambda opened: [*map(os.close, opened)], self._descriptors)
        manifest = _read_manifest(store)
        for _ in range(_ATTEMPTS):
            self._take_files(store)
            before, manifest = manifest, _read_manifest(store)
            if manifest == before:  # no file of a state is deleted or reused before the next one
                break
        else:
            raise BlockingIOError("the files of the store change all the time")
        name, content = manifest
        (self.folder / name).write_bytes(content)
        (self.folder / "CURRENT").write_text(f"{name}\n")

    def _take_files(self, store: Path) -> None:
        """Copy the logs, and open and link the tables that are not open yet."""
        for path in self.folder.glob("*.log"):
            path.unlink()
        for path in sorted(store.glob("*.log")):
            with suppress(FileNotFoundError):  # it belongs to no state any more
                shutil.copyfile(path, self.folder / path.name)
        with os.scandir(store) as entries:
            tables = {
                entry.name: entry.inode() for entry in entries if _TABLE.fullmatch(entry.name)
            }
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = _DESCRIPTORS * len(tables)
        if resource.RLIM_INFINITY not in (soft, hard) and soft < count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
        for name, _ in tables.items() - self._inodes.items():
            with suppress(FileNotFoundError):
                descriptor = os.open(store / name, os.O_RDONLY | os.O_CLOEXEC)
                self._descriptors.append(descriptor)
                self._inodes[name] = os.fstat(descriptor).st_ino
                (self.folder / name).unlink(missing_ok=True)
                (self.folder / name).symlink_to(_OPEN_FILES / str(descriptor))


def _read_manifest(store: Path) -> tuple[str, bytes]:
    """The name and content of the current manifest. Raises `FileNotFoundError`."""
    name = (store / "CURRENT").read_text(encoding="ascii").strip()
    return name, (store / name).read_bytes()


# ------------------------------------------------------------- Unions of some named graphs


FEW_GRAPHS = 8
"""Up to this many graphs are passed to the engine as a list."""
MOST_COPIED = 1_000_000
"""The maximum number of quads to copy, at 100,000 per second; beyond it the list is passed."""


class DefaultGraphUnion:
    """Runs queries over the union of named graphs, and caches the last copy of such graphs."""

    def __init__(self) -> None:
        self._cached: tuple[frozenset[str], ox.Store | None] | None = None

    def invalidate(self) -> None:
        """Discard the copy, because the store has changed."""
        self._cached = None

    def resolve(
        self, store: ox.Store, text: str, graphs: Sequence[str]
    ) -> tuple[ox.Store, dict[str, Any]]:
        """The store to query, and the dataset as keyword arguments of `Store.query`."""
        names = frozenset(graphs)
        if len(names) > FEW_GRAPHS and not uses_graph(text):
            copy = self._copy(store, names)
            if copy is not None:
                return copy, {"use_default_graph_as_union": True}
        return store, {"default_graph": [ox.NamedNode(name) for name in sorted(names)]}

    def _copy(self, store: ox.Store, graphs: frozenset[str]) -> ox.Store | None:
        """A store with only these graphs, or None if they are too large to be copied."""
        if self._cached is None or self._cached[0] != graphs:
            copy, names = ox.Store(), map(ox.NamedNode, sorted(graphs))
            each = (store.quads_for_pattern(None, None, None, name) for name in names)
            quads = chain.from_iterable(each)
            copy.bulk_extend(islice(quads, MOST_COPIED))
            self._cached = graphs, None if next(quads, None) is not None else copy
        return self._cached[1]


# ---------------------------------------------------------------- Queries with a time limit


_UNLIMITED: Final = 1e6
"""Seconds (11 days) that stand for no limit."""


def query_in_child(
    folder: Path,
    text: str,
    seconds: float,
    *,
    union: bool,
    default_graphs: Sequence[str] | None,
    without: Collection[ox.Quad] = (),
) -> Table | Triples | bool:
    """Run a query on the graph in `folder` as it is now; the other arguments are those of `query`.

    The query does not see the quads in `without`. `seconds` is the time limit; 0 means none. An
    interrupt ends the query at once. Raises `QueryTimeoutError`, and what `OxigraphStore.open` and
    `query` raise.
    """
    limits = Limits(seconds or _UNLIMITED, half_of_memory())
    try:
        return run(_query, limits, folder, text, union, default_graphs, without)
    except EndedError as error:
        if error.by_time:
            raise QueryTimeoutError(
                f"the query took more than {seconds:g} seconds: raise --timeout (in Python: "
                "timeout), or simplify the query; --explain prints how much each pattern matches"
            ) from error
        raise StoreError(
            "the query needs more memory than is available, or crashed the engine: add a LIMIT, "
            "or simplify it"
        ) from error


def _query(
    folder: Path,
    text: str,
    union: bool,
    default_graphs: Sequence[str] | None,
    without: Collection[ox.Quad],
) -> Table | Triples | bool:
    store = OxigraphStore.open(folder / "store")
    store = store.without(without) if without else store
    return store.query(text, union=union, default_graphs=default_graphs)


# ----------------------------- The process that writes to a graph, and cleanup after killed ones


WRITER_FILE = "writer.json"
"""Name of the file in the graph's folder that names the writing process."""
COPY = "write-"
"""Prefix of the names of working copies of a store, in the graph's folder."""
_MAX_COMMAND = 80
"""Characters of a command that are shown."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a graph open for writing; `begun` is its start time in clock ticks."""

    pid: int
    host: str
    command: str
    since: str
    begun: str

    def __str__(self) -> str:
        is_local = self.host == platform.node()
        where = "" if is_local else f" on {self.host}"
        if is_local and self.pid == os.getpid():
            return "this process itself"
        since = datetime.fromisoformat(self.since)
        today = datetime.now().astimezone().date()
        time = f"{since:%H:%M}" if since.date() == today else self.since
        return f"'{self.command}' (process {self.pid}{where}, since {time})"


def record_holder(folder: Path) -> None:
    """Record this process as the writer of the graph in a folder, if the folder is writable."""
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = Holder(os.getpid(), platform.node(), _command(), now, _start_time(os.getpid()))
    with suppress(OSError):
        (folder / WRITER_FILE).write_text(json.dumps(asdict(holder)), encoding="utf-8")


def remove_holder(folder: Path) -> None:
    """Delete the record, if it is that of this process."""
    holder = holder_of(folder)
    if holder is not None and (holder.host, holder.pid) == (platform.node(), os.getpid()):
        with suppress(OSError):
            (folder / WRITER_FILE).unlink()


def holder_of(folder: Path) -> Holder | None:
    """The recorded writer; None if there is none, or if it was a local process that has ended."""
    try:
        holder = Holder(**json.loads((folder / WRITER_FILE).read_text(encoding="utf-8")))
        datetime.fromisoformat(holder.since)
    except (OSError, ValueError, TypeError):
        return None
    if holder.host != platform.node():
        return holder
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError, ValueError, TypeError):
        return None
    except OSError:
        pass  # a process of another user
    return holder if _start_time(holder.pid) == holder.begun else None


def remove_leftovers(folder: Path) -> None:
    """Delete what earlier writers left in a graph's folder; requires the lock of the store.

    RocksDB keeps the log of what it did, a tenth of a megabyte, of the last thousand writers.
    """
    for pattern in ("bulk-*.sst", "OPTIONS-*.dbtmp", "LOG.old.*"):
        for path in (folder / "store").glob(pattern):
            with suppress(OSError):
                path.unlink()
    for path in folder.glob(f"{COPY}*"):
        shutil.rmtree(path, ignore_errors=True)


def _start_time(pid: int) -> str:
    """The start time of a process in clock ticks since boot; empty if not available."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return state.rpartition(")")[2].split()[19]


def _command() -> str:
    """The command line up to the first option, because options may contain private data."""
    program, *words = sys.argv or ["python"]
    name = Path(program).name
    command = "sarag" if name in ("sarag", "__main__.py") else name or "python"
    text = " ".join([command, *takewhile(lambda word: not word.startswith("-"), words)])
    return text if len(text) <= _MAX_COMMAND else text[: _MAX_COMMAND - 1] + "…"
