"""Spreading activation in rounds, and the chains along which it came.

Activation passes from documents to entities, between entities, and back to documents, in the
manner of Collins and Loftus, A Spreading-Activation Theory of Semantic Processing, Psychological
Review 82(6), 1975, with decay, and with a fan-out effect: an entity divides what it passes on by
its document frequency. With df(e) the number of documents that describe e, and w(e, f) the largest
weight of an edge between two entities, a round is::

    outgoing(d)   = decay * sources(d)
    initial(e)    = seeds(e) + sum over d of outgoing(d)
    before(e)     = initial(e) + sum over s of initial(s)
    incoming(e)   = sum over f of decay * w(e, f) * before(f) / df(f)
    entities(e)   = before(e) + incoming(e) + sum over s of incoming(s)
    documents(d)  = max over e of min(1, entities(e) - outgoing(d)) / df(e) * weight(d, e)

where d describes e, s is the same as e, and weight is `topic_weight` or `mention_weight`. The
activation that a document passed to an entity does not return to it from that entity; over an edge
to another entity it may. With steering, ``decay * w(e, f)`` is the largest of ``min(1, decay *
weight * factor)`` of the edges from f to e, with the edge's own decay if it has one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, Rows, distinct, find_all, place_in, places_in
from sarag_rdf.base.iris import statement_of
from sarag_rdf.base.types import Arrival, NodeType, Step
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader, term_reader
from sarag_rdf.graph.ontology.schema import MAX_WEIGHT, ActivationRule, Rules
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES, RELATED_TO, EdgeKind, Edges, Iris, Network

Chain = tuple[Step, ...]
"""Steps from a seed to a node; empty for a seed."""

Gate = Callable[[Rows], Floats]
"""Weights in [0, 1] of statements, given by row, for one question."""


def passed(
    number: int, origin: str, target: str, relationship: str, weight: float, amount: float
) -> Step:
    """A step over a relationship between entities; `target` has no other activation."""
    ends: tuple[NodeType, NodeType] = ("entity", "entity")
    return Step(
        number, origin, target, relationship, weight, amount, amount, RELATED_TO.name, *ends
    )


@dataclass(frozen=True, slots=True)
class Rates:
    """The parameters of spreading, all in [0, 1].

    decay: the share of its activation that a document passes to each entity that it describes,
    and an entity to the next, times the weight of the edge. topic_weight: the weight of the edge
    from an entity to a document that is about it. mention_weight: that to any other document.
    """

    decay: float = 0.15
    topic_weight: float = 0.7
    mention_weight: float = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """The activation of some nodes: their rows, ascending, and amounts above 0."""

    rows: Rows
    amounts: Floats

    @classmethod
    def sums(cls, rows: Rows, amounts: Floats) -> Activation:
        """The sum of the amounts of each row."""
        nodes = distinct(rows)
        places = np.searchsorted(nodes, rows)
        sums = np.bincount(places, amounts, len(nodes)).astype(np.float64)
        return cls(nodes[sums > 0.0], sums[sums > 0.0])

    @classmethod
    def of(cls, amounts: Mapping[int, float]) -> Activation:
        """That of a dictionary."""
        return cls.sums(np.array([*amounts], np.int64), np.array([*amounts.values()], np.float64))

    def __add__(self, other: Activation) -> Activation:
        if not (len(self.rows) and len(other.rows)):
            return self if len(self.rows) else other
        rows = np.concatenate((self.rows, other.rows))
        return Activation.sums(rows, np.concatenate((self.amounts, other.amounts)))

    def at(self, rows: Rows) -> Floats:
        """The amounts of some nodes, 0 for those that are not active: shape (len(rows),)."""
        return np.append(self.amounts, 0.0)[places_in(self.rows, rows)]

    def of_node(self, row: int) -> float:
        """The amount of one node."""
        place = place_in(self.rows, row)
        return float(self.amounts[place]) if place >= 0 else 0.0

    def best(self, count: int) -> Activation:
        """The most active nodes, at most 1 each, of equals those of lower rows."""
        first = np.sort(np.argsort(-self.amounts, kind="stable")[:count])
        return Activation(self.rows[first], np.minimum(1.0, self.amounts[first]))


NONE = Activation.of({})


@dataclass(frozen=True, eq=False)
class Pass:
    """What passed over edges, each in the direction in which it passed: shape (m,) each.

    ``amount = weight * activation of the source``; factor: that of activation weights in `weight`.
    """

    kind: NDArray[np.object_]
    edges: Edges
    weight: Floats
    factor: Floats
    amount: Floats

    @classmethod
    def over(
        cls,
        kind: NDArray[np.object_],
        edges: Edges,
        active: Activation,
        weight: Floats,
        factor: Floats,
    ) -> Pass:
        """What passes over edges from active nodes."""
        amount = weight * active.at(edges.source)
        live = amount > 0.0
        return cls(kind[live], edges.take(live), weight[live], factor[live], amount[live])

    @cached_property
    def arrived(self) -> Activation:
        """The sum of what each node got."""
        return Activation.sums(self.edges.target, self.amount)

    @cached_property
    def _order(self) -> Rows:
        """Positions by the nodes that got activation."""
        return np.argsort(self.edges.target, kind="stable")

    @cached_property
    def _first(self) -> tuple[Rows, Rows]:
        """The nodes that got activation, ascending, and the positions of the largest amounts.

        Of equal amounts that from the source of the lowest row counts.
        """
        targets, amounts = self.edges.target[self._order], self.amount[self._order]
        starts = np.flatnonzero(np.diff(targets, prepend=-1))
        if not len(starts):
            return targets, self._order
        counts = np.diff(starts, append=len(targets))
        tops = self._order[amounts == np.repeat(np.maximum.reduceat(amounts, starts), counts)]
        tops = tops[np.lexsort((self.edges.source[tops], self.edges.target[tops]))]
        return targets[starts], tops[np.diff(self.edges.target[tops], prepend=-1) != 0]

    @property
    def most(self) -> Activation:
        """The largest amount that each node got."""
        targets, first = self._first
        return Activation(targets, self.amount[first])

    def largest_to(self, nodes: Rows) -> tuple[Floats, Rows]:
        """The largest amount to each node, or 0, and its position, or -1."""
        targets, first = self._first
        places = places_in(targets, nodes)
        at = np.where(places < 0, -1, np.append(first, -1)[places])
        return np.where(at < 0, 0.0, np.append(self.amount, 0.0)[at]), at

    def largest(self, target: int, without: int = -1, kind: EdgeKind | None = None) -> int:
        """The position of the largest amount to a node, except from `without`, or -1.

        With `kind`, of those over edges of this kind.
        """
        targets, first = self._first
        if (place := place_in(targets, target)) < 0:
            return -1
        best = int(first[place])
        if without < 0 and kind is None:
            return best

        def fits(at: int) -> bool:
            return self.edges.source[at] != without and kind in (None, self.kind[at])

        if fits(best):
            return best
        begin, end = np.searchsorted(self.edges.target, [target, target + 1], sorter=self._order)
        every = filter(fits, self._order[begin:end].tolist())
        key = lambda at: (-self.amount[at], self.edges.source[at])  # noqa: E731
        return min(every, key=key, default=-1)


NOTHING = Pass(np.empty(0, dtype=object), Edges.of([], []), *np.empty((3, 0)))


@dataclass(frozen=True, eq=False)
class Round:
    """What documents (`sources`) and entities (`seeds`) activated.

    passes: from documents to entities, over identities, over associations, over identities again,
    and to documents. levels: the activation of the nodes that a pass led to, afterwards: of a
    document the largest amount, of an entity the sum, which may exceed 1.
    """

    sources: Activation
    seeds: Activation
    passes: tuple[Pass, Pass, Pass, Pass, Pass]
    levels: tuple[Activation, Activation, Activation, Activation, Activation]

    @property
    def entities(self) -> Activation:
        """The activation of entities at the end."""
        return self.levels[3]

    @property
    def documents(self) -> Activation:
        """The activation of documents at the end, in (0, 1]."""
        return self.levels[4]


@dataclass(frozen=True)
class Spreading:
    """Spreads over a network; `gate` and `steering` weight its edges for a question."""

    network: Network
    gate: Gate
    rates: Rates = Rates()
    steering: Steering | None = None

    def rounds(self, sources: Activation, seeds: Activation, count: int, beam: int) -> list[Round]:
        """Rounds; each further one starts from the `beam` documents activated most before."""
        rounds: list[Round] = []
        for _ in range(count):
            rounds.append(self.round(sources, seeds))
            sources, seeds = rounds[-1].documents.best(beam), NONE
        return rounds

    def round(self, sources: Activation, seeds: Activation) -> Round:
        """One round; see the formulas above."""
        edges = self.network.outgoing(DESCRIBES, sources.rows)
        kind, one = np.full(len(edges), DESCRIBES), np.ones(len(edges))
        described = Pass.over(kind, edges, sources, self.rates.decay * one, one)
        initial = seeds + described.arrived
        before = self._over_identities(initial)
        active = initial + before.arrived
        between = self._over_associations(active)
        after = self._over_identities(between.arrived)
        entities = active + between.arrived + after.arrived
        last = self._to_documents(entities, sources)
        passes = (described, before, between, after, last)
        return Round(sources, seeds, passes, (initial, active, entities, entities, last.most))

    def _over_identities(self, active: Activation) -> Pass:
        """Activation passed whole to the entities for the same thing."""
        kinds = [kind for kind in self.network.kinds if kind.is_identity]
        parts = [self.network.incident(kind, active.rows) for kind in kinds]
        if not any(map(len, parts)):
            return NOTHING
        kind, edges = np.tile(_kinds_of(kinds, parts), 2), _both_ways(*parts)
        one = np.ones(len(edges))
        return Pass.over(kind, edges, active, one, one)

    def _over_associations(self, active: Activation) -> Pass:
        """Activation passed over the edge between each pair that passes most, in each direction."""
        kinds = [kind for kind in self.network.kinds if kind.is_association]
        parts, factors, shares = zip(*(self._passing(kind, active) for kind in kinds), strict=True)
        kind, edges = np.tile(_kinds_of(kinds, parts), 2), _both_ways(*parts)
        edge = np.tile(np.arange(len(edges) // 2), 2)
        factor, share = (np.concatenate(columns).T.ravel() for columns in (factors, shares))
        low, high = np.minimum(edges.source, edges.target), np.maximum(edges.source, edges.target)
        order = np.lexsort((edge, -share, high, low, edges.source > edges.target))
        best = order[np.diff(edges.keys()[order], prepend=-1) != 0]
        best = best[places_in(active.rows, edges.source[best]) >= 0]
        edges = edges.take(best)
        weight = share[best] / self.network.frequencies(edges.source)
        return Pass.over(kind[best], edges, active, weight, factor[best])

    def _passing(self, kind: EdgeKind, active: Activation) -> tuple[Edges, Floats, Floats]:
        """Edges that pass activation, with factors and shares in both directions: shape (m, 2)."""
        edges = self.network.incident(kind, active.rows)
        weight = np.full(len(edges), kind.weight)
        if kind.has_statements:
            weight *= self.gate(edges.statement)
        live = (weight > 0.0) & (edges.source != edges.target)
        edges, weight = edges.take(live), weight[live]
        factors = EdgeFactors.neutral(len(edges))
        if self.steering is not None:
            factors = self.steering.factors(kind, edges)
        decay = np.where(np.isnan(factors.decay), self.rates.decay, factors.decay)
        return edges, factors.factor, np.minimum(1.0, decay * weight[:, None] * factors.factor)

    def _to_documents(self, active: Activation, sources: Activation) -> Pass:
        """What entities passed to the documents that describe them."""
        edges, about = (self.network.incoming(k, active.rows) for k in (DESCRIBES, ABOUT))
        document, entity, rates = edges.source, edges.target, self.rates
        is_topic = places_in(about.keys(), edges.keys()) >= 0
        weight = np.where(is_topic, rates.topic_weight, rates.mention_weight)
        frequency = self.network.frequencies(entity)
        rest = np.clip(active.at(entity) - rates.decay * sources.at(document), 0.0, 1.0)
        amount = np.where(rest < 1e-12, 0.0, rest / frequency * weight)
        live = amount > 0.0
        return Pass(
            np.array((DESCRIBES, ABOUT), dtype=object)[is_topic[live].astype(np.int64)],
            Edges(entity[live], document[live], edges.statement[live]),
            (weight / frequency)[live],
            np.ones(np.count_nonzero(live)),
            amount[live],
        )


def _kinds_of(kinds: Sequence[EdgeKind], parts: Sequence[Edges]) -> NDArray[np.object_]:
    """The kind of each edge in `parts`, one kind after the other."""
    return np.repeat(np.array(kinds, dtype=object), [len(part) for part in parts])


def _both_ways(*parts: Edges) -> Edges:
    """The edges of all parts, and then again from target to source."""
    back = (replace(part, source=part.target, target=part.source) for part in parts)
    return Edges.joined(*parts, *back)


# Chains

_FED_BY = ((), (0,), (0, 1), (2,), (0, 1, 2, 3))
"""Pass -> those that brought the activation of its sources; seeds are with the first."""
_ENDS: tuple[tuple[NodeType, NodeType], ...] = (
    ("document", "entity"),
    *((("entity", "entity"),) * 3),
    ("entity", "document"),
)
_STAGE = (1, 2, 2, 2, 3)


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains of steps from a seed to a node, each over the largest of the amounts that arrived."""

    spreading: Spreading
    rounds: Sequence[Round]
    _known: dict[tuple[int, int, int], Chain] = field(default_factory=dict)
    """The chains by their last step: round, pass and position in it."""

    def to_document(self, document: int, kind: EdgeKind | None = None) -> Chain:
        """The chain in the round that activated a document most; empty if none did.

        With `kind`, the last step is over an edge of this kind, in the round where most came so.
        """
        last = [round_.passes[4] for round_ in self.rounds]
        places = [each.largest(document, kind=kind) for each in last]
        amounts = [e.amount[at] if at >= 0 else 0.0 for e, at in zip(last, places, strict=True)]
        number = amounts.index(max(amounts))
        return self._over(number, 4, places[number]) if places[number] >= 0 else ()

    def to_entities(self, entities: Rows) -> list[Chain]:
        """To each the chain in the round that activated it most; empty for a seed."""
        amounts = np.array([round_.entities.at(entities) for round_ in self.rounds])
        numbers = np.argmax(amounts, axis=0)
        best = np.choose(numbers, [round_.seeds.at(entities) for round_ in self.rounds])
        steps = np.full((2, len(entities)), -1)
        for number, round_ in enumerate(self.rounds):
            for place in _FED_BY[4]:
                amount, at = round_.passes[place].largest_to(entities)
                is_more = (numbers == number) & (amount > best)
                best = np.where(is_more, amount, best)
                steps = np.where(is_more, (np.full(len(entities), place), at), steps)
        columns = zip(numbers.tolist(), *steps.tolist(), strict=True)
        return [self._over(*step) if step[1] >= 0 else () for step in columns]

    def to(self, node: int, number: int, passes: Sequence[int], without: int = -1) -> Chain:
        """The chain over one of these passes; what the document `without` passed is its echo."""
        round_, best = self.rounds[number], (-1, -1)
        amount = round_.seeds.of_node(node) if 0 in passes else 0.0
        for place in passes:
            each = round_.passes[place]
            at = each.largest(node, without if place == 0 else -1)
            if at >= 0 and each.amount[at] > amount:
                best, amount = (place, at), float(each.amount[at])
        return self._over(number, *best) if best[0] >= 0 else ()

    def _over(self, number: int, place: int, at: int) -> Chain:
        """The chain whose last step is at this position of a pass of a round."""
        if (number, place, at) not in self._known:
            self._known[number, place, at] = self._traced(number, place, at)
        return self._known[number, place, at]

    def _traced(self, number: int, place: int, at: int) -> Chain:
        edges = self.rounds[number].passes[place].edges
        source, target = int(edges.source[at]), int(edges.target[at])
        step = self._step(number, place, at)
        if place == 0:
            return (*(self.to(source, number - 1, (4,)) if number else ()), step)
        return (*self.to(source, number, _FED_BY[place], target if place == 4 else -1), step)

    def _step(self, number: int, place: int, at: int) -> Step:
        iris, round_ = self.spreading.network.iris, self.rounds[number]
        passed, (origin, target) = round_.passes[place], _ENDS[place]
        row, statement = int(passed.edges.target[at]), int(passed.edges.statement[at])
        kind = DESCRIBES if passed.kind[at] is ABOUT else passed.kind[at]
        return Step(
            3 * number + _STAGE[place],
            iris.of(origin)[int(passed.edges.source[at])],
            iris.of(target)[row],
            iris.relationships[statement] if statement >= 0 else kind.predicate,
            float(passed.weight[at]),
            float(passed.amount[at]),
            round_.levels[place].of_node(row),
            kind.name,
            origin,
            target,
            float(passed.factor[at]),
        )

    def arrivals(self, document: int) -> tuple[Arrival, ...]:
        """The largest contribution to a document in each round that reached it."""
        network, rates = self.spreading.network, self.spreading.rates
        arrivals = []
        for number, round_ in enumerate(self.rounds, start=1):
            last = round_.passes[4]
            if (at := last.largest(document)) >= 0:
                entity, kind = int(last.edges.source[at]), last.kind[at]
                arrivals.append(
                    Arrival(
                        number,
                        network.iris.entities[entity],
                        round_.entities.of_node(entity),
                        rates.decay * round_.sources.of_node(document),
                        int(network.frequencies(last.edges.source[at : at + 1])[0]),
                        rates.topic_weight if kind is ABOUT else rates.mention_weight,
                        float(last.amount[at]),
                        kind.name,
                    )
                )
        return tuple(arrivals)


