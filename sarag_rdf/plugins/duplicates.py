"""The merge rules ``duplicates``, by all that speaks for a pair together, and ``short-names``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, combinations, pairwise, product

import numpy as np

from sarag_rdf.base.arrays import find, logistic
from sarag_rdf.base.vocab import SARAG, SEMAPV, TYPE_CLASSES, text_of
from sarag_rdf.building.merge_rules import EntityFeatures, MergeContext, MergeRule, proposal
from sarag_rdf.extraction.names import english
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.vectors.search_indexes import VectorIndex
from sarag_rdf.plugins.constraints import Constraints
from sarag_rdf.plugins.merge_by_name import by_initials, by_last_name

MIN_NAME, MIN_CONFIDENCE = 0.6, 0.6
"""The least similarity of two names, and the least confidence in a pair."""
WEIGHTS = (-13.59, 10.74, 1.37, 5.57, 0.67, -6.38)
"""Logistic regression on `Evidence.features`: whether two entities are one.

Fitted on names that were written in two forms on purpose (see benchmarks/identity.md).
"""
_MIN_WORD = 0.8
"""The least similarity of two spellings of a word."""
_PREFIX = 4
"""Characters at the start of a word that names with a misspelling have in common."""
_MAX_GROUP = 50
"""Entities with a word in common, above which the word is too common to be compared by."""
_SHOWN = 3
"""Shared neighbours that are named as evidence."""
_MAX_WORDS = 20
"""Words of the longest short name."""
_PREPOSITIONS_AND_ARTICLE = frozenset("of the for in at on to from by under".split())
_AT_AN_END, _OF_INITIALS = "'{}' is the only name that has '{}' at an end", "'{}' alone fits '{}'"
_LAST_NAME = "'{}' is the only full name with the last name of '{}'"
"""Why a pair with a short name is proposed."""
_COMPANIES = frozenset(map(str.casefold, english("mentions", "companies")))
_TYPES = frozenset(class_.value for class_ in TYPE_CLASSES.values())


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a pair of entities being one; shares and similarities are in [0, 1]."""

    pair: tuple[str, str]
    names: tuple[str, str]
    """Their most similar names."""
    name: float
    """The similarity of these."""
    shared: tuple[str, ...]
    """Names of common neighbours."""
    overlap: float
    """Common neighbours, as a share of the neighbours of the entity that has fewer."""
    cosine: float | None
    """The cosine of what is told about each, or of the documents; None without vectors."""
    of: str
    """Of what the cosine is: descriptions or documents."""
    classes: float
    """1 with a common class of an ontology, else 0.5."""
    is_together: bool
    """Whether a document names both."""

    @property
    def features(self) -> tuple[float, ...]:
        """What `WEIGHTS` are for."""
        return self.name, self.overlap, self.cosine or 0.0, self.classes, float(self.is_together)

    def __str__(self) -> str:
        """The evidence for a reviewer."""
        parts = ["names '{}' and '{}' ({:.2f})".format(*self.names, self.name)]
        if self.shared:
            rest = len(self.shared) - _SHOWN
            more = f" and {rest} more" if rest > 0 else ""
            parts.append(f"shared neighbours {', '.join(self.shared[:_SHOWN])}{more}")
        if self.cosine is not None:
            parts.append(f"{self.of} ({self.cosine:.2f})")
        parts.append("a common class" if self.classes == 1.0 else "no common class")
        return "; ".join(parts)


def _propose_duplicates(context: MergeContext) -> Iterator[Match]:
    """Entities with similar names and compatible classes, by all that speaks for it.

    The confidence is that of a logistic regression, and the comment the evidence.
    """
    for evidence in pairs_of(context):
        confidence = confidence_in(evidence)
        if confidence >= MIN_CONFIDENCE:
            target, duplicate = context.features.merge_order(*evidence.pair)
            match = proposal(target, duplicate, SEMAPV.CompositeMatching, confidence)
            yield replace(match, comment=str(evidence))


def confidence_in(evidence: Evidence) -> float:
    """The confidence that two entities are one, in [0, 1], to four decimal places."""
    score = WEIGHTS[0] + sum(w * x for w, x in zip(WEIGHTS[1:], evidence.features, strict=True))
    return round(logistic(score), 4)


