"""Reads the parts of a knowledge graph (documents, imported graphs, links) through query files.

Each part is read with the query files of its kind (``queries/<kind>/``). Files of the same name
have the same columns in every folder, so that the rows of several parts are concatenated.

The reader of a writer has a `Journal`, which records every change that gives the graph a new
revision. Cached indexes and arrays are updated from its `Delta`; without one they are rebuilt.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, get_args
from typing import Literal as OneOf

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import RemoteRequestSizeError
from sarag_rdf.base.iris import Minter, NamedGraph, sha256_hex, statement_of
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.resources import QueryFile, all_query_names, query_file, query_names
from sarag_rdf.base.vocab import RDF, SARAG, SKOS, Term, iri

log = logging.getLogger(__name__)

BATCH = 500
"""Nodes that a plug-in reads and handles at a time."""
LEAST_VALUES = 50
"""The values in a query that a server should accept, whatever it has refused."""
DOCUMENTS = "documents"
"""Name of the part extracted from documents."""
_INDEX = "index"
"""The folder of queries about evidence and provenance."""
_GRAPH = "g"
"""The column with the graph of a row."""


# ---------------------------------------------------------------- Changes between two revisions

Kind = OneOf["description", "relationship", "document", "entity"]
KINDS: tuple[Kind, ...] = ("description", "relationship", "document", "entity")

MAX_TOUCHED = 200_000
"""Nodes; if a change touches more, everything is rebuilt."""
_CLASSES: Mapping[str, Kind] = {
    SARAG.NameUse.value: "description",
    SARAG.Relationship.value: "relationship",
    SARAG.Document.value: "document",
}


@dataclass(frozen=True, slots=True)
class Delta:
    """The possible differences between two revisions of the graph of documents.

    `touched` are the IRIs of each kind that were added, deleted or may have another text.
    `derived` are the subjects of added and deleted triples of the traversed graph. `links` is true
    if links between graphs changed, `ontologies` if the labels of terms may have.
    """

    before: str
    after: str
    touched: Mapping[Kind, frozenset[str]]
    derived: frozenset[str] = frozenset()
    links: bool = False
    ontologies: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is searched differs."""
        return not (self.derived or self.links or any(self.touched.values()))


class Journal:
    """Accumulates the changes of one writer."""

    def __init__(self) -> None:
        self._touched: defaultdict[Kind, set[str]] = defaultdict(set)
        self._derived: set[str] = set()
        self._links = self._ontologies = False
        self._before: str | None = None
        self._after = ""
        self._is_usable = True

    def note(
        self, store: GraphStore, minter: Minter, change: Change, before: str, after: str
    ) -> None:
        """Record a change before it is made; one that nodes cannot describe ends the journal."""
        if self._before is None:
            self._before = before
        self._is_usable &= bool(before) and self._after in ("", before)
        self._after = after
        for graph in change.drop:
            if not self._is_usable:
                return
            kind = minter.kind_of(graph)
            if kind == "sources":
                self._add_quads(minter, store.quads(graph))
            elif kind not in ("quarantine", "ontologies"):
                self._is_usable = False
        self._add_quads(minter, change.delete)
        self._add_quads(minter, change.insert)
        touched = sum(map(len, self._touched.values())) + len(self._derived)
        self._is_usable &= touched <= MAX_TOUCHED

    def _add_quads(self, minter: Minter, quads: Iterable[Quad]) -> None:
        if not self._is_usable:
            return
        own, links, meta = minter.kg_graph, minter.links_graph, minter.meta_graph
        imports = f"{minter.base}import/"
        for quad in quads:
            graph = iri(quad.graph_name)
            if graph == own:
                self._derived.add(iri(quad.subject))
                if quad.predicate in (RDF.type, SKOS.prefLabel):
                    self._touched["entity"].add(iri(quad.subject))
            elif graph == links:
                self._links = True
            elif graph == meta:
                self._is_usable &= not iri(quad.subject).startswith(imports)
                self._ontologies |= minter.kind_of(iri(quad.subject)) == "ontologies"
            elif quad.predicate == RDF.type and minter.kind_of(graph) == "sources":
                kind = _CLASSES.get(str(getattr(quad.object, "value", "")))
                if kind:
                    self._touched[kind].add(iri(quad.subject))

    def delta(self, revision: str) -> Delta | None:
        """The accumulated changes up to this revision; None if they are not known."""
        if not self._is_usable or not self._before or self._after != revision:
            return None
        touched = {kind: frozenset(self._touched[kind]) for kind in KINDS}
        derived = frozenset(self._derived)
        return Delta(self._before, revision, touched, derived, self._links, self._ontologies)


