"""Candidates: items of another graph that an entity may be, with a score in [0, 1] each.

A score is ``0.6 names + 0.15 kinds + 0.25 texts``:

- names: 1 if preferred names are equal after normalisation, 0.95 if another name is on either
  side, else 0.9 times the cosine of names that are near each other;
- kinds: 1 if both are persons, organizations or geopolitical entities, 0 if they are different
  ones of these, 0.5 if that is not known of both;
- texts: cosine of the embeddings of what either graph says of them, at least 0; 0.5 if either
  says nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.link.match import EXACT, NO_MAPPING, Match
from sarag_rdf.link.near import by_characters, by_embedding
from sarag_rdf.link.side import Side, descriptions, read_named, read_side
from sarag_rdf.ports import Embedder
from sarag_rdf.vocab import SEMAPV

NEARNESS = ("characters", "embedding", "none")
NAMES, KINDS, TEXTS = 0.6, 0.15, 0.25
ALIAS, NEAR = 0.95, 0.9
UNKNOWN = 0.5
TOOL = "sarag link"
_MEASURES = {
    "equal": "equal normalized names",
    "characters": "cosine of character trigrams of names",
    "embedding": "cosine of embeddings of names",
}
_JUSTIFICATIONS = {
    "equal": SEMAPV.LexicalMatching.value,
    "characters": SEMAPV.LexicalSimilarityThresholdMatching.value,
    "embedding": SEMAPV.SemanticSimilarityThresholdMatching.value,
}
_COMPOSITE = SEMAPV.CompositeMatching.value

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Names:
    """How the names of a pair agree: `worth` enters the score, `similarity` is as found."""

    worth: float
    similarity: float
    how: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How candidates are looked for; `near` is characters, embedding or none.

    With `by_name` the other graph is not read as a whole but asked for equal names.
    """

    per_entity: int = 3
    min_confidence: float = 0.5
    near: str = "characters"
    date: str = ""
    by_name: bool = False

    def __post_init__(self) -> None:
        if self.near not in NEARNESS:
            raise UsageError(f"unknown nearness '{self.near}': choose of {', '.join(NEARNESS)}")


def candidates(
    own: GraphReader,
    target: GraphReader,
    embedder: Callable[[], Embedder],
    settings: Settings,
    linked: frozenset[str] = frozenset(),
) -> list[Match]:
    """Candidates for all entities that are not `linked`, by entity and falling confidence.

    What is proposed says skos:exactMatch: the best item of an entity, if that is the only best
    one and no other entity fits it as well or better. Other candidates say sssom:NoMapping, and
    their comment why.
    """
    ours = read_side(own, linked)
    theirs = read_named(target, own, ours.labels) if settings.by_name else read_side(target)
    names = _equal_names(ours, theirs)
    if settings.near != "none" and not settings.by_name:
        names |= _near_names(ours, theirs, names, settings, embedder)
    texts = _text_cosines(own, target, ours, theirs, list(names), embedder)
    scored = {
        pair: _scored(pair, agreed, ours, theirs, texts, settings) for pair, agreed in names.items()
    }
    kept = {pair: m for pair, m in scored.items() if (m.confidence or 0) >= settings.min_confidence}
    return _decided(kept, settings.per_entity)


def _equal_names(ours: Side, theirs: Side) -> dict[Pair, Names]:
    found: dict[Pair, Names] = {}
    for name, entities in ours.named.items():
        for item, item_prefers in theirs.named.get(name, {}).items():
            for entity, prefers in entities.items():
                worth = 1.0 if prefers and item_prefers else ALIAS
                if worth > found.get((entity, item), _NOTHING).worth:
                    found[entity, item] = Names(worth, 1.0, "equal")
    return found


_NOTHING = Names(0.0, 0.0, "")


