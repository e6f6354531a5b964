"""Entity resolution rules: each proposes pairs of entities to merge.

A rule looks at two entities on their own: a proposal never follows from other proposals, nor from
earlier merges. Decisions record the name of their rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import combinations, product

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.vocab import RDF, SARAG, SEMAPV, SKOS, TYPE_CLASSES, iri, text_of
from sarag_rdf.building.decision_records import Decisions
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.graph.graph_reader import GraphReader

NEAR = 0.9
"""Minimum cosine of the names of two entities, by default."""
_MAX_GROUP = 50
"""Groups with more entities than this are skipped: their names are too common."""


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
    def of(cls, quads: Iterable[Quad], mentions: Set[str]) -> EntityFeatures:
        """From the quads of a traversed graph; `referents` are read only for `mentions`."""
        features, values = cls(), set[str]()
        for quad in quads:
            subject, value = iri(quad.subject), quad.object
            if quad.predicate == SKOS.prefLabel:
                name = normalize_name(text_of(value))
                features.names[subject] = min(features.names.get(subject, name), name)
                features.every_name[subject].add(name)
            elif quad.predicate == SKOS.altLabel:
                features.every_name[subject].add(normalize_name(text_of(value)))
            elif quad.predicate == RDF.type and value == SARAG.Value:
                values.add(subject)
            elif quad.predicate == RDF.type and value != SARAG.Entity:
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
        for each in values:
            features.names.pop(each, None)
            features.every_name.pop(each, None)
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
TextCosine = Callable[[Set[str], Set[str]], float | None]
"""The cosine of the mean vectors of two sets of descriptions, given by their IRIs among those of
other texts; None if the graph has no description in one of them."""


@dataclass(frozen=True, slots=True)
class MergeContext:
    """What a rule may look at: `targets` and `merged` are the entities of earlier merges."""

    features: EntityFeatures
    nearest: Nearest
    minimum_cosine: float
    text_cosine: TextCosine = lambda _, __: None
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
    minimum_cosine: float,
    text_cosine: TextCosine = lambda _, __: None,
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
    features = EntityFeatures.of(graph, decisions.names)
    for mention in decisions.names:
        features.referents[mention].add(minter.entity_of_mention(mention))
    merged = {entity for name, _ in decisions.merges for entity in features.referents[name]}
    targets = {entity for _, name in decisions.merges for entity in features.referents[name]}
    variants = {minter.entity_of_mention(variant) for variant in decisions.bases}
    context = MergeContext(
        features, nearest, minimum_cosine, text_cosine, frozenset(targets), frozenset(merged)
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


def _propose_same_words(context: MergeContext) -> Iterator[Match]:
    """Names with the same words in any order, ignoring a plural s."""
    features = context.features
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for entity, name in sorted(features.names.items()):
        groups[tuple(sorted(map(_strip_plural, name.split())))].append(entity)
    for entities in groups.values():
        if len(entities) > _MAX_GROUP:
            continue
        for one, other in combinations(entities, 2):
            if features.names[one] != features.names[other]:
                target, duplicate = features.merge_order(one, other)
                yield proposal(target, duplicate, SEMAPV.LexicalMatching, 0.9)


def _strip_plural(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _propose_initials(context: MergeContext) -> Iterator[Match]:
    """Persons given by initials and surname, if only one person matches and has a neighbour with
    them in common.
    """
    features = context.features
    by_surname: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(features.persons & features.names.keys()):
        words = features.names[entity].split()
        if len(words) > 1:
            by_surname[words[-1]].append(entity)
    for entities in by_surname.values():
        for short in entities:
            first, *middle, _ = features.names[short].split()
            fits = [
                e for e in entities if e != short and _matches_initials(first, features.names[e])
            ]
            if len(first) > 3 or middle or len(fits) != 1:
                continue
            if features.share_neighbour(short, fits[0]):
                yield proposal(fits[0], short, SEMAPV.LexicalMatching, 0.8)


def _matches_initials(initials: str, name: str) -> bool:
    first_names = name.split()[:-1]
    return len(first_names[0]) > 1 and "".join(word[0] for word in first_names).startswith(initials)


def _propose_near(context: MergeContext) -> Iterator[Match]:
    """Entities that share a neighbour and whose names have similar embeddings."""
    features = context.features
    for entity in sorted(features.names):
        if not features.neighbours[entity]:
            continue
        for other, cosine in context.nearest(entity, context.minimum_cosine):
            if (
                other > entity
                and other in features.names
                and features.share_neighbour(entity, other)
            ):
                target, duplicate = features.merge_order(entity, other)
                justification = SEMAPV.SemanticSimilarityThresholdMatching
                yield proposal(target, duplicate, justification, min(1.0, round(cosine, 4)))


# ------------------------------------------------------------------------- Combined evidence

MIN_NAME, MIN_CONFIDENCE = 0.6, 0.6
"""The least similarity of two names, and the least confidence in a pair, of `DUPLICATES`."""
_NAME_WEIGHT, _CONTEXT_WEIGHT, _CLASS_WEIGHT = 0.5, 0.3, 0.2
_MIN_WORD = 0.8
"""The least similarity of two spellings of a word."""
_PREFIX = 4
"""Characters at the start of a word that names with a misspelling have in common."""
_SHOWN = 3
"""Shared neighbours that are named as evidence."""
_TYPES = frozenset(class_.value for class_ in TYPE_CLASSES.values())


def _propose_duplicates(context: MergeContext) -> Iterator[Match]:
    """Entities with similar names and compatible classes, by all that speaks for it.

    The confidence is 0.5 times the similarity of the names, 0.3 times that of the contexts, which
    is the greater of the overlap of neighbours and the cosine of descriptions, and 0.2 times that
    of the classes: 1 with a common class of an ontology, else 0.5. The comment is the evidence.
    """
    features = context.features
    for one, other in sorted(_candidates(features)):
        classes = _class_similarity(features.classes[one], features.classes[other])
        name, names = _most_similar(features.every_name[one], features.every_name[other])
        if classes is None or name < MIN_NAME:
            continue
        ours, theirs = features.neighbours[one] - {other}, features.neighbours[other] - {one}
        shared = ours & theirs & features.names.keys()
        overlap = len(shared) / min(len(ours), len(theirs)) if shared else 0.0
        cosine = context.text_cosine(features.texts[one], features.texts[other])
        similar = _CONTEXT_WEIGHT * max(overlap, cosine or 0.0)
        confidence = round(_NAME_WEIGHT * name + similar + _CLASS_WEIGHT * classes, 4)
        if confidence < MIN_CONFIDENCE:
            continue
        evidence = [f"names '{names[0]}' and '{names[1]}' ({name:.2f})"]
        if shared:
            labels = sorted(features.names[each] for each in shared)
            more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
            evidence.append(f"shared neighbours {', '.join(labels[:_SHOWN])}{more}")
        if cosine is not None:
            evidence.append(f"descriptions ({cosine:.2f})")
        evidence.append("a common class" if classes == 1.0 else "no common class")
        target, duplicate = features.merge_order(one, other)
        match = proposal(target, duplicate, SEMAPV.CompositeMatching, min(1.0, confidence))
        yield replace(match, comment="; ".join(evidence))


def _candidates(features: EntityFeatures) -> set[tuple[str, str]]:
    """Pairs of entities with names that have a word, or the start of one, in common.

    Words that more than `_MAX_GROUP` entities have are too common to be compared by.
    """
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for entity in features.names:
        for name in features.every_name[entity]:
            for word in name.split():
                groups[word].add(entity)
                groups[f"{word[:_PREFIX]}*"].add(entity)
    return {
        pair
        for entities in groups.values()
        if len(entities) <= _MAX_GROUP
        for pair in combinations(sorted(entities), 2)
    }


def _class_similarity(ours: Set[str], theirs: Set[str]) -> float | None:
    """1 with a common class of an ontology, 0.5 if nothing speaks against one; else None.

    Different entity types contradict each other, unless one is that of other things.
    """
    types = {*(ours & _TYPES), *(theirs & _TYPES)} - {SARAG.MiscEntity.value}
    own, other = ours - _TYPES, theirs - _TYPES
    if len(types) > 1 or (own and other and not own & other):
        return None
    return 1.0 if own & other else 0.5


def _most_similar(ours: Set[str], theirs: Set[str]) -> tuple[float, tuple[str, str]]:
    """The greatest similarity of two names, in [0, 1], and these names.

    It is the share of characters in words that both have, as the Dice coefficient. Words are the
    same from a `_MIN_WORD` share of matching characters (Ratcliff and Metzener, "Pattern Matching:
    The Gestalt Approach", 1988); those with digits only if they are equal.
    """
    best = 0.0, ("", "")
    for one, other in product(sorted(ours), sorted(theirs)):
        words, others = one.split(), other.split()
        if _numbers(words) != _numbers(others):
            continue
        size = sum(map(len, (*words, *others))) or 1
        common = 0
        for word in words:
            same = next((each for each in others if _is_same_word(word, each)), None)
            if same is not None:
                others.remove(same)
                common += len(word) + len(same)
        best = max(best, (common / size, (one, other)))
    return best


def _is_same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _MIN_WORD


def _numbers(words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if any(map(str.isdigit, word)))


SAME_WORDS = MergeRule(_propose_same_words)
INITIALS = MergeRule(_propose_initials)
NEAR_NAMES = MergeRule(_propose_near)
DUPLICATES = MergeRule(_propose_duplicates, needs_review=True)