# ---------------------------------------------------------------------------------- Parts


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a knowledge graph, with the folder of its queries (`kind`).

    In the queries, `graphs` replaces ``<urn:sarag:graph:NAME>``, where ``kg`` is the graph itself
    (an empty value is the default graph), and `paths` replaces ``<urn:sarag:path:NAME>`` by
    properties. The named graphs `ontologies` have labels of properties that have none in the graph.
    """

    name: str
    kind: str
    graphs: Mapping[str, str]
    store: GraphStore
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ontologies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphReader:
    """Reads a knowledge graph: the parts in `over`, by default only that of the documents."""

    store: GraphStore
    minter: Minter
    over: tuple[Part, ...] | None = None
    journal: Journal | None = field(default=None, compare=False)
    """Records the changes of a writer."""
    readable: frozenset[str] | None = None
    """The named graphs that are read on behalf of a client, None for all.

    Queries that range over graphs return no row of another one; `over` must be parts that are
    readable as a whole.
    """

    def may_read(self, graph: str) -> bool:
        """Whether a named graph is read."""
        return self.readable is None or graph in self.readable

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts to read."""
        return (self.own,) if self.over is None else self.over

    @property
    def scope(self) -> str:
        """A digest of the parts: at one revision, readers of equal scope return the same."""
        limited = self.readable is not None
        return sha256_hex(*(f"{p.name} {p.kind}{p.ontologies * limited or ''}" for p in self.parts))

    @property
    def own(self) -> Part:
        """The part extracted from documents."""
        graphs = {kind: self.minter.graph(kind) for kind in get_args(NamedGraph)}
        graphs["all"] = self.minter.graphs
        return Part(DOCUMENTS, "sarag", graphs, self.store)

    @property
    def imported(self) -> GraphReader:
        """The reader of the same parts without that of the documents."""
        others = tuple(part for part in self.parts if part.name != DOCUMENTS)
        return replace(self, over=others, journal=None)

    @property
    def extracted(self) -> GraphReader:
        """The reader of that of the documents alone, if it is one of the parts."""
        own = tuple(part for part in self.parts if part.name == DOCUMENTS)
        return replace(self, over=own, journal=None)

    def rows(self, name: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a query file without parameters, part by part, in one thread."""
        for part, query in self._files(name):
            yield from _all_rows(part, query)

    def rows_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query file for the given IRIs, sorted and unique, in few queries."""
        values = sorted(set(iris))
        for part, query in self._files(name):
            yield from _rows_for(part, query, values)

    def rows_named(
        self, names: Iterable[Literal], query_name: str = "entities-named"
    ) -> Iterator[tuple[Any, ...]]:
        """(name, entity) for the names that entities have, with exact spelling and language tag."""
        values = sorted(set(names), key=str)
        for part, query in self._files(query_name):
            yield from _in_batches(part, query, iter(values))

    def select_provenance(self, name: str) -> list[tuple[Any, ...]]:
        """All rows of a query of ``queries/index/`` without parameters."""
        query = query_file(_INDEX, name)
        return [*self._of_readable(query, _all_rows(self.own, query))]

    def select_provenance_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query of ``queries/index/`` for the given IRIs."""
        query = query_file(_INDEX, name)
        return self._of_readable(query, _rows_for(self.own, query, sorted(set(iris))))

    def select_provenance_for_terms(
        self, name: str, rows: Iterable[tuple[Term, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of a query of ``queries/index/`` for the given tuples of values."""
        query = query_file(_INDEX, name)
        yield from self._of_readable(query, _in_batches(self.own, query, iter(rows)))

    def _of_readable(
        self, query: QueryFile, rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of readable graphs, which queries that range over graphs return as ``g``."""
        columns = query.header["returns"].split()
        if self.readable is None or _GRAPH not in columns:
            return iter(rows)
        place = columns.index(_GRAPH)
        return (row for row in rows if self.may_read(row[place].value))

    def _files(self, name: str) -> Iterator[tuple[Part, QueryFile]]:
        """Parts with their query of that name; some are for one kind of graph. Raises KeyError."""
        if name not in all_query_names():
            raise KeyError(f"no kind of graph has a query {name}")
        for part in self.parts:
            if name in query_names(part.kind):
                yield part, query_file(part.kind, name)


def term_reader(reader: GraphReader, part: Part) -> GraphReader:
    """Reads a part with the queries about graphs in general."""
    own = Part(DOCUMENTS, _INDEX, {"kg": part.graphs["kg"]}, part.store, part.paths)
    return replace(reader, over=(own,), journal=None)


def _all_rows(part: Part, query: QueryFile) -> Iterator[tuple[Any, ...]]:
    text, count = query.fill(None, part.graphs, part.paths, part.ontologies), 0
    for row in part.store.each_row(text, query.key, iris=query.returns_iris):
        count += 1
        yield row
    log.debug("%s.rq: rows %d", query.name, count)


def _rows_for(part: Part, query: QueryFile, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    pending: Iterator[Term | tuple[Term, ...]] = map(NamedNode, iris)
    if query.takes_statements:  # other IRIs are skipped
        statements = filter(None, map(statement_of, iris))
        pending = (tuple(map(NamedNode, statement)) for statement in statements)
    yield from _in_batches(part, query, pending)


def _in_batches(
    part: Part, query: QueryFile, pending: Iterator[Term | tuple[Term, ...]]
) -> Iterator[tuple[Any, ...]]:
    while batch := list(islice(pending, part.store.max_values)):
        yield from _select(part, query, batch)


def _select(
    part: Part, query: QueryFile, batch: list[Term | tuple[Term, ...]]
) -> list[tuple[Any, ...]]:
    """Rows for a batch; if the server rejects it as too large, it gets half as many from now on."""
    text = query.fill(batch, part.graphs, part.paths, part.ontologies)
    try:
        rows = part.store.select(text, query.key, iris=query.returns_iris).rows
    except RemoteRequestSizeError:
        if len(batch) == 1:
            raise
        half = len(batch) // 2
        part.store.max_values = max(half, LEAST_VALUES)
        return _select(part, query, batch[:half]) + _select(part, query, batch[half:])
    log.debug("%s.rq: values %d, rows %d", query.name, len(batch), len(rows))
    return rows
