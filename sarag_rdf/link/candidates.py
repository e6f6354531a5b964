"""Candidate links: items of another graph that an entity may be, each with a score in [0, 1]."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.iris import normalize_name
from sarag_rdf.link.match import EXACT, NO_MAPPING, Match
from sarag_rdf.ports import Embedder
from sarag_rdf.resources import ontology_path
from sarag_rdf.vocab import RDFS, SARAG, SEMAPV, SKOS, TYPE_CLASSES

if TYPE_CHECKING:
    from scipy import sparse

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


Near = Iterator[tuple[int, int, float]]
"""Places of a name and of a name of the other side, and their cosine."""
FindNear = Callable[[Sequence[str], Sequence[str], int], Near]

CHARACTERS, EMBEDDING = 0.6, 0.75
"""Cosines from which names count as near."""
_GRAM = 3
_ROWS = 256


def by_characters(names: Sequence[str], others: Sequence[str], k: int) -> Near:
    """At most `k` others for each name: cosine of TF-IDF over runs of three characters."""
    if not names or not others:
        return
    from scipy import sparse

    grams: dict[str, int] = {}
    known, _ = _counts(others, grams, grow=True)
    own, strange = _counts(names, grams, grow=False)
    seen = np.asarray((known > 0).sum(axis=0)).ravel()
    rarest = np.log(1 + len(others)) + 1
    weights = sparse.diags(np.log((1 + len(others)) / (1 + seen)) + 1)
    right = _unit(known @ weights, np.zeros(len(others))).T.tocsc()
    left = _unit(own @ weights, strange * rarest**2)
    for start in range(0, len(names), _ROWS):
        block = (left[start : start + _ROWS] @ right).tocsr()
        for row in range(block.shape[0]):
            begin, end = block.indptr[row], block.indptr[row + 1]
            places, values = block.indices[begin:end], block.data[begin:end]
            yield from _best(start + row, places, values, k, CHARACTERS)


def by_embedding(embedder: Embedder) -> FindNear:
    """At most k others for each name: cosine of the names' embeddings."""

    def find(names: Sequence[str], others: Sequence[str], k: int) -> Near:
        if not names or not others:
            return
        left, right = embedder.embed(names), embedder.embed(others)
        every = np.arange(len(others))
        for start in range(0, len(names), _ROWS):
            block = left[start : start + _ROWS] @ right.T
            for row, values in enumerate(block):
                yield from _best(start + row, every, values, k, EMBEDDING)

    return find


def _counts(
    names: Sequence[str], grams: dict[str, int], *, grow: bool
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Names by runs of characters, which are numbered in `grams`; how many runs are not there."""
    from scipy import sparse

    places: list[int] = []
    ends = [0]
    strange = np.zeros(len(names))
    for row, name in enumerate(names):
        padded = f" {name} "
        for start in range(max(1, len(padded) - _GRAM + 1)):
            gram = padded[start : start + _GRAM]
            place = grams.setdefault(gram, len(grams)) if grow else grams.get(gram, -1)
            if place >= 0:
                places.append(place)
            else:
                strange[row] += 1
        ends.append(len(places))
    data = np.ones(len(places), dtype=np.float32)
    made = sparse.csr_matrix((data, places, ends), shape=(len(names), len(grams)))
    made.sum_duplicates()
    return made, strange


def _unit(matrix: sparse.csr_matrix, more: NDArray[np.float64]) -> sparse.csr_matrix:
    """Rows divided by their lengths, to whose squares `more` is added."""
    from scipy import sparse

    squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() + more
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    return (sparse.diags(1 / lengths) @ matrix).tocsr()


def _best(
    row: int, places: NDArray[np.int64], values: NDArray[np.float32], k: int, floor: float
) -> Near:
    """The k highest of one name that reach the floor; ties by place."""
    kept = np.flatnonzero(values >= floor)
    order = kept[np.lexsort((places[kept], -np.round(values[kept], 6)))][:k]
    for place in order:
        yield row, int(places[place]), min(1.0, float(values[place]))


SIDE_TEXTS = 3
"""Descriptions of an entity that count at most, the first by their wording."""


@dataclass(frozen=True, slots=True)
class Side:
    """Entities by IRI: their preferred names; all names, normalised; their kinds.

    `named` leads from a normalised name to the entities that bear it, each with whether that is a
    preferred name of it.
    """

    labels: dict[str, str]
    named: dict[str, dict[str, bool]]
    kinds: dict[str, frozenset[str]]


def read_side(reader: GraphReader, without: Iterable[str] = ()) -> Side:
    """All entities of a graph but those `without`."""
    left_out = set(without)
    labels: dict[str, str] = {}
    for item, text, *_ in reader.rows("entity-texts"):
        if item.value not in left_out:
            labels[item.value] = min(labels.get(item.value, text.value), text.value)
    return _side(reader, labels)


def read_named(reader: GraphReader, own: GraphReader, entities: Iterable[str]) -> Side:
    """Entities of a graph that is too large to be read, by the names that `entities` of ours have.

    A name is asked for as it is spelled, with its own language, English, none, or `mul`.
    """
    asked: set[ox.Literal] = set()
    for _, name, *_ in own.rows_for("entity-names", entities):
        for language in {name.language or "", "en", "mul"}:
            asked.add(ox.Literal(name.value, language=language or None))
        asked.add(ox.Literal(name.value))
    found = {entity.value for _, entity in reader.rows_named(asked)}
    labels = {entity: name for entity, (name, _) in entity_labels(reader, found).items()}
    return _side(reader, labels)


def _side(reader: GraphReader, labels: dict[str, str]) -> Side:
    named: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for entity, name, *_ in reader.rows_for("entity-names", labels):
        named[normalize_name(name.value)].setdefault(entity.value, False)
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name, class_ in reader.rows_for("entity-labels", labels):
        named[normalize_name(name.value)][entity.value] = True
        if class_ is not None:
            classes[entity.value].add(class_.value)
    for iri, label in labels.items():
        named[normalize_name(label)][iri] = True
    kinds = {iri: frozenset(map(_kind, found)) - {""} for iri, found in classes.items()}
    return Side(labels, dict(named), kinds)


def _kind(class_: str) -> str:
    return _kinds().get(class_, "")


@cache
def _kinds() -> dict[str, str]:
    """Classes that mean one of our own kinds, as the ontology says; misc is no kind."""
    own = {node: kind for kind, node in TYPE_CLASSES.items() if kind != "misc"}
    found = {node.value: kind for node, kind in own.items()}
    matching = (RDFS.subClassOf, SKOS.exactMatch, SKOS.closeMatch)
    for quad in ox.parse(path=str(ontology_path("sarag.ttl")), format=ox.RdfFormat.TURTLE):
        kind = own.get(quad.subject) if isinstance(quad.subject, ox.NamedNode) else None
        if kind and quad.predicate in matching and quad.object != SARAG.Entity:
            found[str(quad.object)[1:-1]] = kind
    return found


def descriptions(
    reader: GraphReader, entities: Iterable[str], names: Iterable[str]
) -> dict[str, str]:
    """Texts about the entities, the first few of each as one; those that are mere names are not."""
    mere = set(names)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in reader.rows_for("entity-descriptions", entities):
        if normalize_name(text.value) not in mere:
            found[entity.value].add(text.value)
    return {iri: " ".join(sorted(several)[:SIDE_TEXTS]) for iri, several in found.items()}
