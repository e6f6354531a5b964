"""Candidate links: items of another graph that may be an entity, each with a score in [0, 1]."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import RDFS, SARAG, SEMAPV, SKOS, TYPE_CLASSES
from sarag_rdf.building.link.match import EXACT, NO_MAPPING, Match
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.texts import entity_labels

if TYPE_CHECKING:
    from scipy import sparse

NAME_SIMILARITIES = ("characters", "embedding", "none")
NAME_WEIGHT, KIND_WEIGHT, TEXT_WEIGHT = 0.6, 0.15, 0.25
ALIAS_SCORE, SIMILAR_FACTOR = 0.95, 0.9
UNKNOWN_SCORE = 0.5
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

_GRAM_LENGTH = 3
_BLOCK_ROWS = 256
SimilarNames = Iterator[tuple[int, int, float]]
"""(index of a name, index of a name in the other graph, cosine)"""
FindSimilar = Callable[[Sequence[str], Sequence[str], int], SimilarNames]
MIN_CHARACTER_COSINE, MIN_EMBEDDING_COSINE = 0.6, 0.75
"""Minimum cosines of similar names."""
MAX_DESCRIPTIONS = 3
"""Descriptions of an entity that are used, the first in alphabetical order."""

IriPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """The best match of names of a pair: its weighted score, its cosine, and the measure."""

    score: float
    similarity: float
    how: str


_NO_MATCH = NameMatch(0.0, 0.0, "")


@dataclass(frozen=True)
class CandidateOptions(Options):
    """Options of the search for candidates.

    With `by_name` the other graph is not read as a whole, but queried for equal names.
    """

    name = "the search for candidates"
    per_entity: int = option(3, "Maximum number of candidates.", ge=1)
    min_confidence: float = option(0.5, "Minimum confidence of a candidate.", ge=0, le=1)
    near: str = option(
        "characters", "How to compare names if none are equal.", choices=NAME_SIMILARITIES
    )
    date: str = ""
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """Entities by IRI, with preferred names (`labels`) and kinds.

    `by_name` maps a normalised name to its entities, with true if it is a preferred name.
    """

    labels: dict[str, str]
    by_name: dict[str, dict[str, bool]]
    kinds: dict[str, frozenset[str]]


def candidates(
    own: GraphReader,
    target: GraphReader,
    embedder: Callable[[], Embedder],
    options: CandidateOptions,
    linked: frozenset[str] = frozenset(),
) -> list[Match]:
    """Candidates for all entities that are not `linked`, by entity and descending confidence.

    The predicate of a proposed link is skos:exactMatch: the item has the highest score of the
    entity, without a tie, and no other entity has the same or a higher score for that item. Other
    candidates have the predicate sssom:NoMapping, and their comment gives the reason.
    """
    own_index = index_entities(own, linked)
    target_index = (
        index_entities_named(target, own, own_index.labels)
        if options.by_name
        else index_entities(target)
    )
    names = _equal_names(own_index, target_index)
    if options.near != "none" and not options.by_name:
        names |= _similar_names(own_index, target_index, names, options, embedder)
    texts = _text_cosines(own, target, own_index, target_index, list(names), embedder)
    scored = {
        pair: _score(pair, name_match, own_index, target_index, texts, options)
        for pair, name_match in names.items()
    }
    selected = {
        pair: m for pair, m in scored.items() if (m.confidence or 0) >= options.min_confidence
    }
    return _select_best(selected, options.per_entity)


def _equal_names(own_index: EntityIndex, target_index: EntityIndex) -> dict[IriPair, NameMatch]:
    result: dict[IriPair, NameMatch] = {}
    for name, entities in own_index.by_name.items():
        for item, item_prefers in target_index.by_name.get(name, {}).items():
            for entity, prefers in entities.items():
                score = 1.0 if prefers and item_prefers else ALIAS_SCORE
                if score > result.get((entity, item), _NO_MATCH).score:
                    result[entity, item] = NameMatch(score, 1.0, "equal")
    return result


def _similar_names(
    own_index: EntityIndex,
    target_index: EntityIndex,
    equal: Mapping[IriPair, NameMatch],
    options: CandidateOptions,
    embedder: Callable[[], Embedder],
) -> dict[IriPair, NameMatch]:
    """Similar preferred names of items, for entities without an equal name."""
    matched = {entity for entity, _ in equal}
    names = [n for n, bearers in own_index.by_name.items() if not matched.issuperset(bearers)]
    others = [n for n, bearers in target_index.by_name.items() if any(bearers.values())]
    result: dict[IriPair, NameMatch] = {}
    find = by_characters if options.near == "characters" else by_embedding(embedder())
    for row, column, cosine in find(names, others, options.per_entity):
        for entity in own_index.by_name[names[row]].keys() - matched:
            for item in target_index.by_name[others[column]]:
                score = SIMILAR_FACTOR * cosine
                if score > result.get((entity, item), _NO_MATCH).score:
                    result[entity, item] = NameMatch(score, cosine, options.near)
    return result


def _text_cosines(
    own: GraphReader,
    target: GraphReader,
    own_index: EntityIndex,
    target_index: EntityIndex,
    pairs: list[IriPair],
    embedder: Callable[[], Embedder],
) -> dict[IriPair, float]:
    """Cosines of the descriptions of pairs where both have one."""
    here = descriptions(own, {a for a, _ in pairs}, own_index.by_name) if pairs else {}
    there = descriptions(target, {b for _, b in pairs}, target_index.by_name) if here else {}
    both = [(a, b) for a, b in pairs if a in here and b in there]
    if not both:
        return {}
    texts = sorted({here[a] for a, _ in both} | {there[b] for _, b in both})
    columns = {text: column for column, text in enumerate(texts)}
    vectors = embedder().embed(texts)
    left = vectors[[columns[here[a]] for a, _ in both]]
    right = vectors[[columns[there[b]] for _, b in both]]
    cosines = np.einsum("ij,ij->i", left, right)
    return {pair: max(0.0, min(1.0, float(c))) for pair, c in zip(both, cosines, strict=True)}


def _score(
    pair: IriPair,
    names: NameMatch,
    own_index: EntityIndex,
    target_index: EntityIndex,
    texts: Mapping[IriPair, float],
    options: CandidateOptions,
) -> Match:
    entity, item = pair
    here, there = own_index.kinds.get(entity), target_index.kinds.get(item)
    kinds = UNKNOWN_SCORE if not here or not there else float(bool(here & there))
    text = texts.get(pair, UNKNOWN_SCORE)
    score = round(NAME_WEIGHT * names.score + KIND_WEIGHT * kinds + TEXT_WEIGHT * text, 4)
    text_score = f"{text:.2f}" if pair in texts else "unknown"
    kind = "unknown" if kinds == UNKNOWN_SCORE else "same" if kinds else "different"
    return Match(
        entity,
        EXACT,
        item,
        _COMPOSITE if pair in texts else _JUSTIFICATIONS[names.how],
        score,
        own_index.labels[entity],
        target_index.labels[item],
        round(names.similarity, 4),
        _MEASURES[names.how],
        TOOL,
        options.date,
        f"names {names.score:.2f}, kinds {kind}, texts {text_score}",
    )


def _select_best(scored: Mapping[IriPair, Match], per_entity: int) -> list[Match]:
    """The best candidates of each entity, with the reasons against proposing them."""
    of_entity: defaultdict[str, list[Match]] = defaultdict(list)
    of_item: defaultdict[str, list[float]] = defaultdict(list)
    for match in scored.values():
        of_entity[match.subject].append(match)
        of_item[match.object].append(match.confidence or 0.0)
    result: list[Match] = []
    for entity in sorted(of_entity):
        listed = sorted(of_entity[entity], key=lambda m: (-(m.confidence or 0.0), m.object))
        best = listed[0].confidence or 0.0
        ties = sum(match.confidence == best for match in listed)
        result += [_with_decision(m, best, ties, of_item[m.object]) for m in listed[:per_entity]]
    return result


def _with_decision(match: Match, best: float, ties: int, rivals: list[float]) -> Match:
    """The candidate as proposed, or with the reason against it."""
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


def by_characters(names: Sequence[str], others: Sequence[str], k: int) -> SimilarNames:
    """At most `k` others for each name, by the cosine of TF-IDF vectors of character trigrams."""
    if not names or not others:
        return
    from scipy import sparse

    grams: dict[str, int] = {}
    known, _ = _counts(others, grams, grow=True)
    own, unknown_grams = _counts(names, grams, grow=False)
    seen = np.asarray((known > 0).sum(axis=0)).ravel()
    rarest = np.log(1 + len(others)) + 1
    weights = sparse.diags(np.log((1 + len(others)) / (1 + seen)) + 1)
    right = _unit(known @ weights, np.zeros(len(others))).T.tocsc()
    left = _unit(own @ weights, unknown_grams * rarest**2)
    for start in range(0, len(names), _BLOCK_ROWS):
        block = (left[start : start + _BLOCK_ROWS] @ right).tocsr()
        for row in range(block.shape[0]):
            begin, end = block.indptr[row], block.indptr[row + 1]
            columns, values = block.indices[begin:end], block.data[begin:end]
            yield from _best(start + row, columns, values, k, MIN_CHARACTER_COSINE)


def by_embedding(embedder: Embedder) -> FindSimilar:
    """At most `k` others for each name, by the cosine of their embeddings."""

    def find(names: Sequence[str], others: Sequence[str], k: int) -> SimilarNames:
        if not names or not others:
            return
        left, right = embedder.embed(names), embedder.embed(others)
        every = np.arange(len(others))
        for start in range(0, len(names), _BLOCK_ROWS):
            block = left[start : start + _BLOCK_ROWS] @ right.T
            for row, values in enumerate(block):
                yield from _best(start + row, every, values, k, MIN_EMBEDDING_COSINE)

    return find


def _counts(
    names: Sequence[str], grams: dict[str, int], *, grow: bool
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Trigram counts of names, shape (n, len(grams)), and their numbers of unknown trigrams."""
    from scipy import sparse

    columns: list[int] = []
    ends = [0]
    unknown_grams = np.zeros(len(names))
    for row, name in enumerate(names):
        padded = f" {name} "
        for start in range(max(1, len(padded) - _GRAM_LENGTH + 1)):
            gram = padded[start : start + _GRAM_LENGTH]
            column = grams.setdefault(gram, len(grams)) if grow else grams.get(gram, -1)
            if column >= 0:
                columns.append(column)
            else:
                unknown_grams[row] += 1
        ends.append(len(columns))
    data = np.ones(len(columns), dtype=np.float32)
    matrix = sparse.csr_matrix((data, columns, ends), shape=(len(names), len(grams)))
    matrix.sum_duplicates()
    return matrix, unknown_grams


