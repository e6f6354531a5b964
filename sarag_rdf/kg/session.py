"""One open knowledge graph: how it is read, written, repaired, and what is cached of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint, is_url
from sarag_rdf.base.errors import DiskFullError, InputError, SaragError, UsageError
from sarag_rdf.base.iris import DEFAULT_BASE, Minter
from sarag_rdf.base.plugins import workers_of
from sarag_rdf.base.ports import LLM, Embedder, Extractor, Progress, silent
from sarag_rdf.graph.graph_reader import GraphReader, Journal
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import local_store, select_parts
from sarag_rdf.kg.location import Location, endpoint_beside, location_of
from sarag_rdf.kg.registry import options_of
from sarag_rdf.kg.vectors import ChooseVectors, Models, Vectors, recorded_model
from sarag_rdf.retrieval.view import Engine, GraphView

if TYPE_CHECKING:
    from sarag_rdf.building.index_run import IndexReport
    from sarag_rdf.building.plan import Request
    from sarag_rdf.graph.store.oxigraph import OxigraphStore


@dataclass(eq=False)
class Snapshot:
    """One state of a graph, and everything that is computed from that state when first needed.

    `over` names the parts that are searched; none means all but `facts_part`. `facts` gives the
    view of the graph whose statements are activated, if it is another one.
    """

    reader: GraphReader
    over: Sequence[str]
    vectors: Vectors
    facts: Callable[[GraphReader], GraphView] | None = None
    facts_part: str = ""
    _view: GraphView | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    @property
    def own(self) -> GraphReader:
        """The reader of a graph that sarag wrote; raises `UsageError` for any other."""
        if self.reader.over is not None:
            raise UsageError(
                f"this needs a graph written by sarag, not one of kind {self.reader.parts[0].kind}"
            )
        return self.reader

    @cached_property
    def local(self) -> OxigraphStore:
        """The store of the graph, or a copy of it if it is behind an endpoint."""
        return local_store(self.own)

    @cached_property
    def searched(self) -> GraphReader:
        """The reader of the parts that are searched; raises `UsageError` for an unknown part."""
        if self.reader.over is not None:
            return self.reader
        return select_parts(self.reader, self.over, without=self.facts_part)

    @property
    def view(self) -> GraphView:
        """What retrievers read, built once even if several threads ask for it.

        Raises `EmptyGraphError`, `ModelMismatchError`, `ModelError`, `VectorStoreError`.
        """
        with self._lock:
            if self._view is None:
                facts = self.facts(self.reader) if self.facts is not None else None
                self._view = self.vectors.view(self.searched, facts)
            return self._view


class Session:
    """Opens one knowledge graph; all access is in the blocks of `read` and `write`.

    Reading never locks the graph: the first read opens a snapshot, which all further reads share
    until a write of this session, or `invalidate`, drops it with everything computed from it. A
    write locks the graph for as long as its block runs.
    """

    def __init__(
        self,
        location: str | Path | SparqlEndpoint | None,
        *,
        base: str | None = None,
        over: Sequence[str] = (),
        embedder: str | Embedder | None = None,
        endpoint: ModelEndpoint | None = None,
        llm: LLM | None = None,
        engine: Engine = "auto",
        vectors: str | ChooseVectors | None = None,
        keep_vectors: bool = True,
        facts: str | SparqlEndpoint | None = None,
        progress: Progress = silent,
    ) -> None:
        """See `sarag_rdf.open`."""
        self.location = location_of(location)
        self.over = over
        self._new_minter = Minter.for_base(base) if base else None
        cache = self.location.cache
        self.models = Models(cache, embedder, endpoint, llm, writable_cache=keep_vectors)
        choose = options_of("vectors", vectors) if isinstance(vectors, str) else vectors
        self.vectors = Vectors(cache, self.models, engine, choose, progress)
        if isinstance(facts, str) and is_url(facts):
            facts = SparqlEndpoint(facts)
        self._facts: str | Location = facts if isinstance(facts, str) else ""
        if isinstance(facts, SparqlEndpoint):
            self._facts = location_of(endpoint_beside(facts, self.location))
        self._readable: frozenset[str] | None = None
        self._snapshot: Snapshot | None = None
        self._lock = threading.Lock()

    def limit_to(self, readable: frozenset[str] | None) -> None:
        """Read some named graphs only, on behalf of a client; see `GraphReader.readable`."""
        self._readable = readable
        self.invalidate()

    @contextmanager
    def read(self, *, missing_ok: bool = False, latest: bool = False) -> Iterator[Snapshot]:
        """A block that reads one state of the graph; in memory, writers wait until it ends.

        With `missing_ok` a graph that does not exist is read as an empty one. With `latest` the
        snapshot is opened again. Raises `NotAGraphError`, `EmptyGraphError`, `StoreError`.
        """
        if latest:
            self.invalidate()
        with self.location.excluding_writers():
            yield self._current(missing_ok=missing_ok)

    @contextmanager
    def write(self, *, create: bool = True, repair: bool = True) -> Iterator[GraphReader]:
        """A block that reads and writes the graph, locked for one writer.

        The reader notes all changes in its journal; its store is an `EntailingStore`. A graph that
        does not exist is created, unless `create` is off. With `repair`, a change that was
        interrupted is completed first. Other threads read the state before the write until the
        block ends. Raises `StoreLockedError`, `DiskFullError`, `StoreError`; without `create`,
        `NotAGraphError` and `EmptyGraphError`.
        """
        # a session that only reads does without these
        from sarag_rdf.building.commit import repair as repair_graph
        from sarag_rdf.building.entailed_graph import EntailingStore

        if not create:
            with self.read(latest=True):  # raises if there is no graph
                pass
        self.invalidate()
        try:
            with self.location.open_locked() as store:
                minter = self._minter(read_meta(store))
                reader = GraphReader(EntailingStore(store, minter), minter, journal=Journal())
                if repair:
                    repair_graph(reader)
                yield reader
        except DiskFullError as error:
            self.invalidate()
            raise DiskFullError(f"{error}{self._sources()}") from error
        finally:
            self.invalidate()

    def carry_out(self, request: Request, extractor: Extractor, progress: Progress) -> IndexReport:
        """Carry out the plan of a request to index documents, under one lock.

        A graph that does not exist is created if there is something to index.
        """
        from sarag_rdf.building.index_run import initial_report, run
        from sarag_rdf.building.plan import plan

        workers = workers_of(request.reading.workers)
        creates, first = request.mode != "update", None
        if creates and not self.location.exists():
            with self.read(missing_ok=True, latest=True) as snapshot:
                first = plan(snapshot.reader, request, extractor.method)
            if not first.todo:
                return initial_report(first)
        with self.write(create=creates) as reader:
            is_still_new = first is not None and read_meta(reader.store) is None
            todo = first if first and is_still_new else plan(reader, request, extractor.method)
            if todo.refused:
                raise InputError(todo.refused)
            texts = self.models.embedders(recorded_model(reader)).texts
            block = workers and workers.spread(extractor, texts, self.location.cache)
            with block or nullcontext(extractor) as used:
                self.vectors.record_model(reader)
                with closing(self.vectors.prefetcher(reader)) as prefetcher:
                    report = run(reader, todo, used, progress=progress, written=prefetcher.take)
                self.vectors.build(reader, progress)
            return report

    def parts(self, over: Sequence[str]) -> GraphReader:
        """The reader of the parts in `over`, or of a graph that sarag did not write as it is."""
        with self.read() as snapshot:
            reader = snapshot.reader
            return select_parts(reader, over) if reader.over is None else reader

    def own_parts(self, over: Sequence[str]) -> GraphReader:
        """The reader of the parts in `over`, or of all of a graph that sarag wrote."""
        with self.read() as snapshot:
            return select_parts(snapshot.own, over) if over else snapshot.own

    def invalidate(self) -> None:
        """Drop the snapshot and everything computed from it; the next read opens a new one.

        Its store is not closed: other threads may still be reading it.
        """
        with self._lock:
            self._snapshot = None

    def close(self) -> None:
        """Close the files of the graph and its caches; the next use opens them again."""
        self.invalidate()
        self.models.close()
        self.vectors.close()

    def _current(self, *, missing_ok: bool) -> Snapshot:
        with self._lock:
            if self._snapshot is not None:
                return self._snapshot
            store = self.location.open(missing_ok=missing_ok)
            foreign = self.location.foreign_part(store)
            if foreign is not None:
                reader = GraphReader(store, self._new_minter or Minter(), (foreign,))
            else:
                meta = read_meta(store)
                reader = GraphReader(store, self._minter(meta), readable=self._readable)
                missing_ok &= meta is None
            part = self._facts if isinstance(self._facts, str) else ""
            facts = self._facts_view if self._facts else None
            snapshot = Snapshot(reader, self.over, self.vectors, facts, part)
            if not missing_ok:  # else the graph may be created meanwhile
                self._snapshot = snapshot
            return snapshot

    def _facts_view(self, reader: GraphReader) -> GraphView:
        """What is read of the graph of facts, with the embedding model of the graph of `reader`."""
        model, facts = recorded_model(reader), self._facts
        if isinstance(facts, str):
            if reader.over is not None:
                raise UsageError(
                    f"no such graph at the endpoint: '{facts}': name another endpoint's URL with "
                    "--facts, or none"
                )
            return self.vectors.view(select_parts(reader, [facts]), model=model)
        store = facts.open()
        foreign = facts.foreign_part(store)
        meta = read_meta(store) if foreign is None else None
        other = GraphReader(
            store, Minter(meta.base) if meta else Minter(), (foreign,) if foreign else None
        )
        return self.vectors.elsewhere(facts.cache).view(other, model=model)

    def _minter(self, meta: Meta | None) -> Minter:
        """Mints the IRIs of the graph; a new one has the base that was given."""
        if meta is None:
            return self._new_minter or Minter(DEFAULT_BASE)
        if self._new_minter is not None and self._new_minter.base != meta.base:
            raise UsageError(
                f"the graph's base is {meta.base}, not {self._new_minter.base}: omit --base, or "
                "create another graph"
            )
        return Minter(meta.base)

    def _sources(self) -> str:
        """How many sources are in the graph, for an error message; empty if it cannot be read."""
        try:
            with self.read(missing_ok=True) as snapshot:
                count = len(snapshot.reader.select_provenance("sources"))
        except SaragError:
            return ""
        return f"; {count} sources are in the graph"
