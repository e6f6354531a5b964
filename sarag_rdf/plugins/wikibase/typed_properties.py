"""The properties of an export: its own, and those of typed statements as ontologies declare them.

Wikibase gives a property one datatype. A property of an ontology therefore becomes one property of
the export for each datatype that its values have: "date of birth" for dates, and "date of birth
(string)" for values that are not dates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.iris import Minter, local_name, normalize_name, sha256_hex
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import COMMON, DCTERMS, OWL, PROV, RDF, RDFS, SARAG, SCHEMA, SKOS, XSD
from sarag_rdf.extraction.text_values import CURRENCY, CURRENCY_WORDS, UNIT_IRIS
from sarag_rdf.graph.graph_reader import GraphReader, Part, term_reader
from sarag_rdf.graph.ontology import schema_reader
from sarag_rdf.graph.ontology.schema import Schema, split_words, value_datatype
from sarag_rdf.graph.ontology.schema_reader import TripleIndex
from sarag_rdf.graph.parts import ontology_triples
from sarag_rdf.plugins.wikibase.snak_values import STRING, literal_datatype
from sarag_rdf.plugins.wikibase.vocabulary import GEO, WIKIDATA

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


# --------------------------------------------------------------------------------- Typed statements

ITEM = "wikibase-item"
_IDENTIFIERS = frozenset(
    (
        DCTERMS.identifier.value,
        "http://purl.org/dc/elements/1.1/identifier",
        SKOS.notation.value,
        *schema_reader.schema_org("identifier"),
    )
)
"""Properties whose subproperties have external identifiers as values."""
_SUBPROPERTY = RDFS.subPropertyOf.value
_DATATYPES = {
    **dict.fromkeys((XSD[n].value for n in ("date", "dateTime", "gYear", "gYearMonth")), "time"),
    **dict.fromkeys((XSD[n].value for n in ("boolean", "duration", "time", "gMonthDay")), STRING),
    XSD.anyURI.value: "url",
}
"""Datatype of a range -> datatype of Wikibase, for those that are not numbers."""
_AXIOMS = frozenset(p.value for p in (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range))
_EQUAL = tuple(p.value for p in (OWL.equivalentProperty, OWL.equivalentClass, SKOS.exactMatch))


@dataclass(frozen=True, slots=True)
class TypedProperty:
    """A property of an ontology with values of one datatype of Wikibase."""

    iri: str
    datatype: str

    def key(self, minter: Minter) -> str:
        """Its IRI in the table of ids: that of the property, if its values are items."""
        if self.datatype == ITEM:
            return self.iri
        return f"{minter.base}property/{self.datatype}-{sha256_hex(self.iri)[:20]}"


def datatype_of(value: object) -> str:
    """The datatype of Wikibase for the value of a typed statement."""
    return literal_datatype(value) if isinstance(value, Literal) else ITEM


Texts = dict[str, str]
"""Texts by language."""


@dataclass(frozen=True)
class Ontologies:
    """The ontologies of a graph as an export needs them; without triples, nothing is known."""

    triples: tuple[Triple, ...] = ()

    @classmethod
    def read(cls, reader: GraphReader, terms: Iterable[str]) -> Ontologies:
        """The stored ontologies, what imported graphs say, and the packaged one if needed."""
        terms = frozenset(terms)
        stored = (*ontology_triples(reader), *_term_statements(reader, terms))
        known = {getattr(triple.subject, "value", "") for triple in stored}
        if any(term.startswith(COMMON.base) and term not in known for term in terms):
            path = str(ontology_path("common.ttl"))
            stored += tuple(quad.triple for quad in ox.parse(path=path, format=ox.RdfFormat.TURTLE))
        return cls(stored)

    @cached_property
    def _index(self) -> TripleIndex:
        return TripleIndex(self.triples)

    @cached_property
    def schema(self) -> Schema:
        return schema_reader.schema_of(self.triples)

    def typed_property(self, property_: str, datatype: str) -> TypedProperty:
        """The property of the export for values of a datatype; of strings, also identifiers."""
        if datatype == STRING and self._identifies(property_):
            return TypedProperty(property_, "external-id")
        return TypedProperty(property_, datatype)

    def _identifies(self, property_: str) -> bool:
        """Whether the strings of a property are identifiers, by its type or superproperties."""
        above = {property_, *self.schema.superproperties(property_)}
        types = self._index.iris(property_, RDF.type.value)
        parents = (parent for p in above for parent in self._index.iris(p, _SUBPROPERTY))
        return OWL.InverseFunctionalProperty.value in types or not _IDENTIFIERS.isdisjoint(
            {*above, *parents}
        )

    def is_declared(self, typed: TypedProperty) -> bool:
        """Whether the datatype is that of the property's range, or the range is unknown."""
        known = self.schema.properties.get(typed.iri)
        if known is None or (not known.ranges and not known.is_literal):
            return True
        if not known.is_literal:
            return typed.datatype == ITEM
        declared = value_datatype(known.label, known.ranges)
        if GEO.wktLiteral.value in known.ranges:
            return typed.datatype == "globe-coordinate"
        if declared == XSD.string.value:
            return typed.datatype in (STRING, "external-id", "monolingualtext")
        return typed.datatype == _DATATYPES.get(declared, "quantity")

    def as_declared(self, property_: str, value: ox.NamedNode | Literal) -> Literal:
        """A value of an imported graph: strings and integers have the range of the property."""
        if isinstance(value, ox.NamedNode):
            return Literal(value.value, datatype=XSD.anyURI)
        known = self.schema.properties.get(property_)
        if known is None or not known.ranges or value.datatype not in (XSD.string, XSD.integer):
            return value
        datatype = ox.NamedNode(value_datatype(known.label, known.ranges))
        typed = Literal(value.value.strip(), datatype=datatype)
        return value if literal_datatype(typed) == STRING else typed

    def labels(self, term: str) -> Texts:
        """The label of a class or property in each language; without any, words of its IRI."""
        return self._texts(term, schema_reader.LABELS) or {"en": split_words(local_name(term))}

    def descriptions(self, term: str) -> Texts:
        """The definition of a class or property in each language."""
        return self._texts(term, schema_reader.DEFINITIONS)

    def aliases(self, term: str) -> list[Literal]:
        """All names of a class or property."""
        names = self._index.objects(term, *schema_reader.ALTERNATIVES)
        return [name for name in names if isinstance(name, Literal) and name.value.strip()]

    def _texts(self, term: str, properties: Iterable[str]) -> Texts:
        texts: Texts = {}
        for text in self._index.objects(term, *properties):
            if isinstance(text, Literal) and text.value.strip():
                texts.setdefault(text.language or "en", text.value)
        return texts

    def close_terms(self, term: str) -> list[str]:
        """Terms of other vocabularies that are close in meaning."""
        return sorted(set(self._index.iris(term, SKOS.closeMatch.value)))

    def equal_terms(self, term: str) -> list[str]:
        """Properties or named classes that are declared equal to one, in either direction."""
        equal = {*self._index.iris(term, *_EQUAL), *self._inverse_matches.get(term, ())}
        return sorted(other for other in equal - {term} if self._index.named(other) == [other])

    @cached_property
    def _inverse_matches(self) -> dict[str, set[str]]:
        inverse: defaultdict[str, set[str]] = defaultdict(set)
        for subject, other in self._index.pairs(*_EQUAL):
            inverse[other].add(subject)
        return inverse

    def parents(self, class_: str) -> list[str]:
        """The direct superclasses of a class that an ontology of the graph declares."""
        known = self.schema.classes.get(class_)
        return (
            [parent for parent in known.parents if parent in self.schema.classes] if known else []
        )

    def domains(self, property_: str) -> tuple[str, ...]:
        """Classes of which the subjects of a property have one."""
        known = self.schema.properties.get(property_)
        return self._classes(known.domains) if known else ()

    def ranges(self, typed: TypedProperty) -> tuple[str, ...]:
        """Classes of which the items that are values of a property have one."""
        known = self.schema.properties.get(typed.iri)
        has_items = known and not known.is_literal and typed.datatype == ITEM
        return self._classes(known.ranges) if known and has_items else ()

    def _classes(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(name for name in names if name in self.schema.classes))

    def classes_around(
        self, classes: Iterable[str], properties: Iterable[TypedProperty]
    ) -> Iterator[str]:
        """The superclasses of classes, and of domains and ranges, with these."""
        known = self.schema.classes.keys()
        requested = set(classes) & known
        for typed in properties:
            requested |= {*self.domains(typed.iri), *self.ranges(typed)}
        for class_ in requested:
            yield from self.schema.superclasses(class_) & known