def _unit(matrix: sparse.csr_matrix, more: NDArray[np.float64]) -> sparse.csr_matrix:
    """Rows divided by their lengths, with `more` added to the squared lengths."""
    from scipy import sparse

    squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() + more
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    return (sparse.diags(1 / lengths) @ matrix).tocsr()


def _best(
    row: int, columns: NDArray[np.int64], values: NDArray[np.float32], k: int, floor: float
) -> SimilarNames:
    """The k highest values of a row that are at least `floor`; ties by column."""
    selected = np.flatnonzero(values >= floor)
    order = selected[np.lexsort((columns[selected], -np.round(values[selected], 6)))][:k]
    for column in order:
        yield row, int(columns[column]), min(1.0, float(values[column]))


def index_entities(reader: GraphReader, without: Iterable[str] = ()) -> EntityIndex:
    """All entities of a graph except those in `without`."""
    excluded = set(without)
    labels: dict[str, str] = {}
    for item, text, *_ in reader.rows("entity-texts"):
        if item.value not in excluded:
            labels[item.value] = min(labels.get(item.value, text.value), text.value)
    return _build_index(reader, labels)


def index_entities_named(
    reader: GraphReader, own: GraphReader, entities: Iterable[str]
) -> EntityIndex:
    """Entities of a graph that have the same name as one of `entities` in `own`.

    Names are queried with the same spelling, with their language, English, `mul` and no language.
    """
    literals: set[ox.Literal] = set()
    for _, name, *_ in own.rows_for("entity-names", entities):
        for language in {name.language or "", "en", "mul"}:
            literals.add(ox.Literal(name.value, language=language or None))
        literals.add(ox.Literal(name.value))
    named = {entity.value for _, entity in reader.rows_named(literals)}
    labels = {entity: name for entity, (name, _) in entity_labels(reader, named).items()}
    return _build_index(reader, labels)


