"""How a graph uses classes and properties, and their names: the schema in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

from pyoxigraph import Literal

from sarag_rdf.base.iris import plain_words
from sarag_rdf.base.types import ClassUse, PropertyUse, SchemaUse, TermCount
from sarag_rdf.base.vocab import OWL, PROV, RDF, RDFS, SARAG, SKOS, VOID, WIKIBASE, WIKIBASE_SCHEMA
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader, Part, term_reader
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema, schema_of
from sarag_rdf.graph.parts import LINKS, ontology_triples, stored_ontologies
from sarag_rdf.graph.texts import by_language

_KIND = "index"
"""The folder of the queries."""
_FOREIGN: Final = (
    *(RDF.base, RDFS.base, OWL.base, PROV.base, VOID.base),
    *(WIKIBASE.base, WIKIBASE_SCHEMA.base),
)
"""Namespaces whose terms say how a graph is made; the last two in Wikibase dumps alone."""
_NO_PROPERTIES: Final = frozenset(
    SKOS[name].value
    for name in (
        *("prefLabel", "altLabel", "hiddenLabel", "inScheme", "topConceptOf", "hasTopConcept"),
        *("exactMatch", "closeMatch", "definition", "note", "notation"),
    )
)


def schema_use(
    reader: GraphReader,
    graph: str,
    classes: Collection[str] | None = None,
    properties: Collection[str] | None = None,
    *,
    with_ends: bool = True,
) -> SchemaUse:
    """The use of these classes and properties in a named graph, by default of all it has."""
    part = Part(DOCUMENTS, _KIND, {"kg": graph}, reader.store)
    source = GraphReader(reader.store, reader.minter, (part,))
    instances = {row[0].value: int(row[1].value) for row in source.rows("class-counts")}
    if classes is not None:
        instances = {iri: instances.get(iri, 0) for iri in classes}
    names = properties
    if names is None:
        names = [row[0].value for row in source.rows("properties-used")]
    counts = {
        property_.value: (int(statements.value), int(subjects.value), int(objects.value))
        for property_, statements, subjects, objects in source.rows_for("property-counts", names)
    }
    used = counts if with_ends else ()
    domains = _term_counts(source, used, "subject-classes")
    ranges = _term_counts(source, used, "object-classes", "object-datatypes")
    classes_used = (ClassUse(iri, count) for iri, count in instances.items())
    properties_used = (
        PropertyUse(iri, *counts.get(iri, (0, 0, 0)), domains.get(iri, ()), ranges.get(iri, ()))
        for iri in names
    )
    return SchemaUse(
        tuple(sorted(classes_used, key=lambda use: (-use.instances, use.iri))),
        tuple(sorted(properties_used, key=lambda use: (-use.statements, use.iri))),
    )


def _term_counts(
    source: GraphReader, iris: Collection[str], *queries: str
) -> dict[str, tuple[TermCount, ...]]:
    """Classes or datatypes by property, most frequent first; that of all entities is left out."""
    counts: defaultdict[str, list[TermCount]] = defaultdict(list)
    for query in queries:
        for property_, term, count in source.rows_for(query, iris):
            if term is not None and term not in (SARAG.Entity, SARAG.Value):
                counts[property_.value].append(TermCount(term.value, int(count.value)))
    return {
        property_: tuple(sorted(terms, key=lambda term: (-term.count, term.iri)))
        for property_, terms in counts.items()
    }


def used_terms(reader: GraphReader, part: Part, ontology: Schema) -> SchemaUse:
    """The used terms of a part, of the documents those of the ontology, without their ends."""
    is_own = part.name == DOCUMENTS
    use = schema_use(
        reader,
        part.graphs["kg"],
        ontology.classes if is_own else None,
        ontology.properties if is_own else None,
        with_ends=False,
    )
    naming = {iri for iris in part.paths.values() for iri in iris} | _NO_PROPERTIES
    is_wikibase = part.kind.startswith("wikibase")

    def is_class(use: ClassUse) -> bool:
        return use.instances > 0 and (is_own or not (is_wikibase or _is_foreign(use.iri)))

    def is_property(use: PropertyUse) -> bool:
        if not use.statements or (is_wikibase and "/prop/direct/" not in use.iri):
            return False
        return is_own or not (_is_foreign(use.iri, part.kind) or use.iri in naming)

    return SchemaUse(
        tuple(filter(is_class, use.classes)), tuple(filter(is_property, use.properties))
    )


def _is_foreign(iri: str, kind: str = "") -> bool:
    spaces = _FOREIGN if kind.startswith("wikibase") else _FOREIGN[:-2]
    return iri.startswith(spaces)


def labelled_terms(reader: GraphReader, labels: Iterable[Literal]) -> dict[str, str]:
    """IRI -> label of the classes and properties that a part of a graph uses and labels so."""
    literals = sorted(set(labels), key=str)
    return {
        term.value: label.value
        for part in reader.parts
        if "kg" in part.graphs
        for label, term in term_reader(reader, part).rows_named(literals, "labelled-terms")
    }


def local_words(iri: str) -> str:
    """The words of the local name of an IRI, in lower case but for abbreviations."""
    words = plain_words(unquote(iri.rstrip("#/:"))).split()
    return " ".join(word.lower() if word.istitle() else word for word in words) or iri


class SchemaInUse:
    """What queries need of a schema: the parts to read together, the ontology, and names."""

    def __init__(self, reader: GraphReader) -> None:
        self.reader = reader
        self.parts = tuple(p for p in reader.parts if p.name != LINKS and p.store is reader.store)

    @cached_property
    def ontology(self) -> Schema:
        """The stored ontologies, or else the packaged one: their labels hold for all parts."""
        stored = stored_ontologies(self.reader)
        return schema_of(ontology_triples(self.reader)) if stored else common_schema()

    @property
    def graphs(self) -> list[str]:
        """The graphs of the parts, to be queried together; none for the default graph."""
        graphs = [part.graphs["kg"] for part in self.parts]
        return graphs if all(graphs) else []

    def used(self, part: Part) -> SchemaUse:
        """The classes and properties of a part; see `used_terms`."""
        return used_terms(self.reader, part, self.ontology)

    def with_ends(self, part: Part, properties: Collection[str]) -> tuple[PropertyUse, ...]:
        """Properties of a part with the classes and datatypes at their ends."""
        return schema_use(self.reader, part.graphs["kg"], (), properties).properties

    def rows_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query about graphs in general, part by part; see `GraphReader.rows_for`."""
        requested = sorted(set(iris))
        for part in self.parts:
            yield from term_reader(self.reader, part).rows_for(name, requested)

    def names(self, iris: Iterable[str]) -> dict[str, str]:
        """IRI -> its label in the ontology or the graph, or else the words of its local name."""
        requested = sorted(set(iris))
        labels: defaultdict[str, list[Any]] = defaultdict(list)
        for term, label in self.rows_for("term-labels", requested):
            labels[term.value].append(label)
        names = {}
        for iri in requested:
            declared = self.ontology.properties.get(iri) or self.ontology.classes.get(iri)
            name = declared.label if declared else ""
            if not name and labels[iri]:
                name = min(labels[iri], key=by_language).value
            names[iri] = " ".join((name or local_words(iri)).split())
        return names
