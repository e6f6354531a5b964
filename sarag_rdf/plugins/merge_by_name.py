"""Entity resolution by names: the same words, initials, and similar embeddings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.link_records import Match
from sarag_rdf.building.merge_rules import EntityFeatures, MergeContext, MergeRule, proposal

_MAX_GROUP = 50
"""Groups with more entities than this are skipped: their names are too common."""
_MAX_INITIALS = 3
_BEFORE_PLACES = frozenset("of the in at from".split())
_TITLES = frozenset("mr mrs ms miss dr prof professor sir madam herr frau".split())


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
    for short, whole in by_initials(features):
        if features.share_neighbour(short, whole):
            yield proposal(whole, short, SEMAPV.LexicalMatching, 0.8)


def by_initials(features: EntityFeatures) -> Iterator[tuple[str, str]]:
    """Persons given by initials and surname, with the only person whom these fit."""
    by_last: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(features.persons & features.names.keys()):
        by_last[features.names[entity].rpartition(" ")[2]].append(entity)
    for entities in by_last.values():
        for short in entities:
            initials, _, surname = features.names[short].partition(" ")
            if not surname or len(initials) > _MAX_INITIALS:
                continue
            fits = [e for e in entities if _fits(features.names[e], initials, surname)]
            if len(fits) == 1:
                yield short, fits[0]


def without_titles(name: str) -> list[str]:
    """The words of a normalised name without titles before it: "ms lund", "dr ida lund"."""
    words = name.split()
    while words and words[0] in _TITLES:
        del words[0]
    return words


def by_last_name(features: EntityFeatures) -> Iterator[tuple[str, str]]:
    """Persons given by a last name, also with a title, with the only full name that ends in it."""
    full: defaultdict[str, set[str]] = defaultdict(set)
    short: list[tuple[str, str]] = []
    for entity in sorted(features.persons & features.names.keys()):
        words = without_titles(features.names[entity])
        if len(words) == 1:
            short.append((entity, words[0]))
        elif words and len(words[0]) > 1 and words[-2] not in _BEFORE_PLACES:
            full[words[-1]].add(entity)
    yield from ((entity, min(full[name])) for entity, name in short if len(full[name]) == 1)


def _fits(name: str, initials: str, surname: str) -> bool:
    """Whether a name is a surname after names, not initials, that begin with these letters."""
    first_names = without_titles(name.removesuffix(f" {surname}"))
    is_full = name.endswith(f" {surname}") and first_names and len(first_names[0]) > 1
    return bool(is_full) and "".join(word[0] for word in first_names).startswith(initials)


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


SAME_WORDS = MergeRule(_propose_same_words)
INITIALS = MergeRule(_propose_initials)
NEAR_NAMES = MergeRule(_propose_near)
