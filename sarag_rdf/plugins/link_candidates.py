"""The linker ``names``: items of another graph with the name of an entity, or a similar one.

Each candidate has a score in [0, 1], of the names, the kinds, the descriptions and the neighbours
of both.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyoxigraph as ox

from sarag_rdf.base.iris import namespace, normalize_name
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import VALUE_TYPES
from sarag_rdf.base.vocab import RDFS, SARAG, SEMAPV, SKOS, TYPE_CLASSES
from sarag_rdf.building.link_records import EXACT, NO_MAPPING, CandidateOptions, Match
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import schema_of
from sarag_rdf.graph.parts import ontology_triples
from sarag_rdf.graph.texts import by_language, entity_labels
from sarag_rdf.plugins.constraints import Constraints

NAME_WEIGHT, KIND_WEIGHT, TEXT_WEIGHT = 0.6, 0.15, 0.25
NEIGHBOUR_WEIGHT = 0.4
"""That of the neighbours, if both have some that both graphs know; the others share the rest."""
UNSHARED_FACTOR = 0.97
"""Least share of the confidence without neighbours, for names of one item, if not contradicted."""
ALIAS_SCORE, SIMILAR_FACTOR, CONTAINED_FACTOR = 0.95, 0.9, 0.5
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

_BLOCK_CELLS = 10_000_000
"""Cosines that are in memory at once."""
MIN_CHARACTER_COSINE, MIN_EMBEDDING_COSINE = 0.6, 0.75
"""Minimum cosines of similar names."""
MAX_DESCRIPTIONS = 3
"""Descriptions of an entity that are used, the first in alphabetical order."""

_APPOSITION = re.compile(r"\s*[,(]")
_YEAR = re.compile(r"[12]\d{3}")
IriPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """The best match of names of a pair: its weighted score, its cosine, and the measure.

    `is_only`: an equal preferred name that no other item has. `contains`: one name and more, but
    for an apposition of the item's.
    """

    score: float
    similarity: float
    how: str
    is_only: bool = False
    contains: bool = False


_NO_MATCH = NameMatch(0.0, 0.0, "")


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """Entities by IRI, with preferred names (`labels`), kinds, and classes of other ontologies.

    `by_name` maps a normalised name to its entities, with true if it is a preferred name.
    """

    labels: dict[str, str]
    by_name: dict[str, dict[str, bool]]
    kinds: dict[str, frozenset[str]]
    classes: dict[str, frozenset[str]]


def candidates(
    own: GraphReader,
    target: GraphReader,
    embedder: Callable[[], Embedder],
    options: CandidateOptions,
    linked: frozenset[str] = frozenset(),
) -> list[Match]:
    """Candidates for all entities that are not `linked`, by entity and descending confidence.

    The predicate of a proposed link is skos:exactMatch: the item has the highest score of the
    entity, without a tie, and no other entity, `linked` or not, has the same or a higher score for
    that item. Other candidates have the predicate sssom:NoMapping, and their comment gives the
    reason.
    """
    entities = index_entities(own)
    if options.by_name:
        items = index_entities_named(target, own, entities.labels)
    else:
        items = index_entities(target)
    schema = schema_of(ontology_triples(own))
    best = _Search(own, target, entities, items, embedder, options, schema).best()
    return [match for match in best if match.subject not in linked]


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for candidates of the entities of `own` among the items of `target`."""

    own: GraphReader
    target: GraphReader
    entities: EntityIndex
    items: EntityIndex
    embedder: Callable[[], Embedder]
    options: CandidateOptions
    schema: Schema

    def best(self) -> list[Match]:
        """The best candidates of each entity, with the reasons against proposing them."""
        names = self._equal_names()
        if self.options.near != "none" and not self.options.by_name:
            names |= self._similar_names(names)
        texts = self._text_cosines(list(names))
        shares = self._neighbour_shares(names)
        only = {pair for pair in shares if names[pair].is_only}
        for pair in contradicted(self.own, self.target, only):
            names[pair] = replace(names[pair], is_only=False)
        scored = (
            self._score(pair, names[pair], texts.get(pair), shares.get(pair)) for pair in names
        )
        selected = [m for m in scored if (m.confidence or 0) >= self.options.min_confidence]
        return _select_best(selected, self.options.per_entity)

    def _equal_names(self) -> dict[IriPair, NameMatch]:
        result: dict[IriPair, NameMatch] = {}
        for name, entities in self.entities.by_name.items():
            items = self.items.by_name.get(name, {})
            for item, item_prefers in items.items():
                for entity, prefers in entities.items():
                    score = 1.0 if prefers and item_prefers else ALIAS_SCORE
                    if score > result.get((entity, item), _NO_MATCH).score:
                        is_only = score == 1.0 and len(items) == 1
                        result[entity, item] = NameMatch(score, 1.0, "equal", is_only)
        return result

    def _similar_names(self, equal: Iterable[IriPair]) -> dict[IriPair, NameMatch]:
        """Similar preferred names of items, for entities without an equal name."""
        matched, near = {entity for entity, _ in equal}, self.options.near
        own, target = self.entities.by_name, self.items.by_name
        names = [name for name, bearers in own.items() if not matched.issuperset(bearers)]
        others = [name for name, bearers in target.items() if any(bearers.values())]
        result: dict[IriPair, NameMatch] = {}
        if not (names and others):
            return result
        if near == "characters":
            vectors = by_characters(names, others)
        else:
            embed = self.embedder().embed
            vectors = embed(names), embed(others), MIN_EMBEDDING_COSINE
        for row, column, cosine in _similar(*vectors, self.options.per_entity):
            if _differ_in_numbers(names[row], others[column]):
                continue
            for entity in own[names[row]].keys() - matched:
                for item in target[others[column]]:
                    score = SIMILAR_FACTOR * cosine
                    if score > result.get((entity, item), _NO_MATCH).score:
                        one, other = f" {names[row]} ", f" {others[column]} "
                        head = _APPOSITION.split(self.items.labels.get(item, ""))[0]
                        is_head = normalize_name(head) == names[row]  # "Budapest, city"
                        contains = other in one or (one in other and not is_head)
                        result[entity, item] = NameMatch(score, cosine, near, contains=contains)
        return result

    def _text_cosines(self, pairs: list[IriPair]) -> dict[IriPair, float]:
        """Cosines of the descriptions of pairs where both have one."""
        if not pairs:
            return {}
        here = descriptions(self.own, {a for a, _ in pairs}, self.entities.by_name)
        there = descriptions(self.target, {b for _, b in pairs}, self.items.by_name) if here else {}
        both = [(a, b) for a, b in pairs if a in here and b in there]
        if not both:
            return {}
        texts = sorted({here[a] for a, _ in both} | {there[b] for _, b in both})
        columns = {text: column for column, text in enumerate(texts)}
        vectors = self.embedder().embed(texts)
        left = vectors[[columns[here[a]] for a, _ in both]]
        right = vectors[[columns[there[b]] for _, b in both]]
        cosines = np.einsum("ij,ij->i", left, right)
        return {pair: max(0.0, min(1.0, float(c))) for pair, c in zip(both, cosines, strict=True)}

    def _neighbour_shares(self, pairs: Mapping[IriPair, NameMatch]) -> dict[IriPair, float]:
        """How much of the neighbours of an entity the item has, for pairs where both have some.

        A graph that knows none of the neighbours of an entity says nothing by leaving them out, if
        the names are equal.
        Neighbours are compared by name. A name counts by its rarity among the neighbours of the
        items: log(1 + items / items with it).
        """
        here = neighbour_names(self.own, {entity for entity, _ in pairs})
        there = neighbour_names(self.target, {item for _, item in pairs}) if here else {}
        counts = Counter(name for names in there.values() for name in names)
        known = counts.keys() | self.items.by_name.keys()

        def weight(names: Iterable[str]) -> float:
            return sum(math.log(1 + len(there) / (counts[name] or 1)) for name in sorted(names))

        return {
            (entity, item): weight(here[entity] & there[item]) / weight(here[entity])
            for (entity, item), match in pairs.items()
            if entity in here and item in there
            if match.how != "equal" or not known.isdisjoint(here[entity])
        }

    def _kinds(self, entity: str, item: str) -> float:
        """1 for things of one kind or class, or of one above the other, 0 for others.

        Classes of one ontology, neither of which is above the other, are not the same.
        """
        indexes = (self.entities, entity), (self.items, item)
        pairs = [*product(*(index.classes.get(iri, ()) for index, iri in indexes))]
        above, declared = self.schema.superclasses, self.schema.classes.keys()
        if any(one in above(other) or other in above(one) for one, other in pairs):
            return 1.0
        here, there = (index.kinds.get(iri) for index, iri in indexes)
        if here and there:
            return float(bool(here & there))
        are_other = any(
            namespace(one) == namespace(other) for one, other in pairs if declared >= {one, other}
        )
        return 0.0 if are_other else UNKNOWN_SCORE

    def _score(
        self, pair: IriPair, names: NameMatch, text: float | None, share: float | None
    ) -> Match:
        """The candidate of a pair.

        `text` is the cosine of the descriptions, `share` that of common neighbours, if both sides
        have some.
        """
        entity, item = pair
        kinds = self._kinds(entity, item)
        text_score = UNKNOWN_SCORE if text is None else text
        name_score = names.score * (CONTAINED_FACTOR if names.contains and not share else 1)
        score = NAME_WEIGHT * name_score + KIND_WEIGHT * kinds + TEXT_WEIGHT * text_score
        if share is not None:
            least = UNSHARED_FACTOR * score if names.is_only and kinds else 0.0
            score = max(least, score + NEIGHBOUR_WEIGHT * (share - score))
        kind = "unknown" if kinds == UNKNOWN_SCORE else "same" if kinds else "different"
        texts = "unknown" if text is None else f"{text:.2f}"
        neighbours = "" if share is None else f", neighbours {share:.2f}"
        is_composite = text is not None or share is not None
        return Match(
            entity,
            EXACT,
            item,
            SEMAPV.CompositeMatching.value if is_composite else _JUSTIFICATIONS[names.how],
            round(score, 4),
            self.entities.labels[entity],
            self.items.labels[item],
            TOOL,
            self.options.date,
            f"names {name_score:.2f}, kinds {kind}, texts {texts}{neighbours}",
            similarity=round(names.similarity, 4),
            measure=_MEASURES[names.how],
        )


