"""Names, texts and statements of nodes: of displayed nodes, or of a whole kind for indexing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

from pyoxigraph import Literal

from sarag_rdf.base.types import Document, EntityType, Statement
from sarag_rdf.base.vocab import TYPE_CLASSES
from sarag_rdf.graph.graph_reader import Delta, GraphReader, Kind
from sarag_rdf.graph.valid_time import timed

MAX_PAGE_RELATIONSHIPS = 50
"""Relationships on a page, the first in the order of their texts."""
MAX_PAGE_VALUES = 20
"""Literals on a page, such as dates and numbers, the first in the order of their texts."""
_TYPES: dict[str, EntityType] = {
    node.value: cast("EntityType", name) for name, node in TYPE_CLASSES.items()
}


def by_language(literal: Any) -> tuple[int, str, str]:
    """Sort key of literals: English, then no language (or ``mul``), then by language tag."""
    language = (literal.language or "").lower()
    first = 0 if language.split("-")[0] == "en" else 1 if language in ("", "mul") else 2
    return first, language, literal.value


def entity_labels(
    reader: GraphReader, entities: Iterable[str]
) -> dict[str, tuple[str, EntityType]]:
    """Entity -> (name, type); the name is the first by `by_language`."""
    names: defaultdict[str, list[Any]] = defaultdict(list)
    types: defaultdict[str, set[EntityType]] = defaultdict(set)
    for entity, name, class_ in reader.rows_for("entity-labels", entities):
        names[entity.value].append(name)
        if class_ is not None and class_.value in _TYPES:
            types[entity.value].add(_TYPES[class_.value])
    return {
        entity: (min(labels, key=by_language).value, min(types[entity], default="misc"))
        for entity, labels in names.items()
    }


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> defaultdict[str, list[str]]:
    """First term -> second terms, as texts."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for first, second in pairs:
        groups[first.value].append(second.value)
    return groups


def documents_of(reader: GraphReader, entities: Iterable[str]) -> dict[str, list[str]]:
    """Entity -> IRIs of the documents that describe it, ascending."""
    documents_by_entity = _grouped(reader.rows_for("entity-documents", entities))
    return {entity: sorted(documents) for entity, documents in documents_by_entity.items()}


def full_documents(reader: GraphReader, iris: Iterable[str]) -> dict[str, Document]:
    """Documents, and pages of imported entities (descriptions, literals, relationships), by IRI."""
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    requested = frozenset(iris)
    for row in reader.rows_for("documents", requested):
        rows[row[0].value].append(row)
    for row in reader.imported.rows_for("passages", requested):
        rows[row[0].value].append(row)
    pages = {iri for iri, page_rows in rows.items() if page_rows[0][4] is None}
    rows_of_pages = reader.imported.rows_for("document-relationships", pages)
    relationships = _grouped((row[0], row[-1]) for row in rows_of_pages)
    values = _grouped(reader.imported.rows_for("document-values", pages))
    return {
        iri: _page(iri, document_rows, relationships[iri], values[iri])
        if iri in pages
        else _document(*min(document_rows, key=lambda row: by_language(row[2] or Literal(""))))
        for iri, document_rows in rows.items()
    }


def _document(*row: Any) -> Document:
    iri, source, title, text, begin, end, language = (cell.value if cell else "" for cell in row)
    return Document(iri, source, title, text, int(begin), int(end), language)


def _page(
    iri: str, rows: list[Any], relationships: Iterable[str], values: Iterable[str]
) -> Document:
    _, source, title, _, _, _, language = min(rows, key=lambda row: by_language(row[2]))
    descriptions = [row[3] for row in rows if row[3] is not None]
    text = page_text(descriptions, relationships, values)
    return Document(iri, source.value, title.value, text, 0, len(text), language.value)


def page_text(
    descriptions: Iterable[Any], relationships: Iterable[str], values: Iterable[str] = ()
) -> str:
    """The first description by `by_language`, then literals and relationships, one per line."""
    best = min(descriptions, key=by_language, default=None)
    lines = sorted(set(values))[:MAX_PAGE_VALUES]
    lines += sorted(set(relationships))[:MAX_PAGE_RELATIONSHIPS]
    return "\n".join(lines if best is None else [best.value, *lines])


