"""Triples of ontologies by subject and property, and the properties that describe terms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.vocab import DCTERMS, OWL, RDF, RDFS, SH, SKOS, XSD, Namespace
from sarag_rdf.graph.store.parse import is_skolem_iri

_DC = Namespace("http://purl.org/dc/elements/1.1/")
_VANN = Namespace("http://purl.org/vocab/vann/")
_OBO = Namespace("http://purl.obolibrary.org/obo/")
_SCHEMAS = (Namespace("http://schema.org/"), Namespace("https://schema.org/"))


def schema_org(name: str) -> tuple[str, ...]:
    """A term of schema.org with either scheme."""
    return tuple(schema[name].value for schema in _SCHEMAS)


def iris_of(*terms: NamedNode) -> tuple[str, ...]:
    """The IRIs of terms of a vocabulary."""
    return tuple(term.value for term in terms)


TYPE: Final = RDF.type.value
LANGUAGES: Final = (RDF.base, RDFS.base, OWL.base, XSD.base, SKOS.base, SH.base, _VANN.base)
"""Namespaces whose terms describe ontologies, and are never part of a schema."""
CLASS_TYPES: Final = frozenset(iris_of(RDFS.Class, OWL.Class, SKOS.Concept))
DATATYPE_TYPES: Final = frozenset((RDFS.Datatype.value, *schema_org("DataType")))
ANNOTATION_TYPES: Final = frozenset(iris_of(OWL.AnnotationProperty, OWL.OntologyProperty))
PROPERTY_TYPES: Final = frozenset(
    (
        RDF.Property.value,
        *(
            OWL[f"{kind}Property"].value
            for kind in (
                *("Object", "Datatype", "Functional", "InverseFunctional", "Transitive"),
                *("Symmetric", "Asymmetric", "Reflexive", "Irreflexive"),
            )
        ),
    )
)
LABELS: Final = iris_of(SKOS.prefLabel, RDFS.label, SH.name, DCTERMS.title)
ALTERNATIVES = (
    *iris_of(SKOS.altLabel, SKOS.prefLabel, RDFS.label, SH.name),
    *schema_org("alternateName"),
    "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym",
)
DEFINITIONS = (
    *iris_of(SKOS.definition, _OBO.IAO_0000115, RDFS.comment, SH.description),
    *iris_of(DCTERMS.description, SKOS.scopeNote),
)
EXAMPLES = iris_of(SKOS.example, _VANN.example, _OBO.IAO_0000112)
DOMAINS: Final = (RDFS.domain.value, *schema_org("domainIncludes"))
RANGES: Final = (RDFS.range.value, *schema_org("rangeIncludes"))
INVERSES: Final = (OWL.inverseOf.value, *schema_org("inverseOf"))
SUPERSEDED = schema_org("supersededBy")
ANYTHING = frozenset(iris_of(OWL.Thing, RDFS.Resource))
TITLES = iris_of(DCTERMS.title, _DC.title, RDFS.label, SKOS.prefLabel)


class TripleIndex:
    """Triples by subject and property; objects are in a fixed order."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._objects: defaultdict[str, defaultdict[str, list[Any]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._subjects: defaultdict[str, list[str]] = defaultdict(list)
        for triple in sorted(set(triples), key=str):
            subject, property_ = str(getattr(triple.subject, "value", "")), triple.predicate.value
            self._objects[subject][property_].append(triple.object)
            self._subjects[property_].append(subject)

    def objects(self, subject: str, *properties: str) -> list[Any]:
        """The objects of a subject, property by property."""
        if subject not in self._objects:
            return []
        known = self._objects[subject]
        return [term for property_ in properties for term in known.get(property_, ())]

    def iris(self, subject: str, *properties: str) -> list[str]:
        """The objects that are IRIs."""
        terms = self.objects(subject, *properties)
        return [term.value for term in terms if isinstance(term, NamedNode)]

    def pairs(self, *properties: str) -> Iterator[tuple[str, str]]:
        """(subject, object) of all triples with these properties whose object is an IRI."""
        for property_ in properties:
            for subject in dict.fromkeys(self._subjects.get(property_, ())):
                yield from ((subject, iri) for iri in self.iris(subject, property_))

    def instances(self, types: Iterable[str]) -> set[str]:
        """The subjects that have one of the types."""
        requested = set(types)
        return {subject for subject, type_ in self.pairs(TYPE) if type_ in requested}

    def triples(self) -> Iterator[tuple[str, str, Any]]:
        """(subject, property, object) of all triples."""
        for subject, properties in self._objects.items():
            for property_, terms in properties.items():
                yield from ((subject, property_, term) for term in terms)

    def members(self, node: str) -> list[str]:
        """The IRIs in an RDF list."""
        members: list[str] = []
        seen: set[str] = set()
        while node and node != RDF.nil.value and node not in seen:
            seen.add(node)
            members += self.iris(node, RDF.first.value)
            node = next(iter(self.iris(node, RDF.rest.value)), "")
        return members

    def named(self, node: str) -> list[str]:
        """The IRI of a class or datatype; for an anonymous union or restriction, those in it."""
        iris: list[str] = []
        lists = OWL.unionOf.value, OWL.intersectionOf.value
        for inner in self.nested(node, *lists, follows=is_skolem_iri):
            if not is_skolem_iri(inner):
                iris.append(inner)
                continue
            iris += self.iris(inner, OWL.onDatatype.value)
            for list_ in self.iris(inner, OWL.oneOf.value):
                first = self.objects(list_, RDF.first.value)
                iris += [item.datatype.value for item in first if isinstance(item, Literal)]
        return iris

    def nested(
        self, node: str, *lists: str, follows: Callable[[str], bool] = bool
    ) -> Iterator[str]:
        """A node, and the members of its lists by these properties, in any depth.

        Only the lists of nodes for which `follows` is true are read.
        """
        todo, seen = [node], {node}
        while todo:
            node = todo.pop()
            yield node
            for list_ in self.iris(node, *lists) if follows(node) else ():
                new = [member for member in self.members(list_) if member not in seen]
                seen.update(new)
                todo += new


def texts(index: TripleIndex, node: str, properties: Iterable[str]) -> list[str]:
    """The texts of a node in its best language, and those without one, each once.

    English comes first, then texts without a language tag, then other languages by tag.
    """
    ranked = []
    for order, property_ in enumerate(properties):
        for term in index.objects(node, property_):
            if isinstance(term, Literal) and (text := " ".join(term.value.split())):
                language = (term.language or "").lower().partition("-")[0]
                rank = ("en", "").index(language) if language in ("en", "") else 2
                ranked.append((rank, language, order, text))
    ranked.sort()
    requested = {ranked[0][1], ""} if ranked else set()
    return list(dict.fromkeys(text for _, language, _, text in ranked if language in requested))


_CODE = re.compile(r"[A-Za-z]{0,5}[_-]?\d+")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.+\s]+")


def is_code(name: str) -> bool:
    """Whether a local name is an identifier without words, such as ``P19`` or ``BFO_0000050``."""
    return _CODE.fullmatch(name) is not None


def split_words(name: str) -> str:
    """``birthDate``, ``birth_date`` and ``BirthDate`` as "birth date"; acronyms keep their case."""
    if is_code(name):
        return name
    words = [word for word in _WORD_BREAK.split(name) if word]
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)
