"""The statements that lead from entities to others, with the names that they are read by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.types import Statement


def statements_from(
    reader: GraphReader, entities: Iterable[str], *, inverse: bool = False
) -> dict[str, list[Statement]]:
    """Entity -> the statements that start there, and with `inverse` those that end there.

    Statements of equal subject, phrase and object, which several documents state, count once, by
    the first IRI. They are ordered by phrase, names and IRI. Statements from an entity to itself
    are left out. Raises `StoreError`.
    """
    requested = sorted(set(entities))
    rows = {row[0].value: row for row in reader.rows_for("statements", requested)}
    if inverse:
        ending = {iri.value: s.value for iri, s, _ in reader.rows_for("links-to", requested)}
        others = reader.rows_for("statements", set(ending.values()) - set(requested))
        rows |= {row[0].value: row for row in others if row[0].value in ending}
    ends = {iri for row in rows.values() for iri in (row[1].value, row[2].value)}
    names = {iri: " ".join(n.split()) for iri, (n, _) in entity_labels(reader, ends).items()}
    distinct: dict[tuple[str, str, str], Statement] = {}
    for iri in sorted(rows):
        statement = _statement(rows[iri], names)
        if statement.subject != statement.object:
            key = statement.subject, statement.phrase.casefold(), statement.object
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


def _statement(row: tuple[Any, ...], names: dict[str, str]) -> Statement:
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
    )