def imported_parts(reader: GraphReader) -> list[Part]:
    """The imported graphs among the parts, which also contain the links."""
    return [part for part in reader.imported.parts if "kg" in part.graphs]


def _term_statements(reader: GraphReader, terms: frozenset[str]) -> Iterator[Triple]:
    """What imported graphs say about terms, and about those that their axioms lead to."""
    for part in imported_parts(reader):
        own, known, new = term_reader(reader, part), set[str](), set(terms)
        for term, label in own.rows_for("term-labels", terms):
            yield Triple(term, RDFS.label, label)
        while new:
            known |= new
            rows = [*own.rows_for("term-statements", new)]
            yield from (Triple(*row) for row in rows)
            new = {row[2].value for row in rows if row[1].value in _AXIOMS} - known


def unit_texts(unit: str) -> tuple[Texts, Texts, list[Literal]]:
    """Labels, descriptions and aliases of a unit of measurement or currency."""
    names = unit_names(unit) or (local_name(unit),)
    kind = "currency" if unit.startswith(CURRENCY) else "unit of measurement"
    return {"en": names[0]}, {"en": kind}, [Literal(n, language="en") for n in names[1:]]


def unit_names(unit: str) -> tuple[str, ...]:
    """The English names of a unit or currency by its IRI, the label first; empty if unknown.

    >>> unit_names("http://qudt.org/vocab/unit/KiloM")[0]
    'kilometre'
    """
    if unit.startswith(CURRENCY):
        code = unit.removeprefix(CURRENCY)
        return (code, *(name for name, known in CURRENCY_WORDS.items() if known == code))
    names = [name for name, iri in UNIT_IRIS.items() if iri == unit]
    label = sorted(names, key=lambda name: (name.endswith("s"), -len(name)))[:1]
    return tuple(dict.fromkeys((*label, *names)))
