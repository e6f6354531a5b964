"""Chains of steps from a seed to an entity or a document, along the largest contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sarag_rdf.base.types import Arrival, Step
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES
from sarag_rdf.retrieval.network.spreading import Contributions, Round

Chain = tuple[Step, ...]


def arrivals(rounds: Sequence[Round], document: int) -> tuple[Arrival, ...]:
    """The largest contribution to a document, by row, in each round that reached it."""
    return tuple(
        _arrival(round_, number, document)
        for number, round_ in enumerate(rounds, start=1)
        if round_.documents[document] > 0.0
    )


def _arrival(round_: Round, number: int, document: int) -> Arrival:
    network, entity = round_.network, int(round_.top_contributors[document])
    is_topic = network.is_about(document, entity)
    return Arrival(
        number,
        network.entities[entity],
        float(round_.entities[entity]),
        float(round_.outgoing[document]),
        int(network.frequencies[entity]),
        round_.rates.topic_weight if is_topic else round_.rates.mention_weight,
        float(round_.documents[document]),
        (ABOUT if is_topic else DESCRIBES).name,
    )


def strongest_chain_to_document(rounds: Sequence[Round], document: int) -> Chain:
    """The chain in the round that activated a document most; empty if none did."""
    best = max(range(len(rounds)), key=lambda number: rounds[number].documents[document])
    if not rounds[best].documents[document]:
        return ()
    return chain_to_document(rounds, best, document)


def strongest_chain_to_entity(rounds: Sequence[Round], entity: int) -> Chain:
    """The chain in the round that activated an entity most."""
    best = max(range(len(rounds)), key=lambda number: rounds[number].entities[entity])
    return chain_to_entity(rounds, best, entity)


def chain_to_document(rounds: Sequence[Round], last: int, document: int) -> Chain:
    """The chain from a seed to a document that round `last` (from 0) activated."""
    round_ = rounds[last]
    arrival = _arrival(round_, last + 1, document)
    step = Step(
        3 * last + 3,
        arrival.entity,
        round_.network.documents[document],
        DESCRIBES.predicate,
        arrival.weight / arrival.frequency,
        arrival.amount,
        arrival.amount,
        DESCRIBES.name,
        "entity",
        "document",
    )
    entity = int(round_.top_contributors[document])
    return (*chain_to_entity(rounds, last, entity, without=document), step)


def chain_to_entity(rounds: Sequence[Round], last: int, entity: int, *, without: int = -1) -> Chain:
    """The chain from a seed to an entity that round `last` activated.

    The contribution of the document `without` does not count: to that document it is an echo.
    """
    round_ = rounds[last]
    associated = _largest(round_.associations, entity)
    identical = _largest(round_.after, entity)
    activation = float(round_.entities[entity])
    if max(associated.amount, identical.amount) <= _largest_before(round_, entity, without):
        return _chain_before(rounds, last, entity, without)
    if associated.amount >= identical.amount:
        chain = _chain_before(rounds, last, associated.source)
        return (*chain, _step(round_, last, associated, activation))
    middle = _largest(round_.associations, identical.source)
    return (
        *_chain_before(rounds, last, middle.source),
        _step(round_, last, middle, float(round_.entities[identical.source])),
        _step(round_, last, identical, activation),
    )


class _Contribution(NamedTuple):
    """One of many contributions; without a `source` (-1) the amount is 0."""

    contributions: Contributions
    position: int
    source: int
    amount: float


def _largest(contributions: Contributions, entity: int) -> _Contribution:
    position = contributions.largest.first(entity)
    if position < 0:
        return _Contribution(contributions, -1, -1, 0.0)
    source, amount = contributions.source[position], contributions.amount[position]
    return _Contribution(contributions, position, int(source), float(amount))


def _step(round_: Round, last: int, contribution: _Contribution, activation: float) -> Step:
    network, several, at = round_.network, contribution.contributions, contribution.position
    kind, statement = several.kinds[several.kind[at]], int(several.statement[at])
    return Step(
        3 * last + 2,
        network.entities[contribution.source],
        network.entities[int(several.target[at])],
        network.relationships[statement] if statement >= 0 else kind.predicate,
        float(several.weight[at]),
        contribution.amount,
        activation,
        kind.name,
        "entity",
        "entity",
        float(several.factor[at]),
    )


def _largest_before(round_: Round, entity: int, without: int) -> float:
    """The largest contribution to an entity before associations passed activation."""
    _, amount = _from_document(round_, entity, without)
    return max(amount, round_.seeds.get(entity, 0.0), _largest(round_.before, entity).amount)


def _chain_before(rounds: Sequence[Round], last: int, entity: int, without: int = -1) -> Chain:
    """The chain to the activation of an entity before associations passed any."""
    round_ = rounds[last]
    _, amount = _from_document(round_, entity, without)
    identical = _largest(round_.before, entity)
    if identical.amount > max(amount, round_.seeds.get(entity, 0.0)):
        chain = _chain_to_initial(rounds, last, identical.source)
        activation = float(round_.initial[entity]) + identical.amount
        return (*chain, _step(round_, last, identical, activation))
    return _chain_to_initial(rounds, last, entity, without)


def _chain_to_initial(rounds: Sequence[Round], last: int, entity: int, without: int = -1) -> Chain:
    """The chain to the activation of an entity from documents, or none for a seed."""
    round_ = rounds[last]
    document, amount = _from_document(round_, entity, without)
    if document < 0 or round_.seeds.get(entity, 0.0) >= amount:
        return ()
    step = Step(
        3 * last + 1,
        round_.network.documents[document],
        round_.network.entities[entity],
        DESCRIBES.predicate,
        round_.rates.decay,
        amount,
        float(round_.initial[entity]),
        DESCRIBES.name,
        "document",
        "entity",
    )
    return (*(chain_to_document(rounds, last - 1, document) if last else ()), step)


def _from_document(round_: Round, entity: int, without: int) -> tuple[int, float]:
    """The document that contributed most to an entity, and the amount; (-1, 0) without one."""
    sources = round_.network[DESCRIBES].source
    best = round_.from_documents.first(entity)
    if best >= 0 and sources[best] == without:
        best = round_.from_documents.second(entity)
    if best < 0:
        return -1, 0.0
    document = int(sources[best])
    return document, float(round_.outgoing[document])
