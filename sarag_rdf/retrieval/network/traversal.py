"""The steps of a traversal, and the engine that takes them in memory.

Nodes are rows in the ascending lists of all documents and entities. Another engine asks a store
for each step (`network.load.SparqlTraversal`); both give the same edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from sarag_rdf.retrieval.network.edges import Edges, Network, Rows
from sarag_rdf.retrieval.network.kinds import RELATED_TO, EdgeKind


class Traversal(Protocol):
    """Steps over the edges of a graph.

    Nodes are given in ascending order, each once. Edges are in ascending order of (statement,
    source, target), each once; their predicates are rows of `predicates`.
    """

    @property
    def kinds(self) -> Iterable[EdgeKind]:
        """The kinds of edges that the graph has."""
        ...

    @property
    def predicates(self) -> Sequence[str]:
        """The IRIs of the predicates of all edges read so far."""
        ...

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        """The edges of one kind that start at these nodes."""
        ...

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        """The edges of one kind that end at these nodes."""
        ...

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        """The edges of one kind that start or end at these nodes."""
        ...

    def neighbours(self, entities: Rows) -> Rows:
        """Entities one hop away over relationships, in either direction: shape (m,)."""
        ...


class NetworkTraversal:
    """The traversal of a network in memory."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def kinds(self) -> Iterable[EdgeKind]:
        return self._network.edges.keys()

    @property
    def predicates(self) -> Sequence[str]:
        return self._network.predicates

    def outgoing(self, kind: EdgeKind, sources: Rows) -> Edges:
        return self._network[kind].take(np.sort(self._network.outgoing(kind, sources)))

    def incoming(self, kind: EdgeKind, targets: Rows) -> Edges:
        return self._network[kind].take(np.sort(self._network.incoming(kind, targets)))

    def incident(self, kind: EdgeKind, nodes: Rows) -> Edges:
        return self._network[kind].take(self._network.incident(kind, nodes))

    def neighbours(self, entities: Rows) -> Rows:
        network, edges = self._network, self._network[RELATED_TO]
        targets = edges.target[network.outgoing(RELATED_TO, entities)]
        sources = edges.source[network.incoming(RELATED_TO, entities)]
        return np.union1d(targets, sources).astype(np.int64)
