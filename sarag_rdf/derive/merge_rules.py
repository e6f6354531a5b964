"""Rules that say which two entities are one, each with its name as what is told of its decisions.

A rule holds for two entities by themselves: what it says of one pair never follows from others, nor
from what was merged before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import combinations

from pyoxigraph import Quad

from sarag_rdf.derive.decisions import Decided, read_decisions
from sarag_rdf.derive.incremental import traversed
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import normalize_name
from sarag_rdf.terms import iri, text_of
from sarag_rdf.vocab import RDF, SARAG, SEMAPV, SKOS

RULES = ("same-words", "initials", "near")
NEAR = 0.9
"""Cosine that the names of two entities have at least, for the rule ``near``."""
_NAMES_SHOWN = 50
"""Entities that one key may fit, for its pairs to be looked at."""

Nearest = Callable[[str, float], list[tuple[str, float]]]
"""Entity and least cosine -> entities with such names, with cosines; none for one that is gone."""


@dataclass(slots=True)
class Things:
    """Entities with their names, classes and neighbours, and what some mentions refer to."""

    names: dict[str, str] = field(default_factory=dict)
    """Entity -> its preferred name, normalised."""
    persons: set[str] = field(default_factory=set)
    texts: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    neighbours: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    meant: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, quads: Iterable[Quad], mentions: Set[str]) -> Things:
        """Read them from a traversed graph; `mentions` are those whose entities are asked for."""
        things = cls()
        for quad in quads:
            subject, value = iri(quad.subject), quad.object
            if quad.predicate == SKOS.prefLabel:
                name = normalize_name(text_of(value))
                things.names[subject] = min(things.names.get(subject, name), name)
            elif quad.predicate == RDF.type and value == SARAG.Person:
                things.persons.add(subject)
            elif quad.predicate == SARAG.refersTo and subject in mentions:
                things.meant[subject].add(text_of(value))
            elif quad.predicate == SARAG.describes:
                things.texts[text_of(value)].add(subject)
            elif quad.predicate == SARAG.relatedTo and subject != text_of(value):
                things.neighbours[subject].add(text_of(value))
                things.neighbours[text_of(value)].add(subject)
        return things

    def share_neighbour(self, one: str, other: str) -> bool:
        """Whether some third entity is related to both."""
        return bool(self.neighbours[one] & self.neighbours[other] - {one, other})

    def kept_first(self, one: str, other: str) -> tuple[str, str]:
        """The entity that more texts describe, then that of the longer name; then the other."""
        first, second = sorted(
            (one, other), key=lambda e: (-len(self.texts[e]), -len(self.names[e]), e)
        )
        return first, second


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two entities that a rule takes for one: the second is to become the first."""

    kept: str
    other: str
    justification: str
    confidence: float


def propose(reader: GraphReader, rule: str, nearest: Nearest, least: float) -> list[Proposal]:
    """What a rule says of a graph; no entity both stays and goes.

    Pairs that it says most surely come first. A pair whose entity that goes is kept in an earlier
    pair, or whose entity that stays has gone, is left out; pairs that were merged before are
    earlier than all, so that a rule that was followed says nothing more of the same documents.
    What was told apart stays apart.
    """
    minter = reader.minter
    decided = Decided.of(read_decisions(reader), minter)
    graph: Iterable[Quad] = reader.store.quads(minter.kg_graph)
    if decided.merges:
        graph = traversed(reader, replace(decided, merges=frozenset()))
    things = Things.of(graph, decided.names)
    for mention in decided.names:
        things.meant[mention].add(minter.entity_of_mention(mention))
    gone = {entity for name, _ in decided.merges for entity in things.meant[name]}
    kept = {entity for _, name in decided.merges for entity in things.meant[name]}
    variants = {minter.entity_of_mention(variant) for variant in decided.bases}
    pairs: Mapping[str, Callable[[], Iterator[Proposal]]] = {
        "same-words": lambda: _same_words(things),
        "initials": lambda: _initials(things),
        "near": lambda: _near(things, nearest, least),
    }
    found = []
    for proposal in sorted(pairs[rule](), key=lambda p: (-p.confidence, p.kept, p.other)):
        if proposal.other in kept or proposal.other in gone or proposal.kept in gone:
            continue
        names = minter.mention_of_entity(proposal.other), minter.mention_of_entity(proposal.kept)
        if names in decided.apart or not variants.isdisjoint((proposal.other, proposal.kept)):
            continue
        kept.add(proposal.kept)
        gone.add(proposal.other)
        found.append(proposal)
    return found


def _same_words(things: Things) -> Iterator[Proposal]:
    """Names of the same words in whatever order, and whether or not they end in an s."""
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for entity, name in sorted(things.names.items()):
        groups[tuple(sorted(map(_stem, name.split())))].append(entity)
    for entities in groups.values():
        if len(entities) > _NAMES_SHOWN:
            continue
        for one, other in combinations(entities, 2):
            if things.names[one] != things.names[other]:
                kept, gone = things.kept_first(one, other)
                yield Proposal(kept, gone, SEMAPV.LexicalMatching.value, 0.9)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _initials(things: Things) -> Iterator[Proposal]:
    """A person by initials and surname, where one person alone fits and they share a neighbour."""
    by_surname: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(things.persons & things.names.keys()):
        words = things.names[entity].split()
        if len(words) > 1:
            by_surname[words[-1]].append(entity)
    for entities in by_surname.values():
        for short in entities:
            first, *middle, _ = things.names[short].split()
            fits = [e for e in entities if e != short and _fits(first, things.names[e])]
            if len(first) > 3 or middle or len(fits) != 1:
                continue
            if things.share_neighbour(short, fits[0]):
                yield Proposal(fits[0], short, SEMAPV.LexicalMatching.value, 0.8)


def _fits(initials: str, name: str) -> bool:
    given = name.split()[:-1]
    return len(given[0]) > 1 and "".join(word[0] for word in given).startswith(initials)


def _near(things: Things, nearest: Nearest, least: float) -> Iterator[Proposal]:
    """Entities with similar names, as the embedding model tells, that share a neighbour."""
    for entity in sorted(things.names):
        if not things.neighbours[entity]:
            continue
        for other, cosine in nearest(entity, least):
            if other > entity and other in things.names and things.share_neighbour(entity, other):
                kept, gone = things.kept_first(entity, other)
                justification = SEMAPV.SemanticSimilarityThresholdMatching.value
                yield Proposal(kept, gone, justification, min(1.0, round(cosine, 4)))
