"""The traversed graph as a pure function of the evidence: entities, names, links.

`derive` is that function; `index.refresh` applies it to the part that a change touches, and
`rebuild` to everything. Both must give the same graph, whatever came in which order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.terms import iri, iri_or_literal
from sarag_rdf.types import ENTITY_TYPES
from sarag_rdf.vocab import RDF, RDFS, SARAG, SKOS, TYPE_CLASSES

MENTION_PROPERTIES = frozenset(
    {
        SARAG.name.value,
        SARAG.alias.value,
        SARAG.entityType.value,
        SARAG.normalizedName.value,
        SARAG.aliasMention.value,
    }
)

_RELATED = SARAG.relatedTo
_SUBJECT, _OBJECT = SARAG.subject, SARAG.object
_USES = {
    SARAG.mentions.value: SARAG.describes,
    SARAG.descriptionOf.value: SARAG.describes,
    SARAG.titleMention.value: SARAG.describes,
    SARAG.topicMention.value: SARAG.about,
}
"""What joins a text to a name, and what joins it then to the entity that the name refers to."""


@dataclass(slots=True)
class Evidence:
    """Evidence about some mentions; `g` is the source graph that a row comes from."""

    properties: set[tuple[str, str, NamedNode | Literal, str]] = field(default_factory=set)
    """(mention, property, value, g)"""
    uses: set[tuple[str, str, str]] = field(default_factory=set)
    """(document or description, property, mention); a title's names need not be mentioned"""
    relationships: set[tuple[str, str, str]] = field(default_factory=set)
    """(relationship, subject mention, object mention)"""

    @classmethod
    def of(cls, quads: Iterable[Quad]) -> Evidence:
        """Read evidence from the quads of source graphs."""
        evidence = cls()
        ends: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for quad in quads:
            predicate = quad.predicate.value
            if predicate in MENTION_PROPERTIES:
                value = iri_or_literal(quad.object)
                row = (iri(quad.subject), predicate, value, iri(quad.graph_name))
                evidence.properties.add(row)
            elif predicate in _USES:
                evidence.uses.add((iri(quad.subject), predicate, iri(quad.object)))
            elif predicate in (SARAG.subjectMention.value, SARAG.objectMention.value):
                ends[iri(quad.subject)][predicate] = iri(quad.object)
        for relationship, found in ends.items():
            evidence.relationships.add(
                (
                    relationship,
                    found[SARAG.subjectMention.value],
                    found[SARAG.objectMention.value],
                )
            )
        return evidence

    def add(self, other: Evidence) -> None:
        """Take in the rows of another."""
        self.properties |= other.properties
        self.uses |= other.uses
        self.relationships |= other.relationships


def derive(evidence: Evidence, refers_to: Mapping[str, str]) -> set[Triple]:
    """Triples of the traversed graph that the evidence supports.

    `refers_to` maps every mention in the evidence to its entity; names in titles that no document
    mentions may be missing. Types are a majority vote over
    sources (misc only where nothing else is said); a name of most sources is the preferred label
    of its language, preferably one of the mention that gives the entity its IRI.
    """
    triples: set[Triple] = set()
    for text, property_, mention in evidence.uses:
        if mention in refers_to:
            triples.add(_triple(text, _USES[property_], refers_to[mention]))
    for relationship, subject, object_ in evidence.relationships:
        source, target = refers_to[subject], refers_to[object_]
        triples.add(_triple(relationship, _SUBJECT, source))
        triples.add(_triple(relationship, _OBJECT, target))
        triples.add(_triple(source, _RELATED, target))
    triples |= _entities(evidence, refers_to)
    return triples


def _triple(subject: str, predicate: NamedNode, object_: str) -> Triple:
    return Triple(NamedNode(subject), predicate, NamedNode(object_))


def _entities(evidence: Evidence, refers_to: Mapping[str, str]) -> set[Triple]:
    names: defaultdict[str, Counter[tuple[bool, Literal]]] = defaultdict(Counter)
    aliases: defaultdict[str, set[Literal]] = defaultdict(set)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    triples: set[Triple] = set()
    for mention, property_, value, _ in evidence.properties:
        entity = refers_to.get(mention)
        if entity is None:
            continue
        if property_ == SARAG.name.value and isinstance(value, Literal):
            own = entity.rpartition("E-")[2] == mention.rpartition("/")[2]
            names[entity][own, value] += 1
        elif property_ == SARAG.alias.value and isinstance(value, Literal):
            aliases[entity].add(value)
        elif property_ == SARAG.entityType.value:
            types[entity][value.value] += 1
        if property_ == SARAG.normalizedName.value:
            triples.add(_triple(mention, SARAG.refersTo, entity))
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
