"""Typed statements: what relationships state in terms of an ontology, and classes that follow.

A typed relationship states ``subject property object`` of entities, or of an entity and a literal.
Its property is the one that the extraction gives, unless a decision about its phrase gives another.
An entity has the classes that the extraction gives to its names, and those that follow from the
domains and ranges of its statements (RDFS entailment rules rdfs2 and rdfs3), unless it was decided
to which classes it belongs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.iris import Minter, normalize_name, phrase_key, use_of
from sarag_rdf.base.types import ENTITY_TYPES, VALUE_TYPES
from sarag_rdf.base.vocab import (
    OWL,
    PROV,
    RDF,
    RDFS,
    SARAG,
    SKOS,
    TYPE_CLASSES,
    WIKIBASE,
    XSD,
    Term,
    iri,
    iri_or_literal,
)
from sarag_rdf.building.decision_records import NO_PROPERTY, RANKS, VALUE_TYPE, Decisions
from sarag_rdf.extraction.names import types_of_class
from sarag_rdf.graph.graph_reader import GraphReader

SUBJECT, OBJECT = SARAG.subjectMention.value, SARAG.objectMention.value
_PROPERTY, _INVERSE = SARAG.statedProperty.value, SARAG.statedInverseProperty.value
DOCUMENT = PROV.wasDerivedFrom.value
ENTITY_TYPE, VALUE, PHRASE = SARAG.entityType.value, SARAG.value.value, SARAG.phrase.value
STATEMENT_PROPERTIES = frozenset({SUBJECT, OBJECT, _PROPERTY, _INVERSE, VALUE, PHRASE, DOCUMENT})
"""Properties of relationships that determine their statements."""


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
            if property_ == ENTITY_TYPE:
                types[key] = min(value.value, types.get(key, value.value))
            elif property_ == VALUE and isinstance(value, Literal):
                values[key] = min(value, values.get(key, value), key=str)
        return cls(types, values)


def add_least(properties: dict[str, Term], property_: str, value: Term) -> None:
    """Add a property of a relationship; of several values, against the shapes, the least counts."""
    properties[property_] = min(value, properties.get(property_, value), key=str)


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
    value = properties.get(VALUE)
    if subject is None:
        return None
    is_inverse = _INVERSE in properties
    stated = properties.get(_INVERSE if is_inverse else _PROPERTY)
    property_ = stated.value if stated is not None else ""
    if decisions.phrases and PHRASE in properties:
        object_value = value or uses.values.get(use_at(properties, OBJECT, graph))
        types = uses.types.get(use_at(properties, OBJECT, graph), "")
        decided = decisions.property_of(
            phrase_key(properties[PHRASE].value),
            uses.types.get(use_at(properties, SUBJECT, graph), ""),
            (VALUE_TYPE, types) if object_value else (types,),
        )
        if decided is not None:
            property_, is_inverse, object_type = decided
            value = object_value if object_type == VALUE_TYPE else value
    if not property_ or property_ == NO_PROPERTY:
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


def use_at(properties: RelationshipProperties, end: str, graph: str) -> tuple[str, str]:
    """The use of the name at an end of a relationship; empty if it is not a name in a document."""
    mention, document = properties.get(end), properties.get(DOCUMENT)
    if mention is None or document is None:
        return "", graph
    return use_of(document.value, mention.value), graph


@dataclass(frozen=True, slots=True)
class ClassRules:
    """Domains and ranges of properties: property -> classes."""

    domains: Mapping[str, Set[str]] = field(default_factory=dict)
    ranges: Mapping[str, Set[str]] = field(default_factory=dict)

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
        stored = reader.select_provenance_for("domains-ranges", properties)
        rows = [row[:3] for row in stored if row[3].value not in without]
        rows += [
            (quad.subject, quad.predicate, quad.object)
            for quad in quads
            if quad.predicate in (RDFS.domain, RDFS.range) and iri(quad.subject) in properties
        ]
        domains: defaultdict[str, set[str]] = defaultdict(set)
        ranges: defaultdict[str, set[str]] = defaultdict(set)
        for property_, axiom, class_ in rows:
            if (
                isinstance(class_, NamedNode)
                and "/genid/" not in class_.value
                and not class_.value.startswith((XSD.base, RDF.base, RDFS.base, OWL.base))
            ):
                target = domains if axiom == RDFS.domain else ranges
                target[property_.value].add(class_.value)
        return cls(domains, ranges)


def statement_triples(
    statements: Iterable[Statement], refers_to: Mapping[str, str], decisions: Decisions
) -> set[Triple]:
    """The statements of entities, with the properties and ranks of their relationships.

    Every relationship that states a ranked statement has its rank. A deprecated statement is left
    out, as one in quarantine is, but its relationships keep their property, as a full statement of
    Wikibase does that is not truthy.
    """
    triples: set[Triple] = set()
    for statement, subject, object_ in _resolved(statements, refers_to):
        property_, key = NamedNode(statement.property), _key(statement, subject, object_)
        rank = decisions.ranks.get(key)
        if key not in decisions.quarantined:
            triples.add(Triple(subject, property_, object_))
        elif rank is None:
            continue
        direction = SARAG.inverseProperty if statement.is_inverse else SARAG.property
        relationship = NamedNode(statement.relationship)
        triples.add(Triple(relationship, direction, property_))
        if isinstance(object_, Literal):
            triples.add(Triple(relationship, SARAG.subject, subject))
        if rank is not None:
            triples.add(Triple(relationship, WIKIBASE.rank, RANKS[rank]))
    return triples


def _key(statement: Statement, subject: NamedNode, object_: Term) -> tuple[str, str, str]:
    """A statement as decisions have it: subject, property, and object in N-Triples."""
    return subject.value, statement.property, str(object_)


def _resolved(
    statements: Iterable[Statement], refers_to: Mapping[str, str]
) -> Iterator[tuple[Statement, NamedNode, Term]]:
    """Statements with their subjects and objects.

    Omitted are those with an unknown end, and those of one entity: two names of one entity, as in
    "Paris, France" after a merge, state nothing about it.
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
        yield statement, NamedNode(subject), object_


