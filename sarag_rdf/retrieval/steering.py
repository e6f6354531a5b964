"""Steering of activation: what passes over the edges of a property, and to instances of a class.

Rules (`sarag_rdf.graph.ontology.activation`) are annotations in an ontology or an imported graph of
the store. Terms without a rule have that of the nearest broader term.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sarag_rdf.base.arrays import Floats, find_all
from sarag_rdf.base.iris import statement_of
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader, term_reader
from sarag_rdf.graph.ontology.schema import MAX_WEIGHT, ActivationRule, Rules
from sarag_rdf.retrieval.network import EdgeKind, Edges, Iris


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
    """The factors of edges by rules, for the nodes and statements of one revision of a graph."""

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