def _build_index(reader: GraphReader, labels: dict[str, str]) -> EntityIndex:
    by_name: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for entity, name, *_ in reader.rows_for("entity-names", labels):
        by_name[normalize_name(name.value)].setdefault(entity.value, False)
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name, class_ in reader.rows_for("entity-labels", labels):
        by_name[normalize_name(name.value)][entity.value] = True
        if class_ is not None:
            classes[entity.value].add(class_.value)
    for iri, label in labels.items():
        by_name[normalize_name(label)][iri] = True
    kinds = {iri: frozenset(map(_kind, result)) - {""} for iri, result in classes.items()}
    return EntityIndex(labels, dict(by_name), kinds)


def _kind(class_: str) -> str:
    return _kinds().get(class_, "")


@cache
def _kinds() -> dict[str, str]:
    """Class -> kind, from the alignments in the ontology; misc is not a kind."""
    own = {node: kind for kind, node in TYPE_CLASSES.items() if kind != "misc"}
    result = {node.value: kind for node, kind in own.items()}
    matching = (RDFS.subClassOf, SKOS.exactMatch, SKOS.closeMatch)
    for quad in ox.parse(path=str(ontology_path("sarag.ttl")), format=ox.RdfFormat.TURTLE):
        kind = own.get(quad.subject) if isinstance(quad.subject, ox.NamedNode) else None
        if kind and quad.predicate in matching and quad.object != SARAG.Entity:
            result[str(quad.object)[1:-1]] = kind
    return result


def descriptions(
    reader: GraphReader, entities: Iterable[str], names: Iterable[str]
) -> dict[str, str]:
    """Entity -> its first `MAX_DESCRIPTIONS` descriptions, without those that are only a name."""
    name_set = set(names)
    result: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in reader.rows_for("entity-descriptions", entities):
        if normalize_name(text.value) not in name_set:
            result[entity.value].add(text.value)
    return {iri: " ".join(sorted(several)[:MAX_DESCRIPTIONS]) for iri, several in result.items()}
