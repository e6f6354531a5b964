"""What an export contains: the things that become items and properties."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.base.vocab import iri
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.plugins.wikibase.ontology import Ontologies, TypedProperty, datatype_of
from sarag_rdf.plugins.wikibase.own_properties import (
    ONTOLOGY_PROPERTIES,
    OWN_PROPERTIES,
    OwnProperty,
    canonical_phrase,
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
    their labels, and `phrases` canonical phrases to their most frequent spellings. `typed` are the
    properties of typed statements by their keys, `units` the IRIs of their units.
    """

    entities: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    sources: dict[str, CitedSource] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    properties: dict[str, Literal | None] = field(default_factory=dict)
    phrases: dict[str, Literal] = field(default_factory=dict)
    typed: dict[str, TypedProperty] = field(default_factory=dict)
    units: set[str] = field(default_factory=set)
    ontologies: Ontologies = field(default_factory=Ontologies)

    @property
    def own_properties(self) -> tuple[OwnProperty, ...]:
        """The properties that are not those of statements in the graph."""
        return (*OWN_PROPERTIES, *(ONTOLOGY_PROPERTIES if self.ontologies.triples else ()))


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
    if any(part.name == DOCUMENTS for part in reader.parts):
        _add_typed(reader, contents, entities, cited)
    contents.entities = sorted(entities | objects)
    contents.classes -= set(contents.entities)
    contents.units -= {*contents.entities, *contents.classes}
    contents.phrases = phrases.frequent(typed)
    _add_sources(reader, contents, cited)
    return contents


def _add_typed(
    reader: GraphReader, contents: ExportContents, entities: set[str], cited: set[str]
) -> None:
    """Add the properties and units of typed statements, and what ontologies say about them."""
    stated: set[tuple[str, str]] = set()
    for row in reader.select_provenance_for("typed-statements", entities):
        _, _, property_, object_, unit, _, _, document = row
        datatype = datatype_of(object_)
        stated.add((iri(property_), datatype))
        cited.add(iri(document))
        if unit is not None and datatype == "quantity":
            contents.units.add(iri(unit))
    ontologies = Ontologies.read(reader, {*contents.classes, *(name for name, _ in stated)})
    typed = {ontologies.typed_property(*pair) for pair in stated}
    if typed or not contents.classes.isdisjoint(ontologies.schema.classes):
        contents.ontologies = ontologies
        contents.typed = {property_.key(reader.minter): property_ for property_ in typed}
        contents.classes.update(ontologies.classes_around(contents.classes, typed))


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
