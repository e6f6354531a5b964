"""What a graph has to be numbered: one pass over its entities and statements."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyoxigraph import Literal, NamedNode

from sarag_rdf.graph.rows import DOCUMENTS, GraphReader
from sarag_rdf.terms import iri
from sarag_rdf.wikibase.own_properties import canonical_phrase

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
        for source, digest, title, *_ in reader.kept("source-states"):
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
