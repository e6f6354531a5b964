"""Statements as triples: in full with rank, qualifiers and references, and truthy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pyoxigraph import NamedNode, Triple

from sarag_rdf.errors import InputError
from sarag_rdf.vocab import PROV, RDF
from sarag_rdf.wikibase.model import Json, best, content_hash, grouped_snaks, mapping, statements
from sarag_rdf.wikibase.snaks import MAIN, QUALIFIER, REFERENCE, snak_term, snak_triples
from sarag_rdf.wikibase.values import normalized_iri
from sarag_rdf.wikibase.vocabulary import WIKIBASE, Vocabulary

_NOT_IN_NAMES = re.compile(r"[^\w-]", re.ASCII)
_RANKS: Final = {
    "preferred": WIKIBASE.PreferredRank,
    "normal": WIKIBASE.NormalRank,
    "deprecated": WIKIBASE.DeprecatedRank,
}


def statement_node(vocabulary: Vocabulary, statement: Json) -> NamedNode:
    """IRI of a statement: its id, with ``-`` for what no local name may hold."""
    return vocabulary.statement(_NOT_IN_NAMES.sub("-", statement["id"]))


def reference_node(vocabulary: Vocabulary, reference: Json) -> NamedNode:
    """IRI of a reference: its hash, made anew from its snaks where the document has none."""
    return vocabulary.reference(reference.get("hash") or content_hash(mapping(reference, "snaks")))


def full_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """All statements of an entity, then all that belongs to them."""
    for property_id, group in statements(data):
        for statement in group:
            node = statement_node(vocabulary, statement)
            yield Triple(entity, vocabulary.predicate("p", property_id), node)
    for _, group in statements(data):
        leading = {statement["id"] for statement in best(group)}
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
    """The values of the statements of best rank, straight at the entity."""
    for property_id, group in statements(data):
        for statement in best(group):
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
