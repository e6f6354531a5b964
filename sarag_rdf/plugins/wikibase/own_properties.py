"""The properties that exports declare themselves, with equivalent terms of other vocabularies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from sarag_rdf.base.iris import Minter, normalize_name, sha256_hex
from sarag_rdf.base.vocab import DCTERMS, OWL, PROV, RDF, RDFS, SARAG, SCHEMA, SKOS
from sarag_rdf.plugins.wikibase.vocabulary import WIKIDATA

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


_ROWS: Final = """
related-to | the subject is in some relationship with the item; the qualifiers say in which \
    | wikibase-item | wdt
instance-of | kind of thing that the subject is | wikibase-item |
text | sentence that states the relationship in full | monolingualtext | pq
phrase | words that connect the subject of the relationship with its object | monolingualtext | pq
confidence | how sure the extraction is of the relationship, from 0 to 1 | quantity | pq
stated-in | source that makes the statement | wikibase-item |
document | IRI of the part of the source that states it | url |
exact-match | the same in another data set | url | wdt
original | IRI of the subject in the graph that it was exported from | url | wdt
sha-256 | digest of the text of the source | string | wdt
equivalent-property | property of another vocabulary with the same meaning | url |
equivalent-class | class of another vocabulary with the same instances | url |
close-match | nearly the same in another vocabulary | url | wdt
subclass-of | class that has all instances of this class | wikibase-item |
domain | class of subjects of the property; they belong to one of these | wikibase-item | wdt
range | class of values of the property; they belong to one of these | wikibase-item | wdt
start-time | time from which the statement is true | time |
end-time | time until which the statement is true | time |
point-in-time | time at which the statement is true | time |
"""
_TERMS: Final = (
    *(SARAG.relatedTo, RDF.type, SARAG.text, SARAG.phrase, SARAG.confidence, DCTERMS.source, None),
    *(SKOS.exactMatch, PROV.alternateOf, SARAG.sha256, OWL.equivalentProperty),
    *(OWL.equivalentClass, SKOS.closeMatch, RDFS.subClassOf),
    *(SCHEMA.domainIncludes, SCHEMA.rangeIncludes),
    *(NamedNode(f"{WIKIDATA}{id_}") for id_ in ("P580", "P582", "P585")),
)
_LABELS: Final = {"original": "original IRI", "sha-256": "SHA-256"}


def _own_properties() -> Iterator[OwnProperty]:
    for line, term in zip(_ROWS.strip().splitlines(), _TERMS, strict=True):
        name, description, datatype, predicate = (cell.strip() for cell in line.split("|"))
        label = _LABELS.get(name, name.replace("-", " "))
        yield OwnProperty(name, label, description, datatype, term, predicate)


_ALL: Final = tuple(_own_properties())
OWN_PROPERTIES: Final = _ALL[:10]
ONTOLOGY_PROPERTIES: Final = _ALL[10:16]
"""Properties that are declared in exports with classes or properties of an ontology only."""
TIME_QUALIFIERS: Final = _ALL[16:]
"""Start, end and point in time of statements, declared only in exports of statements with times."""
(
    RELATED_TO, INSTANCE_OF, TEXT, PHRASE, CONFIDENCE, STATED_IN, DOCUMENT, EXACT_MATCH, ORIGINAL,
    DIGEST,
) = OWN_PROPERTIES  # fmt: skip
(
    EQUIVALENT_PROPERTY, EQUIVALENT_CLASS, CLOSE_MATCH, SUBCLASS_OF, DOMAIN, RANGE,
) = ONTOLOGY_PROPERTIES  # fmt: skip

CLASS_LABELS: Final = {
    SARAG.Person.value: "person",
    SARAG.Organization.value: "organization",
    SARAG.GeoPoliticalEntity.value: "geopolitical entity",
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
