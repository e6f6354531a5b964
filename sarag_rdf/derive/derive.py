"""The traversed graph as a pure function of the evidence: entities, names, links.

`derive` is that function; `index.refresh` works out with its parts what a change of sources
changes, and `rebuild` applies it to everything. Both must give the same graph, whatever came in
which order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.ports import Term
from sarag_rdf.terms import iri, iri_or_literal
from sarag_rdf.types import ENTITY_TYPES
from sarag_rdf.vocab import RDF, RDFS, SARAG, SKOS, TYPE_CLASSES

ALIAS_MENTION = SARAG.aliasMention.value
NORMALIZED_NAME = SARAG.normalizedName.value
NAME, ALIAS, ENTITY_TYPE = SARAG.name.value, SARAG.alias.value, SARAG.entityType.value
MENTION_PROPERTIES = frozenset({NAME, ALIAS, ENTITY_TYPE, NORMALIZED_NAME, ALIAS_MENTION})

_RELATED = SARAG.relatedTo
_SUBJECT, _OBJECT = SARAG.subject, SARAG.object
_ENDS = SARAG.subjectMention.value, SARAG.objectMention.value
_USES = {
    SARAG.mentions.value: SARAG.describes,
    SARAG.descriptionOf.value: SARAG.describes,
    SARAG.titleMention.value: SARAG.describes,
    SARAG.topicMention.value: SARAG.about,
}
"""What joins a text to a name, and what joins it then to the entity that the name refers to."""

Use = tuple[str, str, str]
"""(document or description, property, mention); a title's names need not be mentioned"""
Joined = tuple[str, str, str]
"""(relationship, subject mention, object mention)"""
Vote = tuple[str, str, Term]
"""(mention, property, value): what a source says of a name, counted once a source."""


Variant = Callable[[str, str], str]


@dataclass(slots=True)
class Evidence:
    """What some source graphs say."""

    votes: Counter[Vote] = field(default_factory=Counter)
    """How many of the sources say something of a name."""
    uses: set[Use] = field(default_factory=set)
    relationships: set[Joined] = field(default_factory=set)
    """Those that have both ends."""

    @classmethod
    def of(cls, quads: Iterable[Quad], variant: Variant = lambda name, graph: name) -> Evidence:  # noqa: ARG005
        """Read evidence from the quads of source graphs; each quad counts once.

        `variant` tells what a name is called in a source graph.
        """
        evidence = cls()
        votes: set[tuple[Vote, str]] = set()
        ends: defaultdict[tuple[str, str], tuple[set[str], set[str]]]
        ends = defaultdict(lambda: (set(), set()))
        for quad in quads:
            predicate = quad.predicate.value
            if predicate in MENTION_PROPERTIES:
                graph = iri(quad.graph_name)
                value = iri_or_literal(quad.object)
                if predicate == ALIAS_MENTION:
                    value = NamedNode(variant(value.value, graph))
                votes.add(((variant(iri(quad.subject), graph), predicate, value), graph))
            elif predicate in _USES:
                mention = variant(iri(quad.object), iri(quad.graph_name))
                evidence.uses.add((iri(quad.subject), predicate, mention))
            elif predicate in _ENDS:
                graph = iri(quad.graph_name)
                mention = variant(iri(quad.object), graph)
                ends[iri(quad.subject), graph][_ENDS.index(predicate)].add(mention)
        evidence.votes.update(vote for vote, _ in votes)
        for (relationship, _), (subjects, objects) in ends.items():
            evidence.relationships |= {(relationship, s, o) for s in subjects for o in objects}
        return evidence

    @property
    def mentions(self) -> set[str]:
        """The names of which something is said."""
        return {mention for mention, _, _ in self.votes}

    @property
    def names(self) -> set[str]:
        """All names that occur, whether or not something is said of them."""
        found = self.mentions | {alias for _, alias in self.claims}
        found |= {mention for _, _, mention in self.uses}
        return found | {mention for _, *ends in self.relationships for mention in ends}

    @property
    def named(self) -> set[str]:
        """The names that are mentioned."""
        return named_in(self.votes)

    @property
    def claims(self) -> set[tuple[str, str]]:
        """(mention, alias): which names give which as their alias."""
        return claims_in(self.votes)


def named_in(votes: Iterable[Vote]) -> set[str]:
    """The names that are mentioned according to what is said of names."""
    return {mention for mention, property_, _ in votes if property_ == NORMALIZED_NAME}


