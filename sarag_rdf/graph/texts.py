"""Names and texts of nodes, fetched late and only for what is shown or read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

from sarag_rdf.graph.delta import Delta, Kind
from sarag_rdf.graph.reader import GraphReader
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


Items = list[tuple[str, str]]
"""IRIs and their texts, by IRI."""


def texts_of(reader: GraphReader, kind: Kind) -> Items:
    """IRIs and texts of one kind, by IRI; of several languages as `by_language` chooses.

    A document's title stands before its text, or else the name of what it is about.
    """
    rows = reader.rows(f"{kind}-texts")
    if kind == "document":
        return _titled(rows, _stated(reader.imported))
    return _chosen(rows)


def texts_for(reader: GraphReader, kind: Kind, iris: Iterable[str]) -> Items:
    """The same for those of the given nodes that the graph of documents has."""
    rows = reader.select_provenance_for(f"{kind}-texts", iris)
    return _titled(rows, {}) if kind == "document" else _chosen(rows)


def told_apart(reader: GraphReader, delta: Delta) -> bool:
    """Whether no imported graph speaks of what changed in the graph of documents."""
    touched = frozenset().union(*delta.touched.values())
    return next(reader.imported.rows_for("entity-labels", touched), None) is None


def _chosen(rows: Iterable[tuple[Any, ...]]) -> Items:
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text in rows:
        texts[iri.value].append(text)
    return sorted((iri, min(found, key=by_language).value) for iri, found in texts.items())


def _titled(rows: Iterable[tuple[Any, ...]], stated: dict[str, list[str]]) -> Items:
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    titles: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text, *named in rows:
        texts[iri.value] += [text] if text is not None else []
        titles[iri.value] += [title for title in named if title is not None][:1]
    found = []
    for iri in sorted(titles):
        parts = [min(titles[iri], key=by_language).value] if titles[iri] else []
        parts += [page_text(texts[iri], stated.get(iri, ()))]
        found.append((iri, "\n".join(part for part in parts if part)))
    return found


def _stated(reader: GraphReader) -> dict[str, list[str]]:
    """Page -> texts of the relationships that start at its entity."""
    texts = dict(texts_of(reader, "relationship"))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for relationship, subject, _ in reader.rows("relationship-ends"):
        found[subject.value].append(texts[relationship.value])
    return found