def _differ_in_numbers(one: str, other: str) -> bool:
    """Whether two names have numbers, but not the same: "Larch 5", "srv larch 01"."""
    numbers, others = (sorted(map(int, re.findall(r"\d+", name))) for name in (one, other))
    return bool(numbers and others) and numbers != others


def _select_best(scored: Iterable[Match], per_entity: int) -> list[Match]:
    of_entity: defaultdict[str, list[Match]] = defaultdict(list)
    of_item: defaultdict[str, list[float]] = defaultdict(list)
    for match in scored:
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


Similar = tuple[Any, Any, float]
"""Vectors of names, those of the other names, whose products are cosines, and the least cosine."""


def by_characters(names: Sequence[str], others: Sequence[str]) -> Similar:
    """TF-IDF vectors of character trigrams.

    A trigram that no other name has counts as one that one of them has.
    """
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    tfidf = TfidfVectorizer(analyzer=_trigrams, norm=None)
    right = normalize(tfidf.fit_transform(others))
    left = tfidf.transform(names)
    unknown = np.array([sum(g not in tfidf.vocabulary_ for g in _trigrams(n)) for n in names])
    rarest = np.log(1 + len(others)) + 1
    lengths = np.sqrt(np.asarray(left.power(2).sum(axis=1)).ravel() + unknown * rarest**2)
    return (sparse.diags(1 / lengths) @ left).tocsr(), right, MIN_CHARACTER_COSINE


