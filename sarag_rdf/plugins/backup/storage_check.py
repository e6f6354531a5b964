"""``sarag fsck --deep``: every block of every table of a graph is read, with its checksum.

The store has each quad in six orders, and text in a table beside them. RocksDB compares the
checksum of each block that it reads, but a query reads only the blocks that it needs. Here all
quads are read in each order, by the patterns that the orders are for: with a graph, and the
predicate or object in it; and over all graphs with the subject, predicate or object. The orders
must have the same quads.

All this is done in a child process: damage may crash the engine, or make it need any amount of
time or memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.errors import StoreError, shown_path
from sarag_rdf.base.ports import Progress
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, stream
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.location import FolderLocation
from sarag_rdf.kg.session import Session
from sarag_rdf.plugins.fsck import Finding

STORAGE = "storage"
"""The name of this check."""
RESTORE = "sarag restore BACKUP --replace"
SECONDS = 120.0
"""The maximum time between two signs of life of the child process."""
_STEP = 50_000
"""Quads between two of them."""
_MOST = 20
"""Findings that are listed."""
_ENGINE_ERRORS = (OSError, RuntimeError, ValueError)
_SUM = (1 << 64) - 1


def check(session: Session, progress: Progress) -> Iterator[Finding]:
    """What is wrong with the files of a graph in a folder."""
    location = session.location
    store = location.folder / "store" if isinstance(location, FolderLocation) else None
    if store is None or not store.is_dir() or not any(store.iterdir()):
        return
    advance = progress("reading all orders of the quads", 0)
    try:
        for problem in stream(read_all, Limits(SECONDS, half_of_memory()), store):
            if problem:
                yield Finding(STORAGE, problem, RESTORE)
            else:
                advance(_STEP)
    except EndedError as error:
        yield Finding(STORAGE, f"a process that reads all of it {error}", RESTORE)


def read_all(folder: Path) -> Iterator[str]:
    """Read a store in all orders; problems, and empty strings as signs of life."""
    try:
        store = OxigraphStore.open(folder)
    except StoreError as error:
        yield str(error)
        return
    reading = _Reading(store.inner)
    found = {""}
    files = str(store.checkpoint or folder)
    for problem in reading.problems():
        text = problem.replace(files, shown_path(folder))
        if not text or (text not in found and len(found) <= _MOST):
            yield text
        found.add(text)


@dataclass
class _Sum:
    """The number of quads, and a sum of their hashes, which no order changes."""

    count: int = 0
    hashes: int = 0

    def add(self, other: _Sum) -> None:
        self.count += other.count
        self.hashes = (self.hashes + other.hashes) & _SUM


@dataclass
class _Reading:
    """Reads a store, and notes the terms that the other orders are read by."""

    store: ox.Store
    total: _Sum = field(default_factory=_Sum)
    terms: tuple[set[Any], set[Any], set[Any]] = field(
        default_factory=lambda: (set(), set(), set())
    )
    """Subjects, predicates and objects."""
    has_failed: bool = False

    def problems(self) -> Iterator[str]:
        try:
            graphs = [ox.DefaultGraph(), *self.store.named_graphs()]
        except _ENGINE_ERRORS as error:
            yield str(error) or "unreadable"
            return
        for graph in graphs:
            yield from self._graph(graph)
        for place, (name, terms) in enumerate(
            zip(("subject", "predicate", "object"), self.terms, strict=True)
        ):
            yield from self._compare(f"by {name}", terms, place, None, self.total)

    def _graph(self, graph: Any) -> Iterator[str]:
        """Read a graph in its three orders."""
        whole = _Sum()
        predicates: set[Any] = set()
        objects: set[Any] = set()

        def noted(quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
            for quad in quads:
                predicates.add(quad.predicate)
                objects.add(quad.object)
                self.terms[0].add(quad.subject)
                yield quad

        yield from self._read((None, None, None, graph), whole, noted)
        self.terms[1].update(predicates)
        self.terms[2].update(objects)
        self.total.add(whole)
        yield from self._compare(f"of {graph} by predicate", predicates, 1, graph, whole)
        yield from self._compare(f"of {graph} by object", objects, 2, graph, whole)

    def _compare(
        self, order: str, terms: Collection[Any], place: int, graph: Any, expected: _Sum
    ) -> Iterator[str]:
        """Read the quads with each of some terms; together they must be as expected."""
        found = _Sum()
        for term in terms:
            pattern: list[Any] = [None, None, None, graph]
            pattern[place] = term
            yield from self._read(tuple(pattern), found)
        if found != expected and not self.has_failed:
            yield f"the quads {order} are not those by graph: {found.count}, not {expected.count}"

    def _read(self, pattern: Any, into: _Sum, noted: Any = iter) -> Iterator[str]:
        try:
            for quad in noted(self.store.quads_for_pattern(*pattern)):
                into.count += 1
                into.hashes = (into.hashes + hash(quad)) & _SUM
                if into.count % _STEP == 0:
                    yield ""
        except _ENGINE_ERRORS as error:
            self.has_failed = True
            yield str(error) or "unreadable"
