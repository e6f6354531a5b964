"""How activation came to a node, told backwards: each time the largest amount that arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sarag_rdf.algo.network import Network
from sarag_rdf.algo.rounds import Links, Round


class Hop(NamedTuple):
    """Activation handed on: ``amount = weight * activation of the origin``.

    `relationship` is the row of the relationship that carried it between entities (`stage` 2, 5,
    ...), `SAME` where they are linked as the same, or -1 from a document to an entity (1, 4, ...)
    or from an entity to a document (3, 6, ...). Nodes are rows. `activation` is the target's
    afterwards.
    """

    stage: int
    origin: int
    target: int
    relationship: int
    weight: float
    amount: float
    activation: float


class Arrived(NamedTuple):
    """What reached a document: ``amount = min(1, held - echo) / frequency * share``."""

    entity: int
    held: float
    echo: float
    frequency: int
    share: float
    amount: float


def arrival(network: Network, round_: Round, row: int) -> Arrived:
    """What the entity that gave most gave to a document that the round reached."""
    entity = int(round_.speakers[row])
    held, echo = float(round_.entities[entity]), float(round_.given[row])
    frequency = int(network.frequencies[entity])
    share = round_.rates.about if network.topics[row] == entity else round_.rates.aside
    return Arrived(entity, held, echo, frequency, share, float(round_.documents[row]))


def chain_to_document(network: Network, rounds: Sequence[Round], last: int, row: int) -> list[Hop]:
    """Hops from a seed to a document that round `last` (from 0) reached."""
    found = arrival(network, rounds[last], row)
    weight = found.share / found.frequency
    hop = Hop(3 * last + 3, found.entity, row, -1, weight, found.amount, found.amount)
    return [*chain_to_entity(network, rounds, last, found.entity, without=row), hop]


def chain_to_entity(
    network: Network, rounds: Sequence[Round], last: int, row: int, *, without: int = -1
) -> list[Hop]:
    """Hops from a seed to an entity that round `last` reached.

    What the document `without` gave to the entity is passed over: that would be its echo.
    """
    round_ = rounds[last]
    before = _held_before(round_, row, without)
    carried, returned = _largest(round_.links, row), _largest(round_.returned, row)
    if max(carried.amount, returned.amount) <= before:
        return _chain_to_held(network, rounds, last, row, without)
    if returned.amount > carried.amount:
        middle = _largest(round_.links, returned.origin)
        hops = _chain_to_held(network, rounds, last, middle.origin)
        brought = float(round_.entities[returned.origin])
        hops.append(middle.hop(last, returned.origin, brought))
        return [*hops, returned.hop(last, row, float(round_.entities[row]))]
    hops = _chain_to_held(network, rounds, last, carried.origin)
    return [*hops, carried.hop(last, row, float(round_.entities[row]))]


class _Largest(NamedTuple):
    """The largest amount that links brought to an entity; `origin` is -1 if there was none."""

    origin: int
    relationship: int
    weight: float
    amount: float

    def hop(self, last: int, target: int, activation: float) -> Hop:
        return Hop(
            3 * last + 2,
            self.origin,
            target,
            self.relationship,
            self.weight,
            self.amount,
            activation,
        )


def _largest(links: Links, row: int) -> _Largest:
    best = links.strongest.first(row)
    if best < 0:
        return _Largest(-1, -1, 0.0, 0.0)
    return _Largest(
        int(links.origin[best]),
        int(links.relationship[best]),
        float(links.weight[best]),
        float(links.amount[best]),
    )


def _held_before(round_: Round, row: int, without: int) -> float:
    """The largest part of what an entity held before relationships carried anything."""
    _, given = _given(round_, row, without)
    return max(given, round_.seeds.get(row, 0.0), _largest(round_.crossed, row).amount)


def _chain_to_held(
    network: Network, rounds: Sequence[Round], last: int, row: int, without: int = -1
) -> list[Hop]:
    """Hops to what an entity held before relationships carried anything."""
    round_ = rounds[last]
    _, given = _given(round_, row, without)
    crossed = _largest(round_.crossed, row)
    if crossed.amount > max(given, round_.seeds.get(row, 0.0)):
        hops = _chain_to_start(network, rounds, last, crossed.origin)
        return [*hops, crossed.hop(last, row, float(round_.start[row]) + crossed.amount)]
    return _chain_to_start(network, rounds, last, row, without)


def _chain_to_start(
    network: Network, rounds: Sequence[Round], last: int, row: int, without: int = -1
) -> list[Hop]:
    """Hops to what an entity held at the start of a round."""
    round_ = rounds[last]
    document, given = _given(round_, row, without)
    if document < 0 or round_.seeds.get(row, 0.0) >= given:
        return []
    activation = float(round_.start[row])
    hop = Hop(3 * last + 1, document, row, -1, round_.rates.decay, given, activation)
    before = chain_to_document(network, rounds, last - 1, document) if last else []
    return [*before, hop]


def _given(round_: Round, entity: int, without: int) -> tuple[int, float]:
    """The document that gave an entity most, and how much; (-1, 0) if none did."""
    best = round_.givers.first(entity)
    if best >= 0 and round_.described[best, 0] == without:
        best = round_.givers.second(entity)
    if best < 0:
        return -1, 0.0
    document = int(round_.described[best, 0])
    return document, float(round_.given[document])
