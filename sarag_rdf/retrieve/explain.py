"""From rounds of activation to named entities with activation chains and ranked documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.graph.texts import entity_labels, relationship_texts
from sarag_rdf.network.edges import Network
from sarag_rdf.network.spreading import SAME, Links, Round, Spreading, Weigh
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.neighbourhood import relationships_among
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import (
    SAME_AS,
    ActivatedEntity,
    Arrival,
    Document,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Step,
    Subgraph,
)
from sarag_rdf.vocab import SARAG

ACTIVATED = 0.05
"""Activation from which on an entity counts as activated, in what is shown."""
ENTITIES = 100
"""Entities that are told, the most active; beside them seeds, and those on chains to documents."""
LINKS = 500
"""Relationships between them that are told at most, the nearest to the question first."""
DIGITS = 5
"""Of cosines that tell relationships apart; texts that are equal may differ in the seventh."""

_DESCRIBES = SARAG.describes.value
Chain = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A document by its row, its score, the parts that add up to it, and what they are made of."""

    row: int
    score: float
    parts: Mapping[str, float]
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a retriever found; `scored` by falling score, ties by IRI.

    Rows are those of what was touched; `weigh` takes rows of relationships in the whole graph.
    """

    query: Query
    retriever: str
    settings: Mapping[str, float | int | str]
    calibration: Mapping[str, float]
    question: Vector
    spreading: Spreading
    scored: Sequence[Scored]
    weigh: Weigh

    @property
    def network(self) -> Network:
        """What was touched."""
        return self.spreading.network

    @property
    def rounds(self) -> Sequence[Round]:
        """The rounds, by its rows."""
        return self.spreading.rounds


def ranked(view: GraphView, outcome: Outcome) -> Retrieved:
    """The documents alone: nothing is told of how they came."""
    network, best = outcome.network, outcome.scored
    texts = view.documents(network.documents[d.row] for d in best)
    documents = (
        _ranked(outcome, network, texts[network.documents[d.row]], d, rank)
        for rank, d in enumerate(best, start=1)
    )
    return Retrieved(
        outcome.query,
        outcome.retriever,
        outcome.settings,
        tuple(documents),
        (),
        (),
        (),
        Subgraph((), {}, ()),
        outcome.calibration,
    )


def explained(view: GraphView, outcome: Outcome) -> Retrieved:
    """The documents, and how activation came to them."""
    network, rounds, best = outcome.network, outcome.rounds, outcome.scored
    total = np.minimum(1.0, np.sum([round_.entities for round_ in rounds], axis=0))
    order = np.argsort(-total, kind="stable")[:ENTITIES]
    arrivals = {d.row: _arrivals(network, rounds, d.row) for d in best}
    ways = {d.row: _chain_to_document(network, rounds, d.row) for d in best}
    others = _entities_on(ways.values()) | rounds[0].seeds.keys()
    told = [int(row) for row in order if total[row] > 0.0]
    told += sorted(others.difference(told), key=lambda row: (-total[row], row))
    links = _links(view, outcome, told, total)
    hops = {row: _chain_to(network, rounds, row) for row in told}
    passed = [*hops.values(), *ways.values()]
    chains = {row: _steps(network, found) for row, found in hops.items()}
    steps = {row: _steps(network, found) for row, found in ways.items()}

    every = [*chains.values(), *steps.values()]
    named = {network.entities[row] for row in _entities_on(passed).union(told)}
    named |= {arrived.entity for found in arrivals.values() for arrived in found}
    labels = entity_labels(view.reader, named)
    read = _documents_on(passed) | {d.row for d in best} | rounds[0].held.keys()
    texts = view.documents(network.documents[row] for row in read)
    names = {iri: name for iri, (name, _) in labels.items()}
    names |= {iri: document.title or document.text[:60] for iri, document in texts.items()}
    shown = {k.relationship for k in links}
    shown |= {step.relationship for chain in every for step in chain} - {_DESCRIBES, SAME_AS}
    sentences = relationship_texts(view.reader, shown)
    links = [replace(k, text=sentences[k.relationship][0]) for k in links]

    same = {SAME_AS: "is the same as"} if len(network.identical) else {}
    seeds = _seeds(view, outcome, names)
    starts = {seed.node for seed in seeds}
    entities = tuple(
        ActivatedEntity(
            iri := network.entities[row],
            *labels[iri],
            float(total[row]),
            iri in starts,
            bool(total[row] >= ACTIVATED),
            len(chains[row]),
            chains[row],
        )
        for row in told
    )
    activated = {entity.iri for entity in entities if entity.is_activated}
    return Retrieved(
        outcome.query,
        outcome.retriever,
        outcome.settings,
        tuple(
            replace(
                _ranked(outcome, network, texts[network.documents[d.row]], d, rank),
                chain=steps[d.row],
                arrivals=arrivals[d.row],
            )
            for rank, d in enumerate(best, start=1)
        ),
        tuple(k for k in links if k.weight > 0.0 and {k.subject, k.object} <= activated),
        seeds,
        entities,
        Subgraph(seeds, {entity.iri: entity.hop for entity in entities}, tuple(links)),
        outcome.calibration,
        names | {iri: text for iri, (text, _) in sentences.items()} | same,
    )


def _ranked(
    outcome: Outcome, network: Network, document: Document, scored: Scored, rank: int
) -> RankedDocument:
    """A document with the activation that all rounds brought, and the entity that gave most."""
    brought = [float(round_.documents[scored.row]) for round_ in outcome.rounds]
    speaker = int(outcome.rounds[brought.index(max(brought))].speakers[scored.row])
    return RankedDocument(
        document,
        scored.score,
        scored.measures["similarity"],
        sum(brought),
        network.entities[speaker] if speaker >= 0 else "",
        rank,
        measures=scored.measures,
        parts=scored.parts,
    )


def _arrivals(network: Network, rounds: Sequence[Round], row: int) -> tuple[Arrival, ...]:
    """What each round brought to a document."""
    arrivals = []
    for number, round_ in enumerate(rounds, start=1):
        if round_.documents[row] > 0.0:
            found = arrival(network, round_, row)
            arrivals.append(Arrival(number, network.entities[found.entity], *found[1:]))
    return tuple(arrivals)


def _chain_to_document(network: Network, rounds: Sequence[Round], row: int) -> list[Hop]:
    """The chain of the round that brought most."""
    best = max(range(len(rounds)), key=lambda number: rounds[number].documents[row])
    if not rounds[best].documents[row]:
        return []
    return chain_to_document(network, rounds, best, row)


def _chain_to(network: Network, rounds: Sequence[Round], row: int) -> list[Hop]:
    best = max(range(len(rounds)), key=lambda number: rounds[number].entities[row])
    return chain_to_entity(network, rounds, best, row)


def _entities_on(chains: Iterable[Sequence[Hop]]) -> set[int]:
    """Entities that hops start or end at, by row."""
    hops = [hop for chain in chains for hop in chain]
    found = {hop.origin for hop in hops if hop.stage % 3 != 1}
    return found | {hop.target for hop in hops if hop.stage % 3 != 0}


def _documents_on(chains: Iterable[Sequence[Hop]]) -> set[int]:
    """Documents that hops start or end at, by row."""
    hops = [hop for chain in chains for hop in chain]
    found = {hop.origin for hop in hops if hop.stage % 3 == 1}
    return found | {hop.target for hop in hops if hop.stage % 3 == 0}


def _steps(network: Network, hops: Sequence[Hop]) -> Chain:
    return tuple(
        Step(
            hop.stage,
            (network.documents if hop.stage % 3 == 1 else network.entities)[hop.origin],
            (network.documents if hop.stage % 3 == 0 else network.entities)[hop.target],
            _carrier(network, hop),
            hop.weight,
            hop.amount,
            hop.activation,
        )
        for hop in hops
    )


def _carrier(network: Network, hop: Hop) -> str:
    if hop.relationship == SAME:
        return SAME_AS
    return network.relationships[hop.relationship] if hop.stage % 3 == 2 else _DESCRIBES


def _links(
    view: GraphView, outcome: Outcome, told: Sequence[int], total: NDArray[np.float64]
) -> list[Link]:
    """Relationships among what is told, at least one end activated, the nearest first."""
    places = np.array(sorted(told), dtype=np.int64)
    inside = outcome.spreading.entities[places]
    found = relationships_among(view.traversal, inside)
    subject, object_ = (places[np.searchsorted(inside, found[:, end])] for end in (1, 2))
    active = np.maximum(total[subject], total[object_]) >= ACTIVATED
    rows, subject, object_ = found[active, 0], subject[active], object_[active]
    cosines = view.relationship_cosines(outcome.question, rows)
    weights = outcome.weigh(rows)
    order = np.lexsort((rows, -cosines.round(DIGITS)))[:LINKS]
    return [
        Link(
            view.iris.relationships[int(rows[i])],
            outcome.network.entities[subject[i]],
            outcome.network.entities[object_[i]],
            "",
            float(cosines[i]),
            float(weights[i]),
        )
        for i in order
    ]


def _seeds(view: GraphView, outcome: Outcome, names: Mapping[str, str]) -> tuple[Seed, ...]:
    network, first = outcome.network, outcome.rounds[0]
    seeds = [
        Seed(iri := network.entities[row], "", 1.0, share, names[iri], "named in the question")
        for row, share in first.seeds.items()
    ]
    documents = [network.documents[row] for row in first.held]
    held = outcome.spreading.documents[np.array(list(first.held), dtype=np.int64)]
    cosines = view.document_vectors(held) @ outcome.question
    seeds += [
        Seed(iri, iri, float(cosine), first.held[row], names[iri], "document")
        for iri, row, cosine in zip(documents, first.held, cosines, strict=True)
    ]
    return tuple(sorted(seeds, key=lambda seed: (-seed.activation, seed.node)))


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
