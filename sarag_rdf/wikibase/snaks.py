"""Snaks as triples of the node that they stand at: a statement, or a reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pyoxigraph import NamedNode, Triple

from sarag_rdf.ports import Term
from sarag_rdf.vocab import RDF
from sarag_rdf.wikibase.model import Json
from sarag_rdf.wikibase.values import (
    deep_value,
    normalized_iri,
    normalized_quantity,
    simple_value,
)
from sarag_rdf.wikibase.vocabulary import WIKIBASE, Vocabulary


class Role(NamedTuple):
    """Prefixes of the predicates of simple, deep and normalised values."""

    simple: str
    deep: str
    normalized: str


MAIN: Final = Role("ps", "psv", "psn")
QUALIFIER: Final = Role("pq", "pqv", "pqn")
REFERENCE: Final = Role("pr", "prv", "prn")


def snak_triples(
    vocabulary: Vocabulary, subject: NamedNode, snak: Json, role: Role
) -> Iterator[Triple]:
    """One snak in full, with the nodes of its values."""
    property_id = snak["property"]
    term = snak_term(vocabulary, subject, snak, role.simple)
    if term is not None:
        yield Triple(subject, vocabulary.predicate(role.simple, property_id), term)
    if snak["snaktype"] == "novalue":
        yield Triple(subject, RDF.type, vocabulary.predicate("wdno", property_id))
    elif snak["snaktype"] == "value":
        yield from _deep_triples(vocabulary, subject, snak, role)


def snak_term(vocabulary: Vocabulary, subject: NamedNode, snak: Json, prefix: str) -> Term | None:
    """The simple value; an IRI made from where it stands if it is unknown; None for no value."""
    if snak["snaktype"] == "value":
        return simple_value(vocabulary, snak)
    if snak["snaktype"] == "somevalue":
        return vocabulary.nameless(subject.value, prefix, snak["property"])
    return None


def _deep_triples(
    vocabulary: Vocabulary, subject: NamedNode, snak: Json, role: Role
) -> Iterator[Triple]:
    property_id = snak["property"]
    found = deep_value(vocabulary, snak)
    if found is not None:
        node, triples = found
        yield Triple(subject, vocabulary.predicate(role.deep, property_id), node)
        yield from triples
    named = normalized_iri(vocabulary, snak)
    if named is not None:
        yield Triple(subject, vocabulary.predicate(role.normalized, property_id), named)
    measured = normalized_quantity(vocabulary, snak)
    if measured is not None and found is not None:
        normal, parts = measured
        yield Triple(subject, vocabulary.predicate(role.normalized, property_id), normal)
        yield from parts
        yield Triple(found[0], WIKIBASE.quantityNormalized, normal)
