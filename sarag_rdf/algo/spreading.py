"""Rounds of spreading activation over the part of a graph that they touch, and over no more.

Each round asks a `Traversal` for what is next to the documents and entities that hold something;
of relationships only those with a weight lead on. What was touched becomes a small network, over
which `spread_round` gives what it would give over the whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.iri_list import OneByOne
from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.algo.rounds import Rates, Round, Weigh, spread_round
from sarag_rdf.algo.traversal import Traversal, unique_rows

Held = Mapping[int, float]
Floats = NDArray[np.float64]
_NO_PAIRS = np.empty((0, 2), dtype=np.int64)


class Picked(OneByOne):
    """Some of a list of IRIs; each is read from it when it is first asked for."""

    def __init__(self, iris: Sequence[str], rows: Rows) -> None:
        """`rows` of the list, ascending."""
        self._iris, self._rows = iris, rows
        self._read: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, row: int) -> str:
        if row not in self._read:
            self._read[row] = self._iris[int(self._rows[row])]
        return self._read[row]


@dataclass(frozen=True, slots=True)
class Iris:
    """The IRIs that rows stand for, by kind, in ascending order."""

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]


@dataclass(frozen=True, slots=True)
class Spreading:
    """What rounds touched, as a `network` of its own, and the rounds by rows of that network.

    `documents`, `entities` and `relationships` are the rows of its nodes in the whole graph.
    """

    network: Network
    rounds: Sequence[Round]
    documents: Rows
    entities: Rows
    relationships: Rows


class _Area:
    """The part of a graph that was touched so far, by rows of the whole graph."""

    def __init__(self, traversal: Traversal, iris: Iris, weigh: Weigh, documents: Rows) -> None:
        self._traversal, self._iris, self._weigh = traversal, iris, weigh
        self.documents, self.entities = documents, np.empty(0, dtype=np.int64)
        self._described, self._about, self._same = _NO_PAIRS, _NO_PAIRS, _NO_PAIRS
        self._links = np.empty((0, 3), dtype=np.int64)
        self._weights = np.empty(0)

    @property
    def relationships(self) -> Rows:
        """Relationships with a weight, ascending."""
        return self._links[:, 0]

    def touch(self, held: Held, seeds: Held) -> None:
        """Take in what a round from these documents and entities touches."""
        step = self._traversal
        described = step.entities_of(np.array(sorted(held), dtype=np.int64))
        seeded = np.array(sorted(seeds), dtype=np.int64)
        active = self._with_same(np.union1d(described[:, 1], seeded))
        links = step.relationships_of(active)
        weights = self._weigh(links[:, 0])
        live = (weights > 0.0) & (links[:, 1] != links[:, 2])
        links, weights = links[live], weights[live]
        reached = self._with_same(np.union1d(active, links[:, 1:]))
        describing = step.documents_of(reached)
        self._described = _more(self._described, np.concatenate((described, describing)))
        self._about = _more(self._about, step.about(reached))
        links = np.concatenate((self._links, links))
        _, first = np.unique(links[:, 0], return_index=True)
        self._links = links[first]
        self._weights = np.concatenate((self._weights, weights))[first]
        self.entities = np.union1d(self.entities, reached)
        found = np.concatenate((self._described[:, 0], np.array(list(held), dtype=np.int64)))
        self.documents = np.union1d(self.documents, found)

    def network(self) -> Network:
        """All that was touched, by rows of its own."""
        topics = np.full(len(self.documents), -1)
        topics[self._document_rows(self._about[:, 0])] = self._entity_rows(self._about[:, 1])
        described = (self._document_rows, self._entity_rows)
        columns = [rows(self._described[:, i]) for i, rows in enumerate(described)]
        return Network(
            Picked(self._iris.documents, self.documents),
            Picked(self._iris.entities, self.entities),
            Picked(self._iris.relationships, self.relationships),
            np.stack(columns, axis=1),
            topics,
            self._entity_rows(self._links[:, 1:]),
            self._entity_rows(self._same),
        )

    def round(self, network: Network, held: Held, seeds: Held, rates: Rates) -> Round:
        """One round over a network of this area, of at least what the round touches."""
        weights = self._weights
        return spread_round(
            network,
            dict(zip(_keys(held, self.documents), held.values(), strict=True)),
            dict(zip(_keys(seeds, self.entities), seeds.values(), strict=True)),
            lambda rows: weights[rows],
            rates,
        )

    def _with_same(self, entities: Rows) -> Rows:
        same = self._traversal.same_as(entities)
        self._same = _more(self._same, np.sort(same, axis=1))
        return np.union1d(entities, same[:, 1])

    def _document_rows(self, documents: Rows) -> Rows:
        return np.searchsorted(self.documents, documents)

    def _entity_rows(self, entities: Rows) -> Rows:
        return np.searchsorted(self.entities, entities)


def spread(
    traversal: Traversal,
    iris: Iris,
    weigh: Weigh,
    rates: Rates,
    *,
    held: Held,
    seeds: Held,
    rounds: int,
    few: int,
    documents: Sequence[int] = (),
) -> Spreading:
    """Spread in rounds, each but the first from the `few` documents that the last one moved most.

    `held`, `seeds` and `documents` go by row of the whole graph, and so does what `weigh` is given.
    `documents` are part of the network that is returned even if nothing reaches them.
    """
    area = _Area(traversal, iris, weigh, np.array(sorted(documents), dtype=np.int64))
    starts: list[tuple[Held, Held]] = []
    for _ in range(rounds):
        starts.append((held, seeds))
        area.touch(held, seeds)
        network = area.network()
        last = area.round(network, held, seeds, rates)
        held, seeds = _strongest(last, area.documents, few), {}
    before = [area.round(network, *start, rates) for start in starts[:-1]]
    rows = (area.documents, area.entities, area.relationships)
    return Spreading(network, [*before, last], *rows)


def _strongest(round_: Round, documents: Rows, few: int) -> Held:
    best = np.argsort(-round_.documents, kind="stable")[:few]
    moved = [(int(documents[row]), float(round_.documents[row])) for row in best]
    return {document: min(1.0, activation) for document, activation in moved if activation}


def _more(pairs: Rows, others: Rows) -> Rows:
    return unique_rows(np.concatenate((pairs, others)))


def _keys(values: Held, rows: Rows) -> list[int]:
    return [int(row) for row in np.searchsorted(rows, np.array(list(values), dtype=np.int64))]
