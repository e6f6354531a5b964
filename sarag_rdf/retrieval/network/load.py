"""Reads the network from the store by SPARQL: whole, after a change, or step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sarag_rdf.base.arrays import IriList, find_all, rows_of
from sarag_rdf.base.iris import statement_of
from sarag_rdf.base.ports import Arrays
from sarag_rdf.base.types import NodeType
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.retrieval.network.edges import Edges, Iris, Network, Rows
from sarag_rdf.retrieval.network.kinds import EDGE_KINDS, EdgeKind, EdgeQuery


@dataclass(slots=True)
class _Predicates:
    """The list of predicates, which grows as edges are read."""

    iris: list[str] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)

    def rows(self, iris: Sequence[str]) -> Rows:
        for iri in sorted(set(iris) - self._rows.keys()):
            self._rows[iri] = len(self.iris)
            self.iris.append(iri)
        return np.fromiter((self._rows[iri] for iri in iris), dtype=np.int64, count=len(iris))


def load_network(reader: GraphReader, iris: Iris | None = None) -> Network:
    """Read all edges of the graph.

    With `iris`, ascending, nodes are their rows; else the network has the nodes that are read.
    Raises KeyError for an edge between other nodes, unless it is an identity.
    """
    rows = {kind: reader.rows(kind.query.name) for kind in EDGE_KINDS}
    if iris is None:
        iris = _nodes(rows)
    predicates = _Predicates()
    edges = {
        kind: _edges(kind, kind.query, kind_rows, iris, predicates)
        for kind, kind_rows in rows.items()
    }
    return _with_sorted_predicates(iris, edges, predicates.iris)


def _nodes(rows: dict[EdgeKind, list[tuple[Any, ...]]]) -> Iris:
    """All documents, relationships, and entities that edges other than identities join."""
    iris: dict[str, set[str]] = {"document": set(), "entity": set(), "statement": set()}
    for kind, some in rows.items():
        if kind.is_identity:
            continue
        nodes = {"source": kind.source, "target": kind.target, "statement": "statement"}
        for position, column in enumerate(kind.query.columns):
            if column in nodes:
                iris[nodes[column]].update(row[position].value for row in some if row[position])
    return Iris(*(IriList.of(iris[name]) for name in ("document", "entity", "statement")))


def _edges(
    kind: EdgeKind,
    query: EdgeQuery,
    rows: Iterable[tuple[Any, ...]],
    iris: Iris,
    predicates: _Predicates,
) -> Edges:
    """Edges from the rows of a query; a row with an unbound variable is none."""
    bound = (row for row in rows if not any(term is None for term in row))
    values = [tuple(term.value for term in row) for row in bound]
    if not values:
        return Edges.none()
    columns = dict(zip(query.columns, map(list, zip(*values, strict=True)), strict=False))
    find = find_all if kind.is_identity else rows_of
    source = find(_nodes_of(iris, kind.source), columns["source"])
    target = find(_nodes_of(iris, kind.target), columns["target"])
    statements = columns.get("statement", [])
    statement = rows_of(iris.relationships, statements) if statements else np.full(len(source), -1)
    predicate = predicates.rows(columns.get("predicate") or _predicates_of(kind, columns))
    if kind.is_identity:
        inside = (source >= 0) & (target >= 0) & (source != target)
        source, target = np.minimum(source, target)[inside], np.maximum(source, target)[inside]
        statement, predicate = statement[inside], predicate[inside]
    return Edges.of(source, target, statement=statement, predicate=predicate, weight=kind.weight)


def _predicates_of(kind: EdgeKind, columns: dict[str, list[str]]) -> list[str]:
    """The property of each edge: that of the triple that its statement stands for, if it does."""
    triples = map(statement_of, columns.get("statement", ()))
    own = [triple[1] if triple else kind.predicate for triple in triples]
    return own or [kind.predicate] * len(columns["source"])


def _nodes_of(iris: Iris, nodes: NodeType) -> Sequence[str]:
    return iris.documents if nodes == "document" else iris.entities


def _with_sorted_predicates(
    iris: Iris, edges: dict[EdgeKind, Edges], predicates: Sequence[str]
) -> Network:
    """The network with the predicates that its edges have, in ascending order."""
    used = np.unique(np.concatenate([np.unique(part.predicate) for part in edges.values()]))
    names = [predicates[row] for row in used.tolist()]
    rows = np.zeros(len(predicates), dtype=np.int64)
    rows[used[sorted(range(len(names)), key=names.__getitem__)]] = np.arange(len(names))
    renamed = {kind: replace(part, predicate=rows[part.predicate]) for kind, part in edges.items()}
    return Network(iris.documents, iris.entities, iris.relationships, renamed, sorted(names))


@dataclass(frozen=True, slots=True)
class RowMapping:
    """The new row of each old row of a list of IRIs, -1 for one that is gone."""

    rows: Rows
    size: int

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str], touched: Iterable[str]) -> RowMapping:
        """Between two lists that differ only in `touched` IRIs."""
        some = sorted(touched)
        before, after = find_all(old, some), find_all(new, some)
        removed, added = before[(before >= 0) & (after < 0)], after[(before < 0) & (after >= 0)]
        rows = np.full(len(old), -1)
        rows[_without(len(old), removed)] = _without(len(new), added)
        return cls(rows, len(new))

    def of(self, rows: Rows) -> Rows:
        """The new rows of some old ones; -1 stays -1."""
        return np.where(rows >= 0, self.rows[rows], -1) if len(self.rows) else rows


def _without(size: int, rows: Rows) -> Rows:
    return np.delete(np.arange(size), rows)


def update_network(
    reader: GraphReader, arrays: Arrays, before: Iris, now: Iris, delta: Delta
) -> Arrays:
    """The arrays that `load_network` would give of the graph now, from those before a change.

    `arrays` are those of the network with the nodes `before`; `now` are the nodes of the graph.
    """
    old = Network.of_arrays(before.documents, before.entities, before.relationships, arrays)
    touched = delta.touched
    documents = RowMapping.between(before.documents, now.documents, touched["document"])
    entities = RowMapping.between(before.entities, now.entities, touched["entity"])
    statements = RowMapping.between(
        before.relationships, now.relationships, touched["relationship"]
    )
    step = SparqlTraversal(reader, now, old.predicates)
    changed = {
        "document": _rows_in(now.documents, touched["document"] | delta.derived),
        "entity": _rows_in(now.entities, touched["entity"] | delta.derived),
        "statement": _rows_in(now.relationships, touched["relationship"] | delta.derived),
    }

    def updated(kind: EdgeKind) -> Edges:
        if kind.reload == "all":
            return step.all(kind)
        edges = old[kind]
        source = (documents if kind.source == "document" else entities).of(edges.source)
        target = (documents if kind.target == "document" else entities).of(edges.target)
        statement = statements.of(edges.statement)
        if kind.reload == "source":
            some = changed[kind.source]
            stays, read = ~np.isin(source, some), step.outgoing(kind, some)
        else:
            some = changed["statement"]
            stays, read = ~np.isin(statement, some) & (statement >= 0), step.stated(kind, some)
        stays &= (source >= 0) & (target >= 0)
        left = Edges(source, target, statement, edges.predicate, edges.weight).take(stays)
        return Edges.union((left, read))

    edges = {kind: updated(kind) for kind in EDGE_KINDS}
    return _with_sorted_predicates(now, edges, step.predicates).arrays()


def _rows_in(iris: Sequence[str], some: Iterable[str]) -> Rows:
    """The rows of those that are in the list, ascending."""
    rows = find_all(iris, sorted(some))
    return rows[rows >= 0]


class SparqlTraversal:
    """The traversal of a graph in a store, by queries for each step, up to 500 nodes in each.

    Only the edges of kinds that are read whole stay in memory. A hop over relationships is a
    property path from a frontier: a path of several hops in one query would enumerate every walk.
    """

    def __init__(self, reader: GraphReader, iris: Iris, predicates: Iterable[str] = ()) -> None:
        """`predicates` are those of edges that were read before, in order."""
        self._reader = reader
        self._iris = iris
        self._predicates = _Predicates()
        for predicate in predicates:
            self._predicates.rows([predicate])
        self._all: dict[EdgeKind, Edges] = {}

    @property
    def kinds(self) -> Iterable[EdgeKind]:
        return EDGE_KINDS

    @property
    def predicates(self) -> Sequence[str]:
        return self._predicates.iris

    def all(self, kind: EdgeKind) -> Edges:
        """All edges of one kind."""
        if kind not in self._all:
            self._all[kind] = self._read(kind, kind.query, self._reader.rows(kind.query.name))
        return self._all[kind]

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        if kind.by_source is not None:
            return self._from(kind, kind.by_source, kind.source, sources)
        if kind.subkind_of is not None:
            targets = np.unique(self.outgoing(kind.subkind_of, sources).target)
            edges = self.incoming(kind, targets)
        else:
            edges = self.all(kind)
        return edges.take(np.isin(edges.source, sources))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        if kind.by_target is not None:
            return self._from(kind, kind.by_target, kind.target, targets)
        edges = self.all(kind)
        return edges.take(np.isin(edges.target, targets))

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        return Edges.union((self.outgoing(kind, nodes), self.incoming(kind, nodes)))

    def stated(self, kind: EdgeKind, statements: Rows) -> Edges:
        """The edges of some statements."""
        query, names = kind.by_statement, self._named(self._iris.relationships, statements)
        if query is None:
            return Edges.none()
        return self._read(kind, query, self._reader.select_provenance_for(query.name, names))

    def neighbours(self, entities: Rows) -> Rows:
        rows = self._reader.rows_for("neighbours", self._named(self._iris.entities, entities))
        return rows_of(self._iris.entities, sorted({other.value for _, other in rows}))

    def _from(self, kind: EdgeKind, query: EdgeQuery, nodes: NodeType, rows: Rows) -> Edges:
        names = self._named(_nodes_of(self._iris, nodes), rows)
        return self._read(kind, query, self._reader.rows_for(query.name, names))

    def _read(self, kind: EdgeKind, query: EdgeQuery, rows: Iterable[tuple[Any, ...]]) -> Edges:
        return _edges(kind, query, rows, self._iris, self._predicates)

    def _named(self, iris: Sequence[str], rows: Rows) -> Iterable[str]:
        return (iris[int(row)] for row in rows)
