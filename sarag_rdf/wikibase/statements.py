"""Statements, snaks, texts and sitelinks of an entity as triples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.errors import InputError
from sarag_rdf.ports import Term
from sarag_rdf.vocab import PROV, RDF, RDFS, SKOS, WIKIBASE_SCHEMA
from sarag_rdf.wikibase.model import (
    Json,
    best_ranked,
    content_hash,
    grouped_snaks,
    mapping,
    statements,
)
from sarag_rdf.wikibase.values import (
    deep_value,
    iri_of,
    normalized_iri,
    normalized_quantity,
    simple_value,
    text_literal,
)
from sarag_rdf.wikibase.vocabulary import WIKIBASE, Site, Vocabulary

_INVALID_IN_LOCAL_NAME = re.compile(r"[^\w-]", re.ASCII)
_RANKS: Final = {
    "preferred": WIKIBASE.PreferredRank,
    "normal": WIKIBASE.NormalRank,
    "deprecated": WIKIBASE.DeprecatedRank,
}


def statement_node(vocabulary: Vocabulary, statement: Json) -> NamedNode:
    """IRI of a statement: its id, with ``-`` for characters not allowed in local names."""
    return vocabulary.statement(_INVALID_IN_LOCAL_NAME.sub("-", statement["id"]))


def reference_node(vocabulary: Vocabulary, reference: Json) -> NamedNode:
    """IRI of a reference: its hash, computed from its snaks if the document has none."""
    return vocabulary.reference(reference.get("hash") or content_hash(mapping(reference, "snaks")))


def full_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """The links to all statements of an entity, then the triples of the statements."""
    for property_id, group in statements(data):
        for statement in group:
            node = statement_node(vocabulary, statement)
            yield Triple(entity, vocabulary.predicate("p", property_id), node)
    for _, group in statements(data):
        leading = {statement["id"] for statement in best_ranked(group)}
        for statement in group:
            node = statement_node(vocabulary, statement)
            yield Triple(node, RDF.type, WIKIBASE.Statement)
            if statement["id"] in leading:
                yield Triple(node, RDF.type, WIKIBASE.BestRank)
            yield from _statement(vocabulary, node, statement)


def _statement(vocabulary: Vocabulary, node: NamedNode, statement: Json) -> Iterator[Triple]:
    rank = statement.get("rank", "normal")
    if rank not in _RANKS:
        raise InputError(f"statement {statement['id']} has an unknown rank '{rank}'")
    yield Triple(node, WIKIBASE.rank, _RANKS[rank])
    yield from snak_triples(vocabulary, node, statement["mainsnak"], MAIN)
    for snak in grouped_snaks(statement, "qualifiers"):
        yield from snak_triples(vocabulary, node, snak, QUALIFIER)
    sources = [(reference_node(vocabulary, r), r) for r in statement.get("references", ())]
    for source, _ in sources:
        yield Triple(node, PROV.wasDerivedFrom, source)
    for source, reference in sources:
        yield Triple(source, RDF.type, WIKIBASE.Reference)
        for snak in grouped_snaks(reference, "snaks"):
            yield from snak_triples(vocabulary, source, snak, REFERENCE)


def truthy_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """The values of the statements of best rank, as direct properties of the entity."""
    for property_id, group in statements(data):
        for statement in best_ranked(group):
            snak = statement["mainsnak"]
            node = statement_node(vocabulary, statement)
            term = snak_term(vocabulary, node, snak, MAIN.simple)
            if term is not None:
                yield Triple(entity, vocabulary.predicate("wdt", property_id), term)
            if snak["snaktype"] == "novalue":
                yield Triple(entity, RDF.type, vocabulary.predicate("wdno", property_id))
            elif snak["snaktype"] == "value":
                named = normalized_iri(vocabulary, snak)
                if named is not None:
                    yield Triple(entity, vocabulary.predicate("wdtn", property_id), named)


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
    """All triples of one snak, with the nodes of its values."""
    property_id = snak["property"]
    term = snak_term(vocabulary, subject, snak, role.simple)
    if term is not None:
        yield Triple(subject, vocabulary.predicate(role.simple, property_id), term)
    if snak["snaktype"] == "novalue":
        yield Triple(subject, RDF.type, vocabulary.predicate("wdno", property_id))
    elif snak["snaktype"] == "value":
        yield from _deep_triples(vocabulary, subject, snak, role)


def snak_term(vocabulary: Vocabulary, subject: NamedNode, snak: Json, prefix: str) -> Term | None:
    """The simple value; a Skolem IRI for an unknown value, from its position; None for no value."""
    if snak["snaktype"] == "value":
        return simple_value(vocabulary, snak)
    if snak["snaktype"] == "somevalue":
        return vocabulary.skolem_iri(subject.value, prefix, snak["property"])
    return None


def _deep_triples(
    vocabulary: Vocabulary, subject: NamedNode, snak: Json, role: Role
) -> Iterator[Triple]:
    property_id = snak["property"]
    value_node = deep_value(vocabulary, snak)
    if value_node is not None:
        node, triples = value_node
        yield Triple(subject, vocabulary.predicate(role.deep, property_id), node)
        yield from triples
    named = normalized_iri(vocabulary, snak)
    if named is not None:
        yield Triple(subject, vocabulary.predicate(role.normalized, property_id), named)
    measured = normalized_quantity(vocabulary, snak)
    if measured is not None and value_node is not None:
        normal, parts = measured
        yield Triple(subject, vocabulary.predicate(role.normalized, property_id), normal)
        yield from parts
        yield Triple(value_node[0], WIKIBASE.quantityNormalized, normal)


LABELS: Final = (RDFS.label, SKOS.prefLabel, WIKIBASE_SCHEMA.name)
"""The properties of every label."""


def text_triples(entity: NamedNode, data: Json) -> Iterator[Triple]:
    """Labels (with three properties each), descriptions and aliases."""
    for label in mapping(data, "labels").values():
        literal = text_literal(label["value"], label["language"])
        for predicate in LABELS:
            yield Triple(entity, predicate, literal)
    for description in mapping(data, "descriptions").values():
        literal = text_literal(description["value"], description["language"])
        yield Triple(entity, WIKIBASE_SCHEMA.description, literal)
    for aliases in mapping(data, "aliases").values():
        for alias in aliases:
            yield Triple(entity, SKOS.altLabel, text_literal(alias["value"], alias["language"]))


def page_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """Sitelinks: pages about the entity, except on unknown wikis."""
    for link in mapping(data, "sitelinks").values():
        site = vocabulary.sites(link["site"])
        if site is not None:
            yield from _page(vocabulary, entity, site, link)


def _page(vocabulary: Vocabulary, entity: NamedNode, site: Site, link: Json) -> Iterator[Triple]:
    page, wiki = iri_of(site.page(link["title"])), iri_of(site.iri)
    if not isinstance(page, NamedNode) or not isinstance(wiki, NamedNode):
        return
    yield Triple(page, RDF.type, WIKIBASE_SCHEMA.Article)
    yield Triple(page, WIKIBASE_SCHEMA.about, entity)
    yield Triple(page, WIKIBASE_SCHEMA.inLanguage, Literal(site.language))
    yield Triple(page, WIKIBASE_SCHEMA.isPartOf, wiki)
    yield Triple(page, WIKIBASE_SCHEMA.name, text_literal(link["title"], site.language))
    for badge in link.get("badges", ()):
        yield Triple(page, WIKIBASE.badge, vocabulary.thing(badge))
    yield Triple(wiki, WIKIBASE.wikiGroup, Literal(site.group))
