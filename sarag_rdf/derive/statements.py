"""Typed statements: what relationships state in terms of an ontology, and classes that follow.

A typed relationship states ``subject property object`` of entities, or of an entity and a literal.
Its property is the one that the extraction gives, unless a decision about its phrase gives another.
An entity has the classes that the extraction gives to its names, and those that follow from the
domains and ranges of its statements (RDFS entailment rules rdfs2 and rdfs3), unless it was decided
to which classes it belongs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.derive.decisions import Decisions, PhraseSignature
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import phrase_key, use_of
from sarag_rdf.ports import Term
from sarag_rdf.terms import iri
from sarag_rdf.vocab import OWL, PROV, RDF, RDFS, SARAG, XSD

SUBJECT, OBJECT = SARAG.subjectMention.value, SARAG.objectMention.value
_PROPERTY, _INVERSE = SARAG.statedProperty.value, SARAG.statedInverseProperty.value
DOCUMENT = PROV.wasDerivedFrom.value
_VALUE, _PHRASE = SARAG.value.value, SARAG.phrase.value
STATEMENT_PROPERTIES = frozenset({SUBJECT, OBJECT, _PROPERTY, _INVERSE, _VALUE, _PHRASE, DOCUMENT})
"""Properties of relationships that determine their statements."""
_NOTHING = OWL.bottomObjectProperty.value


class Statement(NamedTuple):
    """The statement of a relationship; the ends are mentions, or the object is a literal."""

    relationship: str
    property: str
    is_inverse: bool
    """Whether the object stands before the subject in the relationship."""
    subject: str
    object: str | Literal


RelationshipProperties = Mapping[str, Term]
"""Property -> value, for `STATEMENT_PROPERTIES`."""
UseTypes = Mapping[tuple[str, str], str]
"""(name use, source graph) -> entity type of the use of the name."""


def statement_of(
    relationship: str,
    graph: str,
    properties: RelationshipProperties,
    decisions: Decisions,
    types: UseTypes,
) -> Statement | None:
    """The statement of a relationship in a source graph, or None if it states none.

    `types` are needed for decisions about phrases.
    """

    def use_type(mention: Term | None) -> str:
        if mention is None or DOCUMENT not in properties:
            return ""
        return types.get((use_of(properties[DOCUMENT].value, mention.value), graph), "")

    subject, object_ = properties.get(SUBJECT), properties.get(OBJECT)
    value = properties.get(_VALUE)
    if subject is None:
        return None
    is_inverse = _INVERSE in properties
    stated = properties.get(_INVERSE if is_inverse else _PROPERTY)
    property_ = stated.value if stated is not None else ""
    if decisions.phrases and _PHRASE in properties:
        phrase = phrase_key(properties[_PHRASE].value)
        signature = PhraseSignature(phrase, use_type(subject), use_type(object_))
        property_, is_inverse = decisions.phrases.get(signature, (property_, is_inverse))
    if not property_ or property_ == _NOTHING:
        return None
    first = decisions.variant(subject.value, graph)
    if isinstance(value, Literal) and not is_inverse:
        return Statement(relationship, property_, is_inverse, first, value)
    if object_ is None:
        return None
    second = decisions.variant(object_.value, graph)
    if is_inverse:
        first, second = second, first
    return Statement(relationship, property_, is_inverse, first, second)


@dataclass(frozen=True, slots=True)
class ClassRules:
    """Domains and ranges of properties: property -> classes."""

    domains: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ranges: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        reader: GraphReader,
        properties: Iterable[str],
        without: Container[str] = (),
        quads: Iterable[Quad] = (),
    ) -> ClassRules:
        """The domains and ranges that are named classes, in the stored ontologies.

        Except for the graphs in `without`, and with those among `quads`.
        """
        properties = frozenset(properties)
        rows = [
            (property_, axiom, class_)
            for property_, axiom, class_, graph in reader.select_provenance_for(
                "domains-ranges", properties
            )
            if graph.value not in without
        ]
        rows += [
            (quad.subject, quad.predicate, quad.object)
            for quad in quads
            if quad.predicate in (RDFS.domain, RDFS.range) and iri(quad.subject) in properties
        ]
        domains: defaultdict[str, set[str]] = defaultdict(set)
        ranges: defaultdict[str, set[str]] = defaultdict(set)
        for property_, axiom, class_ in rows:
            if isinstance(class_, NamedNode) and _is_named_class(class_.value):
                target = domains if axiom == RDFS.domain else ranges
                target[property_.value].add(class_.value)
        return cls(_frozen(domains), _frozen(ranges))


def _frozen(sets: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(values) for key, values in sets.items()}


def _is_named_class(iri: str) -> bool:
    others = (XSD.base, RDF.base, RDFS.base, OWL.base)
    return "/.well-known/genid/" not in iri and not iri.startswith(others)


def statement_triples(statements: Iterable[Statement], refers_to: Mapping[str, str]) -> set[Triple]:
    """The statements of entities, and the properties of the relationships that state them."""
    triples: set[Triple] = set()
    for statement, subject, object_ in _resolved(statements, refers_to):
        property_ = NamedNode(statement.property)
        triples.add(Triple(subject, property_, object_))
        direction = SARAG.inverseProperty if statement.is_inverse else SARAG.property
        relationship = NamedNode(statement.relationship)
        triples.add(Triple(relationship, direction, property_))
        if isinstance(object_, Literal):
            triples.add(Triple(relationship, SARAG.subject, subject))
    return triples


def _resolved(
    statements: Iterable[Statement], refers_to: Mapping[str, str]
) -> Iterator[tuple[Statement, NamedNode, Term]]:
    """Statements with their subjects and objects, except those with an unknown end or one entity.

    Two names of one entity, as in "Paris, France" after a merge, state nothing about it.
    """
    for statement in statements:
        subject = refers_to.get(statement.subject)
        if subject is None:
            continue
        if isinstance(statement.object, Literal):
            yield statement, NamedNode(subject), statement.object
        elif refers_to.get(statement.object, subject) != subject:
            yield statement, NamedNode(subject), NamedNode(refers_to[statement.object])


def implied_classes(
    statements: Iterable[Statement], refers_to: Mapping[str, str], rules: ClassRules
) -> set[tuple[str, str]]:
    """(entity, class) pairs that follow from domains and ranges."""
    pairs: set[tuple[str, str]] = set()
    for statement, subject, object_ in _resolved(statements, refers_to):
        property_ = statement.property
        pairs |= {(subject.value, class_) for class_ in rules.domains.get(property_, ())}
        if isinstance(object_, NamedNode):
            pairs |= {(object_.value, class_) for class_ in rules.ranges.get(property_, ())}
    return pairs


def class_triples(
    claims: Iterable[tuple[str, str]], refers_to: Mapping[str, str], decisions: Decisions
) -> set[Triple]:
    """The classes of entities from (entity, class) claims, or those decided for their names."""
    decided: defaultdict[str, set[str]] = defaultdict(set)
    for mention, classes in decisions.classes.items():
        if mention in refers_to:
            decided[refers_to[mention]] |= classes
    pairs = {pair for pair in claims if pair[0] not in decided}
    pairs |= {(entity, class_) for entity, classes in decided.items() for class_ in classes}
    return {Triple(NamedNode(e), RDF.type, NamedNode(class_)) for e, class_ in pairs}


def properties_of(statements: Iterable[Statement]) -> set[str]:
    """The properties of statements."""
    return {statement.property for statement in statements}


def mentions_of(statements: Iterable[Statement]) -> set[str]:
    """The mentions at the ends of statements."""
    ends = {end for statement in statements for end in (statement.subject, statement.object)}
    return {end for end in ends if isinstance(end, str)}
