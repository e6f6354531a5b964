"""Converts a knowledge graph to entity documents: properties, then items, ordered by number."""

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
from sarag_rdf.wikibase.numbers import WikibaseIds, number
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
NO_LANGUAGE = "mul"
"""Language code of Wikibase for labels without a language, or for all languages."""
_SAME = frozenset(
    {"http://www.w3.org/2004/02/skos/core#exactMatch", "http://www.w3.org/2002/07/owl#sameAs"}
)

SolutionRow = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of statements, with `title` and `digest` if known."""

    title: Literal | None = None
    digest: str = ""


@dataclass(slots=True)
class ExportContents:
    """IRIs of all items and properties of an export.

    `documents` maps documents to their sources, `properties` the properties of imported graphs to
    their labels, and `phrases` canonical phrases to their most frequent spellings.
    """

    entities: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    sources: dict[str, CitedSource] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    properties: dict[str, Literal | None] = field(default_factory=dict)
    phrases: dict[str, Literal] = field(default_factory=dict)


@dataclass(slots=True)
class EntityRows:
    """The rows of the queries about one entity."""

    labels: list[SolutionRow] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    descriptions: list[Literal] = field(default_factory=list)
    statements: list[SolutionRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Export:
    """A graph that is ready for export.

    `added` are (IRI, id) pairs that are not yet stored. `page_info` is the revision of all
    documents, which is the number of runs of the indexer, and the end of the last run.
    """

    reader: GraphReader
    contents: ExportContents
    numbers: WikibaseIds
    added: tuple[tuple[str, str], ...]
    page_info: tuple[int, str]

    def entities(self) -> Iterator[Entity]:
        """All entity documents, read in batches; may be called repeatedly."""
        yield from self._properties()
        items = ItemBuilder(
            self.reader.minter, self.contents, self.numbers, identity_links(self.reader)
        )
        names = iter(sorted(self.items(), key=lambda name: number(self.numbers[name])))
        while batch := list(islice(names, BATCH)):
            rows = self._entity_rows(batch)
            for name in batch:
                content = items.item(name, rows[name])
                yield Entity(model.entity(self.numbers[name], self.page_info, content))

    def items(self) -> set[str]:
        """IRIs of all items."""
        return {*self.contents.entities, *self.contents.classes, *self.contents.sources}

    def _entity_rows(self, batch: list[str]) -> dict[str, EntityRows]:
        rows = {name: EntityRows() for name in batch}
        for row in self.reader.rows_for("entity-labels", batch):
            rows[iri(row[0])].labels.append(row)
        for entity, name in self.reader.rows_for("entity-names", batch):
            rows[iri(entity)].names.append(name)
        for entity, text in self.reader.rows_for("entity-descriptions", batch):
            rows[iri(entity)].descriptions.append(text)
        for row in self.reader.rows_for("statements", batch):
            rows[iri(row[1])].statements.append(row)
        return rows

    def _properties(self) -> Iterator[Entity]:
        """All properties; ids are added to equal labels, which Wikibase does not allow."""
        minter = self.reader.minter
        contents: dict[str, dict[str, Any]] = {}
        for own in OWN_PROPERTIES:
            contents[own.key(minter)] = self._own_property(own)
        for name, label in self.contents.properties.items():
            contents[name] = self._relation_property(name, label, target=name)
        for canonical, label in self.contents.phrases.items():
            name = phrase_key(minter, canonical)
            contents[name] = self._relation_property(name, label)
        used_labels: set[tuple[str, str]] = set()
        for name in sorted(contents, key=lambda name: number(self.numbers[name])):
            id_, content = self.numbers[name], contents[name]
            for language, label in content["labels"].items():
                if (language, label["value"]) in used_labels:
                    label["value"] = f"{label['value'][: model.TEXT_LIMIT - len(id_) - 3]} ({id_})"
                used_labels.add((language, label["value"]))
            yield Entity(model.entity(id_, self.page_info, content))

    def _own_property(self, own: OwnProperty) -> dict[str, Any]:
        key = own.key(self.reader.minter)
        return {
            "datatype": own.datatype,
            "labels": model.texts({"en": own.label}),
            "descriptions": model.texts({"en": own.description}),
            "claims": self._exact_match(key, own.term.value if own.term else ""),
        }

    def _relation_property(
        self, key: str, label: Literal | None, *, target: str = ""
    ) -> dict[str, Any]:
        """A property of an imported graph, or of a frequent phrase."""
        words = {} if label is None else {label.language or NO_LANGUAGE: label.value}
        words = words or {NO_LANGUAGE: target.rpartition("/")[2].rpartition("#")[2]}
        about = (
            f"property {target}" if target else f"relationship in these words ({self.numbers[key]})"
        )
        return {
            "datatype": "wikibase-item",
            "labels": model.texts(words),
            "descriptions": model.texts({"en": about}),
            "claims": self._exact_match(key, target),
        }

    def _exact_match(self, key: str, target: str) -> dict[str, Any]:
        if not target:
            return {}
        same = self.numbers[EXACT_MATCH.key(self.reader.minter)]
        snak = model.string_snak(same, target, "url")
        return model.claims([model.statement(self.numbers[key], (key, target), snak)])


def prepare_export(reader: GraphReader, contents: ExportContents) -> Export:
    """Assign ids to all entities and properties in `contents` that have none.

    The ids in `added` must be stored (`write_numbers`) before the export is written.
    """
    numbers, minter = WikibaseIds.read(reader), reader.minter
    added = numbers.add("P", [own.key(minter) for own in OWN_PROPERTIES])
    added += numbers.add("P", sorted(contents.properties))
    added += numbers.add("P", [phrase_key(minter, canonical) for canonical in contents.phrases])
    for group in (contents.classes, contents.sources, contents.entities):
        added += numbers.add("Q", sorted(group))
    ((runs, ended),) = reader.select_provenance("last-run")
    page_info = (max(1, int(runs.value)), ended.value if ended is not None else _NEVER)
    return Export(reader, contents, numbers, tuple(added), page_info)


def equivalences(export: Export, vocabulary: Vocabulary) -> Iterator[Triple]:
    """Equivalent properties of other vocabularies, which a Wikibase cannot express."""
    minter, numbers = export.reader.minter, export.numbers
    for own in OWN_PROPERTIES:
        if own.term is not None:
            id_ = numbers[own.key(minter)]
            yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, own.term)
            if own.predicate:
                predicate = vocabulary.predicate(own.predicate, id_)
                yield Triple(predicate, OWL.equivalentProperty, own.term)
    for name in sorted(export.contents.properties):
        id_, term = numbers[name], NamedNode(name)
        yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, term)
        yield Triple(vocabulary.predicate("wdt", id_), OWL.equivalentProperty, term)
    related = vocabulary.predicate("wdt", numbers[RELATED_TO.key(minter)])
    for canonical in export.contents.phrases:
        typed = vocabulary.predicate("wdt", numbers[phrase_key(minter, canonical)])
        yield Triple(typed, RDFS.subPropertyOf, related)


@dataclass(slots=True)
class ItemBuilder:
    """Builds the content of items, with unique pairs of label and description."""

    minter: Minter
    contents: ExportContents
    numbers: WikibaseIds
    links: dict[str, list[str]]
    _described: set[int] = field(default_factory=set)

    def item(self, name: str, rows: EntityRows) -> dict[str, Any]:
        """The content of the item of an entity, class or source."""
        labels, aliases = _names(rows)
        statements = [self._url(name, ORIGINAL, name)]
        statements += [self._url(name, EXACT_MATCH, t) for t in self.links.get(name, ())]
        descriptions = _descriptions(rows)
        if name in self.contents.sources:
            statements += self._source(name)
            labels = labels or self._title(name)
            descriptions = descriptions or {"en": f"source: {_local_name(name)}"}
        if name in self.contents.classes:
            labels = labels or {"en": CLASS_LABELS.get(name, _local_name(name))}
            descriptions = {"en": "kind of thing"}
        statements += self._classes(name, rows)
        statements += self._relations(name, rows.statements)
        return {
            "labels": model.texts(labels),
            "descriptions": self._distinct_descriptions(name, labels, model.texts(descriptions)),
            "aliases": aliases,
            "claims": model.claims(statements),
        }

    def _id(self, own: OwnProperty) -> str:
        return self.numbers[own.key(self.minter)]

    def _url(self, name: str, own: OwnProperty, target: str) -> model.Statement:
        snak = model.string_snak(self._id(own), target, "url")
        return model.statement(self.numbers[name], (name, target), snak)

    def _source(self, name: str) -> Iterator[model.Statement]:
        digest = self.contents.sources[name].digest
        if digest:
            snak = model.string_snak(self._id(DIGEST), digest)
            yield model.statement(self.numbers[name], (name, digest), snak)

    def _title(self, name: str) -> dict[str, str]:
        title = self.contents.sources[name].title
        if title is None or not title.value.strip():
            return {NO_LANGUAGE: _local_name(name)}
        return {title.language or NO_LANGUAGE: title.value}

    def _classes(self, name: str, rows: EntityRows) -> Iterator[model.Statement]:
        for class_ in sorted({iri(row[2]) for row in rows.labels if row[2] is not None}):
            snak = model.item_snak(self._id(INSTANCE_OF), self.numbers[class_])
            yield model.statement(self.numbers[name], (name, class_), snak)

    def _relations(self, name: str, rows: Iterable[SolutionRow]) -> Iterator[model.Statement]:
        groups: defaultdict[tuple[str, str, str], list[SolutionRow]] = defaultdict(list)
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

    def _properties(self, row: SolutionRow) -> Iterator[str]:
        """Keys of the specific properties of a statement."""
        if row[3] is not None:
            yield iri(row[3])
        elif row[4] is not None:
            canonical = canonical_phrase(row[4].value)
            if canonical in self.contents.phrases:
                yield phrase_key(self.minter, canonical)

    def _relation(
        self, name: str, key: str, target: str, relationship: str, rows: list[SolutionRow]
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
        source = self.numbers[self.contents.documents[document]]
        return model.reference(
            [
                model.item_snak(self._id(STATED_IN), source),
                model.string_snak(self._id(DOCUMENT), document, "url"),
            ]
        )

    def _distinct_descriptions(
        self, name: str, labels: dict[str, str], descriptions: model.Texts
    ) -> model.Texts:
        """Add the id to a description if another item has the same label and description.

        Wikibase does not allow two such items.
        """
        for language, text_value in descriptions.items():
            key = hash((language, labels.get(language), text_value["value"]))
            if language in labels and key in self._described:
                suffix = f" ({self.numbers[name]})"
                text_value["value"] = text_value["value"][: model.TEXT_LIMIT - len(suffix)] + suffix
            self._described.add(key)
        return descriptions


def _text_snak(property_id: str, text: Literal) -> model.Snak:
    return model.text_snak(property_id, text.value, text.language or "")


def _names(rows: EntityRows) -> tuple[dict[str, str], dict[str, Any]]:
    """Labels, one per language, and all other names as aliases."""
    labels: dict[str, str] = {}
    for name in sorted({row[1] for row in rows.labels if row[1] is not None}, key=str):
        labels.setdefault(name.language or NO_LANGUAGE, name.value)
    aliases: defaultdict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for name in sorted(set(rows.names), key=str):
        language = name.language or NO_LANGUAGE
        text_value = model.text(name.value, language)
        if text_value["value"] and text_value["value"] != " ".join(
            labels.get(language, "").split()
        ):
            aliases[language][text_value["value"]] = text_value
    return labels, {language: list(aliases[language].values()) for language in sorted(aliases)}


def _descriptions(rows: EntityRows) -> dict[str, str]:
    """The shortest description of each language; the English one starts with the class."""
    result: dict[str, str] = {}
    for text in sorted(set(rows.descriptions), key=lambda t: (len(t.value), str(t))):
        result.setdefault(text.language or NO_LANGUAGE, text.value)
    classes = sorted({iri(row[2]) for row in rows.labels if row[2] is not None})
    words = ", ".join(CLASS_LABELS[class_] for class_ in classes if class_ in CLASS_LABELS)
    if words:
        result["en"] = f"{words}: {result['en']}" if "en" in result else words
    return result


def _local_name(name: str) -> str:
    """The last part of an IRI, decoded."""
    return unquote(name.rstrip("/#").rpartition("#")[2].rpartition("/")[2]) or name


def collect_contents(reader: GraphReader, *, typed: int = 0) -> ExportContents:
    """Collect the contents of an export, with phrases of at least `typed` statements (0: none)."""
    contents = ExportContents()
    entities = {iri(row[0]) for row in reader.rows("entity-texts")}
    for _, _, class_ in reader.rows_for("entity-labels", entities):
        if class_ is not None:
            contents.classes.add(iri(class_))
    cited, objects, phrases = set(), set(), _Phrases()
    for row in reader.rows_for("statements", entities):
        _, entity, object_, property_, phrase, _, _, document = row
        objects.add(iri(object_))
        if document is not None and document != entity:  # else it is the page of the entity
            cited.add(iri(document))
        if property_ is not None:
            _add_property(contents, iri(property_), phrase)
        elif phrase is not None and typed:
            phrases.add(row)
    contents.entities = sorted(entities | objects)
    contents.classes -= set(contents.entities)
    contents.phrases = phrases.frequent(typed)
    _add_sources(reader, contents, cited)
    return contents


def _add_property(contents: ExportContents, name: str, label: Literal | None) -> None:
    """Add a property; of several labels the first one is used."""
    labels = [text for text in (contents.properties.get(name), label) if text is not None]
    contents.properties[name] = min(labels, key=str, default=None)


class _Phrases:
    """Counts the statements of each canonical phrase, and its spellings."""

    def __init__(self) -> None:
        self._statements: defaultdict[str, set[str]] = defaultdict(set)
        self._spellings: defaultdict[str, Counter[Literal]] = defaultdict(Counter)

    def add(self, row: SolutionRow) -> None:
        canonical = canonical_phrase(row[4].value)
        self._statements[canonical].add(iri(row[0]))
        self._spellings[canonical][row[4]] += 1

    def frequent(self, count: int) -> dict[str, Literal]:
        """Canonical phrase -> its most frequent spelling, with at least `count` statements."""
        return {
            canonical: min(spellings, key=lambda s: (-spellings[s], str(s)))
            for canonical, spellings in sorted(self._spellings.items())
            if canonical and len(self._statements[canonical]) >= count
        }


def _add_sources(reader: GraphReader, contents: ExportContents, cited: set[str]) -> None:
    """Add all sources of documents, and the sources of statements in imported graphs."""
    contents.documents = {name: name for name in cited}
    titles: dict[str, Literal] = {}
    for document, source, title, _, begin, *_ in reader.rows_for("documents", cited):
        contents.documents[iri(document)] = name = iri(source)
        if title is not None and begin is not None:  # a chunk has the title of its source
            titles.setdefault(name, title)
    contents.sources = {
        name: CitedSource(titles.get(name)) for name in set(contents.documents.values())
    }
    if any(part.name == DOCUMENTS for part in reader.parts):
        for source, digest, title, *_ in reader.select_provenance("source-states"):
            name = iri(source)
            contents.sources[name] = CitedSource(titles.get(name, title), digest.value)


def identity_links(reader: GraphReader) -> dict[str, list[str]]:
    """Entity -> items that it is linked to as identical."""
    links: defaultdict[str, set[str]] = defaultdict(set)
    for quad in reader.store.quads(reader.minter.links_graph):
        if quad.predicate.value in _SAME and isinstance(quad.object, NamedNode):
            links[iri(quad.subject)].add(quad.object.value)
    return {name: sorted(targets) for name, targets in links.items()}
