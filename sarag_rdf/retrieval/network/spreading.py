"""Spreading activation in rounds, over the part of the network that it reaches.

Activation passes from documents to entities, between entities, and back to documents, in the
manner of Collins and Loftus, A Spreading-Activation Theory of Semantic Processing, Psychological
Review 82(6), 1975, with decay, and with a fan-out effect: an entity divides what it passes on by
its document frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import LazySequence
from sarag_rdf.retrieval.network.edges import Edges, Floats, Iris, Network, Rows
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES, EdgeKind
from sarag_rdf.retrieval.network.steering import EdgeFactors, Steering
from sarag_rdf.retrieval.network.traversal import Traversal

Activation = Mapping[int, float]
"""The activation of nodes by row, above 0."""
Gate = Callable[[Rows], Floats]
"""Weights in [0, 1] of statements, given by row, for one question."""
Factors = Mapping[EdgeKind, EdgeFactors]
"""What steers the edges of each kind between entities, in the order of the network's edges."""


class IriSubset(LazySequence):
    """Some of a list of IRIs; each is read from the list at its first use."""

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


@dataclass(frozen=True)
class Rates:
    """The parameters of spreading, all in [0, 1].

    decay: the share of its activation that a document passes to each entity that it describes,
    and an entity to the next, times the weight of the edge. topic_weight: the weight of the edge
    from an entity to a document that is about it. mention_weight: that to any other document.
    """

    decay: float = 0.15
    topic_weight: float = 0.7
    mention_weight: float = 0.2


