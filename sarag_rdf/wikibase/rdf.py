"""Entity documents as RDF, exactly as in Wikibase's RDF dumps, but without blank nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.errors import InputError
from sarag_rdf.vocab import OWL, RDF, SCHEMA, XSD
from sarag_rdf.wikibase.model import Entity, Json, mapping, statements
from sarag_rdf.wikibase.statements import full_triples, page_triples, text_triples, truthy_triples
from sarag_rdf.wikibase.vocabulary import CC, WIKIBASE, Vocabulary

Flavor = Choice["full", "truthy"]
FORMAT_VERSION: Final = "1.0.0"
CC0: Final = "http://creativecommons.org/publicdomain/zero/1.0/"
_ONTOLOGY: Final = NamedNode("http://wikiba.se/ontology-1.0.owl")
_CLASSES: Final = {"item": WIKIBASE.Item, "property": WIKIBASE.Property}


def entity_triples(
    entity: Entity, vocabulary: Vocabulary, flavor: Flavor = "full"
) -> Iterator[Triple]:
    """All triples of one entity document, each once.

    `full` has statements with rank, qualifiers, references and deep values, and the truthy
    values beside them; `truthy` the truthy values alone, and no pages. Raises `InputError` for a
    document that is neither an item, a property nor a redirect, or lacks what these must have.
    """
    seen: set[Triple] = set()
    try:
        for triple in _triples(entity, vocabulary, flavor):
            if triple not in seen:
                seen.add(triple)
                yield triple
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"the document of {entity.id} is not as Wikibase writes it ({type(error).__name__}: "
            f"{error}): export it anew, or leave it out"
        ) from error


def _triples(entity: Entity, vocabulary: Vocabulary, flavor: Flavor) -> Iterator[Triple]:
    data = entity.data
    node = vocabulary.thing(entity.id)
    if "redirect" in data:
        yield Triple(node, OWL.sameAs, vocabulary.thing(data["redirect"]))
        return
    kind = data.get("type")
    if kind not in _CLASSES:
        raise InputError(f"{entity.id} is of type '{kind}': only items and properties are read")
    yield from document_triples(vocabulary, entity.id, data)
    yield Triple(node, RDF.type, _CLASSES[kind])
    yield from text_triples(node, data)
    if kind == "property":
        yield from property_triples(vocabulary, entity.id, data["datatype"])
    yield from truthy_triples(vocabulary, node, data)
    if flavor == "full":
        yield from full_triples(vocabulary, node, data)
        yield from page_triples(vocabulary, node, data)


def document_triples(
    vocabulary: Vocabulary, id_: str, data: Json, *, license_: str = ""
) -> Iterator[Triple]:
    """The document about an entity: revision, date, how much it says; a licence if given."""
    node = vocabulary.document(id_)
    yield Triple(node, RDF.type, SCHEMA.Dataset)
    yield Triple(node, SCHEMA.about, vocabulary.thing(id_))
    if license_:
        yield from _format(node, license_)
    if data.get("lastrevid") is not None:
        yield Triple(node, SCHEMA.version, _integer(data["lastrevid"]))
    if data.get("modified"):
        yield Triple(node, SCHEMA.dateModified, Literal(data["modified"], datatype=XSD.dateTime))
    if data.get("type") == "item" and "claims" in data:
        groups = [group for _, group in statements(data)]
        claims = [statement for group in groups for statement in group]
        identifiers = [s for s in claims if s["mainsnak"].get("datatype") == "external-id"]
        yield Triple(node, WIKIBASE.statements, _integer(len(claims)))
        yield Triple(node, WIKIBASE.identifiers, _integer(len(identifiers)))
        yield Triple(node, WIKIBASE.sitelinks, _integer(len(mapping(data, "sitelinks"))))


def _integer(value: int) -> Literal:
    return Literal(str(value), datatype=XSD.integer)


def _format(node: NamedNode, license_: str) -> Iterator[Triple]:
    if license_:
        yield Triple(node, CC.license, NamedNode(license_))
    yield Triple(node, SCHEMA.softwareVersion, Literal(FORMAT_VERSION))


def dump_header(
    modified: str, *, license_: str = CC0, dump: NamedNode | None = None
) -> Iterator[Triple]:
    """What a dump says of itself; `dump` is its node, by default the one of every Wikibase."""
    node = dump or WIKIBASE.Dump
    yield Triple(node, RDF.type, SCHEMA.Dataset)
    yield Triple(node, RDF.type, OWL.Ontology)
    yield from _format(node, license_)
    if modified:
        yield Triple(node, SCHEMA.dateModified, Literal(modified, datatype=XSD.dateTime))
    yield Triple(node, OWL.imports, _ONTOLOGY)


def dump_triples(
    entities: Iterable[Entity], vocabulary: Vocabulary, flavor: Flavor = "full"
) -> Iterator[Triple]:
    """Triples of many entities, each once: nodes of values and references are shared by many."""
    shared = (f"{vocabulary.top}value/", f"{vocabulary.top}reference/")
    written: set[str] = set()
    for entity in entities:
        new: set[str] = set()
        for triple in entity_triples(entity, vocabulary, flavor):
            subject = triple.subject
            if isinstance(subject, NamedNode) and subject.value.startswith(shared):
                if subject.value in written:
                    continue
                new.add(subject.value)
            yield triple
        written |= new


_ROLES: Final = {
    "directClaim": "wdt",
    "claim": "p",
    "statementProperty": "ps",
    "statementValue": "psv",
    "qualifier": "pq",
    "qualifierValue": "pqv",
    "reference": "pr",
    "referenceValue": "prv",
    "novalue": "wdno",
}
_NORMALIZED_ROLES: Final = {
    "directClaimNormalized": "wdtn",
    "statementValueNormalized": "psn",
    "qualifierValueNormalized": "pqn",
    "referenceValueNormalized": "prn",
}
_WITH_NORMALIZED: Final = frozenset({"external-id", "quantity"})
_OF_IRIS: Final = frozenset({"url", "commonsMedia", "geo-shape", "tabular-data", "entity-schema"})


def type_node(datatype: str) -> NamedNode:
    """The class of a datatype: ``wikibase-item`` is ``wikibase:WikibaseItem``."""
    name = "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_ ]", datatype))
    return WIKIBASE[name]


def property_triples(vocabulary: Vocabulary, id_: str, datatype: str) -> Iterator[Triple]:
    """Everything that a property is declared with but for its texts and statements."""
    node = vocabulary.thing(id_)
    yield Triple(node, WIKIBASE.propertyType, type_node(datatype))
    normalized = datatype in _WITH_NORMALIZED
    for role, prefix in (_ROLES | (_NORMALIZED_ROLES if normalized else {})).items():
        yield Triple(node, WIKIBASE[role], vocabulary.predicate(prefix, id_))
    of_iris = datatype in _OF_IRIS or datatype.startswith("wikibase-")
    yield from _typed(vocabulary, id_, ("p", "psv", "pqv", "prv"), OWL.ObjectProperty)
    simple = OWL.ObjectProperty if of_iris else OWL.DatatypeProperty
    yield from _typed(vocabulary, id_, ("wdt", "ps", "pq", "pr"), simple)
    if normalized:
        yield from _typed(vocabulary, id_, ("psn", "pqn", "prn"), OWL.ObjectProperty)
        direct = OWL.ObjectProperty if datatype == "external-id" else OWL.DatatypeProperty
        yield from _typed(vocabulary, id_, ("wdtn",), direct)
    yield from _without_value(vocabulary, id_)


def _typed(
    vocabulary: Vocabulary, id_: str, prefixes: tuple[str, ...], kind: NamedNode
) -> Iterator[Triple]:
    for prefix in prefixes:
        yield Triple(vocabulary.predicate(prefix, id_), RDF.type, kind)


def _without_value(vocabulary: Vocabulary, id_: str) -> Iterator[Triple]:
    """The class of what has no value: all that has some value is outside it."""
    none, direct = vocabulary.predicate("wdno", id_), vocabulary.predicate("wdt", id_)
    some = vocabulary.nameless(none.value)
    yield Triple(none, RDF.type, OWL.Class)
    yield Triple(none, OWL.complementOf, some)
    yield Triple(some, RDF.type, OWL.Restriction)
    yield Triple(some, OWL.onProperty, direct)
    yield Triple(some, OWL.someValuesFrom, OWL.Thing)
