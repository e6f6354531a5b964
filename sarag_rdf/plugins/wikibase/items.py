"""Converts a knowledge graph to entity documents: properties, then items, ordered by number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.iris import Minter, local_name
from sarag_rdf.base.vocab import OWL, RDFS, SARAG, SKOS, WIKIBASE, iri
from sarag_rdf.building.link_records import identities
from sarag_rdf.graph.graph_reader import BATCH, GraphReader, term_reader
from sarag_rdf.graph.parts import imported_graphs
from sarag_rdf.graph.valid_time import NO_TIMES, Times, stated_times
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase import typed_properties as own
from sarag_rdf.plugins.wikibase.model import Entity
from sarag_rdf.plugins.wikibase.numbers import WikibaseIds, number
from sarag_rdf.plugins.wikibase.snak_values import literal_snak
from sarag_rdf.plugins.wikibase.typed_properties import (
    ITEM,
    Ontologies,
    OwnProperty,
    TypedProperty,
    canonical_phrase,
    datatype_of,
    imported_parts,
    phrase_key,
    unit_texts,
)
from sarag_rdf.plugins.wikibase.vocabulary import PREDICATES, WIKIDATA, Vocabulary

SolutionRow = tuple[Any, ...]
_RANKS = {WIKIBASE.PreferredRank: "preferred", WIKIBASE.DeprecatedRank: "deprecated"}
IDENTITIES = (OWL.sameAs, SKOS.exactMatch)
"""Properties of imported graphs that become *exact match*."""


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of statements, with `title` and `digest` if known."""

    title: Literal | None = None
    digest: str = ""


@dataclass(slots=True)
class ExportContents:
    """IRIs of all items and properties of an export.

    `documents` maps documents to their sources, and `phrases` canonical phrases to their most
    frequent spellings. `typed` are the properties of typed statements and imported graphs by their
    keys, `units` the IRIs of their units, `times` the times of the relationships that state them,
    as far as they have any, and `ranks` those that are not normal.
    `values`, such as dates and adjectives, are not exported, nor are relationships to them.
    """

    entities: list[str] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    sources: dict[str, CitedSource] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    phrases: dict[str, Literal] = field(default_factory=dict)
    typed: dict[str, TypedProperty] = field(default_factory=dict)
    units: set[str] = field(default_factory=set)
    times: dict[str, Times] = field(default_factory=dict)
    ranks: dict[str, str] = field(default_factory=dict)
    ontologies: Ontologies = field(default_factory=Ontologies)

    @property
    def own_properties(self) -> tuple[OwnProperty, ...]:
        """The properties that are not those of statements in the graph."""
        return (
            *own.OWN_PROPERTIES,
            *(own.ONTOLOGY_PROPERTIES if self.ontologies.triples else ()),
            *(own.TIME_QUALIFIERS if self.times else ()),
        )


def collect_contents(reader: GraphReader, *, typed: int = 0) -> ExportContents:
    """Collect the contents of an export, with phrases of at least `typed` statements (0: none)."""
    contents = ExportContents()
    rows = reader.select_provenance_for("instances", [SARAG.Value.value])
    values = {iri(row[1]) for row in rows}
    entities = {iri(row[0]) for row in reader.rows("entity-texts")} - values
    for _, _, class_ in reader.rows_for("entity-labels", entities):
        if class_ is not None:
            contents.classes.add(iri(class_))
    cited, objects, in_words = set[str](), set[str](), []
    for row in reader.extracted.rows_for("statements", entities):
        if iri(row[2]) in values:
            continue
        objects.add(iri(row[2]))
        cited.add(iri(row[7]))
        in_words += [row] if typed else []
    _add_typed(reader, contents, entities, cited)
    contents.entities, contents.values = sorted({*contents.entities, *entities, *objects}), values
    contents.classes -= set(contents.entities)
    contents.units -= {*contents.entities, *contents.classes}
    contents.phrases = _frequent(in_words, typed)
    _add_sources(reader, contents, cited)
    return contents