def relationship_texts(reader: GraphReader, iris: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Relationship -> (text, IRI of its document)."""
    texts: dict[str, tuple[str, str]] = {}
    for iri, text, document in reader.rows_for("relationships", iris):
        pair = text.value, document.value
        texts[iri.value] = min(texts.get(iri.value, pair), pair)
    return texts


Items = list[tuple[str, str]]
"""(IRI, text) pairs in the order of IRIs."""
_NONE: Items = []


def texts_of(reader: GraphReader, kind: Kind, relationships: Items = _NONE) -> Items:
    """The texts of all nodes of a kind; that of a document starts with its title, or its topic.

    `relationships` are the texts of all relationships, which those of pages of imported entities
    have; they are read if they are not given.
    """
    rows = reader.rows(f"{kind}-texts")
    if kind == "document":
        values = _grouped(reader.imported.rows("value-texts"))
        stated = _relationships_by_subject(reader.imported, relationships)
        return _titled_texts(rows, stated, values)
    return _one_text_each(rows)


def texts_for(reader: GraphReader, kind: Kind, iris: Iterable[str]) -> Items:
    """The texts of the given nodes, for those that are in the graph of documents."""
    rows = reader.select_provenance_for(f"{kind}-texts", iris)
    return _titled_texts(rows, {}, {}) if kind == "document" else _one_text_each(rows)


def is_disjoint_from_imports(reader: GraphReader, delta: Delta) -> bool:
    """Whether no imported graph has an entity that changed in the graph of documents."""
    touched = frozenset().union(*delta.touched.values())
    return next(reader.imported.rows_for("entity-labels", touched), None) is None


def _one_text_each(rows: Iterable[tuple[Any, ...]]) -> Items:
    texts: dict[str, Any] = {}
    for node, text in rows:  # most have one text, and may be millions
        iri = node.value
        texts[iri] = min(texts[iri], text, key=by_language) if iri in texts else text
    return sorted((iri, text.value) for iri, text in texts.items())


def _titled_texts(
    rows: Iterable[tuple[Any, ...]],
    relationships: dict[str, list[str]],
    values: dict[str, list[str]],
) -> Items:
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    titles: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text, *candidates in rows:
        texts[iri.value] += [text] if text is not None else []
        titles[iri.value] += [title for title in candidates if title is not None][:1]
    items = []
    for iri in sorted(titles):
        parts = [min(titles[iri], key=by_language).value] if titles[iri] else []
        parts += [page_text(texts[iri], relationships.get(iri, ()), values.get(iri, ()))]
        items.append((iri, "\n".join(part for part in parts if part)))
    return items


def _relationships_by_subject(reader: GraphReader, known: Items) -> dict[str, list[str]]:
    """Entity -> texts of the relationships of which it is the subject, from those of all."""
    rows = reader.rows("relationship-ends")
    texts = dict(known or (texts_of(reader, "relationship") if rows else ()))
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for relationship, subject, _ in rows:
        groups[subject.value].append(texts[relationship.value])
    return groups


def statements_from(
    reader: GraphReader, entities: Iterable[str], *, inverse: bool = False
) -> dict[str, list[Statement]]:
    """Entity -> the statements that start there, and with `inverse` those that end there.

    Statements of equal subject, phrase, object and times, which several documents state, count
    once, by the first IRI. They are ordered by phrase, names and IRI. Statements from an entity to
    itself are left out. Raises `StoreError`.
    """
    requested = sorted(set(entities))
    rows = {row[0].value: row for row in reader.rows_for("statements", requested)}
    if inverse:
        ending = {iri.value: s.value for iri, s, _ in reader.rows_for("links-to", requested)}
        others = reader.rows_for("statements", set(ending.values()) - set(requested))
        rows |= {row[0].value: row for row in others if row[0].value in ending}
    ends = {iri for row in rows.values() for iri in (row[1].value, row[2].value)}
    names = {iri: " ".join(n.split()) for iri, (n, _) in entity_labels(reader, ends).items()}
    times = timed(reader, rows)
    distinct: dict[tuple[str, str, str, str], Statement] = {}
    for iri in sorted(rows):
        statement = _statement(rows[iri], names, times.get(iri, {}))
        if statement.subject != statement.object:
            key = statement.subject, statement.phrase.casefold(), statement.object, statement.times
            distinct.setdefault(key, statement)
    ordered = sorted(distinct.values(), key=lambda s: (s.phrase, s.parts, s.iri))
    return {
        entity: [
            statement
            for statement in ordered
            if statement.subject == entity or (inverse and statement.object == entity)
        ]
        for entity in requested
    }


def _statement(row: tuple[Any, ...], names: dict[str, str], times: dict[str, str]) -> Statement:
    iri, subject, object_, property_, phrase, text, _, _ = row
    return Statement(
        iri.value,
        subject.value,
        property_.value if property_ is not None else "",
        object_.value,
        " ".join(phrase.value.split()),
        text.value,
        names.get(subject.value, subject.value),
        names.get(object_.value, object_.value),
        **times,
    )