def implied_classes(
    statements: Iterable[Statement],
    refers_to: Mapping[str, str],
    rules: ClassRules,
    decisions: Decisions,
) -> set[tuple[str, str]]:
    """(entity, class) pairs that follow from domains and ranges."""
    pairs: set[tuple[str, str]] = set()
    for statement, subject, object_ in _resolved(statements, refers_to):
        if _key(statement, subject, object_) in decisions.quarantined:
            continue
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


ALIAS_MENTION = SARAG.aliasMention.value
USE_OF = SARAG.useOf.value
NAME, ALIAS, ENTITY_CLASS = SARAG.name.value, SARAG.alias.value, SARAG.entityClass.value
MENTION_PROPERTIES = frozenset(
    {NAME, ALIAS, ENTITY_TYPE, ENTITY_CLASS, VALUE, USE_OF, ALIAS_MENTION}
)
"""Properties of the uses of a name that count as votes on the name."""

_TEXT_LINKS = {
    USE_OF: SARAG.describes,
    SARAG.titleMention.value: SARAG.describes,
    SARAG.topicMention.value: SARAG.about,
}
"""Property from a text to a mention -> derived property from the text to the entity."""

TextMention = tuple[str, str, str]
"""(document or name use, property, mention); names in titles need not have been extracted.

The property is ``sarag:useOf`` for the use of a name, and also for its document."""
RelationshipEnds = tuple[str, str, str]
"""(relationship, subject mention, object mention)"""

Vote = tuple[str, str, Term]
"""(mention, property, value): a statement about the uses of a name, counted once per source."""