def _add_typed(
    reader: GraphReader, contents: ExportContents, entities: set[str], cited: set[str]
) -> None:
    """Add the properties and units of typed statements, and what ontologies say about them."""
    stated: set[tuple[str, str]] = set()
    if reader.extracted.parts:
        times = stated_times(reader)
        ranks = reader.select_provenance("ranks")
        contents.ranks = {iri(node): _RANKS[rank] for node, rank in ranks}
        for row in typed_rows(reader, entities):
            relationship, _, property_, object_, unit, _, _, document = row
            if known := times.get(iri(relationship)):
                contents.times[iri(relationship)] = known
            datatype = datatype_of(object_)
            stated.add((iri(property_), datatype))
            cited.add(iri(document))
            if unit is not None and datatype == "quantity":
                contents.units.add(iri(unit))
    terms = {*contents.classes, *(name for name, _ in stated)}
    for part in imported_parts(reader):
        terms |= {iri(term) for (term,) in term_reader(reader, part).rows("properties-used")}
    ontologies = Ontologies.read(reader, terms)
    for *_, property_, value, _, _, _, graph in imported_rows(reader, entities, ontologies):
        if property_ not in IDENTITIES:
            stated.add((iri(property_), datatype_of(value)))
            contents.entities += [value.value] if isinstance(value, NamedNode) else []
            cited.add(iri(graph))
    if unread := {name for name, _ in stated} - terms:  # of statement nodes in Wikibase dumps
        ontologies = Ontologies.read(reader, terms | unread)
    typed = {ontologies.typed_property(*pair) for pair in stated}
    if typed or not contents.classes.isdisjoint(ontologies.schema.classes):
        contents.ontologies = ontologies
        contents.typed = {property_.key(reader.minter): property_ for property_ in typed}
        contents.classes.update(ontologies.classes_around(contents.classes, typed))


def typed_rows(reader: GraphReader, entities: Iterable[str]) -> Iterator[SolutionRow]:
    """The typed statements about entities, with the deprecated ones."""
    entities = set(entities)
    for name in ("typed-statements", "deprecated-statements"):
        yield from reader.select_provenance_for(name, entities)


def imported_rows(
    reader: GraphReader, entities: Iterable[str], ontologies: Ontologies
) -> Iterator[SolutionRow]:
    """What imported graphs state, in the columns of `typed_rows`: relationships, then values."""
    entities = set(entities)
    for part in imported_parts(reader):
        own, graph = replace(reader, over=(part,)), NamedNode(part.graphs["kg"])
        for row in own.rows_for("statements", entities):
            yield row[0], row[1], row[3], row[2], None, row[5], row[6], graph
        for entity, property_, value in own.rows_for("entity-values", entities):
            value = ontologies.as_declared(iri(property_), value)
            yield graph, entity, property_, value, None, None, None, graph


