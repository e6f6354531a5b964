"""The texts that are searched, by kind of node: all of a graph, or those of given nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sarag_rdf.graph.delta import Delta, Kind
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import by_language, page_text

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
    rows = reader.kept_for(f"{kind}-texts", iris)
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
