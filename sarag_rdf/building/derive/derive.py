"""The traversed graph as a pure function of the evidence: entities, names, links.

`derive` is that function. `rebuild` in `sarag_rdf.building.derive.incremental` applies it to all
evidence, and `refresh` uses its parts to compute the change that follows from a change of sources.
Both give the same graph, in whatever order the sources were added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import ENTITY_TYPES
from sarag_rdf.base.vocab import RDF, RDFS, SARAG, SKOS, TYPE_CLASSES, Term, iri, iri_or_literal
from sarag_rdf.building.derive.decisions import Decisions
from sarag_rdf.building.derive.statements import (
    STATEMENT_PROPERTIES,
    ClassRules,
    NameUses,
    Statement,
    class_triples,
    implied_classes,
    mentions_of,
    statement_of,
    statement_triples,
)

ALIAS_MENTION = SARAG.aliasMention.value
NORMALIZED_NAME = SARAG.normalizedName.value
NAME, ALIAS, ENTITY_TYPE = SARAG.name.value, SARAG.alias.value, SARAG.entityType.value
ENTITY_CLASS, VALUE = SARAG.entityClass.value, SARAG.value.value
MENTION_PROPERTIES = frozenset(
    {NAME, ALIAS, ENTITY_TYPE, ENTITY_CLASS, VALUE, NORMALIZED_NAME, ALIAS_MENTION}
)
"""Properties of the uses of a name that count as votes on the name."""
USE_OF = SARAG.useOf.value

_RELATED = SARAG.relatedTo
_SUBJECT, _OBJECT = SARAG.subject, SARAG.object
_END_PROPERTIES = SARAG.subjectMention.value, SARAG.objectMention.value
_TEXT_LINKS = {
    SARAG.mentions.value: SARAG.describes,
    SARAG.descriptionOf.value: SARAG.describes,
    SARAG.titleMention.value: SARAG.describes,
    SARAG.topicMention.value: SARAG.about,
}
"""Property from a text to a mention -> derived property from the text to the entity."""

TextMention = tuple[str, str, str]
"""(document or description, property, mention); names in titles need not have been extracted."""
RelationshipEnds = tuple[str, str, str]
"""(relationship, subject mention, object mention)"""

Vote = tuple[str, str, Term]
"""(mention, property, value): a statement about the uses of a name, counted once per source."""


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
        relationships: defaultdict[tuple[str, str], dict[str, Term]] = defaultdict(dict)
        uses: dict[tuple[str, str], str] = {}
        properties: list[tuple[str, str, str, Term]] = []
        ends: defaultdict[tuple[str, str], tuple[set[str], set[str]]]
        ends = defaultdict(lambda: (set(), set()))
        for quad in quads:
            predicate = quad.predicate.value
            if predicate in STATEMENT_PROPERTIES:
                key = iri(quad.subject), iri(quad.graph_name)
                relationships[key][predicate] = iri_or_literal(quad.object)
            if predicate == USE_OF:
                graph = iri(quad.graph_name)
                uses[iri(quad.subject), graph] = variant(iri(quad.object), graph)
            elif predicate in MENTION_PROPERTIES:
                graph, value = iri(quad.graph_name), iri_or_literal(quad.object)
                if predicate == ALIAS_MENTION:
                    value = NamedNode(variant(value.value, graph))
                properties.append((iri(quad.subject), graph, predicate, value))
            elif predicate in _TEXT_LINKS:
                mention = variant(iri(quad.object), iri(quad.graph_name))
                evidence.text_mentions.add((iri(quad.subject), predicate, mention))
            elif predicate in _END_PROPERTIES:
                graph = iri(quad.graph_name)
                mention = variant(iri(quad.object), graph)
                ends[iri(quad.subject), graph][_END_PROPERTIES.index(predicate)].add(mention)
        votes = {
            ((uses[use, graph], predicate, value), graph)
            for use, graph, predicate, value in properties
            if (use, graph) in uses
        }
        evidence.votes.update(vote for vote, _ in votes)
        for (relationship, _), (subjects, objects) in ends.items():
            evidence.relationships |= {(relationship, s, o) for s in subjects for o in objects}
        name_uses = NameUses.of(properties)
        for (relationship, graph), values in relationships.items():
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
        names = self.mentions | {alias for _, alias in self.alias_claims}
        names |= {mention for _, _, mention in self.text_mentions}
        names |= mentions_of(self.statements)
        return names | {mention for _, *ends in self.relationships for mention in ends}

    @property
    def mentioned(self) -> set[str]:
        """The mentions that were extracted, as opposed to names only in titles or aliases."""
        return mentioned_in(self.votes)

    @property
    def alias_claims(self) -> set[tuple[str, str]]:
        """(mention, alias) pairs."""
        return alias_claims_in(self.votes)


def mentioned_in(votes: Iterable[Vote]) -> set[str]:
    """The mentions with a normalised name in these votes: those that were extracted."""
    return {mention for mention, property_, _ in votes if property_ == NORMALIZED_NAME}


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
    triples |= class_triples(claims, refers_to, decisions)
    return triples | entity_names(evidence.votes, refers_to, decisions)


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
            triples.add(_triple(relationship, _SUBJECT, refers_to[subject]))
            triples.add(_triple(relationship, _OBJECT, refers_to[object_]))
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
    return _triple(subject, _RELATED, object_)


def mention_triples(mention: str, entity: str, normalized: Literal | None) -> set[Triple]:
    """A mention, its normalised name, and the link to its entity."""
    node = NamedNode(mention)
    triples = {_triple(mention, SARAG.refersTo, entity), Triple(node, RDF.type, SARAG.Mention)}
    if normalized is not None:
        triples.add(Triple(node, SARAG.normalizedName, normalized))
    return triples


def normalized_names(votes: Iterable[Vote]) -> dict[str, Literal]:
    """Mention -> its normalised name, for the mentions with such a vote."""
    return {
        mention: value
        for mention, property_, value in votes
        if property_ == NORMALIZED_NAME and isinstance(value, Literal)
    }


def _triple(subject: str, predicate: NamedNode, object_: str) -> Triple:
    return Triple(NamedNode(subject), predicate, NamedNode(object_))


def entity_names(
    votes: Mapping[Vote, int], refers_to: Mapping[str, str], decisions: Decisions
) -> set[Triple]:
    """Labels, types and values of entities, from the votes on their mentions.

    The class is that of the type decided for a name of the entity (of several names, first the one
    that gives the entity its IRI), or else of the majority type over sources (misc only if there is
    no other). The preferred label of each language is the name with most sources, where names of
    the mention that gives the entity its IRI come first.
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
    triples: set[Triple] = set()
    for entity, forms in names.items():
        node = NamedNode(entity)
        labels = _preferred_labels(forms)
        triples.add(Triple(node, RDF.type, SARAG.Entity))
        type_ = decided.get(entity) or _majority(types[entity])
        triples.add(Triple(node, RDF.type, TYPE_CLASSES[type_]))
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
