"""The network that activation spreads over: documents, entities, relationships, edges by kind.

Nodes and statements are rows of ascending lists of IRIs, so equal graphs give equal arrays. A
network is in arrays, or in the store. Loading, caching, traversal and spreading work from a table
of the kinds of edges: another kind of edge between entities is another row of `EDGE_KINDS`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarag_rdf.base.arrays import (
    Finder,
    Rows,
    all_known,
    distinct,
    find_all,
    narrow,
    places_in,
    rows_of,
)
from sarag_rdf.base.types import NodeType
from sarag_rdf.base.vocab import SARAG, SKOS
from sarag_rdf.graph.graph_reader import Delta, GraphReader, Kind

Reload = Literal["source", "statement", "all"]
"""Which edges are read again after a change of documents: those of sources that changed, those
of statements that changed, or all."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeKind:
    """One kind of edge, directed from `source` to `target`; equal only to itself.

    predicate: IRI of the RDF property of an edge, unless its statement stands for a triple.
    query: the query file that reads all edges. by_source, by_target: those that read the edges of
    given nodes; a kind without them is read with `query` and searched in memory, which suits kinds
    with few edges. The columns are the ends, source first, or after the statement if there is one;
    without statements the first column of `by_target` is the target.
    is_identity: whether an edge joins two nodes for one thing. Activation then passes whole, in
    both directions, and edges that leave the graph are ignored.
    has_statements: whether an edge has a statement of its own, with a text that is compared with
    the question.
    reload: the edges that are read again after a change of documents.
    weight: the default weight of an edge, in [0, 1].
    """

    name: str
    source: NodeType
    target: NodeType
    predicate: str
    query: str
    by_source: str = ""
    by_target: str = ""
    is_identity: bool = False
    has_statements: bool = False
    reload: Reload = "all"
    weight: float = 1.0

    @property
    def is_association(self) -> bool:
        """Whether an edge joins two different entities, so that activation decays over it."""
        return self.source == self.target == "entity" and not self.is_identity


DESCRIBES = EdgeKind(
    "describes",
    "document",
    "entity",
    SARAG.describes.value,
    "document-entities",
    by_source="described-by",
    by_target="entity-documents",
    reload="source",
)
"""A document describes an entity."""

ABOUT = EdgeKind(
    "about",
    "document",
    "entity",
    SARAG.about.value,
    "document-topics",
    by_source="topics-of",
    by_target="entity-topics",
    reload="source",
)
"""An entity is the topic of a document."""

RELATED_TO = EdgeKind(
    "related_to",
    "entity",
    "entity",
    SARAG.relatedTo.value,
    "relationship-ends",
    by_source="links",
    by_target="links-to",
    has_statements=True,
    reload="statement",
)
"""A relationship between two entities; its statement is the relationship."""

SAME_AS = EdgeKind(
    "same_as",
    "entity",
    "entity",
    SKOS.exactMatch.value,
    "identities",
    is_identity=True,
)
"""Two entities, of different graphs mostly, are the same thing."""

EDGE_KINDS = (DESCRIBES, ABOUT, RELATED_TO, SAME_AS)


End = Literal["source", "target"]
Arrays = Mapping[str, NDArray[Any]]
_ENDS: tuple[End, End] = ("source", "target")
READ_AT_ONCE = 100_000
"""Edges whose IRIs are held at a time."""
MAX_ENTITIES = 50_000
"""The size from which a neighbourhood is not extended by a further hop."""


