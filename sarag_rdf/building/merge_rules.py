"""Entity resolution rules: each proposes pairs of entities to merge.

A rule looks at two entities on their own: a proposal never follows from other proposals, nor from
earlier merges. Decisions record the name of their rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.vocab import RDF, SARAG, SKOS, iri, text_of
from sarag_rdf.building.decision_records import Decisions
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.graph.graph_reader import GraphReader, Kind
from sarag_rdf.graph.vectors.search_indexes import VectorIndex

NEAR = 0.9
"""Minimum cosine of the names of two entities, by default."""


@dataclass(slots=True)
class EntityFeatures:
    """Names, classes, texts and neighbours of entities, and the entities of some mentions."""

    names: dict[str, str] = field(default_factory=dict)
    """Entity -> its preferred name, normalised."""
    every_name: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Entity -> all its names and aliases, normalised."""
    persons: set[str] = field(default_factory=set)
    classes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Entity -> the IRIs of its entity type, and of its classes in ontologies."""
    texts: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    neighbours: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    referents: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, quads: Iterable[Quad], mentions: Set[str], values: Set[str]) -> EntityFeatures:
        """From the quads of a traversed graph, without the names of `values`.

        `referents` are read only for `mentions`.
        """
        features = cls()
        for quad in quads:
            subject, value = iri(quad.subject), quad.object
            if quad.predicate in (SKOS.prefLabel, SKOS.altLabel) and subject in values:
                continue
            if quad.predicate == SKOS.prefLabel:
                name = normalize_name(text_of(value))
                features.names[subject] = min(features.names.get(subject, name), name)
                features.every_name[subject].add(name)
            elif quad.predicate == SKOS.altLabel:
                features.every_name[subject].add(normalize_name(text_of(value)))
            elif quad.predicate == RDF.type and value not in (SARAG.Entity, SARAG.Value):
                features.classes[subject].add(text_of(value))
                if value == SARAG.Person:
                    features.persons.add(subject)
            elif quad.predicate == SARAG.refersTo and subject in mentions:
                features.referents[subject].add(text_of(value))
            elif quad.predicate == SARAG.describes:
                features.texts[text_of(value)].add(subject)
            elif quad.predicate == SARAG.relatedTo and subject != text_of(value):
                features.neighbours[subject].add(text_of(value))
                features.neighbours[text_of(value)].add(subject)
        return features

    def share_neighbour(self, one: str, other: str) -> bool:
        """Whether a third entity is related to both."""
        return bool(self.neighbours[one] & self.neighbours[other] - {one, other})

    def merge_order(self, one: str, other: str) -> tuple[str, str]:
        """(target, duplicate): the target is described in more texts, or has the longer name."""
        first, second = sorted(
            (one, other), key=lambda e: (-len(self.texts[e]), -len(self.names[e]), e)
        )
        return first, second


def proposal(target: str, duplicate: str, justification: NamedNode, confidence: float) -> Match:
    """The proposal to merge the entity `duplicate` into `target`.

    `justification` is a term of SEMAPV; `confidence` is in [0, 1].
    """
    return Match(duplicate, EXACT, target, justification.value, confidence)


Nearest = Callable[[str, float], list[tuple[str, float]]]
"""(entity, minimum cosine) -> the entities with at least that cosine, with their cosines."""


@dataclass(frozen=True, slots=True)
class MergeContext:
    """What a rule may look at; `index` gives the vectors of texts of one kind.

    `targets` and `merged` are the entities of earlier merges.
    """

    reader: GraphReader
    features: EntityFeatures
    nearest: Nearest
    index: Callable[[Kind], VectorIndex]
    minimum_cosine: float
    targets: frozenset[str] = frozenset()
    merged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MergeRule:
    """A rule: an entry point of the group ``sarag_rdf.merge_rules``.

    The pairs of a rule that `needs_review` are not merged before a person has accepted them.
    """

    propose: Callable[[MergeContext], Iterator[Match]]
    needs_review: bool = False


def propose(
    reader: GraphReader,
    rule: MergeRule,
    nearest: Nearest,
    index: Callable[[Kind], VectorIndex],
    minimum_cosine: float,
) -> list[Match]:
    """The proposals of a rule, by descending confidence; no entity is both target and duplicate.

    A pair is omitted if its duplicate is the target of an earlier pair, if one of its entities has
    been merged by an earlier pair, or if it was decided to be different. Previous merges count as
    earlier pairs: a rule whose proposals were accepted proposes nothing more.
    """
    minter = reader.minter
    decisions = Decisions.read(reader)
    graph: Iterable[Quad] = reader.store.quads(minter.kg_graph)
    if decisions.merges:
        graph = rebuild(reader, replace(decisions, merges=frozenset())).insert
    rows = reader.select_provenance_for("instances", [SARAG.Value.value])
    features = EntityFeatures.of(graph, decisions.names, {iri(row[1]) for row in rows})
    for mention in decisions.names:
        features.referents[mention].add(minter.entity_of_mention(mention))
    merged = {entity for name, _ in decisions.merges for entity in features.referents[name]}
    targets = {entity for _, name in decisions.merges for entity in features.referents[name]}
    variants = {minter.entity_of_mention(variant) for variant in decisions.bases}
    context = MergeContext(
        reader, features, nearest, index, minimum_cosine, frozenset(targets), frozenset(merged)
    )
    accepted = []
    proposals = rule.propose(context)
    for match in sorted(proposals, key=lambda p: (-(p.confidence or 0), p.object, p.subject)):
        duplicate, target = match.pair
        names = minter.mention_of_entity(duplicate), minter.mention_of_entity(target)
        if (
            duplicate not in targets
            and duplicate not in merged
            and target not in merged
            and names not in decisions.different
            and variants.isdisjoint(match.pair)
        ):
            targets.add(target)
            merged.add(duplicate)
            accepted.append(match)
    return accepted
