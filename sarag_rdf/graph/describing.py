"""Documents as nodes: which entity a document is about, and how much it says of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import normalize_name

_BRACKET = re.compile(r"\s*\([^()]*\)\s*$")


def topics_of(reader: GraphReader, documents: Iterable[str]) -> dict[str, str]:
    """Document -> the entity that its title names ('Hello Love (album)' names 'Hello Love')."""
    names: dict[str, list[str]] = {}
    for document, title in reader.rows_for("document-titles", documents):
        forms = dict.fromkeys((title.value, _BRACKET.sub("", title.value)))
        normalized = (normalize_name(form) for form in forms)
        names[document.value] = [reader.minter.mention(name) for name in normalized if name]
    mentions = {mention for found in names.values() for mention in found}
    rows = reader.rows_for("mention-targets", mentions)
    entities = {mention.value: entity.value for mention, entity in rows}
    return {
        document: next(entities[m] for m in found if m in entities)
        for document, found in names.items()
        if any(m in entities for m in found)
    }


def salience(
    reader: GraphReader, documents: Iterable[str], weights: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Document -> entity -> how much activation the document passes to it, in [0, 1].

    An entity passes on more of a document that is about it (half, by its title), or in which it
    is the subject of many relationships (up to half), and at most as much as the question asks
    for one of its relationships there (`weights`, in [0, 1]).
    """
    documents = list(documents)
    topics = topics_of(reader, documents)
    entities: defaultdict[str, list[str]] = defaultdict(list)
    for text, entity in reader.rows_for("described-entities", documents):
        entities[text.value].append(entity.value)
    subjects: defaultdict[str, list[str]] = defaultdict(list)
    gates: defaultdict[tuple[str, str], float] = defaultdict(float)
    for document, link, subject, object_ in reader.rows_for("document-relationships", documents):
        subjects[document.value].append(subject.value)
        for end in (subject.value, object_.value):
            key = document.value, end
            gates[key] = max(gates[key], weights.get(link.value, 0.0))
    result: dict[str, dict[str, float]] = {}
    for document, found in entities.items():
        stated = subjects[document]
        result[document] = {
            entity: min(
                1.0,
                0.3
                + 0.5 * (topics.get(document) == entity)
                + 0.5 * (stated.count(entity) / len(stated) if stated else 0.0),
            )
            * (0.4 + 0.6 * gates[document, entity])
            for entity in sorted(found)
        }
    return result