def claims_in(votes: Iterable[Vote]) -> set[tuple[str, str]]:
    """(mention, alias) where a name gives another as its alias."""
    return {(m, value.value) for m, property_, value in votes if property_ == ALIAS_MENTION}


def derive(evidence: Evidence, refers_to: Mapping[str, str]) -> set[Triple]:
    """Triples of the traversed graph that the evidence supports.

    `refers_to` maps every name that is mentioned to its entity. From a use or relationship of any
    other name nothing follows.
    """
    triples = text_links(evidence.uses, refers_to) | end_links(evidence.relationships, refers_to)
    triples |= {related(*pair) for pair in joined_pairs(evidence.relationships, refers_to)}
    triples |= {reference(mention, entity) for mention, entity in refers_to.items()}
    return triples | entity_names(evidence.votes, refers_to)


def text_links(uses: Iterable[Use], refers_to: Mapping[str, str]) -> set[Triple]:
    """What joins texts to the entities that they name."""
    return {
        _triple(text, _USES[property_], refers_to[mention])
        for text, property_, mention in uses
        if mention in refers_to
    }


def end_links(relationships: Iterable[Joined], refers_to: Mapping[str, str]) -> set[Triple]:
    """What joins relationships to the entities at their ends."""
    triples: set[Triple] = set()
    for relationship, subject, object_ in relationships:
        if subject in refers_to and object_ in refers_to:
            triples.add(_triple(relationship, _SUBJECT, refers_to[subject]))
            triples.add(_triple(relationship, _OBJECT, refers_to[object_]))
    return triples


def joined_pairs(
    relationships: Iterable[Joined], refers_to: Mapping[str, str]
) -> set[tuple[str, str]]:
    """The entities that relationships join: subject and object."""
    return {
        (refers_to[subject], refers_to[object_])
        for _, subject, object_ in relationships
        if subject in refers_to and object_ in refers_to
    }


def related(subject: str, object_: str) -> Triple:
    """The link of two entities that some relationship joins."""
    return _triple(subject, _RELATED, object_)


def reference(mention: str, entity: str) -> Triple:
    """The bridge from a name to its entity."""
    return _triple(mention, SARAG.refersTo, entity)


def _triple(subject: str, predicate: NamedNode, object_: str) -> Triple:
    return Triple(NamedNode(subject), predicate, NamedNode(object_))


def entity_names(votes: Mapping[Vote, int], refers_to: Mapping[str, str]) -> set[Triple]:
    """Names and classes of entities, by all that is said of their mentions.

    Types are a majority vote over sources (misc only where nothing else is said); a name of most
    sources is the preferred label of its language, preferably one of the mention that gives the
    entity its IRI.
    """
    names: defaultdict[str, Counter[tuple[bool, Literal]]] = defaultdict(Counter)
    aliases: defaultdict[str, set[Literal]] = defaultdict(set)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (mention, property_, value), count in votes.items():
        entity = refers_to.get(mention)
        if entity is None or count <= 0:
            continue
        if property_ == NAME and isinstance(value, Literal):
            own = entity.rpartition("E-")[2] == mention.rpartition("/")[2]
            names[entity][own, value] += count
        elif property_ == ALIAS and isinstance(value, Literal):
            aliases[entity].add(value)
        elif property_ == ENTITY_TYPE:
            types[entity][value.value] += count
    triples: set[Triple] = set()
    for entity, forms in names.items():
        node = NamedNode(entity)
        labels = _preferred_labels(forms)
        triples.add(Triple(node, RDF.type, SARAG.Entity))
        triples.add(Triple(node, RDF.type, TYPE_CLASSES[_majority(types[entity])]))
        for label in labels.values():
            triples.add(Triple(node, SKOS.prefLabel, label))
            triples.add(Triple(node, RDFS.label, label))
        others = {form for _, form in forms} | aliases[entity]
        for label in others - set(labels.values()):
            triples.add(Triple(node, SKOS.altLabel, label))
    return triples


def _majority(votes: Counter[str]) -> str:
    named = [t for t in ENTITY_TYPES if t != "misc" and votes[t]]
    return max(named, key=lambda t: votes[t]) if named else "misc"


def _preferred_labels(forms: Counter[tuple[bool, Literal]]) -> dict[str, Literal]:
    best: dict[str, Literal] = {}
    ranked = sorted(forms.items(), key=lambda item: (not item[0][0], -item[1], item[0][1].value))
    for (_, label), _count in ranked:
        best.setdefault(label.language or "", label)
    return best
