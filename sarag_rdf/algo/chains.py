"""How activation came to a node, told backwards: each time the largest amount that arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarag_rdf.algo.network import Network
from sarag_rdf.algo.rounds import Round


class Hop(NamedTuple):
    """Activation handed on: ``amount = weight * activation of the origin``.

    `relationship` is the row of the relationship that carried it between entities, or -1 from a
    document to an entity (`stage` 1, 4, ...) or from an entity to a document (3, 6, ...). Nodes
    are rows. `activation` is the target's afterwards.
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
    _, given = _given(network, round_, row, without)
    carried = np.flatnonzero(round_.links.target == row)
    if len(carried):
        best = int(carried[np.argmax(round_.links.amount[carried])])
        amount = float(round_.links.amount[best])
        if amount > max(given, round_.seeds.get(row, 0.0)):
            origin = int(round_.links.origin[best])
            hop = Hop(
                3 * last + 2,
                origin,
                row,
                int(round_.links.relationship[best]),
                float(round_.links.weight[best]),
                amount,
                float(round_.entities[row]),
            )
            return [*_chain_to_start(network, rounds, last, origin), hop]
    return _chain_to_start(network, rounds, last, row, without)


def _chain_to_start(
    network: Network, rounds: Sequence[Round], last: int, row: int, without: int = -1
) -> list[Hop]:
    """Hops to what an entity held before relationships carried anything."""
    round_ = rounds[last]
    document, given = _given(network, round_, row, without)
    if document < 0 or round_.seeds.get(row, 0.0) >= given:
        return []
    activation = float(round_.start[row])
    hop = Hop(3 * last + 1, document, row, -1, round_.rates.decay, given, activation)
    before = chain_to_document(network, rounds, last - 1, document) if last else []
    return [*before, hop]


def _given(network: Network, round_: Round, entity: int, without: int) -> tuple[int, float]:
    """The document that gave an entity most, and how much; (-1, 0) if none did."""
    documents = network.described[network.by_entity.of(np.array([entity])), 0]
    amounts = np.where(documents == without, 0.0, round_.given[documents])
    if not amounts.any():
        return -1, 0.0
    best = int(np.argmax(amounts))
    return int(documents[best]), float(amounts[best])
