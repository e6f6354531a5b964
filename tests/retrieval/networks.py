"""Networks for tests, from pairs of rows, and rounds over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.retrieval.activation import (
    Activation,
    EdgeFactors,
    Gate,
    Pass,
    Rates,
    Round,
    Spreading,
    Steering,
)
from sarag_rdf.retrieval.network import (
    ABOUT,
    DESCRIBES,
    RELATED_TO,
    SAME_AS,
    ArrayNetwork,
    EdgeKind,
    Edges,
    Iris,
)

Pairs = Sequence[tuple[int, int]]


def rows(*values: int) -> Rows:
    return np.array(values, dtype=np.int64)


def network_of(
    documents: Sequence[str],
    entities: Sequence[str],
    relationships: Sequence[str],
    described: Pairs = (),
    topics: Sequence[int] = (),
    ends: Pairs = (),
    identical: Pairs = (),
) -> ArrayNetwork:
    """A network in which each document describes its topics, if it has any (-1 for none).

    `described` are (document, entity), `topics` the entity of each document, `ends` the (subject,
    object) of each relationship, `identical` pairs of entities.
    """
    about = [(document, entity) for document, entity in enumerate(topics) if entity >= 0]
    return ArrayNetwork.of(
        Iris(documents, entities, relationships),
        {
            DESCRIBES: edges(described),
            ABOUT: edges([pair for pair in about if pair in set(described)]),
            RELATED_TO: edges(ends, statement=list(range(len(ends)))),
            SAME_AS: edges(identical),
        },
    )


def edges(pairs: Pairs, statement: Sequence[int] | int = -1) -> Edges:
    """Edges between pairs of nodes."""
    return Edges.of([s for s, _ in pairs], [t for _, t in pairs], statement)


def gate_of(weights: Sequence[float]) -> Gate:
    """Weights of relationships from a list."""
    table = np.array(weights, dtype=np.float64)
    return lambda statements: table[statements]


def every(network: ArrayNetwork, type_: str = "entity") -> Rows:
    """All nodes of a type."""
    return np.arange(len(network.iris.documents if type_ == "document" else network.iris.entities))


def described_pairs(network: ArrayNetwork) -> list[tuple[int, int]]:
    return [(d, e) for d, e in network.edges(DESCRIBES).pairs().tolist()]


def ends_of(network: ArrayNetwork) -> list[tuple[int, int]]:
    """The ends of each relationship, in order."""
    return [(s, o) for s, o in network.edges(RELATED_TO).pairs().tolist()]


class Factors(Steering):
    """Activation weights of relationships, given by row."""

    def __init__(self, factors: EdgeFactors) -> None:
        self._factors = factors

    def factors(self, kind: EdgeKind, edges: Edges) -> EdgeFactors:
        if not kind.has_statements:
            return EdgeFactors.neutral(len(edges))
        return EdgeFactors(
            self._factors.factor[edges.statement], self._factors.decay[edges.statement]
        )


def spreading(
    network: ArrayNetwork,
    weights: Sequence[float],
    rates: Rates | None = None,
    factors: EdgeFactors | None = None,
) -> Spreading:
    """Spreading with these weights of relationships."""
    steering = Factors(factors) if factors else None
    return Spreading(network, gate_of(weights), rates or Rates(), steering)


@dataclass(frozen=True)
class DenseRound:
    """A round with the activation of every node, shape (nodes,)."""

    network: ArrayNetwork
    rates: Rates
    round: Round

    def _of_all(self, active: Activation, type_: str) -> Floats:
        return active.at(every(self.network, type_))

    @property
    def initial(self) -> Floats:
        """Of entities, from seeds and documents."""
        return self._of_all(self.round.levels[0], "entity")

    @property
    def entities(self) -> Floats:
        return self._of_all(self.round.entities, "entity")

    @property
    def documents(self) -> Floats:
        return self._of_all(self.round.documents, "document")

    @property
    def outgoing(self) -> Floats:
        """What each document passed to every entity that it describes."""
        return self.rates.decay * self._of_all(self.round.sources, "document")

    @property
    def associations(self) -> Pass:
        return self.round.passes[2]

    @cached_property
    def top_contributors(self) -> Rows:
        """For each document the entity that contributed most, or -1."""
        last = self.round.passes[4]
        places = [last.largest(document) for document in every(self.network, "document").tolist()]
        return rows(*(int(last.edges.source[at]) if at >= 0 else -1 for at in places))

    @property
    def reached(self) -> Rows:
        return self.round.documents.rows

    @property
    def sources(self) -> dict[int, float]:
        return as_dict(self.round.sources)

    @property
    def seeds(self) -> dict[int, float]:
        return as_dict(self.round.seeds)


def as_dict(active: Activation) -> dict[int, float]:
    return dict(zip(active.rows.tolist(), active.amounts.tolist(), strict=True))


def one_round(
    network: ArrayNetwork,
    weights: Sequence[float],
    sources: Mapping[int, float],
    seeds: Mapping[int, float],
    rates: Rates,
    factors: EdgeFactors | None = None,
) -> DenseRound:
    """One round over a network with these weights of relationships."""
    run = spreading(network, weights, rates, factors)
    return DenseRound(network, rates, run.round(Activation.of(sources), Activation.of(seeds)))
