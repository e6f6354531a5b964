"""Entity documents as RDF, exactly as in the RDF dumps of Wikibase, but without blank nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.vocab import OWL, PROV, RDF, RDFS, SKOS, WIKIBASE_SCHEMA, XSD, Term
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.model import Entity, Json, mapping, statements
from sarag_rdf.plugins.wikibase.snak_values import deep_value, iri_of, simple_value, text_literal
from sarag_rdf.plugins.wikibase.vocabulary import CC, WIKIBASE, Vocabulary

_INVALID_IN_LOCAL_NAME = re.compile(r"[^\w-]", re.ASCII)
_RANKS: Final = {
    "preferred": WIKIBASE.PreferredRank,
    "normal": WIKIBASE.NormalRank,
    "deprecated": WIKIBASE.DeprecatedRank,
}


def statement_node(vocabulary: Vocabulary, statement: Json) -> NamedNode:
    """IRI of a statement: its id, with ``-`` for characters not allowed in local names."""
    return vocabulary.statement(_INVALID_IN_LOCAL_NAME.sub("-", statement["id"]))


def full_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """The links to all statements of an entity, then the triples of the statements."""
    for property_id, group in statements(data):
        for statement in group:
            node = statement_node(vocabulary, statement)
            yield Triple(entity, vocabulary.predicate("p", property_id), node)
    for _, group in statements(data):
        leading = {statement["id"] for statement in model.best_ranked(group)}
        for statement in group:
            node = statement_node(vocabulary, statement)
            if statement["id"] in leading:
                yield Triple(node, RDF.type, WIKIBASE.BestRank)
            yield from _statement(vocabulary, node, statement)


def _statement(vocabulary: Vocabulary, node: NamedNode, statement: Json) -> Iterator[Triple]:
    yield Triple(node, RDF.type, WIKIBASE.Statement)
    rank = statement.get("rank", "normal")
    if rank not in _RANKS:
        raise InputError(f"statement {statement['id']} has an unknown rank '{rank}'")
    yield Triple(node, WIKIBASE.rank, _RANKS[rank])
    yield from snak_triples(vocabulary, node, statement["mainsnak"], _MAIN)
    for snak in model.grouped_snaks(statement, "qualifiers"):
        yield from snak_triples(vocabulary, node, snak, _QUALIFIER)
    for reference in statement.get("references", ()):
        digest = reference.get("hash") or model.content_hash(mapping(reference, "snaks"))
        source = vocabulary.reference(digest)
        yield Triple(node, PROV.wasDerivedFrom, source)
        yield Triple(source, RDF.type, WIKIBASE.Reference)
        for snak in model.grouped_snaks(reference, "snaks"):
            yield from snak_triples(vocabulary, source, snak, _REFERENCE)


def truthy_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """The values of the statements of best rank, as direct properties of the entity."""
    for property_id, group in statements(data):
        for statement in model.best_ranked(group):
            snak = statement["mainsnak"]
            term = snak_term(vocabulary, statement_node(vocabulary, statement), snak, _MAIN[0])
            if term is not None:
                yield Triple(entity, vocabulary.predicate("wdt", property_id), term)
            if snak["snaktype"] == "novalue":
                yield Triple(entity, RDF.type, vocabulary.predicate("wdno", property_id))


_Role = tuple[str, str]
"""Prefixes of the predicates of simple and of deep values."""
_MAIN: Final[_Role] = ("ps", "psv")
_QUALIFIER: Final[_Role] = ("pq", "pqv")
_REFERENCE: Final[_Role] = ("pr", "prv")


def snak_triples(
    vocabulary: Vocabulary, subject: NamedNode, snak: Json, role: _Role
) -> Iterator[Triple]:
    """All triples of one snak, with the nodes of its values."""
    property_id, (simple, deep) = snak["property"], role
    term = snak_term(vocabulary, subject, snak, simple)
    if term is not None:
        yield Triple(subject, vocabulary.predicate(simple, property_id), term)
    if snak["snaktype"] == "novalue":
        yield Triple(subject, RDF.type, vocabulary.predicate("wdno", property_id))
    elif snak["snaktype"] == "value" and (value := deep_value(vocabulary, snak)) is not None:
        node, triples = value
        yield Triple(subject, vocabulary.predicate(deep, property_id), node)
        yield from triples


def snak_term(vocabulary: Vocabulary, subject: NamedNode, snak: Json, prefix: str) -> Term | None:
    """The simple value; a Skolem IRI for an unknown value, from its position; None for no value."""
    if snak["snaktype"] == "value":
        return simple_value(vocabulary, snak)
    if snak["snaktype"] == "somevalue":
        return vocabulary.skolem_iri(subject.value, prefix, snak["property"])
    return None


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
        site = vocabulary.site(link["site"])
        page, wiki = (iri_of(site.page(link["title"])), iri_of(site.iri)) if site else (None, None)
        if site is None or not isinstance(page, NamedNode) or not isinstance(wiki, NamedNode):
            continue
        yield Triple(page, RDF.type, WIKIBASE_SCHEMA.Article)
        yield Triple(page, WIKIBASE_SCHEMA.about, entity)
        yield Triple(page, WIKIBASE_SCHEMA.inLanguage, Literal(site.language))
        yield Triple(page, WIKIBASE_SCHEMA.isPartOf, wiki)
        yield Triple(page, WIKIBASE_SCHEMA.name, text_literal(link["title"], site.language))
        for badge in link.get("badges", ()):
            yield Triple(page, WIKIBASE.badge, vocabulary.thing(badge))
        yield Triple(wiki, WIKIBASE.wikiGroup, Literal(site.group))


Flavor = Choice["full", "truthy"]
FORMAT_VERSION: Final = "1.0.0"
_ONTOLOGY: Final = NamedNode("http://wikiba.se/ontology-1.0.owl")
_CLASSES: Final = {"item": WIKIBASE.Item, "property": WIKIBASE.Property}


def entity_triples(
    entity: Entity, vocabulary: Vocabulary, flavor: Flavor = "full"
) -> Iterator[Triple]:
    """The unique triples of one entity document.

    `truthy` has only the values of statements of best rank, and no sitelinks; `full` has also the
    statements with rank, qualifiers, references and deep values. Raises `InputError` for a document
    that is not an item, a property or a redirect, or is invalid.
    """
    seen: set[Triple] = set()
    try:
        for triple in _triples(entity, vocabulary, flavor):
            if triple not in seen:
                seen.add(triple)
                yield triple
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"the document of {entity.id} is not a valid Wikibase document "
            f"({type(error).__name__}: {error}): export it again, or leave it out"
        ) from error


def _triples(entity: Entity, vocabulary: Vocabulary, flavor: Flavor) -> Iterator[Triple]:
    data = entity.data
    node = vocabulary.thing(entity.id)
    if "redirect" in data:
        yield Triple(node, OWL.sameAs, vocabulary.thing(data["redirect"]))
        return
    kind = data.get("type")
    if kind not in _CLASSES:
        raise InputError(
            f"{entity.id} is of type '{kind}': only items and properties can be converted"
        )
    yield from document_triples(vocabulary, entity.id, data)
    yield Triple(node, RDF.type, _CLASSES[kind])
    yield from text_triples(node, data)
    if kind == "property":
        yield from property_triples(vocabulary, entity.id, data["datatype"])
    yield from truthy_triples(vocabulary, node, data)
    if flavor == "full":
        yield from full_triples(vocabulary, node, data)
        yield from page_triples(vocabulary, node, data)


def document_triples(vocabulary: Vocabulary, id_: str, data: Json) -> Iterator[Triple]:
    """The document about an entity: revision, date, counts."""
    node = vocabulary.document(id_)
    yield Triple(node, RDF.type, WIKIBASE_SCHEMA.Dataset)
    yield Triple(node, WIKIBASE_SCHEMA.about, vocabulary.thing(id_))
    if data.get("lastrevid") is not None:
        yield Triple(node, WIKIBASE_SCHEMA.version, Literal(int(data["lastrevid"])))
    if data.get("modified"):
        yield Triple(
            node, WIKIBASE_SCHEMA.dateModified, Literal(data["modified"], datatype=XSD.dateTime)
        )
    if data.get("type") == "item" and "claims" in data:
        groups = [group for _, group in statements(data)]
        claims = [statement for group in groups for statement in group]
        identifiers = [s for s in claims if s["mainsnak"].get("datatype") == "external-id"]
        yield Triple(node, WIKIBASE.statements, Literal(len(claims)))
        yield Triple(node, WIKIBASE.identifiers, Literal(len(identifiers)))
        yield Triple(node, WIKIBASE.sitelinks, Literal(len(mapping(data, "sitelinks"))))


def dump_header(modified: str, license_: str, node: NamedNode = WIKIBASE.Dump) -> Iterator[Triple]:
    """The metadata of a dump at its node, by default that of all dumps; `license_` may be empty."""
    yield Triple(node, RDF.type, WIKIBASE_SCHEMA.Dataset)
    yield Triple(node, RDF.type, OWL.Ontology)
    if license_:
        yield Triple(node, CC.license, NamedNode(license_))
    yield Triple(node, WIKIBASE_SCHEMA.softwareVersion, Literal(FORMAT_VERSION))
    yield Triple(node, WIKIBASE_SCHEMA.dateModified, Literal(modified, datatype=XSD.dateTime))
    yield Triple(node, OWL.imports, _ONTOLOGY)


def dump_triples(
    entities: Iterable[Entity], vocabulary: Vocabulary, flavor: Flavor = "full"
) -> Iterator[Triple]:
    """The unique triples of entities, which share nodes of values and references."""
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


_PROPERTY_ROLES: Final = {
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
_NORMALIZED_DATATYPES: Final = frozenset({"external-id", "quantity"})
_IRI_DATATYPES: Final = frozenset(
    {"url", "commonsMedia", "geo-shape", "tabular-data", "entity-schema"}
)


def type_node(datatype: str) -> NamedNode:
    """The class of a datatype: ``wikibase-item`` is ``wikibase:WikibaseItem``."""
    name = "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_ ]", datatype))
    return WIKIBASE[name]


def property_triples(vocabulary: Vocabulary, id_: str, datatype: str) -> Iterator[Triple]:
    """The declaration of a property, without its texts and statements."""
    node = vocabulary.thing(id_)
    yield Triple(node, WIKIBASE.propertyType, type_node(datatype))
    normalized = datatype in _NORMALIZED_DATATYPES
    for role, prefix in (_PROPERTY_ROLES | (_NORMALIZED_ROLES if normalized else {})).items():
        yield Triple(node, WIKIBASE[role], vocabulary.predicate(prefix, id_))
    is_iri_valued = datatype in _IRI_DATATYPES or datatype.startswith("wikibase-")
    simple = OWL.ObjectProperty if is_iri_valued else OWL.DatatypeProperty
    kinds = dict.fromkeys(("p", "psv", "pqv", "prv"), OWL.ObjectProperty)
    kinds |= dict.fromkeys(("wdt", "ps", "pq", "pr"), simple)
    if normalized:
        kinds |= dict.fromkeys(("psn", "pqn", "prn"), OWL.ObjectProperty)
        is_identifier = datatype == "external-id"
        kinds["wdtn"] = OWL.ObjectProperty if is_identifier else OWL.DatatypeProperty
    for prefix, kind in kinds.items():
        yield Triple(vocabulary.predicate(prefix, id_), RDF.type, kind)
    # The class of entities without a value is the complement of those with some value.
    none = vocabulary.predicate("wdno", id_)
    some = vocabulary.skolem_iri(none.value)
    yield Triple(none, RDF.type, OWL.Class)
    yield Triple(none, OWL.complementOf, some)
    yield Triple(some, RDF.type, OWL.Restriction)
    yield Triple(some, OWL.onProperty, vocabulary.predicate("wdt", id_))
    yield Triple(some, OWL.someValuesFrom, OWL.Thing)
