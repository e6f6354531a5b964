"""Reads the network from the store by SPARQL: whole, after a change, or step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Rows, find_all, rows_of
from sarag_rdf.graph.delta import Delta, Kind
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.retrieval.network.kinds import EDGE_KINDS, RELATED_TO, EdgeKind, EdgeQuery
from sarag_rdf.retrieval.network.network import (
    ArrayNetwork,
    Arrays,
    Edges,
    Iris,
    Network,
    arrays_of,
)


class StoreNetwork(Network):
    """The network of a graph in a store, by queries for each step, up to 500 nodes in each.

    Only the edges of kinds that are read whole stay in memory.
    """

    def __init__(self, reader: GraphReader, iris: Iris) -> None:
        self.iris, self._reader = iris, reader
        self._whole: dict[EdgeKind, Edges] = {}

    def edges(self, kind: EdgeKind) -> Edges:
        """All edges of one kind; raises KeyError for an edge of other nodes, unless an identity."""
        if kind not in self._whole:
            self._whole[kind] = self._edges(kind, kind.query, self._reader.rows(kind.query.name))
        return self._whole[kind]

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        if kind.by_source is not None:
            return self._from(kind, kind.by_source, self.iris.of(kind.source), sources)
        if kind.subkind_of is not None:
            targets = np.unique(self.outgoing(kind.subkind_of, sources).target)
            edges = self.incoming(kind, targets)
        else:
            edges = self.edges(kind)
        return edges.take(np.isin(edges.source, sources))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        if kind.by_target is not None:
            return self._from(kind, kind.by_target, self.iris.of(kind.target), targets)
        edges = self.edges(kind)
        return edges.take(np.isin(edges.target, targets))

    def neighbours(self, entities: Rows) -> Rows:
        """By a property path, one query for up to 500 entities."""
        names = [self.iris.entities[row] for row in entities.tolist()]
        ends = {other.value for _, other in self._reader.rows_for("neighbours", names)}
        return rows_of(self.iris.entities, sorted(ends))

    def stated(self, statements: Rows) -> Edges:
        edges = self.extracted(statements)
        if self._reader.imported.parts:
            others = self.edges(RELATED_TO)
            edges = Edges.union(edges, others.take(np.isin(others.statement, statements)))
        return edges

    def extracted(self, statements: Rows) -> Edges:
        """The edges of these statements, without those of imported graphs."""
        names = [self.iris.relationships[row] for row in statements.tolist()]
        rows = self._reader.select_provenance_for(RELATED_TO.query.name, names)
        return self._edges(RELATED_TO, RELATED_TO.query, rows)

    def _from(self, kind: EdgeKind, query: EdgeQuery, iris: Sequence[str], rows: Rows) -> Edges:
        names = [iris[row] for row in rows.tolist()]
        return self._edges(kind, query, self._reader.rows_for(query.name, names))

    def _edges(self, kind: EdgeKind, query: EdgeQuery, rows: Iterable[tuple[Any, ...]]) -> Edges:
        """Edges from the rows of a query; a row with an unbound variable is not an edge."""
        values = [[term.value for term in row] for row in rows if None not in row]
        if not values:
            return Edges.of([], [])
        columns = dict(zip(query.columns, map(list, zip(*values, strict=True)), strict=False))
        find = find_all if kind.is_identity else rows_of
        source = find(self.iris.of(kind.source), columns["source"])
        target = find(self.iris.of(kind.target), columns["target"])
        if kind.is_identity:
            inside = (source >= 0) & (target >= 0) & (source != target)
            source, target = source[inside], target[inside]
            return Edges.of(np.minimum(source, target), np.maximum(source, target))
        if not kind.has_statements:
            return Edges.of(source, target)
        return Edges.of(source, target, rows_of(self.iris.relationships, columns["statement"]))


def network_arrays(reader: GraphReader, iris: Iris) -> dict[str, NDArray[Any]]:
    """The arrays of the whole network; raises KeyError for an edge between other nodes."""
    store = StoreNetwork(reader, iris)
    return arrays_of(iris, {kind: store.edges(kind) for kind in EDGE_KINDS})


def updated_arrays(
    reader: GraphReader, arrays: Arrays, before: Iris, now: Iris, delta: Delta
) -> dict[str, NDArray[Any]]:
    """The arrays that `network_arrays` would give now, from those with the nodes `before`."""
    old, store = ArrayNetwork(before, arrays), StoreNetwork(reader, now)
    lists: dict[Kind, tuple[Sequence[str], Sequence[str]]] = {
        "document": (before.documents, now.documents),
        "entity": (before.entities, now.entities),
        "relationship": (before.relationships, now.relationships),
    }
    moved = {name: _moved(*both, delta.touched[name]) for name, both in lists.items()}
    changed = {
        name: _rows_in(both[1], delta.touched[name] | delta.derived) for name, both in lists.items()
    }

    def updated(kind: EdgeKind) -> Edges:
        if kind.reload == "all":
            return store.edges(kind)
        edges = old.edges(kind)
        source, target = moved[kind.source][edges.source], moved[kind.target][edges.target]
        statement, stays = edges.statement, (source >= 0) & (target >= 0)
        if kind.reload == "source":
            stays &= ~np.isin(source, changed[kind.source])
            read = store.outgoing(kind, changed[kind.source])
        else:
            statement = moved["relationship"][edges.statement]
            stays &= (statement >= 0) & ~np.isin(statement, changed["relationship"])
            read = store.extracted(changed["relationship"])
        return Edges.union(Edges(source, target, statement).take(stays), read)

    return arrays_of(now, {kind: updated(kind) for kind in EDGE_KINDS})


def _moved(old: Sequence[str], new: Sequence[str], touched: Iterable[str]) -> Rows:
    """The new row of each old one, -1 for one that was removed; only `touched` IRIs differ."""
    some = sorted(touched)
    before, after = find_all(old, some), find_all(new, some)
    removed, added = before[(before >= 0) & (after < 0)], after[(before < 0) & (after >= 0)]
    rows = np.full(len(old), -1)
    rows[np.delete(np.arange(len(old)), removed)] = np.delete(np.arange(len(new)), added)
    return rows


def _rows_in(iris: Sequence[str], some: Iterable[str]) -> Rows:
    """The rows of those that are in the list, ascending."""
    rows = find_all(iris, sorted(some))
    return rows[rows >= 0]