def _trigrams(name: str) -> list[str]:
    padded = f" {name} "
    return [padded[n : n + 3] for n in range(max(1, len(padded) - 2))]


def _similar(left: Any, right: Any, least: float, k: int) -> Iterator[tuple[int, int, float]]:
    """(row of `left`, row of `right`, cosine) of the `k` highest cosines; ties by the row."""
    rows = max(1, _BLOCK_CELLS // right.shape[0])
    for start in range(0, left.shape[0], rows):
        block = left[start : start + rows] @ right.T
        for row, cosines in enumerate(block if isinstance(block, np.ndarray) else block.toarray()):
            columns = np.flatnonzero(cosines >= least)
            order = columns[np.lexsort((columns, -np.round(cosines[columns], 6)))][:k]
            yield from ((start + row, int(n), min(1.0, float(cosines[n]))) for n in order)


def index_entities(reader: GraphReader) -> EntityIndex:
    """All entities of a graph."""
    labels: dict[str, ox.Literal] = {}
    for item, text, *_ in reader.rows("entity-texts"):
        labels[item.value] = min(labels.get(item.value, text), text, key=by_language)
    return _build_index(reader, {iri: label.value for iri, label in labels.items()})


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


def _build_index(reader: GraphReader, labels: Mapping[str, str]) -> EntityIndex:
    """The index of these entities and their labels, without values such as dates."""
    preferred = [*reader.rows_for("entity-labels", labels)]
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for entity, _, class_ in preferred:
        if class_ is not None:
            classes[entity.value].add(class_.value)
    known = _kinds()
    kinds = {iri: frozenset(known[c] for c in own if c in known) for iri, own in classes.items()}
    schemes = {iri for iri, own in classes.items() if SKOS.ConceptScheme.value in own}
    things = {
        iri: label
        for iri, label in labels.items()
        if iri not in schemes and not kinds.get(iri, frozenset()) & VALUE_TYPES
    }
    by_name: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for entity, name, *_ in reader.rows_for("entity-names", things):
        by_name[normalize_name(name.value)].setdefault(entity.value, False)
    named = [*((row[0].value, row[1].value) for row in preferred), *things.items()]
    for iri, label in named:
        if iri in things:
            by_name[normalize_name(label)][iri] = True
    own_classes = {iri: frozenset(c for c in own if c not in known) for iri, own in classes.items()}
    return EntityIndex(things, dict(by_name), kinds, own_classes)


@cache
def _kinds() -> dict[str, str]:
    """Class -> kind, from the alignments in the ontology; misc is not a kind."""
    own = {node: kind for kind, node in TYPE_CLASSES.items() if kind != "misc"}
    result = {node.value: kind for node, kind in own.items()}
    matching = (RDFS.subClassOf, SKOS.exactMatch, SKOS.closeMatch)
    for quad in ox.parse(path=str(ontology_path("sarag.ttl")), format=ox.RdfFormat.TURTLE):
        kind = own.get(quad.subject) if isinstance(quad.subject, ox.NamedNode) else None
        if kind and quad.predicate in matching and quad.object not in (SARAG.Entity, SARAG.Value):
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


def neighbour_names(reader: GraphReader, entities: Iterable[str]) -> dict[str, frozenset[str]]:
    """Entity -> the normalised names of its neighbours, and its literals that are numbers."""
    requested = sorted(set(entities))
    pairs = [(e.value, other.value) for e, other in reader.rows_for("neighbours", requested)]
    names: defaultdict[str, set[str]] = defaultdict(set)
    for neighbour, name, *_ in reader.rows_for("entity-names", {other for _, other in pairs}):
        names[neighbour.value].add(normalize_name(name.value))
    result: defaultdict[str, set[str]] = defaultdict(set)
    for entity, neighbour in pairs:
        result[entity] |= names[neighbour]
    for entity, text in reader.imported.rows_for("document-values", requested):
        last = text.value.rstrip(".").rpartition(" ")[2]
        result[entity.value] |= {last} if last.isdecimal() else set()
    return {entity: frozenset(several) for entity, several in result.items() if several}


def contradicted(own: GraphReader, target: GraphReader, pairs: set[IriPair]) -> set[IriPair]:
    """Pairs of which both sides state years, or something in the same words, and nothing equal.

    A value that is more precise, such as a date in a year, is equal. What an ontology declares as a
    property that may have several values at a time, such as "lent to", contradicts nothing.
    """
    here, there = facts(own, {a for a, _ in pairs}), facts(target, {b for _, b in pairs})
    declared = schema_of(ontology_triples(own))
    several = declared.properties.keys() - Constraints.read(own, declared).single
    labels = {declared.properties[property_].label for property_ in several}
    harmless = {*map(normalize_name, several | labels)}

    return {
        (entity, item)
        for entity, item in pairs
        for relation, texts in here[entity].items()
        if relation in there[item].keys() - harmless
        and not any(
            a.startswith(b) or b.startswith(a) for a in texts for b in there[item][relation]
        )
    }


def facts(reader: GraphReader, entities: set[str]) -> Mapping[str, Mapping[str, set[str]]]:
    """Entity -> property or phrase -> names of nodes and literals; all years are one property."""
    rows = [row[1:5] for row in reader.rows_for("statements", entities)]
    if reader.extracted.parts:
        typed = reader.select_provenance_for("typed-statements", entities)
        rows += [(row[1], row[3], row[2]) for row in typed]
    values = reader.imported.rows_for("entity-values", entities)
    rows += [(entity, value, property_) for entity, property_, value in values]
    names: defaultdict[str, set[str]] = defaultdict(set)
    nodes = {str(row[1].value) for row in rows if isinstance(row[1], ox.NamedNode)}
    for node, name, *_ in reader.rows_for("entity-names", nodes):
        names[node.value].add(normalize_name(name.value))
    result: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for entity, stated, *relations in rows:
        texts = {stated.value} if isinstance(stated, ox.Literal) else names[stated.value]
        keys = {normalize_name(r.value) for r in relations if r is not None and texts}
        for key in keys | ({"year"} if any(map(_YEAR.fullmatch, texts)) else set()):
            result[entity.value][key] |= texts
    return result