def _near_names(
    ours: Side,
    theirs: Side,
    equal: Mapping[Pair, Names],
    settings: Settings,
    embedder: Callable[[], Embedder],
) -> dict[Pair, Names]:
    """For entities whose names no item bears: preferred names of items near any of theirs."""
    served = {entity for entity, _ in equal}
    names = [n for n, bearers in ours.named.items() if not served.issuperset(bearers)]
    others = [n for n, bearers in theirs.named.items() if any(bearers.values())]
    found: dict[Pair, Names] = {}
    find = by_characters if settings.near == "characters" else by_embedding(embedder())
    for row, place, cosine in find(names, others, settings.per_entity):
        for entity in ours.named[names[row]].keys() - served:
            for item in theirs.named[others[place]]:
                worth = NEAR * cosine
                if worth > found.get((entity, item), _NOTHING).worth:
                    found[entity, item] = Names(worth, cosine, settings.near)
    return found


def _text_cosines(
    own: GraphReader,
    target: GraphReader,
    ours: Side,
    theirs: Side,
    pairs: list[Pair],
    embedder: Callable[[], Embedder],
) -> dict[Pair, float]:
    """Cosines of what both graphs say, for pairs of which both say something."""
    here = descriptions(own, {a for a, _ in pairs}, ours.named) if pairs else {}
    there = descriptions(target, {b for _, b in pairs}, theirs.named) if here else {}
    both = [(a, b) for a, b in pairs if a in here and b in there]
    if not both:
        return {}
    texts = sorted({here[a] for a, _ in both} | {there[b] for _, b in both})
    places = {text: place for place, text in enumerate(texts)}
    vectors = embedder().embed(texts)
    left = vectors[[places[here[a]] for a, _ in both]]
    right = vectors[[places[there[b]] for _, b in both]]
    cosines = np.einsum("ij,ij->i", left, right)
    return {pair: max(0.0, min(1.0, float(c))) for pair, c in zip(both, cosines, strict=True)}


def _scored(
    pair: Pair,
    names: Names,
    ours: Side,
    theirs: Side,
    texts: Mapping[Pair, float],
    settings: Settings,
) -> Match:
    entity, item = pair
    here, there = ours.kinds.get(entity), theirs.kinds.get(item)
    kinds = UNKNOWN if not here or not there else float(bool(here & there))
    text = texts.get(pair, UNKNOWN)
    score = round(NAMES * names.worth + KINDS * kinds + TEXTS * text, 4)
    said = f"{text:.2f}" if pair in texts else "unknown"
    kind = "unknown" if kinds == UNKNOWN else "same" if kinds else "different"
    return Match(
        entity,
        EXACT,
        item,
        _COMPOSITE if pair in texts else _JUSTIFICATIONS[names.how],
        score,
        ours.labels[entity],
        theirs.labels[item],
        round(names.similarity, 4),
        _MEASURES[names.how],
        TOOL,
        settings.date,
        f"names {names.worth:.2f}, kinds {kind}, texts {said}",
    )


def _decided(scored: Mapping[Pair, Match], per_entity: int) -> list[Match]:
    """The best of each entity, with what speaks against taking them."""
    of_entity: defaultdict[str, list[Match]] = defaultdict(list)
    of_item: defaultdict[str, list[float]] = defaultdict(list)
    for match in scored.values():
        of_entity[match.subject].append(match)
        of_item[match.object].append(match.confidence or 0.0)
    found: list[Match] = []
    for entity in sorted(of_entity):
        listed = sorted(of_entity[entity], key=lambda m: (-(m.confidence or 0.0), m.object))
        best = listed[0].confidence or 0.0
        ties = sum(match.confidence == best for match in listed)
        found += [_judged(m, best, ties, of_item[m.object]) for m in listed[:per_entity]]
    return found


def _judged(match: Match, best: float, ties: int, rivals: list[float]) -> Match:
    """Proposed, or with the reason why it is not."""
    confidence = match.confidence or 0.0
    if confidence < best:
        reason = "another item fits better"
    elif ties > 1:
        reason = f"ambiguous: {ties} items fit equally well"
    elif max(rivals) > confidence:
        reason = "another entity fits this item better"
    elif rivals.count(confidence) > 1:
        reason = f"ambiguous: {rivals.count(confidence)} entities fit this item equally well"
    else:
        return match
    return replace(match, predicate=NO_MAPPING, comment=f"{reason}; {match.comment}")
