"""What runs in a worker process: the graph as clients may read it, and the loop over jobs.

A job is a command: a picklable object with ``run(worker)``, which stands beside the code that it
runs. A process runs one at a time, and can be killed at any time.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import textwrap
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

import pyoxigraph as ox

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.iris import DEFAULT_BASE, Minter, sha256_hex
from sarag_rdf.base.ports import Advance, GraphStore
from sarag_rdf.building.entailed_graph import absent_at
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import (
    ALL,
    accessible_graphs,
    default_graphs,
    imported_graphs,
    local_store,
    part_graphs,
)
from sarag_rdf.graph.store.oxigraph import (
    DefaultGraphUnion,
    OxigraphStore,
    holder_of,
    remove_holder,
)
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.graph.store.sparql_syntax import syntax_reason
from sarag_rdf.server.endpoint_store import EndpointStore, EndpointUnion
from sarag_rdf.server.jobs import AccessibleGraphs, JobReply, Progress, RequestError, Stop
from sarag_rdf.server.serve_settings import ServeSettings

if TYPE_CHECKING:
    from sarag_rdf import KnowledgeGraph


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


# ---------------------------------------------------------------- Jobs and the graph that they read

log = logging.getLogger(__name__)
READY = "ready"
OpenGraph = Callable[..., "KnowledgeGraph"]
"""Opens the graph; ``over`` and ``facts`` replace the server's."""
_MAX_MESSAGE = 300
"""Characters of an engine's error message."""
_MOST_LIMITED = 4
"""Graphs that are open at the same time for clients that may read some parts only."""
WRITER_SECONDS = 60.0
"""Seconds for which searches read the state before a change whose writer is still at work."""
_EMBEDDING_SHARE = 0.25
"""The part of a question's time limit after which texts are embedded by the next request."""