@dataclass(frozen=True, slots=True)
class Iris:
    """The IRIs of nodes and statements by row, in ascending order."""

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]

    def of(self, nodes: NodeType) -> Sequence[str]:
        """Those of the nodes of one type."""
        return self.documents if nodes == "document" else self.entities


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges of one kind as columns: shape (m,) each, ascending by (statement, source, target).

    source, target: rows of documents or entities, as the kind says. statement: rows of
    relationships, or -1.
    """

    source: Rows
    target: Rows
    statement: Rows

    @classmethod
    def of(cls, source: ArrayLike, target: ArrayLike, statement: ArrayLike = -1) -> Edges:
        """Edges in order, each once; a number stands for a column of equal values."""
        given = (np.asarray(column, dtype=np.int64) for column in (source, target, statement))
        sources, targets, statements = np.broadcast_arrays(*given)
        ends = sources << 32 | targets
        order = np.lexsort((ends, statements))
        before, after = order[:-1], order[1:]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = (statements[before] != statements[after]) | (ends[before] != ends[after])
        order = order[is_first]
        return cls(sources[order], targets[order], statements[order])

    @classmethod
    def joined(cls, *parts: Edges) -> Edges:
        """The rows of several tables, one table after the other."""
        columns = zip(*(part.columns() for part in (NO_EDGES, *parts)), strict=True)
        return cls(*map(np.concatenate, columns))

    @classmethod
    def union(cls, *parts: Edges) -> Edges:
        """The edges of several tables, each once."""
        return cls.of(*cls.joined(*parts).columns())

    def __len__(self) -> int:
        return len(self.source)

    def columns(self) -> tuple[Rows, Rows, Rows]:
        """Source, target and statement."""
        return self.source, self.target, self.statement

    def take(self, positions: NDArray[Any]) -> Edges:
        """Some of the edges: by position or by a Boolean mask."""
        return Edges(*(column[positions].astype(np.int64) for column in self.columns()))

    def keys(self) -> Rows:
        """One number for the source and the target of each edge, shape (m,)."""
        return self.source << 32 | self.target

    def pairs(self) -> Rows:
        """(source, target) of each edge, shape (m, 2)."""
        return np.stack((self.source, self.target), axis=1).astype(np.int64)


NO_EDGES = Edges.of([], [])


class Network(ABC):
    """Steps over edges, from nodes in ascending order, each once."""

    iris: Iris
    kinds: Sequence[EdgeKind] = EDGE_KINDS

    @abstractmethod
    def edges(self, kind: EdgeKind) -> Edges:
        """All edges of one kind."""

    @abstractmethod
    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        """The edges of one kind that start at these nodes."""

    @abstractmethod
    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        """The edges of one kind that end at these nodes."""

    @abstractmethod
    def stated(self, statements: Rows) -> Edges:
        """The relationships among these statements that join two entities."""

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        """The edges of one kind that start or end at these nodes."""
        return Edges.union(self.outgoing(kind, nodes), self.incoming(kind, nodes))

    def frequencies(self, entities: Rows) -> Rows:
        """The number of documents that describe each of these entities, at least 1."""
        every, places = np.unique(entities, return_inverse=True)
        edges = self.incoming(DESCRIBES, every)
        counts = np.bincount(np.searchsorted(every, edges.target), minlength=len(every))
        return np.maximum(1, counts)[places]

    def neighbours(self, entities: Rows) -> Rows:
        """Entities one hop away over relationships, in either direction, ascending."""
        edges = self.incident(RELATED_TO, entities)
        forward, backward = (np.isin(end, entities) for end in (edges.source, edges.target))
        return np.union1d(edges.target[forward], edges.source[backward])

    def neighbourhood(self, seeds: Rows, n: int) -> dict[int, int]:
        """Entities within n hops over relationships, both ways, with their distance from a seed.

        Both ends of an identity have the same distance (SA-RAG, arXiv 2512.15922, section 5.4).
        """
        frontier = inside = self.with_identical(np.unique(seeds))
        hops = dict.fromkeys(frontier.tolist(), 0)
        for hop in range(1, n + 1):
            if not len(frontier) or len(hops) >= MAX_ENTITIES:
                break
            reached = self.with_identical(self.neighbours(frontier))
            frontier = np.setdiff1d(reached, inside, assume_unique=True)
            inside = np.union1d(inside, frontier)
            hops |= dict.fromkeys(frontier.tolist(), hop)
        return hops

    def with_identical(self, entities: Rows) -> Rows:
        """Entities, and those for the same things, ascending."""
        edges = self.identities_of(entities)
        return np.union1d(entities, np.concatenate((edges.source, edges.target)))

    def identities_of(self, entities: Rows) -> Edges:
        """The edges of identities that start or end at these entities."""
        kinds = [kind for kind in self.kinds if kind.is_identity]
        return Edges.union(*(self.incident(kind, entities) for kind in kinds))

    def relationships_among(self, entities: Rows) -> Edges:
        """The relationships with both ends among these entities."""
        edges = self.outgoing(RELATED_TO, entities)
        return edges.take(places_in(entities, edges.target) >= 0)


class ArrayNetwork(Network):
    """A network in arrays: for each kind the columns of its edges, and their order by each end."""

    def __init__(self, iris: Iris, arrays: Arrays, kinds: Sequence[EdgeKind] = EDGE_KINDS) -> None:
        """`arrays` are those of `arrays_of`."""
        self.iris, self.kinds, self._arrays = iris, kinds, arrays

    @classmethod
    def of(cls, iris: Iris, edges: Mapping[EdgeKind, Edges]) -> ArrayNetwork:
        """The network with these edges; kinds that are not given have none."""
        kinds = tuple(dict.fromkeys((*EDGE_KINDS, *edges)))
        every = {kind: edges.get(kind, NO_EDGES) for kind in kinds}
        return cls(iris, arrays_of(iris, every), kinds)

    def edges(self, kind: EdgeKind) -> Edges:
        source, target = (self._arrays[f"{kind.name}_{end}"] for end in _ENDS)
        statement = np.broadcast_to(np.int64(-1), source.shape)
        if kind.has_statements:
            statement = self._arrays[f"{kind.name}_statement"]
        return Edges(source, target, statement)

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        return self.edges(kind).take(np.sort(self._positions(kind, "source", sources)))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        return self.edges(kind).take(np.sort(self._positions(kind, "target", targets)))

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        if not len(edges := self.edges(kind)):
            return NO_EDGES
        positions = [self._positions(kind, end, nodes) for end in _ENDS]
        return edges.take(distinct(np.concatenate(positions)))

    def stated(self, statements: Rows) -> Edges:
        edges = self.edges(RELATED_TO)
        at = places_in(edges.statement, statements.astype(edges.statement.dtype))
        return edges.take(at[at >= 0])

    def frequencies(self, entities: Rows) -> Rows:
        starts = self._arrays[f"{DESCRIBES.name}_target_starts"]
        return np.maximum(1, starts[entities + 1].astype(np.int64) - starts[entities])

    def _positions(self, kind: EdgeKind, end: End, nodes: Rows) -> Rows:
        """The positions of the edges with one of these nodes at an end, node after node."""
        order, starts = (self._arrays[f"{kind.name}_{end}_{part}"] for part in ("order", "starts"))
        begins = starts[nodes].astype(np.int64)
        counts = starts[nodes + 1].astype(np.int64) - begins
        offsets = np.repeat(begins - np.cumsum(counts) + counts, counts)
        return order[offsets + np.arange(int(counts.sum()))].astype(np.int64)


def arrays_of(iris: Iris, edges: Mapping[EdgeKind, Edges]) -> dict[str, NDArray[Any]]:
    """The arrays of an `ArrayNetwork`, to be stored: in 32 bits where that is enough."""
    arrays: dict[str, NDArray[Any]] = {}
    for kind, own in edges.items():
        columns = {"source": own.source, "target": own.target}
        for end, nodes in zip(_ENDS, (kind.source, kind.target), strict=True):
            order = np.argsort(columns[end], kind="stable")
            starts = np.searchsorted(columns[end][order], np.arange(len(iris.of(nodes)) + 1))
            columns |= {f"{end}_order": order, f"{end}_starts": starts}
        if kind.has_statements:
            columns["statement"] = own.statement
        arrays |= {f"{kind.name}_{name}": narrow(column) for name, column in columns.items()}
    return arrays


class StoreNetwork(Network):
    """The network of a graph in a store, by queries; what they returned is kept."""

    def __init__(self, reader: GraphReader, iris: Iris) -> None:
        self.iris, self._reader = iris, reader
        self._whole: dict[EdgeKind, Edges] = {}
        self._known: dict[tuple[EdgeKind, End], EdgeCache] = {}
        self._finders = {
            "document": Finder(iris.documents),
            "entity": Finder(iris.entities),
            "relationship": Finder(iris.relationships),
        }

    def edges(self, kind: EdgeKind) -> Edges:
        """All edges of one kind; raises KeyError for an edge of other nodes, unless an identity."""
        if kind not in self._whole:
            self._whole[kind] = self._edges(kind, self._reader.rows(kind.query))
        return self._whole[kind]

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        if kind.by_source:
            return Edges.of(*self._cache(kind, "source").at(sources))
        edges = self.edges(kind)
        return edges.take(np.isin(edges.source, sources))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        if kind.by_target:
            return Edges.of(*self._cache(kind, "target").at(targets))
        edges = self.edges(kind)
        return edges.take(np.isin(edges.target, targets))

    def _cache(self, kind: EdgeKind, end: End) -> EdgeCache:
        """The edges at the nodes of an end that were asked for."""
        if (kind, end) not in self._known:
            nodes = self.iris.of(kind.source if end == "source" else kind.target)

            def read(rows: Rows) -> tuple[Rows, Rows, Rows]:
                names = map(nodes.__getitem__, rows.tolist())
                if end == "source":
                    found = self._reader.rows_for(kind.by_source, names)
                else:
                    found = self._reader.rows_for(kind.by_target, names)
                    found = found if kind.has_statements else (row[1::-1] for row in found)
                return self._edges(kind, found).columns()

            self._known[kind, end] = EdgeCache(len(nodes), _ENDS.index(end), read)
        return self._known[kind, end]

    def neighbours(self, entities: Rows) -> Rows:
        """By a property path."""
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
        return self._edges(RELATED_TO, self._reader.select_provenance_for(RELATED_TO.query, names))

    def _edges(self, kind: EdgeKind, rows: Iterable[tuple[Any, ...]]) -> Edges:
        """Edges from the rows of a query; a row with an unbound variable is not an edge."""
        bound = ([term.value for term in row] for row in rows if None not in row)
        some = iter(lambda: [*islice(bound, READ_AT_ONCE)], [])
        return Edges.union(*(self._some_edges(kind, values) for values in some))

    def _some_edges(self, kind: EdgeKind, values: list[list[str]]) -> Edges:
        columns = [*map(list, zip(*values, strict=True))]
        statements = columns.pop(0) if kind.has_statements else []
        source = self._finders[kind.source].find(columns[0])
        target = self._finders[kind.target].find(columns[1])
        if kind.is_identity:
            inside = (source >= 0) & (target >= 0) & (source != target)
            source, target = source[inside], target[inside]
            return Edges.of(np.minimum(source, target), np.maximum(source, target))
        source, target = all_known(source, columns[0]), all_known(target, columns[1])
        if not kind.has_statements:
            return Edges.of(source, target)
        statement = self._finders["relationship"].find(statements)
        return Edges.of(source, target, all_known(statement, statements))


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


# ----------------------------------------------------------------------------- Edges that were read

MOST = 4_000_000
"""The most edges that are kept, about 100 MB; when there are more, all are read anew."""
Columns = tuple[Rows, Rows, Rows]
"""Source, target and statement of edges: shape (m,) each."""


class EdgeCache:
    """The edges of one kind by the nodes at one of their ends.

    The edges of a node are a stretch of the columns, which grow; threads may share a cache.
    """

    def __init__(self, nodes: int, end: int, read: Callable[[Rows], Columns]) -> None:
        """`nodes`: how many there are; `end`: their column; `read` gives the edges of some."""
        self._nodes, self._end, self._read = nodes, end, read
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        # memory of zeros is used where something is written
        self._begins, self._counts = np.zeros((2, self._nodes), dtype=np.int64)
        self._columns, self._size = np.empty((3, 1024), dtype=np.int64), 1

    def at(self, nodes: Rows) -> Columns:
        """The edges at these nodes, one node after the other."""
        while True:
            with self._lock:
                missing = nodes[self._begins[nodes] == 0]
                if not len(missing):
                    return self._known(nodes)
            edges = self._read(missing)
            with self._lock:
                if self._size + len(edges[0]) > MOST:
                    self._clear()
                    break
                self._add(missing, edges)
        return self._read(nodes)

    def _known(self, nodes: Rows) -> Columns:
        begins, counts = self._begins[nodes], self._counts[nodes]
        offsets = np.repeat(begins - np.cumsum(counts) + counts, counts)
        source, target, statement = self._columns[:, offsets + np.arange(int(counts.sum()))]
        return source, target, statement

    def _add(self, nodes: Rows, edges: Columns) -> None:
        order = np.argsort(edges[self._end], kind="stable")
        ends = edges[self._end][order]
        begin, self._size = self._size, self._size + len(ends)
        if self._size > self._columns.shape[1]:
            grown = np.empty((3, 2 * self._size), dtype=np.int64)
            grown[:, :begin] = self._columns[:, :begin]
            self._columns = grown
        self._columns[:, begin : self._size] = [column[order] for column in edges]
        first, last = np.searchsorted(ends, nodes), np.searchsorted(ends, nodes, side="right")
        self._begins[nodes], self._counts[nodes] = begin + first, last - first
