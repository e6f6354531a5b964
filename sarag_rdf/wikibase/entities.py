"""Converts a knowledge graph to entity documents: properties, then items, by number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.graph.reader import BATCH, DOCUMENTS, GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.terms import iri
from sarag_rdf.vocab import OWL, RDFS
from sarag_rdf.wikibase import model
from sarag_rdf.wikibase.model import Entity
from sarag_rdf.wikibase.numbers import Numbers, number
from sarag_rdf.wikibase.own_properties import (
    CLASS_LABELS,
    CONFIDENCE,
    DIGEST,
    DOCUMENT,
    EXACT_MATCH,
    INSTANCE_OF,
    ORIGINAL,
    OWN_PROPERTIES,
    PHRASE,
    RELATED_TO,
    STATED_IN,
    TEXT,
    OwnProperty,
    canonical_phrase,
    phrase_key,
)
from sarag_rdf.wikibase.vocabulary import Vocabulary

_NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Export:
    """A graph that is ready to be written; `added` are numbers that its table does not have yet.

    `page` is the revision that every document bears, the number of runs of the indexer, and when
    the last of them ended.
    """

    reader: GraphReader
    survey: Survey
    numbers: Numbers
    added: tuple[tuple[str, str], ...]
    page: tuple[int, str]

    def entities(self) -> Iterator[Entity]:
        """Every document, made a batch at a time; may be called again."""
        yield from self._properties()
        items = Items(self.reader.minter, self.survey, self.numbers, links_of(self.reader))
        names = iter(sorted(self.items(), key=lambda name: number(self.numbers[name])))
        while batch := list(islice(names, BATCH)):
            facts = self._facts(batch)
            for name in batch:
                held = items.item(name, facts[name])
                yield Entity(model.entity(self.numbers[name], self.page, held))

    def items(self) -> set[str]:
        """IRIs of all that is an item."""
        return {*self.survey.entities, *self.survey.classes, *self.survey.sources}

    def _facts(self, batch: list[str]) -> dict[str, Facts]:
        facts = {name: Facts() for name in batch}
        for row in self.reader.rows_for("entity-labels", batch):
            facts[iri(row[0])].labels.append(row)
        for entity, name in self.reader.rows_for("entity-names", batch):
            facts[iri(entity)].names.append(name)
        for entity, text in self.reader.rows_for("entity-descriptions", batch):
            facts[iri(entity)].descriptions.append(text)
        for row in self.reader.rows_for("statements", batch):
            facts[iri(row[1])].statements.append(row)
        return facts

    def _properties(self) -> Iterator[Entity]:
        """A Wikibase takes no two properties of one label: then the id is added."""
        minter = self.reader.minter
        made: dict[str, dict[str, Any]] = {}
        for own in OWN_PROPERTIES:
            made[own.key(minter)] = self._own(own)
        for name, label in self.survey.properties.items():
            made[name] = self._typed(name, label, target=name)
        for canonical, label in self.survey.phrases.items():
            name = phrase_key(minter, canonical)
            made[name] = self._typed(name, label)
        taken: set[tuple[str, str]] = set()
        for name in sorted(made, key=lambda name: number(self.numbers[name])):
            id_, held = self.numbers[name], made[name]
            for language, label in held["labels"].items():
                if (language, label["value"]) in taken:
                    label["value"] = f"{label['value'][: model.TEXT_LIMIT - len(id_) - 3]} ({id_})"
                taken.add((language, label["value"]))
            yield Entity(model.entity(id_, self.page, held))

    def _own(self, own: OwnProperty) -> dict[str, Any]:
        key = own.key(self.reader.minter)
        return {
            "datatype": own.datatype,
            "labels": model.texts({"en": own.label}),
            "descriptions": model.texts({"en": own.description}),
            "claims": self._match(key, own.term.value if own.term else ""),
        }

    def _typed(self, key: str, label: Literal | None, *, target: str = "") -> dict[str, Any]:
        """A property of an imported graph, or of a phrase that recurs."""
        words = {} if label is None else {label.language or NO_LANGUAGE: label.value}
        words = words or {NO_LANGUAGE: target.rpartition("/")[2].rpartition("#")[2]}
        about = (
            f"property {target}" if target else f"relationship in these words ({self.numbers[key]})"
        )
        return {
            "datatype": "wikibase-item",
            "labels": model.texts(words),
            "descriptions": model.texts({"en": about}),
            "claims": self._match(key, target),
        }

    def _match(self, key: str, target: str) -> dict[str, Any]:
        if not target:
            return {}
        same = self.numbers[EXACT_MATCH.key(self.reader.minter)]
        snak = model.string_snak(same, target, "url")
        return model.claims([model.statement(self.numbers[key], (key, target), snak)])


def prepare(reader: GraphReader, found: Survey) -> Export:
    """Number what has no number yet of what was found in a graph (`survey`).

    What is in `added` must be written (`write_numbers`) before anything is exported.
    """
    numbers, minter = Numbers.read(reader), reader.minter
    added = numbers.add("P", [own.key(minter) for own in OWN_PROPERTIES])
    added += numbers.add("P", sorted(found.properties))
    added += numbers.add("P", [phrase_key(minter, canonical) for canonical in found.phrases])
    for group in (found.classes, found.sources, found.entities):
        added += numbers.add("Q", sorted(group))
    ((runs, ended),) = reader.select_provenance("last-run")
    page = (max(1, int(runs.value)), ended.value if ended is not None else _NEVER)
    return Export(reader, found, numbers, tuple(added), page)


def equivalences(export: Export, vocabulary: Vocabulary) -> Iterator[Triple]:
    """What the exported properties mean elsewhere; a Wikibase itself has no place for it."""
    minter, numbers = export.reader.minter, export.numbers
    for own in OWN_PROPERTIES:
        if own.term is not None:
            id_ = numbers[own.key(minter)]
            yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, own.term)
            if own.predicate:
                predicate = vocabulary.predicate(own.predicate, id_)
                yield Triple(predicate, OWL.equivalentProperty, own.term)
    for name in sorted(export.survey.properties):
        id_, term = numbers[name], NamedNode(name)
        yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, term)
        yield Triple(vocabulary.predicate("wdt", id_), OWL.equivalentProperty, term)
    related = vocabulary.predicate("wdt", numbers[RELATED_TO.key(minter)])
    for canonical in export.survey.phrases:
        typed = vocabulary.predicate("wdt", numbers[phrase_key(minter, canonical)])
        yield Triple(typed, RDFS.subPropertyOf, related)


NO_LANGUAGE = "mul"
"""Language code of Wikibase for a label in no language, or in all."""


@dataclass(slots=True)
class Facts:
    """Rows of the queries about one entity."""

    labels: list[Row] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    descriptions: list[Literal] = field(default_factory=list)
    statements: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Items:
    """Makes the content of items; descriptions are kept apart over all that are made."""

    minter: Minter
    survey: Survey
    numbers: Numbers
    links: dict[str, list[str]]
    _described: set[int] = field(default_factory=set)

    def item(self, name: str, facts: Facts) -> dict[str, Any]:
        """What the item of an IRI holds, whatever the IRI is of."""
        labels, aliases = _names(facts)
        made = [self._url(name, ORIGINAL, name)]
        made += [self._url(name, EXACT_MATCH, target) for target in self.links.get(name, ())]
        descriptions = _descriptions(facts)
        if name in self.survey.sources:
            made += self._source(name)
            labels = labels or self._title(name)
            descriptions = descriptions or {"en": f"source: {_tail(name)}"}
        if name in self.survey.classes:
            labels = labels or {"en": CLASS_LABELS.get(name, _tail(name))}
            descriptions = {"en": "kind of thing"}
        made += self._classes(name, facts)
        made += self._relations(name, facts.statements)
        return {
            "labels": model.texts(labels),
            "descriptions": self._unlike_others(name, labels, model.texts(descriptions)),
            "aliases": aliases,
            "claims": model.claims(made),
        }

    def _id(self, own: OwnProperty) -> str:
        return self.numbers[own.key(self.minter)]

    def _url(self, name: str, own: OwnProperty, target: str) -> model.Statement:
        snak = model.string_snak(self._id(own), target, "url")
        return model.statement(self.numbers[name], (name, target), snak)

    def _source(self, name: str) -> Iterator[model.Statement]:
        digest = self.survey.sources[name].digest
        if digest:
            snak = model.string_snak(self._id(DIGEST), digest)
            yield model.statement(self.numbers[name], (name, digest), snak)

    def _title(self, name: str) -> dict[str, str]:
        title = self.survey.sources[name].title
        if title is None or not title.value.strip():
            return {NO_LANGUAGE: _tail(name)}
        return {title.language or NO_LANGUAGE: title.value}

    def _classes(self, name: str, facts: Facts) -> Iterator[model.Statement]:
        for class_ in sorted({iri(row[2]) for row in facts.labels if row[2] is not None}):
            snak = model.item_snak(self._id(INSTANCE_OF), self.numbers[class_])
            yield model.statement(self.numbers[name], (name, class_), snak)

    def _relations(self, name: str, rows: Iterable[Row]) -> Iterator[model.Statement]:
        groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in rows:
            relationship, _, object_, property_, *_ = row
            target = iri(object_)
            for key in self._properties(row):
                groups[key, target, iri(relationship)].append(row)
            if property_ is None:
                generic = RELATED_TO.key(self.minter)
                groups[generic, target, iri(relationship)].append(row)
        order = sorted(groups, key=lambda k: (number(self.numbers[k[1]]), k[2], k[0]))
        for key, target, relationship in order:
            yield self._relation(name, key, target, relationship, groups[key, target, relationship])

    def _properties(self, row: Row) -> Iterator[str]:
        """Keys of typed properties that say what a statement says."""
        if row[3] is not None:
            yield iri(row[3])
        elif row[4] is not None:
            canonical = canonical_phrase(row[4].value)
            if canonical in self.survey.phrases:
                yield phrase_key(self.minter, canonical)

    def _relation(
        self, name: str, key: str, target: str, relationship: str, rows: list[Row]
    ) -> model.Statement:
        qualifiers: list[model.Snak] = []
        references = []
        for _, _, _, property_, phrase, text, confidence, document in sorted(rows, key=str):
            if text is not None:
                qualifiers.append(_text_snak(self._id(TEXT), text))
            if phrase is not None and property_ is None:
                qualifiers.append(_text_snak(self._id(PHRASE), phrase))
            if confidence is not None:
                qualifiers.append(model.quantity_snak(self._id(CONFIDENCE), confidence.value))
            if document is not None and iri(document) != name:
                references.append(self._reference(iri(document)))
        snak = model.item_snak(self.numbers[key], self.numbers[target])
        return model.statement(
            self.numbers[name], (relationship, name, target), snak, qualifiers, references
        )

    def _reference(self, document: str) -> dict[str, Any]:
        source = self.numbers[self.survey.documents[document]]
        return model.reference(
            [
                model.item_snak(self._id(STATED_IN), source),
                model.string_snak(self._id(DOCUMENT), document, "url"),
            ]
        )

    def _unlike_others(
        self, name: str, labels: dict[str, str], descriptions: model.Texts
    ) -> model.Texts:
        """A Wikibase takes no two items of one label and description: then the id is added."""
        for language, held in descriptions.items():
            key = hash((language, labels.get(language), held["value"]))
            if language in labels and key in self._described:
                mark = f" ({self.numbers[name]})"
                held["value"] = held["value"][: model.TEXT_LIMIT - len(mark)] + mark
            self._described.add(key)
        return descriptions


def _text_snak(property_id: str, text: Literal) -> model.Snak:
    return model.text_snak(property_id, text.value, text.language or "")


def _names(facts: Facts) -> tuple[dict[str, str], dict[str, Any]]:
    """Labels, one a language, and aliases: all other names."""
    labels: dict[str, str] = {}
    for name in sorted({row[1] for row in facts.labels if row[1] is not None}, key=str):
        labels.setdefault(name.language or NO_LANGUAGE, name.value)
    aliases: defaultdict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for name in sorted(set(facts.names), key=str):
        language = name.language or NO_LANGUAGE
        held = model.text(name.value, language)
        if held["value"] and held["value"] != " ".join(labels.get(language, "").split()):
            aliases[language][held["value"]] = held
    return labels, {language: list(aliases[language].values()) for language in sorted(aliases)}


def _descriptions(facts: Facts) -> dict[str, str]:
    """The shortest description of each language; in English the class goes before it."""
    made: dict[str, str] = {}
    for text in sorted(set(facts.descriptions), key=lambda t: (len(t.value), str(t))):
        made.setdefault(text.language or NO_LANGUAGE, text.value)
    classes = sorted({iri(row[2]) for row in facts.labels if row[2] is not None})
    words = ", ".join(CLASS_LABELS[class_] for class_ in classes if class_ in CLASS_LABELS)
    if words:
        made["en"] = f"{words}: {made['en']}" if "en" in made else words
    return made


def _tail(name: str) -> str:
    """The end of an IRI, to be read by people."""
    return unquote(name.rstrip("/#").rpartition("#")[2].rpartition("/")[2]) or name


Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What statements are drawn from; `digest` and `title` where they are known."""

    title: Literal | None = None
    digest: str = ""


