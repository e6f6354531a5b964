"""The network as a table of edges, in arrays: what activation spreads over.

Nodes are rows of the ascending lists of documents and entities; the table is partitioned by the
kind of edge. Everything is in the order of IRIs, so equal graphs give equal arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarag_rdf.base.arrays import packed_lists, unpacked_list
from sarag_rdf.base.types import NodeType
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES, EDGE_KINDS, RELATED_TO, EdgeKind

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
End = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class Iris:
    """The IRIs of nodes and statements by row, in ascending order."""

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]


_COLUMNS = ("source", "target", "statement", "predicate", "weight")
_ENDS: tuple[End, End] = ("source", "target")


class CsrIndex:
    """The positions of each value in a column (compressed sparse rows)."""

    def __init__(self, values: Rows, size: int) -> None:
        """`values` of shape (n,), from 0 to below `size`."""
        self._order = smallest(np.argsort(values, kind="stable"))
        self._starts = smallest(np.searchsorted(values[self._order], np.arange(size + 1)))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> CsrIndex:
        """The index that `arrays` was called for."""
        index = cls.__new__(cls)
        index._order, index._starts = arrays[f"{name}_order"], arrays[f"{name}_starts"]
        return index

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The contents as arrays, to be stored."""
        return {f"{name}_order": self._order, f"{name}_starts": self._starts}

    def sizes(self) -> Rows:
        """The number of positions of each value, shape (size,)."""
        return np.diff(self._starts).astype(np.int64)

    def positions(self, values: Rows) -> Rows:
        """The positions of several values, value after value, each ascending."""
        starts = self._starts[values].astype(np.int64)
        counts = self._starts[values + 1].astype(np.int64) - starts
        offsets = np.repeat(starts - np.cumsum(counts) + counts, counts)
        return self._order[offsets + np.arange(int(counts.sum()))].astype(np.int64)


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in 32 bits where they fit, which halves the memory."""
    return values.astype(np.int32) if not len(values) or values.max() < 2**31 else values


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges as columns of one length: shape (m,) each.

    source, target: rows of documents or entities, as the kind of edge says. statement: rows of
    relationships, or -1. predicate: rows of the list of predicates. weight: in [0, 1].
    """

    source: NDArray[Any]
    target: NDArray[Any]
    statement: NDArray[Any]
    predicate: NDArray[Any]
    weight: NDArray[Any]

    @classmethod
    def of(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        *,
        statement: ArrayLike = -1,
        predicate: ArrayLike = 0,
        weight: ArrayLike = 1.0,
    ) -> Edges:
        """Edges in ascending order of (statement, source, target), each once.

        A number stands for a column of equal values. Of two edges that differ only in their
        predicate or weight, the one with the lower predicate stays.
        """
        sources: Rows = np.asarray(source, dtype=np.int64)
        targets: Rows = np.asarray(target, dtype=np.int64)
        statements, predicates = (
            np.broadcast_to(np.asarray(column, dtype=np.int64), sources.shape)
            for column in (statement, predicate)
        )
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), sources.shape)
        ends = sources << 32 | targets
        order = np.lexsort((predicates, ends, statements))
        before, after = order[:-1], order[1:]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = (statements[before] != statements[after]) | (ends[before] != ends[after])
        order = order[is_first]
        columns = (sources, targets, statements, predicates, weights)
        return cls(*(column[order] for column in columns))

    @classmethod
    def none(cls) -> Edges:
        """No edges."""
        return cls.of([], [])

    @classmethod
    def union(cls, parts: Iterable[Edges]) -> Edges:
        """The edges of several tables, each once."""
        columns = zip(*(part.columns() for part in parts), strict=True)
        source, target, statement, predicate, weight = map(np.concatenate, columns)
        return cls.of(source, target, statement=statement, predicate=predicate, weight=weight)

    def __len__(self) -> int:
        return len(self.source)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """All columns, in order."""
        return self.source, self.target, self.statement, self.predicate, self.weight

    def take(self, positions: NDArray[Any] | slice) -> Edges:
        """Some of the edges: by position, by a Boolean mask, or a slice."""
        source, target, statement, predicate = (c[positions] for c in self.columns()[:-1])
        return Edges(
            source.astype(np.int64),
            target.astype(np.int64),
            statement.astype(np.int64),
            predicate.astype(np.int64),
            self.weight[positions].astype(np.float64),
        )

    def pairs(self) -> Rows:
        """(source, target) of each edge, shape (m, 2)."""
        return np.stack((self.source, self.target), axis=1).astype(np.int64)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The contents as arrays, to be stored; of a column of equal values only the first."""
        return {f"{name}_{c}": _compressed(getattr(self, c)) for c in _COLUMNS}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Edges:
        """The edges that `arrays` was called for."""
        columns = [arrays[f"{name}_{c}"] for c in _COLUMNS]
        size = max(map(len, columns))
        return cls(*(np.broadcast_to(c, size) if len(c) < size else c for c in columns))


def _compressed(column: NDArray[Any]) -> NDArray[Any]:
    if np.issubdtype(column.dtype, np.floating):
        column = column.astype(np.float32)
    else:
        column = smallest(column)
    return column[:1].copy() if len(column) and (column == column[0]).all() else column


@dataclass(frozen=True, eq=False)
class Network:
    """Documents, entities and relationships, in ascending order of IRI, and edges by kind."""

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]
    edges: Mapping[EdgeKind, Edges]
    predicates: Sequence[str] = ()
    _indexes: dict[tuple[EdgeKind, End], CsrIndex] = field(
        default_factory=dict, init=False, repr=False
    )

    def __getitem__(self, kind: EdgeKind) -> Edges:
        """The edges of one kind."""
        return self.edges[kind] if kind in self.edges else Edges.none()

    @property
    def associations(self) -> list[EdgeKind]:
        """The kinds of edges that join two different entities."""
        return [kind for kind in self.edges if kind.is_association]

    @property
    def identities(self) -> list[EdgeKind]:
        """The kinds of edges that join two entities for one thing."""
        return [kind for kind in self.edges if kind.is_identity]

    def size(self, nodes: NodeType) -> int:
        """The number of nodes of one type."""
        return len(self.documents if nodes == "document" else self.entities)

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Rows:
        """Positions of the edges of one kind that start at these nodes, node after node."""
        return self._index(kind, "source").positions(sources)

    def incoming(self, kind: EdgeKind, targets: Rows) -> Rows:
        """Positions of the edges of one kind that end at these nodes, node after node."""
        return self._index(kind, "target").positions(targets)

    def incident(self, kind: EdgeKind, nodes: Rows) -> Rows:
        """Positions of the edges that start or end at these nodes, ascending, each once."""
        return np.union1d(self.outgoing(kind, nodes), self.incoming(kind, nodes))

    def _index(self, kind: EdgeKind, end: End) -> CsrIndex:
        if (kind, end) not in self._indexes:
            edges = self[kind]
            values, nodes = (
                (edges.source, kind.source) if end == "source" else (edges.target, kind.target)
            )
            self._indexes[kind, end] = CsrIndex(values, self.size(nodes))
        return self._indexes[kind, end]

    def joins_entities(self, relationships: Rows) -> NDArray[np.bool_]:
        """For each relationship whether it joins two entities; the object of others is a value."""
        joining = self[RELATED_TO].statement  # ascending
        if not len(joining):
            return np.zeros(len(relationships), dtype=np.bool_)
        at = np.searchsorted(joining, relationships)
        same: NDArray[np.bool_] = joining.take(at, mode="clip") == relationships
        return same

    def relationship_ends(self, relationships: Rows) -> Rows:
        """(subject, object) of relationships that join two entities, shape (n, 2).

        Raises `KeyError` for one whose object is a value.
        """
        edges = self[RELATED_TO]
        if not self.joins_entities(relationships).all():
            raise KeyError("the object of a relationship is a value")
        return edges.take(np.searchsorted(edges.statement, relationships)).pairs()

    @cached_property
    def frequencies(self) -> Rows:
        """The document frequency of each entity, at least 1: shape (entities,)."""
        return np.maximum(1, self._index(DESCRIBES, "target").sizes())

    @cached_property
    def is_topic(self) -> NDArray[np.bool_]:
        """For each edge of kind `DESCRIBES` whether the entity is the document's topic."""
        described, about = (_codes(self[kind]) for kind in (DESCRIBES, ABOUT))
        return np.isin(described, about)

    def is_about(self, document: int, entity: int) -> bool:
        """Whether the entity is a topic of the document."""
        positions = self.outgoing(ABOUT, np.array([document]))
        return bool((self[ABOUT].target[positions] == entity).any())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The edges with their indexes as arrays, to be stored."""
        arrays = dict(packed_lists({"predicates": self.predicates}))
        for kind in self.edges:
            arrays |= self[kind].arrays(kind.name)
            for end in _ENDS:
                arrays |= self._index(kind, end).arrays(f"{kind.name}_by_{end}")
        return arrays

    @classmethod
    def of_arrays(
        cls,
        documents: Sequence[str],
        entities: Sequence[str],
        relationships: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
        kinds: Iterable[EdgeKind] = EDGE_KINDS,
    ) -> Network:
        """The network of these nodes that `arrays` was called for."""
        edges = {kind: Edges.of_arrays(arrays, kind.name) for kind in kinds}
        predicates = unpacked_list(arrays, "predicates")
        network = cls(documents, entities, relationships, edges, predicates)
        for kind in edges:
            for end in _ENDS:
                index = CsrIndex.of_arrays(arrays, f"{kind.name}_by_{end}")
                network._indexes[kind, end] = index
        return network


def _codes(edges: Edges) -> Rows:
    """One number for the two ends of each edge."""
    source: Rows = edges.source.astype(np.int64)
    target: Rows = edges.target.astype(np.int64)
    return source << 32 | target
