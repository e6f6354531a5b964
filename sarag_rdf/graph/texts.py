"""Names and texts, fetched late and only for what is shown or read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import cast

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.types import Document, EntityType
from sarag_rdf.vocab import TYPE_CLASSES

_TYPES: dict[str, EntityType] = {
    node.value: cast("EntityType", name) for name, node in TYPE_CLASSES.items()
}


def entity_labels(
    reader: GraphReader, entities: Iterable[str]
) -> dict[str, tuple[str, EntityType]]:
    """Name and type of each entity; English names first, then by language tag."""
    found: dict[str, tuple[tuple[bool, str, str], EntityType]] = {}
    for entity, name, class_ in reader.rows_for("entity-labels", entities):
        language = name.language or ""
        rank = (not language.startswith("en"), language, name.value)
        best = found.get(entity.value)
        if best is None or rank < best[0]:
            found[entity.value] = rank, _TYPES.get(class_.value, "misc")
    return {entity: (rank[2], type_) for entity, (rank, type_) in found.items()}


def documents_of(reader: GraphReader, entities: Iterable[str]) -> dict[str, list[str]]:
    """Entity -> IRIs of the documents that describe it, ascending."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entity, document in reader.rows_for("entity-documents", entities):
        found[entity.value].append(document.value)
    return {entity: sorted(documents) for entity, documents in found.items()}


def full_documents(reader: GraphReader, iris: Iterable[str]) -> dict[str, Document]:
    """Documents by IRI."""
    rows = reader.rows_for("documents", iris)
    return {
        iri.value: Document(
            iri.value,
            source.value,
            title.value if title else "",
            text.value,
            int(begin.value),
            int(end.value),
            language.value,
        )
        for iri, source, title, text, begin, end, language in rows
    }


def relationship_texts(reader: GraphReader, iris: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Relationship -> its text and the document that states it."""
    return {
        iri.value: (text.value, document.value)
        for iri, text, document in reader.rows_for("relationships", iris)
    }
