"""The merge rule ``duplicates``: entities that may be one, by all that speaks for it together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import combinations, product

import numpy as np

from sarag_rdf.base.arrays import find
from sarag_rdf.base.vocab import SARAG, SEMAPV, TYPE_CLASSES
from sarag_rdf.building.merge_rules import EntityFeatures, MergeContext, MergeRule, proposal
from sarag_rdf.graph.records import Match

MIN_NAME, MIN_CONFIDENCE = 0.6, 0.6
"""The least similarity of two names, and the least confidence in a pair, of `DUPLICATES`."""
_NAME_WEIGHT, _CONTEXT_WEIGHT, _CLASS_WEIGHT = 0.5, 0.3, 0.2
_MIN_WORD = 0.8
"""The least similarity of two spellings of a word."""
_PREFIX = 4
"""Characters at the start of a word that names with a misspelling have in common."""
_MAX_GROUP = 50
"""Entities with a word in common, above which the word is too common to be compared by."""
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
        cosine = _text_cosine(context, features.texts[one], features.texts[other])
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


def _text_cosine(context: MergeContext, ours: Set[str], theirs: Set[str]) -> float | None:
    """The cosine of the mean vectors of two sets of descriptions; None without one in each."""
    index = context.index("description")
    means = []
    for texts in (ours, theirs):
        rows = [row for iri in sorted(texts) if (row := find(index.iris, iri)) >= 0]
        if not rows:
            return None
        mean = index.vectors(np.array(rows)).mean(axis=0)
        means.append(mean / (np.linalg.norm(mean) or 1.0))
    return float(means[0] @ means[1])


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


DUPLICATES = MergeRule(_propose_duplicates, needs_review=True)
