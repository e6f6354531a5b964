"""The network that activation spreads over: documents, entities, relationships, edges by kind.

Nodes and statements are rows of ascending lists of IRIs, so equal graphs give equal arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarag_rdf.base.arrays import Rows, narrow
from sarag_rdf.base.types import NodeType
from sarag_rdf.retrieval.network.kinds import DESCRIBES, EDGE_KINDS, RELATED_TO, EdgeKind

Floats = NDArray[np.float64]
End = Literal["source", "target"]
Arrays = Mapping[str, NDArray[Any]]
_ENDS: tuple[End, End] = ("source", "target")


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
    def union(cls, *parts: Edges) -> Edges:
        """The edges of several tables, each once."""
        columns = zip(*(part.columns() for part in (cls.of([], []), *parts)), strict=True)
        return cls.of(*map(np.concatenate, columns))

    def __len__(self) -> int:
        return len(self.source)

    def columns(self) -> tuple[Rows, Rows, Rows]:
        """Source, target and statement."""
        return self.source, self.target, self.statement

    def take(self, positions: NDArray[Any]) -> Edges:
        """Some of the edges: by position or by a Boolean mask."""
        return Edges(*(column[positions].astype(np.int64) for column in self.columns()))

    def pairs(self) -> Rows:
        """(source, target) of each edge, shape (m, 2)."""
        return np.stack((self.source, self.target), axis=1).astype(np.int64)


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
        """The relationships among these statements that join two entities.

        The object of the others is a value.
        """

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
        return edges.take(np.isin(edges.target, entities))


class ArrayNetwork(Network):
    """A network in arrays: for each kind the columns of its edges, and their order by each end."""

    def __init__(self, iris: Iris, arrays: Arrays, kinds: Sequence[EdgeKind] = EDGE_KINDS) -> None:
        """`arrays` are those of `arrays_of`."""
        self.iris, self.kinds, self._arrays = iris, kinds, arrays

    @classmethod
    def of(cls, iris: Iris, edges: Mapping[EdgeKind, Edges]) -> ArrayNetwork:
        """The network with these edges; kinds that are not given have none."""
        kinds = tuple(dict.fromkeys((*EDGE_KINDS, *edges)))
        none = Edges.of([], [])
        return cls(iris, arrays_of(iris, {kind: edges.get(kind, none) for kind in kinds}), kinds)

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
        outgoing, incoming = (self._positions(kind, end, nodes) for end in _ENDS)
        return self.edges(kind).take(np.union1d(outgoing, incoming))

    def stated(self, statements: Rows) -> Edges:
        edges = self.edges(RELATED_TO)
        at = np.searchsorted(edges.statement, statements.astype(edges.statement.dtype))
        inside = at < len(edges)
        at, statements = at[inside], statements[inside]
        return edges.take(at[edges.statement[at] == statements])

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