@dataclass(slots=True)
class StatementParts:
    """What statements are derived from, as it is read quad by quad."""

    relationships: defaultdict[tuple[str, str], dict[str, Term]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """(relationship, source graph) -> its `RelationshipProperties`"""
    uses: list[UseProperty] = field(default_factory=list)

    def add(self, quad: Quad) -> None:
        """Note a quad of a source graph, if it is a part."""
        predicate = quad.predicate.value
        if predicate in STATEMENT_PROPERTIES:
            key = iri(quad.subject), iri(quad.graph_name)
            add_least(self.relationships[key], predicate, iri_or_literal(quad.object))
        if predicate in MENTION_PROPERTIES:
            value = iri_or_literal(quad.object)
            self.uses.append((iri(quad.subject), iri(quad.graph_name), predicate, value))


@dataclass(slots=True)
class SourceEvidence:
    """The evidence in some source graphs."""

    votes: Counter[Vote] = field(default_factory=Counter)
    """Vote -> number of sources."""
    text_mentions: set[TextMention] = field(default_factory=set)
    relationships: set[RelationshipEnds] = field(default_factory=set)
    """Relationships that have both a subject and an object."""
    statements: set[Statement] = field(default_factory=set)
    """The statements of typed relationships."""

    @classmethod
    def of(cls, quads: Iterable[Quad], decisions: Decisions | None = None) -> SourceEvidence:
        """The evidence in the quads of source graphs; duplicate quads count once.

        Mentions are replaced by their variants, and phrases typed, as the decisions say.
        """
        decisions = decisions or Decisions()
        variant = decisions.variant
        evidence = cls()
        parts = StatementParts()
        uses: dict[tuple[str, str], str] = {}
        documents: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for quad in quads:
            parts.add(quad)
            predicate = quad.predicate.value
            if predicate != DOCUMENT and predicate not in _TEXT_LINKS:
                continue
            key = iri(quad.subject), iri(quad.graph_name)
            if predicate == DOCUMENT:
                documents[key].add(iri(quad.object))
            else:
                mention = variant(iri(quad.object), key[1])
                evidence.text_mentions.add((key[0], predicate, mention))
                if predicate == USE_OF:
                    uses[key] = mention
        evidence.text_mentions |= {
            (document, USE_OF, mention)
            for use, mention in uses.items()
            for document in documents[use]
        }
        votes = set()
        for use, graph, predicate, value in parts.uses:
            if (use, graph) in uses:
                if predicate in (ALIAS_MENTION, USE_OF):
                    value = NamedNode(variant(value.value, graph))
                votes.add(((uses[use, graph], predicate, value), graph))
        evidence.votes.update(vote for vote, _ in votes)
        name_uses = NameUses.of(parts.uses)
        for (relationship, graph), values in parts.relationships.items():
            if values.keys() >= {SUBJECT, OBJECT}:
                subject, object_ = (variant(values[end].value, graph) for end in (SUBJECT, OBJECT))
                evidence.relationships.add((relationship, subject, object_))
            statement = statement_of(relationship, graph, values, decisions, name_uses)
            evidence.statements |= {statement} if statement else set()
        return evidence

    @property
    def mentions(self) -> set[str]:
        """The mentions with votes."""
        return {mention for mention, _, _ in self.votes}

    @property
    def names(self) -> set[str]:
        """All mentions that occur, with or without votes."""
        names = self.mentions | {alias for _, alias in alias_claims_in(self.votes)}
        names |= {mention for _, _, mention in self.text_mentions}
        names |= mentions_of(self.statements)
        return names | {mention for _, *ends in self.relationships for mention in ends}


def mentioned_in(votes: Iterable[Vote]) -> set[str]:
    """The mentions with a use in these votes: those that were extracted."""
    return {mention for mention, property_, _ in votes if property_ == USE_OF}


def alias_claims_in(votes: Iterable[Vote]) -> set[tuple[str, str]]:
    """(mention, alias) pairs in these votes."""
    return {(m, value.value) for m, property_, value in votes if property_ == ALIAS_MENTION}


def derive(
    evidence: SourceEvidence,
    refers_to: Mapping[str, str],
    rules: ClassRules | None = None,
    decisions: Decisions | None = None,
) -> set[Triple]:
    """The triples of the traversed graph that follow from the evidence.

    `refers_to` maps every extracted mention to its entity. Links and relationships of other
    mentions are ignored. `rules` are those of the properties of the statements.
    """
    rules, decisions = rules or ClassRules(), decisions or Decisions()
    triples = text_links(evidence.text_mentions, refers_to) | end_links(
        evidence.relationships, refers_to
    )
    triples |= {
        related_to_triple(*pair) for pair in related_pairs(evidence.relationships, refers_to)
    }
    names = normalized_names(evidence.votes)
    names |= {base: names[variant] for variant, base in decisions.bases.items() if variant in names}
    for mention, entity in refers_to.items():
        triples |= mention_triples(mention, entity, names.get(mention))
    triples |= statement_triples(evidence.statements, refers_to, decisions)
    claims = claimed_classes(evidence.votes, refers_to)
    claims |= implied_classes(evidence.statements, refers_to, rules, decisions)
    classes = class_triples(claims, refers_to, decisions)
    return triples | classes | entity_names(evidence.votes, refers_to, decisions, classes)


def claimed_classes(votes: Iterable[Vote], refers_to: Mapping[str, str]) -> set[tuple[str, str]]:
    """(entity, class) pairs, from the classes that sources give to names."""
    return {
        (refers_to[mention], value.value)
        for mention, property_, value in votes
        if property_ == ENTITY_CLASS and mention in refers_to
    }


def text_links(text_mentions: Iterable[TextMention], refers_to: Mapping[str, str]) -> set[Triple]:
    """Links from texts to entities."""
    return {
        _triple(text, _TEXT_LINKS[property_], refers_to[mention])
        for text, property_, mention in text_mentions
        if mention in refers_to
    }


def end_links(
    relationships: Iterable[RelationshipEnds], refers_to: Mapping[str, str]
) -> set[Triple]:
    """Links from relationships to their subject and object entities."""
    triples: set[Triple] = set()
    for relationship, subject, object_ in relationships:
        if subject in refers_to and object_ in refers_to:
            triples.add(_triple(relationship, SARAG.subject, refers_to[subject]))
            triples.add(_triple(relationship, SARAG.object, refers_to[object_]))
    return triples


def related_pairs(
    relationships: Iterable[RelationshipEnds], refers_to: Mapping[str, str]
) -> set[tuple[str, str]]:
    """(subject, object) pairs of entities that relationships relate."""
    return {
        (refers_to[subject], refers_to[object_])
        for _, subject, object_ in relationships
        if subject in refers_to and object_ in refers_to
    }


def related_to_triple(subject: str, object_: str) -> Triple:
    """The link between two entities with a relationship."""
    return _triple(subject, SARAG.relatedTo, object_)


def mention_triples(mention: str, entity: str, normalized: Literal | None) -> set[Triple]:
    """A mention, its normalised name, and the link to its entity."""
    node = NamedNode(mention)
    triples = {_triple(mention, SARAG.refersTo, entity), Triple(node, RDF.type, SARAG.Mention)}
    if normalized is not None:
        triples.add(Triple(node, SARAG.normalizedName, normalized))
    return triples


def normalized_names(votes: Iterable[Vote]) -> dict[str, Literal]:
    """Mention -> its normalised name, which all its spellings in these votes have in common."""
    spellings = {mention: value.value for mention, property_, value in votes if property_ == NAME}
    return {mention: Literal(normalize_name(name)) for mention, name in spellings.items()}


def _triple(subject: str, predicate: NamedNode, object_: str) -> Triple:
    return Triple(NamedNode(subject), predicate, NamedNode(object_))


def entity_names(
    votes: Mapping[Vote, int],
    refers_to: Mapping[str, str],
    decisions: Decisions,
    classes: Iterable[Triple],
) -> set[Triple]:
    """Labels, types and values of entities, from the votes on their mentions.

    The type is the one decided for a name of the entity (of several names, first the one that gives
    the entity its IRI), or the only one that the names of its `classes` say (an instrument is no
    person), or else the majority type over sources (misc only if there is no other). The preferred
    label of each language is the name with most sources, where names of the mention that gives the
    entity its IRI come first.
    """
    names: defaultdict[str, Counter[tuple[bool, Literal]]] = defaultdict(Counter)
    aliases: defaultdict[str, set[Literal]] = defaultdict(set)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    values: defaultdict[str, set[Literal]] = defaultdict(set)
    for (mention, property_, value), count in votes.items():
        entity = refers_to.get(mention)
        if entity is None or count <= 0:
            continue
        if property_ == NAME and isinstance(value, Literal):
            names[entity][_is_own_name(mention, entity), value] += count
        elif property_ == ALIAS and isinstance(value, Literal):
            aliases[entity].add(value)
        elif property_ == ENTITY_TYPE:
            types[entity][value.value] += count
        elif property_ == VALUE and isinstance(value, Literal):
            values[entity].add(value)
    decided = _decided_types(refers_to, decisions)
    said: defaultdict[str, set[str]] = defaultdict(set)
    for triple in classes:
        said[iri(triple.subject)] |= types_of_class(iri(triple.object))
    triples: set[Triple] = set()
    for entity, forms in names.items():
        node = NamedNode(entity)
        labels = _preferred_labels(forms)
        [only] = said[entity] if len(said[entity]) == 1 else ("",)
        type_ = decided.get(entity) or only or _majority(types[entity])
        kind = SARAG.Value if type_ in VALUE_TYPES else SARAG.Entity
        triples |= {Triple(node, RDF.type, class_) for class_ in (kind, TYPE_CLASSES[type_])}
        for label in labels.values():
            triples.add(Triple(node, SKOS.prefLabel, label))
            triples.add(Triple(node, RDFS.label, label))
        triples |= {Triple(node, SARAG.value, value) for value in values[entity]}
        others = {form for _, form in forms} | aliases[entity]
        for label in others - set(labels.values()):
            triples.add(Triple(node, SKOS.altLabel, label))
    return triples


def _is_own_name(mention: str, entity: str) -> bool:
    """Whether a mention gives the entity its IRI."""
    return entity.rpartition("/")[2] == mention.rpartition("/")[2]


def _decided_types(refers_to: Mapping[str, str], decisions: Decisions) -> dict[str, str]:
    """Entity -> the type that was decided for one of its names."""
    named = [(name, refers_to[name]) for name in decisions.types if name in refers_to]
    named.sort(key=lambda pair: (not _is_own_name(*pair), pair[0]))
    return {entity: decisions.types[name] for name, entity in reversed(named)}


def _majority(votes: Counter[str]) -> str:
    mentioned = [t for t in ENTITY_TYPES if t != "misc" and votes[t]]
    return max(mentioned, key=lambda t: votes[t]) if mentioned else "misc"


def _preferred_labels(forms: Counter[tuple[bool, Literal]]) -> dict[str, Literal]:
    best: dict[str, Literal] = {}
    ranked = sorted(forms.items(), key=lambda item: (not item[0][0], -item[1], item[0][1].value))
    for (_, label), _count in ranked:
        best.setdefault(label.language or "", label)
    return best


Owners = Mapping[str, frozenset[str]]
"""Mention -> the other mentions that have it as an alias."""


def resolve(
    mentions: Iterable[str], owners: Owners, normalized: Callable[[str], str]
) -> dict[str, str]:
    """Map each mention to the mention that gives its entity: itself, or one other.

    A name that is an alias of exactly one other name resolves to that name; an ambiguous alias
    resolves to itself. There is one step and no transitive closure: a name whose only owner
    resolves elsewhere resolves to itself. Two names that are each other's only alias are one
    entity, that of the longer name (of equally long ones the smaller in code point order).

    `owners` must cover the mentions and their owners; `normalized` returns a mention's normalised
    name.
    """

    def preferred(mention: str) -> tuple[int, str]:
        name = normalized(mention)
        return -len(name), name

    def sole_owner(mention: str) -> str | None:
        targets = owners.get(mention, frozenset()) - {mention}
        return next(iter(targets)) if len(targets) == 1 else None

    mention_targets: dict[str, str] = {}
    for mention in mentions:
        owner = sole_owner(mention)
        if owner is None:
            mention_targets[mention] = mention
            continue
        next_owner = sole_owner(owner)
        if next_owner is None:
            mention_targets[mention] = owner
        elif next_owner == mention:
            mention_targets[mention] = min(mention, owner, key=preferred)
        else:
            mention_targets[mention] = mention
    return mention_targets


def entities(minter: Minter, roots: Mapping[str, str], decisions: Decisions) -> dict[str, str]:
    """The entities of mentions, by name resolution (`roots`) and then by the decided merges."""
    merged = decisions.merge_targets(roots)
    return {name: minter.entity_of_mention(merged.get(root, root)) for name, root in roots.items()}


def normalized_name_lookup(votes: Iterable[Vote]) -> Callable[[str], str]:
    """Mention -> its normalised name, or empty if the votes do not contain it."""
    names = normalized_names(votes)
    return lambda mention: names[mention].value if mention in names else ""