# ----------------------------------------------------------------------------------------- Steering


@dataclass(frozen=True, slots=True)
class EdgeFactors:
    """What steers each edge, in both directions: shape (m, 2); forward is from source to target.

    factor: multiplies the edge's weight, in [0, 16]. decay: in [0, 1], or NaN for the retriever's.
    """

    factor: Floats
    decay: Floats

    @classmethod
    def neutral(cls, size: int) -> EdgeFactors:
        """Those of edges that no rule concerns."""
        return cls(np.ones((size, 2)), np.full((size, 2), np.nan))


class Steering:
    """The factors of edges by rules, for the nodes and statements of one revision of a graph.

    Rules are annotations in an ontology or an imported graph of the store. Terms without a rule
    have that of the nearest broader term.
    """

    def __init__(
        self, reader: GraphReader, iris: Iris, rules: Rules, absent: Collection[str] = ()
    ) -> None:
        """Reads the instances of the classes and the relationships of the properties in `rules`.

        The relationships in `absent` pass no activation.
        """
        self._names = iris.relationships
        self._broader = _broader_terms(reader)
        self._rules = _inherited(rules, self._broader)
        self._by_predicate = {
            iri: (*rule.factors, math.nan if rule.decay is None else rule.decay)
            for iri, rule in self._rules.items()
        }
        self._statements = _table(
            iris.relationships,
            self._of_relationships(reader) | dict.fromkeys(absent, (0.0, 0.0, math.nan)),
            (math.nan,) * 3,
        )
        self._entities = _table(iris.entities, self._of_instances(reader), (1.0, math.nan))

    def factors(self, kind: EdgeKind, edges: Edges) -> EdgeFactors:
        """The factors of edges of one kind.

        The rule of the property that a statement stands for, or that a relationship states, takes
        the place of that of the kind's predicate. The weight of the class of the entity that an
        edge leads to is a further factor; the decay of the class of the entity that it comes from
        counts if the property has none.
        """
        neutral = (1.0, 1.0, math.nan)
        values = np.tile(np.array(self._by_predicate.get(kind.predicate, neutral)), (len(edges), 1))
        if kind.has_statements:
            for place, row in enumerate(edges.statement.tolist()):
                if triple := statement_of(self._names[row]):
                    values[place] = self._by_predicate.get(triple[1], neutral)
            own = self._statements[edges.statement]
            known = ~np.isnan(own[:, 0])
            values[known] = own[known]
        source, target = self._entities[edges.source], self._entities[edges.target]
        factor = values[:, :2] * np.stack((target[:, 0], source[:, 0]), axis=1)
        decay = np.repeat(values[:, 2:], 2, axis=1)
        of_classes = np.stack((source[:, 1], target[:, 1]), axis=1)
        decay = np.where(np.isnan(decay), of_classes, decay)
        return EdgeFactors(factor, decay)

    def _of_relationships(self, reader: GraphReader) -> dict[str, tuple[float, ...]]:
        """The relationships that state a property with a rule, with their factors and decay."""
        values: dict[str, tuple[float, ...]] = {}
        rows = reader.select_provenance_for("typed-relationships", self._rules)
        for property_, relationship, direction in rows:
            forward, backward, decay = self._by_predicate[property_.value]
            is_inverse = direction == SARAG.inverseProperty
            ends = (backward, forward) if is_inverse else (forward, backward)
            values[relationship.value] = (*ends, decay)
        return values

    def _of_instances(self, reader: GraphReader) -> dict[str, tuple[float, ...]]:
        """The entities of classes with a rule, with their weights and decays."""
        classes: defaultdict[str, set[str]] = defaultdict(set)
        for class_, entity, _ in reader.select_provenance_for("instances", self._rules):
            classes[entity.value].add(class_.value)
        for part in reader.parts:
            if not part.graphs.get("kg", reader.minter.graphs).startswith(reader.minter.graphs):
                others = term_reader(reader, part)  # a graph that sarag did not write
                for class_, entity in others.rows_for("class-instances", self._rules):
                    classes[entity.value].add(class_.value)
        of_classes = {key: self._of_classes(key) for key in set(map(frozenset, classes.values()))}
        return {entity: of_classes[frozenset(several)] for entity, several in classes.items()}

    def _of_classes(self, classes: frozenset[str]) -> tuple[float, float]:
        """The product of the weights of the most specific classes, and their lowest decay."""
        levels = (level for class_ in classes for level in _levels(class_, self._broader))
        broader = set(chain.from_iterable(levels))
        rules = [self._rules[class_] for class_ in sorted(classes - broader or classes)]
        decays = [rule.decay for rule in rules if rule.decay is not None]
        weight = min(MAX_WEIGHT, math.prod(rule.weight for rule in rules))
        return weight, min(decays, default=math.nan)