@dataclass(frozen=True, eq=False)
class Contributions:
    """Activation that edges passed between entities, in one direction each: shape (m,) each.

    kind: the place of the edge's kind in `kinds`. statement: a row of relationships, or -1.
    ``amount = weight * activation of the source``. factor: the factor of activation weights in
    `weight`, 1 without any. `size` is the number of entities.
    """

    kinds: Sequence[EdgeKind]
    kind: Rows
    source: Rows
    target: Rows
    statement: Rows
    weight: Floats
    amount: Floats
    factor: Floats
    size: int

    @cached_property
    def largest(self) -> Largest:
        """The largest contributions to each entity."""
        return Largest(self.target, self.amount, self.size)

    def sums(self) -> Floats:
        """The sum of the contributions to each entity, shape (size,)."""
        return np.bincount(self.target, self.amount, minlength=self.size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Round:
    """One round: activation at its start and end, and what passed over which edge.

    sources, seeds: the activation of documents and entities that the round starts from.
    initial, entities: the activation of entities before and after edges between entities passed
    any, shape (entities,); it may exceed 1. outgoing: what each document passed to every entity
    that it describes, shape (documents,). before, associations, after: what passed between
    entities, in this order: over identities, over associations, and over identities again.
    documents: the activation of documents at the end, in [0, 1]. top_contributors: for each
    document the entity that contributed most, or -1. Rows are those of `network`.
    """

    network: Network
    rates: Rates
    sources: Activation
    seeds: Activation
    initial: Floats
    entities: Floats
    outgoing: Floats
    before: Contributions
    associations: Contributions
    after: Contributions
    documents: Floats
    top_contributors: Rows

    @cached_property
    def from_documents(self) -> Largest:
        """The largest contributions of documents to each entity, by edge of `DESCRIBES`."""
        edges = self.network[DESCRIBES]
        return Largest(edges.target, self.outgoing[edges.source], len(self.entities))

    @cached_property
    def reached(self) -> Rows:
        """Documents with activation at the end, ascending."""
        return np.flatnonzero(self.documents)


def spread_round(
    network: Network,
    sources: Activation,
    seeds: Activation,
    rates: Rates,
    factors: Factors | None = None,
) -> Round:
    """Spread from documents (`sources`) and entities (`seeds`), with activation in (0, 1].

    With df(e) the number of documents that describe e, and w(e, f) the largest weight of an edge
    between two entities::

        outgoing(d)   = decay * sources(d)
        initial(e)    = seeds(e) + sum over d of outgoing(d)
        before(e)     = initial(e) + sum over s of initial(s)
        incoming(e)   = sum over f of decay * w(e, f) * before(f) / df(f)
        entities(e)   = before(e) + incoming(e) + sum over s of incoming(s)
        documents(d)  = max over e of min(1, entities(e) - outgoing(d)) / df(e) * weight(d, e)

    where d describes e, s is the same as e, and weight is `topic_weight` or `mention_weight`.
    The activation that a document passed to an entity does not return to it from that entity;
    over an edge to another entity it may.

    With `factors`, ``decay * w(e, f)`` is the largest of ``min(1, decay * weight * factor)`` of the
    edges that lead from f to e, with the edge's own decay if it has one.
    """
    outgoing = np.zeros(len(network.documents))
    for document, activation in sources.items():
        outgoing[document] = rates.decay * activation
    describes, size = network[DESCRIBES], len(network.entities)
    contributed = outgoing[describes.source]
    initial: Floats = np.bincount(describes.target, contributed, minlength=size).astype(np.float64)
    for entity, activation in seeds.items():
        initial[entity] += activation
    before = _over_identities(network, initial)
    active = initial + before.sums()
    associations = _over_associations(network, active, rates, factors)
    incoming = associations.sums()
    after = _over_identities(network, incoming)
    entities = active + incoming + after.sums()
    documents, top_contributors = _to_documents(network, entities, outgoing, rates)
    return Round(
        network, rates, sources, seeds, initial, entities, outgoing,
        before, associations, after, documents, top_contributors,
    )  # fmt: skip


def _over_identities(network: Network, activation: Floats) -> Contributions:
    """Activation passed whole to the entities for the same thing."""
    kinds = network.identities
    kind, edges = _edges_of(network, kinds, [slice(None)] * len(kinds))
    source = np.concatenate((edges.source, edges.target))
    target = np.concatenate((edges.target, edges.source))
    kind, statement = np.tile(kind, 2), np.tile(edges.statement, 2)
    live = activation[source] > 0.0
    amount = activation[source[live]]
    return Contributions(
        kinds, kind[live], source[live], target[live], statement[live],
        np.ones(len(amount)), amount, np.ones(len(amount)), len(network.entities),
    )  # fmt: skip


def _over_associations(
    network: Network, activation: Floats, rates: Rates, factors: Factors | None
) -> Contributions:
    """Activation passed over the edge between each pair that passes most, in each direction."""
    kinds, active = network.associations, np.flatnonzero(activation)
    positions = [network.incident(kind, active) for kind in kinds]
    kind, edges = _edges_of(network, kinds, positions)
    steering = _factors_of(factors, kinds, positions)
    live = (edges.weight > 0.0) & (edges.source != edges.target)
    kind, edges, steering = kind[live], edges.take(live), steering.take(live)
    decay = np.where(np.isnan(steering.decay), rates.decay, steering.decay)
    passed_on = np.minimum(1.0, decay * edges.weight[:, None] * steering.factor)
    source = np.concatenate((edges.source, edges.target))
    target = np.concatenate((edges.target, edges.source))
    share, factor = passed_on.T.ravel(), steering.factor.T.ravel()
    low, high, edge = np.minimum(source, target), np.maximum(source, target), np.arange(len(source))
    edge %= max(1, len(edges))
    order = np.lexsort((edge, -share, high, low, source > target))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any(np.diff(np.stack((source, target))[:, order], axis=1), axis=0)
    best = order[first]
    weight = share[best] / network.frequencies[source[best]]
    amount = weight * activation[source[best]]
    passed = amount > 0.0
    best = best[passed]
    return Contributions(
        kinds,
        kind[edge[best]],
        source[best],
        target[best],
        edges.statement[edge[best]],
        weight[passed],
        amount[passed],
        factor[best],
        len(network.entities),
    )


def _factors_of(
    factors: Factors | None, kinds: Sequence[EdgeKind], positions: Sequence[Rows]
) -> EdgeFactors:
    """The factors of edges of several kinds, one kind after the other."""
    if factors is None or not kinds:
        return EdgeFactors.neutral(sum(map(len, positions)))
    parts = [factors[kind].take(at) for kind, at in zip(kinds, positions, strict=True)]
    return EdgeFactors(
        np.concatenate([part.factor for part in parts]),
        np.concatenate([part.decay for part in parts]),
    )


def _edges_of(
    network: Network, kinds: Sequence[EdgeKind], positions: Sequence[Rows | slice]
) -> tuple[Rows, Edges]:
    """Edges of several kinds, one kind after the other, with the place of each edge's kind."""
    parts = [network[kind].take(at) for kind, at in zip(kinds, positions, strict=True)]
    parts = parts or [Edges.none()]
    counts = [len(part) for part in parts]
    columns = zip(*(part.columns() for part in parts), strict=True)
    return np.repeat(np.arange(len(parts)), counts), Edges(*map(np.concatenate, columns))


def _to_documents(
    network: Network, entities: Floats, outgoing: Floats, rates: Rates
) -> tuple[Floats, Rows]:
    """The activation of each document, and the entity that contributed most or -1."""
    positions = network.incoming(DESCRIBES, np.flatnonzero(entities))
    document, entity = network[DESCRIBES].pairs()[positions].T
    is_topic = network.is_topic[positions]
    weight = np.where(is_topic, rates.topic_weight, rates.mention_weight)
    rest = np.clip(entities[entity] - outgoing[document], 0.0, 1.0)
    amount = rest / network.frequencies[entity] * weight
    amount[rest < 1e-12] = 0.0
    order = np.lexsort((-entity, amount))
    order = order[amount[order] > 0.0]
    documents = np.zeros(len(network.documents))
    top_contributors = np.full(len(network.documents), -1)
    documents[document[order]] = amount[order]
    top_contributors[document[order]] = entity[order]
    return documents, top_contributors


class Largest:
    """The two largest amounts above 0 for each node, ties by position."""

    def __init__(self, nodes: Rows, amounts: NDArray[np.float64], size: int) -> None:
        """``amounts[i]`` is contributed to ``nodes[i]``, a number below `size`."""
        positions = np.flatnonzero(amounts > 0.0)
        order = positions[np.lexsort((positions, -amounts[positions], nodes[positions]))]
        starts = np.searchsorted(nodes[order], np.arange(size + 1))
        self._first = np.full(size, -1)
        self._second = np.full(size, -1)
        counts = np.diff(starts)
        for rank, places in enumerate((self._first, self._second)):
            places[counts > rank] = order[starts[:-1][counts > rank] + rank]

    def first(self, node: int) -> int:
        """The position of the largest amount, or -1 if there is none."""
        return int(self._first[node])

    def second(self, node: int) -> int:
        """The position of the second largest amount, or -1."""
        return int(self._second[node])


@dataclass(frozen=True, slots=True)
class Spreading:
    """The reached part of a graph, as a `network` of its own, and the rounds over it.

    `documents`, `entities` and `relationships` are the rows of its nodes in the whole graph. The
    weights of its edges are those for the question.
    """

    network: Network
    rounds: Sequence[Round]
    documents: Rows
    entities: Rows
    relationships: Rows


class _ReachedGraph:
    """The part of a graph that rounds have reached so far, by rows of the whole graph."""

    def __init__(
        self,
        traversal: Traversal,
        iris: Iris,
        gate: Gate,
        documents: Rows,
        steering: Steering | None,
    ) -> None:
        self._traversal, self._iris, self._gate = traversal, iris, gate
        self._steering = steering
        self.documents, self.entities = documents, np.empty(0, dtype=np.int64)
        self.relationships = np.empty(0, dtype=np.int64)
        self._edges = {kind: Edges.none() for kind in traversal.kinds}

    def extend(self, sources: Activation, seeds: Activation) -> None:
        """Add all that a round from these documents and entities reaches."""
        step = self._traversal
        described = step.outgoing(DESCRIBES, np.array(sorted(sources), dtype=np.int64))
        active = np.union1d(described.target, np.array(sorted(seeds), dtype=np.int64))
        active = reached = self._with_identical(active)
        for kind in self._edges:
            if kind.is_association:
                edges = self._gated(kind, step.incident(kind, active))
                self._add(kind, edges)
                reached = np.union1d(reached, np.concatenate((edges.source, edges.target)))
                if kind.has_statements:
                    self.relationships = np.union1d(self.relationships, edges.statement)
        reached = self._with_identical(reached)
        self._add(DESCRIBES, described, step.incoming(DESCRIBES, reached))
        self._add(ABOUT, step.incoming(ABOUT, reached))
        self.entities = np.union1d(self.entities, reached)
        some = np.concatenate((self._edges[DESCRIBES].source, np.array(list(sources), np.int64)))
        self.documents = np.union1d(self.documents, some)

    def _add(self, kind: EdgeKind, *edges: Edges) -> None:
        self._edges[kind] = Edges.union((self._edges[kind], *edges))

    def _gated(self, kind: EdgeKind, edges: Edges) -> Edges:
        """The edges between two entities that pass activation, weighted for the question."""
        if kind.has_statements:
            edges = replace(edges, weight=edges.weight * self._gate(edges.statement))
        return edges.take((edges.weight > 0.0) & (edges.source != edges.target))

    def _with_identical(self, entities: Rows) -> Rows:
        for kind in self._edges:
            if kind.is_identity:
                edges = self._traversal.incident(kind, entities)
                self._add(kind, edges)
                entities = np.union1d(entities, np.concatenate((edges.source, edges.target)))
        return entities

    def network(self) -> Network:
        """The reached graph as a network, by rows of its own."""
        return Network(
            IriSubset(self._iris.documents, self.documents),
            IriSubset(self._iris.entities, self.entities),
            IriSubset(self._iris.relationships, self.relationships),
            {kind: self._renumbered(kind, edges) for kind, edges in self._edges.items()},
            self._traversal.predicates,
        )

    def _renumbered(self, kind: EdgeKind, edges: Edges) -> Edges:
        nodes = {"document": self.documents, "entity": self.entities}
        statement = edges.statement
        if kind.has_statements:
            statement = np.searchsorted(self.relationships, statement)
        return replace(
            edges,
            source=np.searchsorted(nodes[kind.source], edges.source),
            target=np.searchsorted(nodes[kind.target], edges.target),
            statement=statement,
        )

    def factors(self) -> Factors | None:
        """What steers the edges of `network`; None without activation weights."""
        if self._steering is None:
            return None
        predicates = self._traversal.predicates
        return {
            kind: self._steering.factors(kind, edges, predicates)
            for kind, edges in self._edges.items()
            if kind.is_association
        }

    def spread(
        self,
        network: Network,
        sources: Activation,
        seeds: Activation,
        rates: Rates,
        factors: Factors | None,
    ) -> Round:
        """One round over a network of this graph, which has at least what the round reaches."""
        return spread_round(
            network,
            _renamed(sources, self.documents),
            _renamed(seeds, self.entities),
            rates,
            factors,
        )


def spread(
    traversal: Traversal,
    iris: Iris,
    gate: Gate,
    rates: Rates,
    *,
    sources: Activation,
    seeds: Activation,
    rounds: int,
    beam: int,
    candidates: Sequence[int] = (),
    steering: Steering | None = None,
) -> Spreading:
    """Spread in rounds, the first from documents (`sources`) and entities (`seeds`).

    Every further round starts from the `beam` documents that the one before activated most.
    Nodes and statements are rows of the whole graph. The documents in `candidates` are part of
    the network that is returned even if no activation reaches them. `steering` has the activation
    weights of properties and classes, if there are any.
    """
    start = np.array(sorted(candidates), dtype=np.int64)
    graph = _ReachedGraph(traversal, iris, gate, start, steering)
    starts: list[tuple[Activation, Activation]] = []
    for _ in range(rounds):
        starts.append((sources, seeds))
        graph.extend(sources, seeds)
        network, factors = graph.network(), graph.factors()
        last = graph.spread(network, sources, seeds, rates, factors)
        sources, seeds = _most_activated(last, graph.documents, beam), {}
    earlier = [graph.spread(network, *start, rates, factors) for start in starts[:-1]]
    nodes = (graph.documents, graph.entities, graph.relationships)
    return Spreading(network, [*earlier, last], *nodes)


def _most_activated(round_: Round, documents: Rows, beam: int) -> Activation:
    best = np.argsort(-round_.documents, kind="stable")[:beam]
    activations = [(int(documents[row]), float(round_.documents[row])) for row in best]
    return {document: min(1.0, activation) for document, activation in activations if activation}


def _renamed(activation: Activation, rows: Rows) -> Activation:
    """The activation of nodes by their places in `rows`."""
    places = np.searchsorted(rows, np.array(list(activation), dtype=np.int64))
    return dict(zip(places.tolist(), activation.values(), strict=True))
