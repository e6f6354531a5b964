"""Spreading activation over the touched part of the network, in rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.arrays import LazySequence
from sarag_rdf.network.edges import Network, Rows
from sarag_rdf.network.traversal import Traversal, unique_rows

Held = Mapping[int, float]
Floats = NDArray[np.float64]
_NO_PAIRS = np.empty((0, 2), dtype=np.int64)


class Picked(LazySequence):
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


Weigh = Callable[[Rows], Floats]
"""Weights in [0, 1] of relationships, given by row."""


@dataclass(frozen=True)
class Rates:
    """How much is passed on.

    `decay` is the share of its activation that a document passes to each entity that it
    describes, and an entity to the next, times the link's weight. An entity gives `about` to a
    document that is about it, `aside` to any other. All in [0, 1].
    """

    decay: float = 0.15
    about: float = 0.7
    aside: float = 0.2


SAME = -2
"""Stands for a relationship where a link between entities that are the same carried."""


@dataclass(frozen=True)
class Links:
    """What carried activation between entities, each in one direction: arrays of one length.

    `size` is the number of entities.
    """

    origin: Rows
    target: Rows
    relationship: Rows
    weight: Floats
    amount: Floats
    size: int

    @cached_property
    def strongest(self) -> Strongest:
        """By target."""
        return Strongest(self.target, self.amount, self.size)


@dataclass(frozen=True)
class Round:
    """Where activation was at the start, and where it came to.

    `start` and `entities` hold each entity's activation before and after anything carried it,
    `given` what each document gave to every entity that it describes, `crossed` the links between
    same entities that carried it first, `links` the relationships that carried, `returned` the
    links that carried what relationships had brought, `documents` each document's activation,
    `speakers` the entity that gave it most, or -1. Activation of entities may exceed 1: what they
    give does not. `described` is that of the network.
    """

    held: Mapping[int, float]
    seeds: Mapping[int, float]
    start: Floats
    entities: Floats
    given: Floats
    crossed: Links
    links: Links
    returned: Links
    documents: Floats
    speakers: Rows
    rates: Rates
    described: Rows

    @cached_property
    def givers(self) -> Strongest:
        """Which rows of `described` gave most to each entity."""
        documents, entities = self.described.T
        return Strongest(entities, self.given[documents], len(self.entities))

    @cached_property
    def reached(self) -> Rows:
        """Documents with activation, ascending."""
        return np.flatnonzero(self.documents)


def spread_round(
    network: Network,
    held: Mapping[int, float],
    seeds: Mapping[int, float],
    weigh: Weigh,
    rates: Rates,
) -> Round:
    """Spread from documents (`held`) and entities (`seeds`), both by row, with values in (0, 1].

    With df(e) the number of documents that describe e, and w the weight of the strongest
    relationship between two entities::

        given(d)      = decay * held(d)
        start(e)      = seeds(e) + sum over d of given(d)
        crossed(e)    = start(e) + sum over s of start(s)
        brought(e)    = sum over f of decay * w(e, f) * crossed(f) / df(f)
        entities(e)   = crossed(e) + brought(e) + sum over s of brought(s)
        documents(d)  = max over e of min(1, entities(e) - given(d)) / df(e) * share(d, e)

    where d describes e, s is linked with e as the same, and share is `about` or `aside`. A
    document does not get back from an entity what it gave to that entity; over a relationship to
    another entity it may.
    """
    given = np.zeros(len(network.documents))
    for document, activation in held.items():
        given[document] = rates.decay * activation
    origins, entities = network.described.T
    size = len(network.entities)
    start = np.bincount(entities, given[origins], minlength=size).astype(np.float64)
    for entity, activation in seeds.items():
        start[entity] += activation
    crossed = _crossed(network, start)
    before = start + np.bincount(crossed.target, crossed.amount, minlength=size)
    links = _carried(network, before, weigh, rates)
    brought = np.bincount(links.target, links.amount, minlength=size).astype(np.float64)
    returned = _crossed(network, brought)
    after = before + brought + np.bincount(returned.target, returned.amount, minlength=size)
    documents, speakers = _arrived(network, after, given, rates)
    return Round(
        held,
        seeds,
        start,
        after,
        given,
        crossed,
        links,
        returned,
        documents,
        speakers,
        rates,
        network.described,
    )


def _crossed(network: Network, held: Floats) -> Links:
    """What entities hold, handed whole to those that are linked as the same."""
    one, other = network.identical.T
    origin, target = np.concatenate((one, other)), np.concatenate((other, one))
    live = held[origin] > 0.0
    origin, target = origin[live], target[live]
    weight = np.ones(len(origin))
    same = np.full(len(origin), SAME)
    return Links(origin, target, same, weight, held[origin], len(network.entities))


def _carried(network: Network, start: Floats, weigh: Weigh, rates: Rates) -> Links:
    active = np.flatnonzero(start)
    touched = np.zeros(len(network.ends), dtype=bool)
    touched[network.starting_at.of(active)] = True
    touched[network.ending_at.of(active)] = True
    found = np.flatnonzero(touched)
    weights = weigh(found)
    ends = network.ends[found]
    live = (weights > 0.0) & (ends[:, 0] != ends[:, 1])
    found, weights, ends = found[live], weights[live], ends[live]
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((found, -weights, high, low))
    low, high, found, weights = low[order], high[order], found[order], weights[order]
    first = np.ones(len(found), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, found, weights = low[first], high[first], found[first], weights[first]
    origin, target = np.concatenate((low, high)), np.concatenate((high, low))
    relationship = np.concatenate((found, found))
    weight = rates.decay * np.concatenate((weights, weights)) / network.frequencies[origin]
    amount = weight * start[origin]
    carried = amount > 0.0
    return Links(
        origin[carried],
        target[carried],
        relationship[carried],
        weight[carried],
        amount[carried],
        len(network.entities),
    )


def _arrived(
    network: Network, entities: Floats, given: Floats, rates: Rates
) -> tuple[Floats, Rows]:
    pairs = network.by_entity.of(np.flatnonzero(entities))
    document, entity = network.described[pairs].T
    share = np.where(network.is_topic[pairs], rates.about, rates.aside)
    rest = np.clip(entities[entity] - given[document], 0.0, 1.0)
    amount = rest / network.frequencies[entity] * share
    amount[rest < 1e-12] = 0.0
    order = np.lexsort((-entity, amount))
    order = order[amount[order] > 0.0]
    documents = np.zeros(len(network.documents))
    speakers = np.full(len(network.documents), -1)
    documents[document[order]] = amount[order]
    speakers[document[order]] = entity[order]
    return documents, speakers


class Strongest:
    """The two largest amounts above 0 for each node, ties by position."""

    def __init__(self, nodes: Rows, amounts: NDArray[np.float64], size: int) -> None:
        """Position i brought ``amounts[i]`` to ``nodes[i]``, a number below `size`."""
        positions = np.flatnonzero(amounts > 0.0)
        order = positions[np.lexsort((positions, -amounts[positions], nodes[positions]))]
        starts = np.searchsorted(nodes[order], np.arange(size + 1))
        self._first = np.full(size, -1)
        self._second = np.full(size, -1)
        counts = np.diff(starts)
        for rank, places in enumerate((self._first, self._second)):
            places[counts > rank] = order[starts[:-1][counts > rank] + rank]

    def first(self, node: int) -> int:
        """The position that brought most, or -1 where nothing did."""
        return int(self._first[node])

    def second(self, node: int) -> int:
        """The position that brought most after the first, or -1."""
        return int(self._second[node])