def _table(
    iris: Sequence[str], values: Mapping[str, tuple[float, ...]], default: tuple[float, ...]
) -> Floats:
    """The values of the nodes in a list: shape (nodes, values)."""
    table = np.tile(np.array(default), (len(iris), 1))
    for row, iri in zip(find_all(iris, sorted(values)).tolist(), sorted(values), strict=True):
        if row >= 0:
            table[row] = values[iri]
    return table


def _broader_terms(reader: GraphReader) -> Mapping[str, Sequence[str]]:
    broader: defaultdict[str, list[str]] = defaultdict(list)
    for narrower, other, _ in reader.select_provenance("broader-terms"):
        if narrower != other:
            broader[narrower.value].append(other.value)
    return broader


def _levels(term: str, broader: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """The terms that are broader than one, level by level, the nearest first."""
    seen, level = {term}, [term]
    while level := sorted({other for one in level for other in broader.get(one, ())} - seen):
        seen.update(level)
        yield level


def _inherited(rules: Rules, broader: Mapping[str, Sequence[str]]) -> dict[str, ActivationRule]:
    """The rules, and for narrower terms that of the nearest broader one, of several the lowest."""
    all_rules = dict(rules)
    for term in broader:
        for level in () if term in rules else _levels(term, broader):
            if nearest := [rules[other] for other in level if other in rules]:
                all_rules[term] = min(nearest, key=lambda rule: rule.weight)
                break
    return all_rules