def pairs_of(context: MergeContext) -> Iterator[Evidence]:
    """The evidence for each pair with similar names whose types and classes may be the same."""
    features = context.features
    described = {row[0].value for row in context.reader.select_provenance("described-uses")}
    for one, other in sorted(_candidates(features)):
        classes = _class_similarity(features.classes[one], features.classes[other])
        name, names = _most_similar(features.every_name[one], features.every_name[other])
        if classes is None or name < MIN_NAME:
            continue
        ours, theirs = features.neighbours[one] - {other}, features.neighbours[other] - {one}
        shared = ours & theirs & features.names.keys()
        overlap = len(shared) / min(len(ours), len(theirs)) if shared else 0.0
        texts = features.texts[one], features.texts[other]
        told = texts[0] & described, texts[1] & described
        cosine = _cosine(context.index("description"), *told) if all(told) else None
        of = "documents" if cosine is None else "descriptions"
        if cosine is None:
            cosine = _cosine(context.index("document"), *texts)
        labels = tuple(sorted(features.names[each] for each in shared))
        together = bool(texts[0] & texts[1])
        yield Evidence((one, other), names, name, labels, overlap, cosine, of, classes, together)


def _cosine(index: VectorIndex, ours: Set[str], theirs: Set[str]) -> float | None:
    """The cosine of the mean vectors of two sets of texts; None if one of them has no vector."""
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
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # cheap bounds first
    return all(ratio() >= _MIN_WORD for ratio in ratios)


def _numbers(words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if any(map(str.isdigit, word)))


def _propose_short_names(context: MergeContext) -> Iterator[Match]:
    """Names with which one other name begins or ends, of what a document names beside it.

    A common neighbour is enough as well, and so is the last name of a person, or the first words of
    the name of a company. A name that several entities have is left out.
    """
    features = context.features
    wholes = {short: (whole, _OF_INITIALS) for short, whole in by_initials(features)}
    wholes |= {short: (whole, _AT_AN_END) for short, whole in _in_one_name(features)}
    of_persons = {short: (whole, _LAST_NAME) for short, whole in by_last_name(features)}
    wholes |= of_persons
    counts = Counter(features.names.values())
    pairs = {(a, b) for a, (b, _) in wholes.items() if counts[features.names[a]] == 1}
    for short, whole in sorted(pairs - _contradicted(context.reader, pairs)):
        name, longer = features.names[short], features.names[whole]
        is_titled = " " in name and not longer.startswith(name)
        is_alone = is_titled and not features.persons.isdisjoint((short, whole))
        is_alone |= longer.startswith(name) and longer.split()[-1] in _COMPANIES
        if not features.texts[short].isdisjoint(features.texts[whole]):
            confidence = 0.8
        elif features.share_neighbour(short, whole):
            confidence = 0.7
        elif is_alone or short in of_persons:
            confidence = 0.6
        else:
            continue
        if _class_similarity(features.classes[short], features.classes[whole]):
            pair = features.merge_order(whole, short)
            match = proposal(*pair, SEMAPV.LexicalMatching, confidence)
            yield replace(match, comment=wholes[short][1].format(longer, name))


def _contradicted(reader: GraphReader, pairs: Set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs that state different values of a property that has one value at a time.

    A date and a part of it are the same.
    """
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in reader.select_provenance_for("typed-statements", chain.from_iterable(pairs)):
        values[row[1].value, row[2].value].add(text_of(row[3]))
    if not values:
        return set()
    single = Constraints.read(reader, SchemaInUse(reader).ontology).single
    return {
        (one, other)
        for (one, other), property_ in product(pairs, single)
        if (some := values.get((one, property_))) and (others := values.get((other, property_)))
        if not any(a.startswith(b) or b.startswith(a) for a, b in product(some, others))
    }


def _in_one_name(features: EntityFeatures) -> Iterator[tuple[str, str]]:
    """Entities with the only one whose name begins or ends with theirs.

    Of several that begin with each other, it is the longest: "Lund Glass AB", not "Lund Glass".
    """
    wholes = _wholes(features)
    for entity, name in features.names.items():
        longer = sorted(wholes[name], key=lambda whole: (len(features.names[whole]), whole))
        names = [features.names[whole] for whole in longer]
        if longer and all(b.startswith(f"{a} ") for a, b in pairwise(names)):
            yield entity, longer[-1]


def _wholes(features: EntityFeatures) -> defaultdict[str, set[str]]:
    """The words at the start or end of names -> the entities with these names."""
    wholes = defaultdict[str, set[str]](set)
    for entity, name in features.names.items():
        words = name.split()
        for count in range(1, min(len(words), _MAX_WORDS + 1)):
            if _numbers(words) == sorted(words[count:]):
                break  # "Heron 5" is not Heron
            wholes[" ".join(words[:count])].add(entity)
            if words[-count - 1] not in _PREPOSITIONS_AND_ARTICLE:  # "history of Ulm" is not Ulm
                wholes[" ".join(words[-count:])].add(entity)
    return wholes


DUPLICATES = MergeRule(_propose_duplicates, needs_review=True)
SHORT_NAMES = MergeRule(_propose_short_names, needs_review=True)
