"""Names and texts, fetched late and only for what is shown or read.

A graph that was not made from documents has a page for every entity instead: its description, and
what the graph states of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.types import Document, EntityType
from sarag_rdf.vocab import TYPE_CLASSES

STATED = 50
"""Relationships that a page holds at most, the first by their texts."""
_TYPES: dict[str, EntityType] = {
    node.value: cast("EntityType", name) for name, node in TYPE_CLASSES.items()
}


def by_language(literal: Any) -> tuple[int, str, str]:
    """English comes first, then what has no language, then the others by their tags."""
    language = (literal.language or "").lower()
    first = 0 if language.split("-")[0] == "en" else 1 if language in ("", "mul") else 2
    return first, language, literal.value


def entity_labels(
    reader: GraphReader, entities: Iterable[str]
) -> dict[str, tuple[str, EntityType]]:
    """Name and type of each entity, the name as `by_language` chooses."""
    names: defaultdict[str, list[Any]] = defaultdict(list)
    types: defaultdict[str, set[EntityType]] = defaultdict(set)
    for entity, name, class_ in reader.rows_for("entity-labels", entities):
        names[entity.value].append(name)
        if class_ is not None and class_.value in _TYPES:
            types[entity.value].add(_TYPES[class_.value])
    return {
        entity: (min(found, key=by_language).value, min(types[entity], default="misc"))
        for entity, found in names.items()
    }


def documents_of(reader: GraphReader, entities: Iterable[str]) -> dict[str, list[str]]:
    """Entity -> IRIs of the documents that describe it, ascending."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entity, document in reader.rows_for("entity-documents", entities):
        found[entity.value].append(document.value)
    return {entity: sorted(documents) for entity, documents in found.items()}


def full_documents(reader: GraphReader, iris: Iterable[str]) -> dict[str, Document]:
    """Documents, and pages of entities, by IRI."""
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    for row in reader.rows_for("documents", iris):
        rows[row[0].value].append(row)
    pages = {iri for iri, found in rows.items() if found[0][4] is None}
    stated: defaultdict[str, set[str]] = defaultdict(set)
    for document, *_, text in reader.imported.rows_for("document-relationships", pages):
        stated[document.value].add(text.value)
    return {
        iri: _page(iri, found, stated[iri]) if iri in pages else _document(*found[0])
        for iri, found in rows.items()
    }


def _document(
    iri: Any, source: Any, title: Any, text: Any, begin: Any, end: Any, language: Any
) -> Document:
    return Document(
        iri.value,
        source.value,
        title.value if title else "",
        text.value,
        int(begin.value),
        int(end.value),
        language.value,
    )


def _page(iri: str, rows: list[Any], stated: Iterable[str]) -> Document:
    _, source, title, _, _, _, language = min(rows, key=lambda row: by_language(row[2]))
    descriptions = [row[3] for row in rows if row[3] is not None]
    text = page_text(descriptions, stated)
    return Document(iri, source.value, title.value, text, 0, len(text), language.value)


def page_text(descriptions: Iterable[Any], stated: Iterable[str]) -> str:
    """A description, as `by_language` chooses, and what is stated, a line each."""
    best = min(descriptions, key=by_language, default=None)
    lines = sorted(set(stated))[:STATED]
    return "\n".join(lines if best is None else [best.value, *lines])


def relationship_texts(reader: GraphReader, iris: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Relationship -> its text and the document that states it."""
    found: dict[str, tuple[str, str]] = {}
    for iri, text, document in reader.rows_for("relationships", iris):
        told = text.value, document.value
        found[iri.value] = min(found.get(iri.value, told), told)
    return found