def _frequent(rows: Iterable[SolutionRow], count: int) -> dict[str, Literal]:
    """Canonical phrase -> its most frequent spelling, of those with at least `count` statements."""
    statements: defaultdict[str, set[str]] = defaultdict(set)
    spellings: defaultdict[str, Counter[Literal]] = defaultdict(Counter)
    for relationship, _, _, _, phrase, *_ in rows:
        canonical = canonical_phrase(phrase.value)
        statements[canonical].add(iri(relationship))
        spellings[canonical][phrase] += 1
    return {
        canonical: min(several, key=lambda s: (-several[s], str(s)))
        for canonical, several in sorted(spellings.items())
        if canonical and len(statements[canonical]) >= count
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
    if reader.extracted.parts:
        for source, digest, title, *_ in reader.select_provenance("source-states"):
            name = iri(source)
            contents.sources[name] = CitedSource(titles.get(name, title), digest.value)
    for imported in imported_graphs(reader):
        if imported.graph in contents.sources:
            title = Literal(imported.name)
            contents.sources[imported.graph] = CitedSource(title, imported.sha256)


_NEVER = "1970-01-01T00:00:00Z"


@dataclass(slots=True)
class EntityRows:
    """The rows of the queries about one entity."""

    labels: list[SolutionRow] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    descriptions: list[Literal] = field(default_factory=list)
    statements: list[SolutionRow] = field(default_factory=list)
    typed: list[SolutionRow] = field(default_factory=list)
    same: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Export:
    """A graph that is ready for export; `added` are (IRI, id) pairs that are not yet stored.

    `page_info` is the revision of all documents, which is the number of runs of the indexer, and
    the end of the last run.
    """

    reader: GraphReader
    contents: ExportContents
    numbers: WikibaseIds
    added: tuple[tuple[str, str], ...]
    page_info: tuple[int, str]
    vocabulary: Vocabulary

    def entities(self) -> Iterator[Entity]:
        """All entity documents, read in batches; may be called repeatedly."""
        links: defaultdict[str, list[str]] = defaultdict(list)
        for name, target in identities(self.reader):
            links[name].append(target)
        minter = self.reader.minter
        builder = EntityBuilder(minter, self.contents, self.numbers, links, self.vocabulary)
        for id_, content in builder.properties():
            yield Entity(model.entity(id_, self.page_info, content))
        names = sorted(self.items(), key=lambda name: number(self.numbers[name]))
        for batch in batches(names, BATCH):
            rows = self._entity_rows(batch)
            for name in batch:
                content = builder.item(name, rows[name])
                yield Entity(model.entity(self.numbers[name], self.page_info, content))

    def items(self) -> set[str]:
        contents = self.contents
        return {*contents.entities, *contents.classes, *contents.sources, *contents.units}

    def _entity_rows(self, batch: list[str]) -> dict[str, EntityRows]:
        rows = {name: EntityRows() for name in batch}
        for row in self.reader.rows_for("entity-labels", batch):
            rows[iri(row[0])].labels.append(row)
        for entity, name in self.reader.rows_for("entity-names", batch):
            rows[iri(entity)].names.append(name)
        for entity, text in self.reader.rows_for("entity-descriptions", batch):
            rows[iri(entity)].descriptions.append(text)
        for row in self.reader.extracted.rows_for("statements", batch):
            if iri(row[2]) not in self.contents.values:
                rows[iri(row[1])].statements.append(row)
        if self.contents.typed and self.reader.extracted.parts:
            for row in typed_rows(self.reader, batch):
                rows[iri(row[1])].typed.append(row)
        for row in imported_rows(self.reader, batch, self.contents.ontologies):
            entity = rows[iri(row[1])]
            if row[2] in IDENTITIES:
                entity.same.add(row[3].value)
            else:
                entity.typed.append(row)
        return rows


def prepare_export(reader: GraphReader, contents: ExportContents, namespace: str) -> Export:
    """Assign ids to all entities and properties in `contents` that have none.

    `write_numbers` must store the `added` ones before the export is written. `namespace` is the
    base of ``entity/``, ``prop/`` and so on, by default ``wikibase/`` below the base of the graph.
    Raises `UsageError` for an invalid one.
    """
    top = Minter.for_base(namespace).base if namespace else f"{reader.minter.base}wikibase/"
    numbers, minter = WikibaseIds.read(reader), reader.minter
    added = numbers.add("P", [each.key(minter) for each in contents.own_properties])
    typed = contents.typed
    added += numbers.add("P", sorted(typed, key=lambda k: (typed[k].iri, typed[k].datatype)))
    added += numbers.add("P", [phrase_key(minter, canonical) for canonical in contents.phrases])
    for group in (contents.classes, contents.sources, contents.entities, contents.units):
        added += numbers.add("Q", sorted(group))
    ((runs, ended),) = reader.select_provenance("last-run")
    page_info = (max(1, int(runs.value)), ended.value if ended is not None else _NEVER)
    vocabulary = Vocabulary(f"{top}entity/")
    return Export(reader, contents, numbers, tuple(added), page_info, vocabulary)


def equivalences(export: Export) -> Iterator[Triple]:
    """Equivalent properties of other vocabularies, which a Wikibase cannot express."""
    minter, numbers, vocabulary = export.reader.minter, export.numbers, export.vocabulary
    for property_ in export.contents.own_properties:
        if property_.term is not None:
            id_ = numbers[property_.key(minter)]
            yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, property_.term)
            if property_.predicate:
                predicate = vocabulary.predicate(property_.predicate, id_)
                yield Triple(predicate, OWL.equivalentProperty, property_.term)
    contents = export.contents
    same = (
        (key, *pair)
        for key, stated in contents.typed.items()
        for pair in ((stated.iri, stated.iri), *equal_predicates(contents.ontologies, stated))
    )
    for key, term, direct in sorted(same):
        id_ = numbers[key]
        yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, NamedNode(term))
        yield Triple(vocabulary.predicate("wdt", id_), OWL.equivalentProperty, NamedNode(direct))
    related = vocabulary.predicate("wdt", numbers[own.RELATED_TO.key(minter)])
    for canonical in export.contents.phrases:
        typed = vocabulary.predicate("wdt", numbers[phrase_key(minter, canonical)])
        yield Triple(typed, RDFS.subPropertyOf, related)