@dataclass(slots=True)
class Survey:
    """IRIs of everything that becomes an item or a property, and what they are called by.

    `documents` leads from the parts of sources to the sources, `properties` from the properties of
    an imported graph to their labels, `phrases` from canonical phrases to how they are written.
    """

    entities: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    sources: dict[str, Source] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    properties: dict[str, Literal | None] = field(default_factory=dict)
    phrases: dict[str, Literal] = field(default_factory=dict)


def survey(reader: GraphReader, *, typed: int = 0) -> Survey:
    """Go through a graph; phrases of at least `typed` statements count, none if it is 0."""
    found = Survey()
    entities = {iri(row[0]) for row in reader.rows("entity-texts")}
    for _, _, class_ in reader.rows_for("entity-labels", entities):
        if class_ is not None:
            found.classes.add(iri(class_))
    cited, objects, phrases = set(), set(), _Phrases()
    for row in reader.rows_for("statements", entities):
        _, entity, object_, property_, phrase, _, _, document = row
        objects.add(iri(object_))
        if document is not None and document != entity:  # else it is the entity's own page
            cited.add(iri(document))
        if property_ is not None:
            _add_property(found, iri(property_), phrase)
        elif phrase is not None and typed:
            phrases.add(row)
    found.entities = sorted(entities | objects)
    found.classes -= set(found.entities)
    found.phrases = phrases.of_at_least(typed)
    _add_sources(reader, found, cited)
    return found