class Worker:
    """What a job works with: the graph as the client of the current job may read it.

    The graph and its models stay loaded between jobs. `report` is called with what happens before
    the reply; what it raises ends the job.
    """

    def __init__(
        self,
        settings: ServeSettings,
        folder: Path,
        open_graph: OpenGraph,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.settings, self.folder, self.report = settings, folder, report
        self.client = AccessibleGraphs()
        self.has_written = False
        self._open_graph = open_graph
        self._source = served(settings.kg)
        self._snapshot: StoreSnapshot | None = None
        self._is_current = False
        self._steps = EmbeddingSteps(settings.question_timeout * _EMBEDDING_SHARE)
        self._graphs: OrderedDict[Any, tuple[KnowledgeGraph, str]] = OrderedDict()
        self._waits_since: float | None = None

    def begin(self, client: AccessibleGraphs) -> None:
        """Begin a job of a client."""
        self.client, self._is_current, self.has_written = client, False, False

    @property
    def snapshot(self) -> StoreSnapshot:
        """The store, in one state for the whole job; raises `StoreError`."""
        snapshot = self._snapshot
        if snapshot is None or not (self._is_current or snapshot.state == self._source.state):
            snapshot = self._snapshot = self._source.snapshot()
        self._is_current = True
        return snapshot

    @property
    def readable(self) -> frozenset[str] | None:
        """The named graphs that the client may read; None for all."""
        return self.snapshot.accessible(self.client)

    # ------------------------------------------------------------------- Parts of the graph

    @property
    def _served(self) -> tuple[str, ...] | None:
        """The names of the parts that are served and may be read, none for the default.

        None if there are names, but none that may be read.
        """
        over = self.settings.over
        if self.readable is None or not over:
            return over
        known = {ALL, DOCUMENTS, *self.imports()}
        return tuple(name for name in over if name in known) or None

    def parts(self) -> list[str]:
        """The names of the served parts that the client may read as a whole."""
        readable, served = self.readable, self._served
        if served is None:
            return []
        parts = part_graphs(self.snapshot.reader(readable), served)
        return [name for name, own in parts.items() if readable is None or own <= readable]

    def imports(self) -> list[str]:
        """The names of imported graphs that the client may read."""
        return [each.name for each in imported_graphs(self.snapshot.reader(self.readable))]

    def default_graphs(self, over: tuple[str, ...]) -> list[str] | None:
        """The graphs of the parts in `over`, or of those that are served, by default.

        None if these are all graphs that may be read. A store without metadata has no parts: all
        its graphs are queried. Raises `UsageError` for a name of no part that may be read.
        """
        if self.snapshot.meta is None:
            return None
        names = over or self._served
        return [] if names is None else self.snapshot.default_graphs(names, self.readable)

    def at(self, moment: str) -> QueriedStore:
        """The store to query, as of a moment; the whole store without one."""
        return self.snapshot.at(moment) if moment else self.snapshot.whole

    def union(
        self, text: str, over: tuple[str, ...], seen: QueriedStore | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """The store for a query whose default graph is the union of the parts in `over`.

        Also returns the dataset, as keyword arguments of `pyoxigraph.Store.query`, with the
        readable graphs only. `seen` is the store of a moment. Raises `UsageError` for an unknown
        name.
        """
        seen, readable, graphs = seen or self.at(""), self.readable, self.default_graphs(over)
        if readable is None:
            if graphs is None:
                return seen.store, {"use_default_graph_as_union": True}
            return seen.union.resolve(seen.store, text, graphs)
        default = readable if graphs is None else readable.intersection(graphs)
        store, dataset = seen.union.resolve(seen.store, text, sorted(default))
        if store is seen.store:
            dataset["named_graphs"] = [ox.NamedNode(graph) for graph in sorted(readable)]
        return store, dataset

    # ------------------------------------------------------------------ The graph as a whole

    def kg(self, over: tuple[str, ...] = ()) -> KnowledgeGraph:
        """The graph for the client, or its parts in `over`.

        A client that may read some graphs only gets the parts of which it may read everything.
        Raises `RequestError`: 403 if it may read no part, 400 for a part that is not served.
        """
        if not self.client.is_limited and not over:
            return self._opened(None, None)
        parts = tuple(self.parts())
        if not parts:
            raise RequestError(403, "this token may not read any graph that is searched here")
        unknown = [name for name in over if name not in parts and name != ALL]
        if unknown:
            raise RequestError(
                400, f"no such graph is searched here: '{unknown[0]}': use all, {', '.join(parts)}"
            )
        return self._opened(parts if not over or ALL in over else over, self.readable)

    def _opened(self, over: tuple[str, ...] | None, readable: Graphs) -> KnowledgeGraph:
        """The graph, or its parts in `over` and what else is `readable`, in its current state.

        Of several, those that were used last stay open.
        """
        self._steps.begin()
        current, key = self._source.state, (over, readable)
        if key in self._graphs:
            kg, state = self._graphs.pop(key)
        else:
            limits = {} if over is None else {"over": over, "facts": None}
            kg, state = self._open_graph(progress=self._steps, **limits), ""
            kg.session.limit_to(readable)
        self._graphs[key] = kg, state
        limited = [key for key in self._graphs if key != (None, None)]
        if len(limited) > _MOST_LIMITED:
            self._graphs.pop(limited[0])[0].close()
        if state != current and not (state and self._writer_goes_on()):
            kg.reload()
            self._graphs[key] = kg, current
        return kg

    def _writer_goes_on(self) -> bool:
        """Whether searches read the state before a change, as its writer is still at work.

        A writer first commits, and then makes the vectors and the network of the new state. Until
        it has, searching the new state would make all of them here, in each process. The wait for
        a writer is bounded, as indexing may take hours, and one on another machine may have died.
        """
        now = time.monotonic()
        if not self._source.is_being_written:
            self._waits_since = None
            return False
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since < WRITER_SECONDS:
            return True
        self._waits_since = None
        return False

    @contextmanager
    def file(self) -> Iterator[IO[bytes]]:
        """A file for the body of a reply, which is deleted if the block fails."""
        prefix = f"{os.getpid()}-"
        with tempfile.NamedTemporaryFile(prefix=prefix, dir=self.folder, delete=False) as stream:
            try:
                yield stream
            except BaseException:
                Path(stream.name).unlink()
                raise


class EmbeddingSteps:
    """A Progress that ends requests which embed texts for too long; their vectors are stored."""

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
                    f"the graph lacks vectors: {what}, {done} of {total} are done: repeat the "
                    "request to go on, or run sarag search on the graph, which has no limit",
                    Retry_After="1",
                )

        return advance


def evaluation_error(error: Exception, sparql: str = "") -> RequestError:
    """The `RequestError` for an exception of the engine while parsing or evaluating `sparql`."""
    if isinstance(error, SyntaxError):
        return RequestError(400, f"the SPARQL does not parse: {syntax_reason(sparql, error)}")
    text = textwrap.shorten(str(error), _MAX_MESSAGE, placeholder=" ...")
    return RequestError(400, f"evaluation failed: {text}")


class Job(Protocol):
    """Something to do in a worker process."""

    def run(self, worker: Worker) -> JobReply:
        """Do it; raises `SaragError`."""


def work(pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph) -> None:
    """Run jobs until the pipe is closed; temporary files are created in `folder`.

    SIGINT is ignored: the server handles it, and ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_with_server, daemon=True).start()
    tempfile.tempdir = folder

    def report(progress: Progress) -> None:
        pipe.send(progress)
        if pipe.poll():  # nothing else is sent before the reply
            pipe.recv()
            raise RequestError(499, "the client disconnected")

    worker = Worker(settings, Path(folder), open_graph, report)
    pipe.send(READY)
    while True:
        try:
            message = pipe.recv()
            if isinstance(message, Stop):
                continue  # the job had ended when it was stopped
            job, client = message
            worker.begin(client)
            reply = attempt(job, worker)
            if worker.has_written:
                remove_holder(settings.folder)
                gc.collect()  # pyoxigraph closes a store when its last reference is gone
            pipe.send(reply)
        except (EOFError, OSError):
            return


def attempt(job: Job, worker: Worker) -> JobReply | RequestError:
    """The reply to a job, or its error."""
    try:
        return job.run(worker)
    except SaragError as error:
        failed = RequestError.of(error)
        # a copy, as the traceback refers to the store, which is closed with its last reference
        return RequestError(failed.status, str(failed), code=failed.code, **failed.headers)
    except MemoryError:
        return RequestError(507, "the worker process ran out of memory: request less")
    except OSError as error:
        return RequestError(500, f"the server failed: {error.strerror or error}")
    except Exception as error:
        log.exception("a job failed")
        return RequestError(500, f"unexpected {type(error).__name__} in the server")


def _exit_with_server() -> None:
    """Exit, even in the middle of a job, when the server process ends."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(1)
