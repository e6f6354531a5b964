"""Steps over a graph from some of its nodes, and the engine that takes them in memory.

Nodes go by row in the ascending list of all IRIs of their kind: documents, entities,
relationships. Another engine asks a store for each step (`graph.traversal`); both give the same
rows, which a test holds them to.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sarag_rdf.network.edges import Network, Rows


class Traversal(Protocol):
    """One step over a graph. What is given is ascending, each once; so is what comes back.

    Every method gives an array of one row for each pair (shape (m, 2)) or relationship (m, 3).
    """

    def entities_of(self, documents: Rows) -> Rows:
        """(document, entity): what these documents describe."""
        ...

    def documents_of(self, entities: Rows) -> Rows:
        """(document, entity): the documents that describe these entities."""
        ...

    def about(self, entities: Rows) -> Rows:
        """(document, entity): the documents that are about these entities."""
        ...

    def relationships_of(self, entities: Rows) -> Rows:
        """(relationship, subject, object): those that start or end at these entities."""
        ...

    def relationships_from(self, entities: Rows) -> Rows:
        """(relationship, subject, object): those that start at these entities."""
        ...

    def neighbours_of(self, entities: Rows) -> Rows:
        """Entities that are one hop away over related_to, in either direction: shape (m,)."""
        ...

    def same_as(self, entities: Rows) -> Rows:
        """(entity, other): those that are linked as the same, both ways."""
        ...


class NetworkTraversal:
    """The traversal of a network that lies in memory."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def entities_of(self, documents: Rows) -> Rows:
        return self._described(self._network.by_document.of(documents))

    def documents_of(self, entities: Rows) -> Rows:
        return self._described(np.sort(self._network.by_entity.of(entities)))

    def about(self, entities: Rows) -> Rows:
        pairs = np.sort(self._network.by_entity.of(entities))
        described = self._described(pairs)
        is_about = self._network.topics[described[:, 0]] == described[:, 1]
        return np.asarray(described[is_about])

    def relationships_of(self, entities: Rows) -> Rows:
        starting, ending = self._network.starting_at, self._network.ending_at
        return self._relationships(np.union1d(starting.of(entities), ending.of(entities)))

    def relationships_from(self, entities: Rows) -> Rows:
        return self._relationships(np.sort(self._network.starting_at.of(entities)))

    def neighbours_of(self, entities: Rows) -> Rows:
        network = self._network
        objects = network.ends[network.starting_at.of(entities), 1]
        subjects = network.ends[network.ending_at.of(entities), 0]
        return np.union1d(objects, subjects).astype(np.int64)

    def same_as(self, entities: Rows) -> Rows:
        identical = self._network.identical
        found = self._network.by_same.of(entities)
        column, row = np.divmod(found, max(1, len(identical)))
        pairs = np.stack((identical[row, column], identical[row, 1 - column]), axis=1)
        return unique_rows(pairs.astype(np.int64))

    def _described(self, pairs: Rows) -> Rows:
        return self._network.described[pairs].astype(np.int64)

    def _relationships(self, rows: Rows) -> Rows:
        return np.column_stack((rows, self._network.ends[rows])).astype(np.int64)


def unique_rows(pairs: Rows) -> Rows:
    """Pairs of numbers from 0 to 2^32, ascending, each once: shape (m, 2)."""
    codes = np.unique(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1])
    return np.stack((codes >> 32, codes & 0xFFFFFFFF), axis=1)