def _add_property(found: Survey, name: str, label: Literal | None) -> None:
    """A property with several labels goes by the first of them."""
    labels = [text for text in (found.properties.get(name), label) if text is not None]
    found.properties[name] = min(labels, key=str, default=None)


class _Phrases:
    """Counts the statements of each canonical phrase, and its spellings."""

    def __init__(self) -> None:
        self._statements: defaultdict[str, set[str]] = defaultdict(set)
        self._spellings: defaultdict[str, Counter[Literal]] = defaultdict(Counter)

    def add(self, row: Row) -> None:
        canonical = canonical_phrase(row[4].value)
        self._statements[canonical].add(iri(row[0]))
        self._spellings[canonical][row[4]] += 1

    def of_at_least(self, count: int) -> dict[str, Literal]:
        """Canonical phrases with their commonest spellings."""
        return {
            canonical: min(spellings, key=lambda s: (-spellings[s], str(s)))
            for canonical, spellings in sorted(self._spellings.items())
            if canonical and len(self._statements[canonical]) >= count
        }


def _add_sources(reader: GraphReader, found: Survey, cited: set[str]) -> None:
    """All sources of the documents' part, and what the statements of other parts are drawn from."""
    found.documents = {name: name for name in cited}
    titles: dict[str, Literal] = {}
    for document, source, title, _, begin, *_ in reader.rows_for("documents", cited):
        found.documents[iri(document)] = name = iri(source)
        if title is not None and begin is not None:  # a stretch bears the title of its source
            titles.setdefault(name, title)
    found.sources = {name: Source(titles.get(name)) for name in set(found.documents.values())}
    if any(part.name == DOCUMENTS for part in reader.parts):
        for source, digest, title, *_ in reader.select_provenance("source-states"):
            name = iri(source)
            found.sources[name] = Source(titles.get(name, title), digest.value)


def links_of(reader: GraphReader) -> dict[str, list[str]]:
    """What entities are linked to as the same."""
    links: defaultdict[str, set[str]] = defaultdict(set)
    for quad in reader.store.quads(reader.minter.links_graph):
        if quad.predicate.value in _SAME and isinstance(quad.object, NamedNode):
            links[iri(quad.subject)].add(quad.object.value)
    return {name: sorted(targets) for name, targets in links.items()}


_SAME = frozenset(
    {"http://www.w3.org/2004/02/skos/core#exactMatch", "http://www.w3.org/2002/07/owl#sameAs"}
)
