"""What query files give over the parts of a graph: its documents, imported graphs, links.

Each part is read through the files of its kind (``queries/<kind>/``). They have the same names and
columns in every folder, so the rows of several parts are put one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pyoxigraph import Literal, NamedNode

from sarag_rdf.errors import RemoteRequestSizeError
from sarag_rdf.graph.delta import Journal
from sarag_rdf.iris import Minter, sha256_hex, statement_of
from sarag_rdf.ports import GraphStore, Term
from sarag_rdf.resources import QueryFile, query_file, query_names

BATCH = 500
"""Values a request: what public endpoints take without complaint."""
DOCUMENTS = "documents"
"""Name of the part that was extracted from documents."""
_INDEX = "index"
"""The folder of queries about how the graph of documents came about."""


@dataclass(frozen=True, slots=True)
class Part:
    """One graph of a knowledge graph, with the folder of queries that read it.

    `graphs` says what stands for ``<urn:sarag:graph:NAME>`` in them, ``kg`` being the graph itself
    (nothing at all stands for the default graph), and `paths` which properties stand for
    ``<urn:sarag:path:NAME>``.
    """

    name: str
    kind: str
    graphs: Mapping[str, str]
    store: GraphStore
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphReader:
    """Reads one knowledge graph: the parts in `over`, or what was extracted from documents."""

    store: GraphStore
    minter: Minter
    over: tuple[Part, ...] | None = None
    journal: Journal | None = field(default=None, compare=False)
    """What a writer changes is noted here."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that are read."""
        return (self.own,) if self.over is None else self.over

    @property
    def scope(self) -> str:
        """A digest of what is read: readers of equal scope give the same of one revision."""
        return sha256_hex(*(f"{part.name} {part.kind}" for part in self.parts))

    @property
    def own(self) -> Part:
        """What was extracted from documents."""
        graphs = {
            "kg": self.minter.kg_graph,
            "meta": self.minter.meta_graph,
            "runs": self.minter.runs_graph,
            "links": self.minter.links_graph,
            "decisions": self.minter.decisions_graph,
            "all": self.minter.graphs,
            "sources": self.minter.source_graphs,
        }
        return Part(DOCUMENTS, "sarag", graphs, self.store)

    @property
    def imported(self) -> GraphReader:
        """The same without what was extracted from documents."""
        others = tuple(part for part in self.parts if part.name != DOCUMENTS)
        return GraphReader(self.store, self.minter, others)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """All rows of a query file that takes no values, part by part."""
        return [row for part, query in self._files(name) for row in _all(part, query)]

    def rows_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query file for the given IRIs (sorted, each once), `BATCH` a request."""
        wanted = sorted(set(iris))
        for part, query in self._files(name):
            yield from _for(part, query, wanted)

    def rows_named(self, names: Iterable[Literal]) -> Iterator[tuple[Any, ...]]:
        """(name, entity) for those of the names, as they are spelled and tagged, that are known."""
        wanted = sorted(set(names), key=str)
        for part, query in self._files("entities-named"):
            yield from _in_batches(part, query, iter(wanted))

    def select_provenance(self, name: str) -> list[tuple[Any, ...]]:
        """All rows of a query of ``queries/index/`` that takes no values."""
        return _all(self.own, query_file(_INDEX, name))

    def select_provenance_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query of ``queries/index/`` for the given IRIs."""
        return _for(self.own, query_file(_INDEX, name), sorted(set(iris)))

    def select_provenance_for_terms(
        self, name: str, rows: Iterable[tuple[Term, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of a query of ``queries/index/`` for the given values, one tuple a row."""
        yield from _in_batches(self.own, query_file(_INDEX, name), iter(rows))

    def _files(self, name: str) -> Iterator[tuple[Part, QueryFile]]:
        for part in self.parts:
            if name in query_names(part.kind):
                yield part, query_file(part.kind, name)


def _all(part: Part, query: QueryFile) -> list[tuple[Any, ...]]:
    text = query.fill(None, part.graphs, part.paths)
    return part.store.select(text, query.key).rows


def _for(part: Part, query: QueryFile, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    pending: Iterator[Term | tuple[Term, ...]] = (
        _statements(iris) if query.takes_statements else map(NamedNode, iris)
    )
    yield from _in_batches(part, query, pending)


def _in_batches(
    part: Part, query: QueryFile, pending: Iterator[Term | tuple[Term, ...]]
) -> Iterator[tuple[Any, ...]]:
    while batch := list(islice(pending, BATCH)):
        yield from _select(part, query, batch)


def _statements(iris: Iterable[str]) -> Iterator[tuple[NamedNode, ...]]:
    """Subject, property and object of the IRIs that stand for a triple; others are left out."""
    for iri in iris:
        found = statement_of(iri)
        if found is not None:
            yield tuple(map(NamedNode, found))


def _select(
    part: Part, query: QueryFile, batch: list[Term | tuple[Term, ...]]
) -> list[tuple[Any, ...]]:
    """Rows for a batch; one that a server refuses as too large is asked for in halves."""
    try:
        return part.store.select(query.fill(batch, part.graphs, part.paths), query.key).rows
    except RemoteRequestSizeError:
        if len(batch) == 1:
            raise
        half = len(batch) // 2
        return _select(part, query, batch[:half]) + _select(part, query, batch[half:])
