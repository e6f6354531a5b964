"""The vocabularies of the library, and conversion of RDF terms of stored data to Python values.

A test compares SARAG with `ontology/sarag.ttl`.
"""

from __future__ import annotations

from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import StoreError


class Namespace:
    """Terms of one vocabulary: ``SARAG.describes``, or ``SKOS["prefLabel"]``."""

    __slots__ = ("base",)

    def __init__(self, base: str) -> None:
        self.base: Final = base

    def __getitem__(self, name: str) -> NamedNode:
        return NamedNode(self.base + name)

    def __getattr__(self, name: str) -> NamedNode:
        if name.startswith("__"):
            raise AttributeError(name)
        return NamedNode(self.base + name)


SARAG: Final = Namespace("https://w3id.org/sarag/ontology#")
COMMON: Final = Namespace("https://w3id.org/sarag/common#")
"""The packaged ontology, which extraction follows by default."""
RDF: Final = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS: Final = Namespace("http://www.w3.org/2000/01/rdf-schema#")
OWL: Final = Namespace("http://www.w3.org/2002/07/owl#")
XSD: Final = Namespace("http://www.w3.org/2001/XMLSchema#")
SKOS: Final = Namespace("http://www.w3.org/2004/02/skos/core#")
VANN: Final = Namespace("http://purl.org/vocab/vann/")
PROV: Final = Namespace("http://www.w3.org/ns/prov#")
DC: Final = Namespace("http://purl.org/dc/elements/1.1/")
DCTERMS: Final = Namespace("http://purl.org/dc/terms/")
DCAT: Final = Namespace("http://www.w3.org/ns/dcat#")
VOID: Final = Namespace("http://rdfs.org/ns/void#")
SCHEMA: Final = Namespace("https://schema.org/")
WIKIBASE: Final = Namespace("http://wikiba.se/ontology#")
"""The model of Wikibase, of which ``wikibase:rank`` is used here, too."""
WIKIBASE_SCHEMA: Final = Namespace("http://schema.org/")
"""schema.org as in the RDF dumps of Wikibase."""
SH: Final = Namespace("http://www.w3.org/ns/shacl#")
FOAF: Final = Namespace("http://xmlns.com/foaf/0.1/")
SPDX: Final = Namespace("http://spdx.org/rdf/terms#")
SSSOM: Final = Namespace("https://w3id.org/sssom/")
SEMAPV: Final = Namespace("https://w3id.org/semapv/vocab/")

PREFIXES: Final[dict[str, str]] = {
    "dcat": DCAT.base,
    "dcterms": DCTERMS.base,
    "foaf": FOAF.base,
    "owl": OWL.base,
    "prov": PROV.base,
    "rdf": RDF.base,
    "rdfs": RDFS.base,
    "sarag": SARAG.base,
    "schema": SCHEMA.base,
    "semapv": SEMAPV.base,
    "skos": SKOS.base,
    "sssom": SSSOM.base,
    "void": VOID.base,
    "xsd": XSD.base,
}
"""Prefixes of Turtle and TriG files written by the library."""

TYPE_CLASSES: Final[dict[str, NamedNode]] = {
    "person": SARAG.Person,
    "organization": SARAG.Organization,
    "geopolitical": SARAG.GeoPoliticalEntity,
    "time": SARAG.TemporalValue,
    "quantity": SARAG.Quantity,
    "adjective": SARAG.Adjective,
    "misc": SARAG.MiscEntity,
}
"""`sarag:entityType` of mentions -> class of the entity or value that they refer to."""


Term = NamedNode | Literal
"""An RDF term of stored data, which contains no blank nodes."""
DEEPEST_TERM = 100
"""The maximum nesting of triple terms, because the engine processes them recursively."""


def is_deep(statement: Quad | Triple) -> bool:
    """Whether triple terms are nested more than `DEEPEST_TERM` deep in a statement."""
    term, depth = statement.object, 0
    while isinstance(term, Triple) and depth <= DEEPEST_TERM:
        term, depth = term.object, depth + 1
    return depth > DEEPEST_TERM


def iri(term: object) -> str:
    """The IRI of a named node; raises `StoreError` for other terms, such as a blank node."""
    if isinstance(term, NamedNode):
        return term.value
    raise StoreError(f"invalid term in the graph: {term} is not an IRI")


def iri_or_literal(term: object) -> Term:
    """The term itself; raises `StoreError` for a blank node or a triple term."""
    if isinstance(term, NamedNode | Literal):
        return term
    raise StoreError(f"invalid term in the graph: {term} is neither an IRI nor a literal")


def text_of(term: object) -> str:
    """The text of an IRI or a literal; raises `StoreError` for other terms."""
    return iri_or_literal(term).value
