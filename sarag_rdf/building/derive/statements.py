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

from sarag_rdf.base.iris import phrase_key, use_of
from sarag_rdf.base.vocab import OWL, PROV, RDF, RDFS, SARAG, XSD, Term, iri
from sarag_rdf.building.derive.decisions import VALUE_TYPE, Decisions
from sarag_rdf.graph.graph_reader import GraphReader

SUBJECT, OBJECT = SARAG.subjectMention.value, SARAG.objectMention.value
_PROPERTY, _INVERSE = SARAG.statedProperty.value, SARAG.statedInverseProperty.value
DOCUMENT = PROV.wasDerivedFrom.value
_TYPE = SARAG.entityType.value
_VALUE, _PHRASE = SARAG.value.value, SARAG.phrase.value
STATEMENT_PROPERTIES = frozenset({SUBJECT, OBJECT, _PROPERTY, _INVERSE, _VALUE, _PHRASE, DOCUMENT})
"""Properties of relationships that determine their statements."""
_NOTHING = OWL.bottomObjectProperty.value


class Statement(NamedTuple):
    """The statement of a relationship; the ends are mentions, or the object is a literal."""

    relationship: str
    property: str
    is_inverse: bool
    """Whether the object comes before the subject in the relationship."""
    subject: str
    object: str | Literal


RelationshipProperties = Mapping[str, Term]
"""Property -> value, for `STATEMENT_PROPERTIES`."""


UseProperty = tuple[str, str, str, Term]
"""(name use, source graph, property, value)"""


@dataclass(frozen=True, slots=True)
class NameUses:
    """Types and values of name uses, by (name use, source graph)."""

    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    values: Mapping[tuple[str, str], Literal] = field(default_factory=dict)

    @classmethod
    def of(cls, properties: Iterable[UseProperty]) -> NameUses:
        """From the properties of name uses; of several values of a property, the least counts."""
        types: dict[tuple[str, str], str] = {}
        values: dict[tuple[str, str], Literal] = {}
        for use, graph, property_, value in properties:
            key = use, graph
            if property_ == _TYPE:
                types[key] = min(value.value, types.get(key, value.value))
            elif property_ == _VALUE and isinstance(value, Literal):
                values[key] = min(value, values.get(key, value), key=str)
        return cls(types, values)


def statement_of(
    relationship: str,
    graph: str,
    properties: RelationshipProperties,
    decisions: Decisions,
    uses: NameUses,
) -> Statement | None:
    """The statement of a relationship in a source graph, or None if it states none.

    A property that was decided for phrases whose object is a value relates the subject to the
    value of its object, such as a date. `uses` are needed for decisions about phrases.
    """
    subject, object_ = properties.get(SUBJECT), properties.get(OBJECT)
    value = properties.get(_VALUE)
    if subject is None:
        return None
    is_inverse = _INVERSE in properties
    stated = properties.get(_INVERSE if is_inverse else _PROPERTY)
    property_ = stated.value if stated is not None else ""
    if decisions.phrases and _PHRASE in properties:
        object_value = value or uses.values.get(_use(properties, OBJECT, graph))
        types = uses.types.get(_use(properties, OBJECT, graph), "")
        decided = decisions.property_of(
            phrase_key(properties[_PHRASE].value),
            uses.types.get(_use(properties, SUBJECT, graph), ""),
            (VALUE_TYPE, types) if object_value else (types,),
        )
        if decided is not None:
            property_, is_inverse, object_type = decided
            value = object_value if object_type == VALUE_TYPE else value
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


def _use(properties: RelationshipProperties, end: str, graph: str) -> tuple[str, str]:
    """The use of the name at an end of a relationship; empty if it is not a name in a document."""
    mention, document = properties.get(end), properties.get(DOCUMENT)
    if mention is None or document is None:
        return "", graph
    return use_of(document.value, mention.value), graph


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
    return "/genid/" not in iri and not iri.startswith(others)


def statement_triples(
    statements: Iterable[Statement], refers_to: Mapping[str, str], decisions: Decisions
) -> set[Triple]:
    """The statements of entities, and the properties of the relationships that state them."""
    triples: set[Triple] = set()
    for statement, subject, object_ in _resolved(statements, refers_to, decisions):
        property_ = NamedNode(statement.property)
        triples.add(Triple(subject, property_, object_))
        direction = SARAG.inverseProperty if statement.is_inverse else SARAG.property
        relationship = NamedNode(statement.relationship)
        triples.add(Triple(relationship, direction, property_))
        if isinstance(object_, Literal):
            triples.add(Triple(relationship, SARAG.subject, subject))
    return triples


def _resolved(
    statements: Iterable[Statement], refers_to: Mapping[str, str], decisions: Decisions
) -> Iterator[tuple[Statement, NamedNode, Term]]:
    """Statements with their subjects and objects.

    Omitted are those with an unknown end, those in quarantine, and those of one entity: two names
    of one entity, as in "Paris, France" after a merge, state nothing about it.
    """
    for statement in statements:
        subject = refers_to.get(statement.subject)
        if subject is None:
            continue
        object_: Term
        if isinstance(statement.object, Literal):
            object_ = statement.object
        elif refers_to.get(statement.object, subject) != subject:
            object_ = NamedNode(refers_to[statement.object])
        else:
            continue
        if (subject, statement.property, str(object_)) not in decisions.quarantined:
            yield statement, NamedNode(subject), object_


def implied_classes(
    statements: Iterable[Statement],
    refers_to: Mapping[str, str],
    rules: ClassRules,
    decisions: Decisions,
) -> set[tuple[str, str]]:
    """(entity, class) pairs that follow from domains and ranges."""
    pairs: set[tuple[str, str]] = set()
    for statement, subject, object_ in _resolved(statements, refers_to, decisions):
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
