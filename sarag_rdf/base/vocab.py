"""Vocabularies used by the library. A test compares SARAG with `ontology/sarag.ttl`."""

from __future__ import annotations

from typing import Final

from pyoxigraph import NamedNode


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
PROV: Final = Namespace("http://www.w3.org/ns/prov#")
DCTERMS: Final = Namespace("http://purl.org/dc/terms/")
DCAT: Final = Namespace("http://www.w3.org/ns/dcat#")
VOID: Final = Namespace("http://rdfs.org/ns/void#")
SCHEMA: Final = Namespace("https://schema.org/")
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
    "time": SARAG.TemporalEntity,
    "misc": SARAG.MiscEntity,
}
"""`sarag:entityType` of mentions -> class of their entity."""