@dataclass(slots=True)
class EntityBuilder:
    """Builds properties with unique labels, and items with unique labels and descriptions."""

    minter: Minter
    contents: ExportContents
    numbers: WikibaseIds
    links: Mapping[str, list[str]]
    vocabulary: Vocabulary
    _described: set[tuple[str, str | None, str]] = field(default_factory=set)

    def properties(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(id, content) by number; ids are added to equal labels, which Wikibase does not allow."""
        contents: dict[str, dict[str, Any]] = {}
        for property_ in self.contents.own_properties:
            contents[property_.key(self.minter)] = self._own_property(property_)
        for canonical, label in self.contents.phrases.items():
            name = phrase_key(self.minter, canonical)
            contents[name] = self._phrase_property(name, label)
        for name, typed in self.contents.typed.items():
            contents[name] = self._typed_property(name, typed)
        used_labels: set[tuple[str, str]] = set()
        for name in sorted(contents, key=lambda name: number(self.numbers[name])):
            id_, content = self.numbers[name], contents[name]
            for language, label in content["labels"].items():
                if (language, label["value"]) in used_labels:
                    label["value"] = f"{label['value'][: model.TEXT_LIMIT - len(id_) - 3]} ({id_})"
                used_labels.add((language, label["value"]))
            yield id_, content

    def _own_property(self, property_: OwnProperty) -> dict[str, Any]:
        key, term = property_.key(self.minter), property_.term
        return {
            "datatype": property_.datatype,
            "labels": model.texts({"en": property_.label}),
            "descriptions": model.texts({"en": property_.description}),
            "claims": model.claims([self._url(key, own.EXACT_MATCH, term.value)] if term else []),
        }

    def _phrase_property(self, key: str, label: Literal) -> dict[str, Any]:
        """The property of a frequent phrase."""
        about = f"relationship in these words ({self.numbers[key]})"
        return {
            "datatype": ITEM,
            "labels": model.texts({label.language or model.NO_LANGUAGE: label.value}),
            "descriptions": model.texts({"en": about}),
            "claims": {},
        }

    def _typed_property(self, key: str, typed: TypedProperty) -> dict[str, Any]:
        """A property of an ontology, with its domain, range, and equal properties."""
        ontologies = self.contents.ontologies
        labels = ontologies.labels(typed.iri)
        descriptions = {"en": f"property {typed.iri}", **ontologies.descriptions(typed.iri)}
        if not ontologies.is_declared(typed):
            labels = {code: f"{label} ({typed.datatype})" for code, label in labels.items()}
        equal, close = equal_predicates(ontologies, typed), ontologies.close_terms(typed.iri)
        claims = [self._url(key, own.EXACT_MATCH, typed.iri)]
        claims += [self._url(key, own.EQUIVALENT_PROPERTY, other) for other, _ in equal]
        claims += [self._url(key, own.CLOSE_MATCH, other) for other in close]
        claims += [self._item(key, own.DOMAIN, class_) for class_ in ontologies.domains(typed.iri)]
        claims += [self._item(key, own.RANGE, class_) for class_ in ontologies.ranges(typed)]
        return {
            "datatype": typed.datatype,
            "labels": model.texts(labels),
            "descriptions": model.texts(descriptions),
            "aliases": model.aliases(labels, ontologies.aliases(typed.iri)),
            "claims": model.claims(claims),
        }

    def item(self, name: str, rows: EntityRows) -> dict[str, Any]:
        """The content of the item of an entity, class or source."""
        labels: dict[str, str] = {}
        for text in sorted({row[1] for row in rows.labels if row[1] is not None}, key=str):
            labels.setdefault(text.language or model.NO_LANGUAGE, text.value)
        aliases = model.aliases(labels, sorted(set(rows.names), key=str))
        classes = sorted({iri(row[2]) for row in rows.labels if row[2] is not None})
        statements = [self._url(name, own.ORIGINAL, name)]
        same = sorted({*self.links.get(name, ()), *rows.same})
        statements += [self._url(name, own.EXACT_MATCH, target) for target in same]
        known = self.contents.ontologies
        words = [own.CLASS_LABELS[class_] for class_ in classes if class_ in own.CLASS_LABELS]
        words = words or [
            known.labels(c).get("en", "") for c in classes if c in known.schema.classes
        ]
        descriptions = _descriptions(rows, ", ".join(filter(None, words)))
        if name in self.contents.sources:
            if digest := self.contents.sources[name].digest:
                snak = model.string_snak(self._id(own.DIGEST), digest)
                statements.append(model.statement(self.numbers[name], (name, digest), snak))
            labels = labels or self._title(name)
            descriptions = descriptions or {"en": f"source: {local_name(name)}"}
        if name in self.contents.classes:
            ontologies = self.contents.ontologies
            if name in ontologies.schema.classes:
                labels = labels or ontologies.labels(name)
                statements += self._class_axioms(name)
            labels = labels or {"en": own.CLASS_LABELS.get(name, local_name(name))}
            descriptions = ontologies.descriptions(name) or {"en": "kind of thing"}
        if name in self.contents.units:
            labels, descriptions, names = unit_texts(name)
            aliases = model.aliases(labels, names)
        statements += [self._item(name, own.INSTANCE_OF, class_) for class_ in classes]
        statements += self._relations(name, rows.statements)
        statements += self._typed_statements(name, rows.typed)
        return {
            "labels": model.texts(labels),
            "descriptions": self._distinct_descriptions(name, labels, model.texts(descriptions)),
            "aliases": aliases,
            "claims": model.claims(statements),
        }

    def _id(self, property_: OwnProperty) -> str:
        return self.numbers[property_.key(self.minter)]

    def _url(self, name: str, property_: OwnProperty, target: str) -> model.Statement:
        snak = model.string_snak(self._id(property_), target, "url")
        return model.statement(self.numbers[name], (name, target), snak)

    def _item(self, name: str, property_: OwnProperty, target: str) -> model.Statement:
        snak = model.item_snak(self._id(property_), self.numbers[target])
        return model.statement(self.numbers[name], (name, target), snak)

    def _class_axioms(self, name: str) -> Iterator[model.Statement]:
        """Superclasses of a class of an ontology, and classes of others that are the same."""
        ontologies = self.contents.ontologies
        for parent in ontologies.parents(name):
            yield self._item(name, own.SUBCLASS_OF, parent)
        for other in ontologies.equal_terms(name):
            yield self._url(name, own.EQUIVALENT_CLASS, other)
        for other in ontologies.close_terms(name):
            yield self._url(name, own.CLOSE_MATCH, other)

    def _title(self, name: str) -> dict[str, str]:
        title = self.contents.sources[name].title
        if title is None or not title.value.strip():
            return {model.NO_LANGUAGE: local_name(name)}
        return {title.language or model.NO_LANGUAGE: title.value}

    def _relations(self, name: str, rows: Iterable[SolutionRow]) -> Iterator[model.Statement]:
        groups: defaultdict[tuple[str, str, str], list[SolutionRow]] = defaultdict(list)
        generic = own.RELATED_TO.key(self.minter)
        for row in rows:
            canonical = canonical_phrase(row[4].value)
            is_frequent = canonical in self.contents.phrases
            for key in (generic, *((phrase_key(self.minter, canonical),) if is_frequent else ())):
                groups[key, iri(row[2]), iri(row[0])].append(row)
        order = sorted(groups, key=lambda k: (number(self.numbers[k[1]]), k[2], k[0]))
        for key, target, relationship in order:
            same = sorted(groups[key, target, relationship], key=str)
            qualifiers: list[model.Snak] = []
            for *_, phrase, text, confidence, _ in same:
                qualifiers.append(_text_snak(self._id(own.TEXT), text))
                qualifiers.append(_text_snak(self._id(own.PHRASE), phrase))
                qualifiers.append(model.quantity_snak(self._id(own.CONFIDENCE), confidence.value))
            references = [self._reference(iri(row[7])) for row in same]
            snak = model.item_snak(self.numbers[key], self.numbers[target])
            seed = relationship, name, target
            yield model.statement(self.numbers[name], seed, snak, qualifiers, references)

    def _typed_statements(
        self, name: str, rows: Iterable[SolutionRow]
    ) -> Iterator[model.Statement]:
        """One statement for each property, value and times, with all sentences that make it."""
        groups: dict[tuple[str, Times], tuple[model.Snak, list[SolutionRow]]] = {}
        for row in sorted(rows, key=str):
            snak = self._typed_snak(row)
            if snak["datavalue"]["value"] != "":  # which Wikibase does not take
                key = snak["hash"], self._times(row)
                groups.setdefault(key, (snak, []))[1].append(row)
        order = sorted(
            groups.values(), key=lambda group: (number(group[0]["property"]), *self._seed(group[1]))
        )
        for snak, group in order:
            yield self._typed_statement(name, snak, group)

    def _times(self, row: SolutionRow) -> Times:
        """The times of the relationship of a typed statement."""
        return self.contents.times.get(iri(row[0]), NO_TIMES)

    def _seed(self, rows: list[SolutionRow]) -> tuple[str, ...]:
        """Value, unit and times of a statement as text; of several spellings, the first one."""
        first = min((str(row[3]), str(row[4] or "")) for row in rows)
        times = self._times(rows[0])
        return (*first, *(str(time or "") for time in times if times != NO_TIMES))

    def _typed_snak(self, row: SolutionRow) -> model.Snak:
        _, _, property_, object_, unit, *_ = row
        typed = self.contents.ontologies.typed_property(iri(property_), datatype_of(object_))
        property_id = self.numbers[typed.key(self.minter)]
        if not isinstance(object_, Literal):
            return model.item_snak(property_id, self.numbers[iri(object_)])
        item = model.NO_UNIT
        if unit is not None and typed.datatype == "quantity":
            item = self.vocabulary.thing(self.numbers[iri(unit)]).value
        return literal_snak(property_id, object_, typed.datatype, item)

    def _typed_statement(
        self, name: str, snak: model.Snak, rows: list[SolutionRow]
    ) -> model.Statement:
        sentences = sorted({row[5] for row in rows if row[5] is not None}, key=str)
        qualifiers = [_text_snak(self._id(own.TEXT), sentence) for sentence in sentences]
        if sure := [row[6] for row in rows if row[6] is not None]:
            surest = max(sure, key=lambda term: (float(term.value), str(term)))
            qualifiers.append(model.quantity_snak(self._id(own.CONFIDENCE), surest.value))
        for property_, time in zip(own.TIME_QUALIFIERS, self._times(rows[0]), strict=True):
            if time is not None and datatype_of(time) == property_.datatype:
                qualifiers.append(literal_snak(self._id(property_), time, property_.datatype))
        references = [self._reference(document) for document in {iri(row[7]) for row in rows}]
        seed = (name, *self._seed(rows))
        rank = self.contents.ranks.get(iri(rows[0][0]), "normal")
        return model.statement(self.numbers[name], seed, snak, qualifiers, references, rank)

    def _reference(self, document: str) -> dict[str, Any]:
        source = self.numbers[self.contents.documents[document]]
        return model.reference(
            [
                model.item_snak(self._id(own.STATED_IN), source),
                model.string_snak(self._id(own.DOCUMENT), document, "url"),
            ]
        )

    def _distinct_descriptions(
        self, name: str, labels: dict[str, str], descriptions: model.Texts
    ) -> model.Texts:
        """Add the id to a description that another item with the same label has."""
        for language, text_value in descriptions.items():
            key = (language, labels.get(language), text_value["value"])
            if language in labels and key in self._described:
                suffix = f" ({self.numbers[name]})"
                text_value["value"] = text_value["value"][: model.TEXT_LIMIT - len(suffix)] + suffix
            self._described.add(key)
        return descriptions


def _text_snak(property_id: str, text: Literal) -> model.Snak:
    return model.text_snak(property_id, text.value, text.language or "")


def _descriptions(rows: EntityRows, words: str) -> dict[str, str]:
    """The shortest description of each language; the English one starts with the class."""
    result: dict[str, str] = {}
    for text in sorted(set(rows.descriptions), key=lambda t: (len(t.value), str(t))):
        result.setdefault(text.language or model.NO_LANGUAGE, text.value)
    if words:
        result["en"] = f"{words}: {result['en']}" if "en" in result else words
    return result


_WIKIDATA_PROPERTY = re.compile(r"\A" + re.escape(WIKIDATA) + r"(P[1-9]\d*)\Z")
_DIRECT = rf"{WIKIDATA.removesuffix('entity/')}{PREDICATES['wdt']}\1"


def equal_predicates(ontologies: Ontologies, typed: TypedProperty) -> list[tuple[str, str]]:
    """Properties that ontologies declare equal, each with the predicate of its triples.

    That of Wikidata's properties is ``wdt:``. Values of another datatype than the ontology declares
    have no equal properties.
    """
    equal = ontologies.equal_terms(typed.iri) if ontologies.is_declared(typed) else ()
    return [(other, _WIKIDATA_PROPERTY.sub(_DIRECT, other)) for other in equal]
