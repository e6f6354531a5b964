"""What candidates are found by, of one of the two graphs: names, kinds and descriptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pyoxigraph as ox

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.iris import normalize_name
from sarag_rdf.resources import ontology_path
from sarag_rdf.vocab import RDFS, SARAG, SKOS, TYPE_CLASSES

TEXTS = 3
"""Descriptions of an entity that count at most, the first by their wording."""


@dataclass(frozen=True, slots=True)
class Side:
    """Entities by IRI: their preferred names; all names, normalised; their kinds.

    `named` leads from a normalised name to the entities that bear it, each with whether that is a
    preferred name of it.
    """

    labels: dict[str, str]
    named: dict[str, dict[str, bool]]
    kinds: dict[str, frozenset[str]]


def read_side(reader: GraphReader, without: Iterable[str] = ()) -> Side:
    """All entities of a graph but those `without`."""
    left_out = set(without)
    labels: dict[str, str] = {}
    for item, text, *_ in reader.rows("entity-texts"):
        if item.value not in left_out:
            labels[item.value] = min(labels.get(item.value, text.value), text.value)
    return _side(reader, labels)


def read_named(reader: GraphReader, own: GraphReader, entities: Iterable[str]) -> Side:
    """Entities of a graph that is too large to be read, by the names that `entities` of ours have.

    A name is asked for as it is spelled, with its own language, English, none, or `mul`.
    """
    asked: set[ox.Literal] = set()
    for _, name, *_ in own.rows_for("entity-names", entities):
        for language in {name.language or "", "en", "mul"}:
            asked.add(ox.Literal(name.value, language=language or None))
        asked.add(ox.Literal(name.value))
    found = {entity.value for _, entity in reader.rows_named(asked)}
    labels = {entity: name for entity, (name, _) in entity_labels(reader, found).items()}
    return _side(reader, labels)


def _side(reader: GraphReader, labels: dict[str, str]) -> Side:
    named: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for entity, name, *_ in reader.rows_for("entity-names", labels):
        named[normalize_name(name.value)].setdefault(entity.value, False)
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name, class_ in reader.rows_for("entity-labels", labels):
        named[normalize_name(name.value)][entity.value] = True
        if class_ is not None:
            classes[entity.value].add(class_.value)
    for iri, label in labels.items():
        named[normalize_name(label)][iri] = True
    kinds = {iri: frozenset(map(_kind, found)) - {""} for iri, found in classes.items()}
    return Side(labels, dict(named), kinds)


def _kind(class_: str) -> str:
    return _kinds().get(class_, "")


@cache
def _kinds() -> dict[str, str]:
    """Classes that mean one of our own kinds, as the ontology says; misc is no kind."""
    own = {node: kind for kind, node in TYPE_CLASSES.items() if kind != "misc"}
    found = {node.value: kind for node, kind in own.items()}
    matching = (RDFS.subClassOf, SKOS.exactMatch, SKOS.closeMatch)
    for quad in ox.parse(path=str(ontology_path("sarag.ttl")), format=ox.RdfFormat.TURTLE):
        kind = own.get(quad.subject) if isinstance(quad.subject, ox.NamedNode) else None
        if kind and quad.predicate in matching and quad.object != SARAG.Entity:
            found[str(quad.object)[1:-1]] = kind
    return found


def descriptions(
    reader: GraphReader, entities: Iterable[str], names: Iterable[str]
) -> dict[str, str]:
    """Texts about the entities, the first few of each as one; those that are mere names are not."""
    mere = set(names)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in reader.rows_for("entity-descriptions", entities):
        if normalize_name(text.value) not in mere:
            found[entity.value].add(text.value)
    return {iri: " ".join(sorted(several)[:TEXTS]) for iri, several in found.items()}
