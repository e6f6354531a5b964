"""How a graph uses classes and properties: instances, statements, domains and ranges as found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from sarag_rdf.graph.reader import DOCUMENTS, GraphReader, Part
from sarag_rdf.types import ClassUse, PropertyUse, SchemaUse, TermCount
from sarag_rdf.vocab import SARAG

_KIND = "index"
"""The folder of the queries."""


def schema_use(
    reader: GraphReader,
    graph: str,
    classes: Collection[str] | None = None,
    properties: Collection[str] | None = None,
    *,
    with_ends: bool = True,
) -> SchemaUse:
    """The use of these classes and properties in a named graph, or of all that it has.

    Domains and ranges take most of the time; without `with_ends` they are left empty.
    """
    part = Part(DOCUMENTS, _KIND, {"kg": graph}, reader.store)
    source = GraphReader(reader.store, reader.minter, (part,))
    instances = {row[0].value: int(row[1].value) for row in source.rows("class-counts")}
    if classes is not None:
        instances = {iri: instances.get(iri, 0) for iri in classes}
    names = properties
    if names is None:
        names = [row[0].value for row in source.rows("properties-used")]
    return SchemaUse(
        tuple(
            sorted(
                (ClassUse(iri, count) for iri, count in instances.items()),
                key=lambda use: (-use.instances, use.iri),
            )
        ),
        tuple(
            sorted(
                _properties(source, names, with_ends=with_ends),
                key=lambda use: (-use.statements, use.iri),
            )
        ),
    )


def _properties(
    source: GraphReader, iris: Collection[str], *, with_ends: bool
) -> list[PropertyUse]:
    counts = {
        property_.value: (int(statements.value), int(subjects.value), int(objects.value))
        for property_, statements, subjects, objects in source.rows_for("property-counts", iris)
    }
    used = counts if with_ends else ()
    domains = _term_counts(source, used, "subject-classes")
    ranges = _term_counts(source, used, "object-classes", "object-datatypes")
    return [
        PropertyUse(iri, *counts.get(iri, (0, 0, 0)), domains.get(iri, ()), ranges.get(iri, ()))
        for iri in iris
    ]


def _term_counts(
    source: GraphReader, iris: Collection[str], *queries: str
) -> dict[str, tuple[TermCount, ...]]:
    """Classes or datatypes by property, most frequent first; that of all entities is left out."""
    found: defaultdict[str, list[TermCount]] = defaultdict(list)
    for query in queries:
        for property_, term, count in source.rows_for(query, iris):
            if term is not None and term != SARAG.Entity:
                found[property_.value].append(TermCount(term.value, int(count.value)))
    return {
        property_: tuple(sorted(terms, key=lambda term: (-term.count, term.iri)))
        for property_, terms in found.items()
    }
