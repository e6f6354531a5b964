"""The properties that exports declare themselves, with equivalent terms of other vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from sarag_rdf.base.iris import Minter, normalize_name, sha256_hex
from sarag_rdf.base.vocab import DCTERMS, OWL, PROV, RDF, RDFS, SARAG, SCHEMA, SKOS

_ARTICLES = frozenset({"a", "an", "the"})
_FORMS = {
    **dict.fromkeys(("is", "are", "was", "were", "been", "being", "am"), "be"),
    **dict.fromkeys(("has", "had", "having"), "have"),
    **dict.fromkeys(("does", "did", "doing", "done"), "do"),
}


@dataclass(frozen=True, slots=True)
class OwnProperty:
    """A property of the export; its predicate with prefix `predicate` is equivalent to `term`."""

    name: str
    label: str
    description: str
    datatype: str
    term: NamedNode | None = None
    predicate: str = ""

    def key(self, minter: Minter) -> str:
        """The IRI of the property in the table of ids."""
        return f"{minter.base}property/{self.name}"


RELATED_TO: Final = OwnProperty(
    "related-to",
    "related to",
    "the subject is in some relationship with the item; the qualifiers say in which",
    "wikibase-item",
    SARAG.relatedTo,
    "wdt",
)
INSTANCE_OF: Final = OwnProperty(
    "instance-of", "instance of", "kind of thing that the subject is", "wikibase-item", RDF.type
)
TEXT: Final = OwnProperty(
    "text",
    "text",
    "sentence that states the relationship in full",
    "monolingualtext",
    SARAG.text,
    "pq",
)
PHRASE: Final = OwnProperty(
    "phrase",
    "phrase",
    "words that connect the subject of the relationship with its object",
    "monolingualtext",
    SARAG.phrase,
    "pq",
)
CONFIDENCE: Final = OwnProperty(
    "confidence",
    "confidence",
    "how sure the extraction is of the relationship, from 0 to 1",
    "quantity",
    SARAG.confidence,
    "pq",
)
STATED_IN: Final = OwnProperty(
    "stated-in", "stated in", "source that makes the statement", "wikibase-item", DCTERMS.source
)
DOCUMENT: Final = OwnProperty(
    "document", "document", "IRI of the part of the source that states it", "url"
)
EXACT_MATCH: Final = OwnProperty(
    "exact-match", "exact match", "the same in another data set", "url", SKOS.exactMatch, "wdt"
)
ORIGINAL: Final = OwnProperty(
    "original",
    "original IRI",
    "IRI of the subject in the graph that it was exported from",
    "url",
    PROV.alternateOf,
    "wdt",
)
DIGEST: Final = OwnProperty(
    "sha-256", "SHA-256", "digest of the text of the source", "string", SARAG.sha256, "wdt"
)
OWN_PROPERTIES: Final = (
    RELATED_TO,
    INSTANCE_OF,
    TEXT,
    PHRASE,
    CONFIDENCE,
    STATED_IN,
    DOCUMENT,
    EXACT_MATCH,
    ORIGINAL,
    DIGEST,
)


EQUIVALENT_PROPERTY: Final = OwnProperty(
    "equivalent-property",
    "equivalent property",
    "property of another vocabulary with the same meaning",
    "url",
    OWL.equivalentProperty,
)
EQUIVALENT_CLASS: Final = OwnProperty(
    "equivalent-class",
    "equivalent class",
    "class of another vocabulary with the same instances",
    "url",
    OWL.equivalentClass,
)
CLOSE_MATCH: Final = OwnProperty(
    "close-match",
    "close match",
    "nearly the same in another vocabulary",
    "url",
    SKOS.closeMatch,
    "wdt",
)
SUBCLASS_OF: Final = OwnProperty(
    "subclass-of",
    "subclass of",
    "class that has all instances of this class",
    "wikibase-item",
    RDFS.subClassOf,
)
DOMAIN: Final = OwnProperty(
    "domain",
    "domain",
    "class of subjects of the property; they belong to one of these",
    "wikibase-item",
    SCHEMA.domainIncludes,
    "wdt",
)
RANGE: Final = OwnProperty(
    "range",
    "range",
    "class of values of the property; they belong to one of these",
    "wikibase-item",
    SCHEMA.rangeIncludes,
    "wdt",
)
ONTOLOGY_PROPERTIES: Final = (
    EQUIVALENT_PROPERTY,
    EQUIVALENT_CLASS,
    CLOSE_MATCH,
    SUBCLASS_OF,
    DOMAIN,
    RANGE,
)
"""Properties that are declared in exports with classes or properties of an ontology only."""

CLASS_LABELS: Final = {
    SARAG.Person.value: "person",
    SARAG.Organization.value: "organization",
    SARAG.GeoPoliticalEntity.value: "geopolitical entity",
    SARAG.TemporalEntity.value: "temporal entity",
    SARAG.MiscEntity.value: "named thing",
}
"""Labels of the classes of entities."""


def canonical_phrase(phrase: str) -> str:
    """A phrase without differences of case, punctuation, articles, and forms of be, have and do."""
    words = normalize_name(phrase).split()
    return " ".join(_FORMS.get(word, word) for word in words if word not in _ARTICLES)


def phrase_key(minter: Minter, canonical: str) -> str:
    """The IRI of the property of a phrase in the table of ids."""
    return f"{minter.base}property/phrase-{sha256_hex(canonical)[:20]}"
