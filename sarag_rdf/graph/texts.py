"""Names, texts and statements of nodes: of displayed nodes, or of a whole kind for indexing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any, cast

from pyoxigraph import Literal

from sarag_rdf.base.arrays import IriList
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


def full_documents(
    reader: GraphReader, iris: Iterable[str], titled: Mapping[str, str] | None = None
) -> dict[str, Document]:
    """Documents, and pages of imported entities (descriptions, literals, relationships), by IRI.

    `titled` are their `texts_of`, of which pages are made if it is given.
    """
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    requested = frozenset(iris)
    for row in reader.rows_for("documents", requested):
        rows[row[0].value].append(row)
    for row in reader.imported.rows_for("passages", requested):
        rows[row[0].value].append(row)
    pages = {iri for iri, page_rows in rows.items() if page_rows[0][4] is None}
    unread = pages if titled is None else ()
    stated = reader.imported.rows_for("document-relationships", unread)
    each = _one_each((relationship, text, page) for page, relationship, _, _, text in stated)
    relationships = _grouped((page, text) for _, text, page in each)
    values = _grouped(reader.imported.rows_for("document-values", unread))

    def page(iri: str) -> Document:
        _, source, name, _, _, _, language = min(rows[iri], key=lambda row: by_language(row[2]))
        title: str = name.value
        if titled is None:
            descriptions = [row[3] for row in rows[iri] if row[3] is not None]
            text = page_text(descriptions, relationships[iri], values[iri])
        else:
            text = titled[iri].removeprefix(title).removeprefix("\n")
        return Document(iri, source.value, title, text, 0, len(text), language.value)

    return {
        iri: page(iri)
        if iri in pages
        else _document(*min(document_rows, key=lambda row: by_language(row[2] or Literal(""))))
        for iri, document_rows in rows.items()
    }


def _document(*row: Any) -> Document:
    iri, source, title, text, begin, end, language = (cell.value if cell else "" for cell in row)
    return Document(iri, source, title, text, int(begin), int(end), language)


def page_text(
    descriptions: Iterable[Any], relationships: Iterable[str], values: Iterable[str] = ()
) -> str:
    """The first description by `by_language`, then literals and relationships as sentences."""
    best = min(descriptions, key=by_language, default=None)
    lines = sorted(set(values))[:MAX_PAGE_VALUES]
    stated = sorted(set(relationships))[:MAX_PAGE_RELATIONSHIPS]
    lines += (text if text.endswith((".", "!", "?")) else f"{text}." for text in stated)
    return "\n".join(lines if best is None else [best.value, *lines])


def relationship_texts(reader: GraphReader, iris: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Relationship -> (text, IRI of its document)."""
    rows = _one_each(reader.rows_for("relationships", iris))
    return {iri.value: (text.value, document.value) for iri, text, document in rows}


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of nodes, in the order of their IRIs; for relationships with their documents."""

    iris: IriList
    texts: IriList
    documents: IriList = field(default_factory=lambda: IriList.packed(()))


def texts_of(reader: GraphReader, kind: Kind, relationships: Texts | None = None) -> Texts:
    """The texts of all nodes of a kind; that of a document starts with its title, or its topic.

    `relationships` are the texts of all relationships, which those of pages of imported entities
    have; they are read if they are not given.
    """
    if kind != "document":
        return _packed(reader.rows(f"{kind}-texts"), 3 if kind == "relationship" else 2)
    imported = reader.imported
    if not imported.parts:
        return _titled_texts(reader.rows("document-texts"))
    own = [*reader.extracted.rows("document-texts")]
    documents = {row[0].value for row in own}  # their texts are their own
    stated: defaultdict[str, list[str]] = defaultdict(list)
    known = relationships or texts_of(imported, "relationship")
    for page, text in zip(known.documents, known.texts, strict=True):
        if page not in documents:
            stated[page].append(text)
    rows = [*own, *imported.rows("document-texts")]
    return _titled_texts(rows, stated, _grouped(imported.rows("value-texts")))


def texts_for(reader: GraphReader, kind: Kind, iris: Iterable[str]) -> Texts:
    """The texts of the given nodes, for those that are in the graph of documents."""
    rows = reader.select_provenance_for(f"{kind}-texts", iris)
    return _titled_texts(rows) if kind == "document" else _packed(rows, 2)


def is_disjoint_from_imports(reader: GraphReader, delta: Delta) -> bool:
    """Whether the texts of imported graphs are as before: of no entity or property that changed."""
    touched, imported = frozenset().union(*delta.touched.values()), reader.imported
    is_renamed = delta.ontologies and imported.parts
    return not is_renamed and next(imported.rows_for("entity-labels", touched), None) is None


def _one_each(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The first row of each node by its text, by `by_language`, and then by the rest of the row."""

    def node(row: tuple[Any, ...]) -> str:
        iri: str = row[0].value
        return iri

    def text(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return by_language(row[1]), *(cell.value for cell in row[2:])

    for _, same in groupby(sorted(rows, key=node), node):
        yield min(same, key=text)


def _packed(rows: Iterable[tuple[Any, ...]], width: int) -> Texts:
    """What `_one_each` chooses of rows, which may be millions: they are not held as terms."""
    read = ((str(by_language(row[1])[:2]), *(cell.value for cell in row)) for row in rows)
    language, *columns = IriList.columns(read, width + 1)

    def rank(row: int) -> list[str]:
        return [each[row] for each in (language, *columns)]

    names = [*columns[0]]
    order = sorted(range(len(names)), key=names.__getitem__)
    chosen = [min(same, key=rank) for _, same in groupby(order, names.__getitem__)]
    del names, order  # as large as the rows
    return Texts(*(IriList.packed(map(column.__getitem__, chosen)) for column in columns))


def _titled_texts(
    rows: Iterable[tuple[Any, ...]],
    relationships: Mapping[str, list[str]] = MappingProxyType({}),
    values: Mapping[str, list[str]] = MappingProxyType({}),
) -> Texts:
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    titles: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text, *candidates in rows:
        texts[iri.value] += [text] if text is not None else []
        titles[iri.value] += [title for title in candidates if title is not None][:1]

    def titled(iri: str) -> str:
        parts = [min(titles[iri], key=by_language).value] if titles[iri] else []
        parts += [page_text(texts[iri], relationships.get(iri, ()), values.get(iri, ()))]
        return "\n".join(part for part in parts if part)

    iris = sorted(titles)
    return Texts(IriList.packed(iris), IriList.packed(map(titled, iris)))


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
