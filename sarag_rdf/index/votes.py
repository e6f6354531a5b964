"""Names and classes of entities are votes of sources: can a change of votes change the outcome?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.index.derive import ALIAS, ENTITY_TYPE, NAME, Evidence, Vote
from sarag_rdf.ports import Term
from sarag_rdf.terms import iri_or_literal
from sarag_rdf.vocab import RDF, SKOS, TYPE_CLASSES

Changed = tuple[str, Term, int]
"""(property, value, by how many more or fewer sources it is said)"""


def changed_votes(
    old: Evidence, new: Evidence, refers_to: Mapping[str, str]
) -> dict[str, list[Changed]]:
    """Entity -> how votes on it change where `old` evidence is replaced with `new`."""
    difference = Counter(new.votes)
    difference.subtract(old.votes)
    changes: defaultdict[str, list[Changed]] = defaultdict(list)
    for (mention, property_, value), change in difference.items():
        if change and mention in refers_to:
            changes[refers_to[mention]].append((property_, value, change))
    return dict(changes)


def uncertain(
    votes: Mapping[Vote, int], more: Collection[Vote], refers_to: Mapping[str, str]
) -> set[Vote]:
    """Votes that must be counted, because there may be `more` of them than these.

    That there are more makes no difference where these win anyway, over all that is known.
    """
    groups: defaultdict[tuple[str, str, str | None], list[Vote]] = defaultdict(list)
    for vote in votes:
        mention, property_, value = vote
        if mention in refers_to and (property_, value.value) != (ENTITY_TYPE, "misc"):
            language = value.language if isinstance(value, Literal) else None
            groups[refers_to[mention], property_, language].append(vote)
    unsure = {vote for vote in more if not votes.get(vote)}
    for (_, property_, _), group in groups.items():
        unknown = {vote for vote in group if vote in more}
        if unknown and property_ != ALIAS:
            most = max(unknown, key=votes.__getitem__)
            rest = max((votes[vote] for vote in group if vote != most), default=0)
            unsure |= unknown if len(unknown) > 1 or votes[most] <= rest else set()
    return unsure


class Names:
    """Names and classes that entities have now."""

    def __init__(self, triples: Mapping[str, set[Triple]]) -> None:
        self._triples = triples

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Names:
        """Make them of rows of entity, property and value."""
        triples: defaultdict[str, set[Triple]] = defaultdict(set)
        for entity, property_, value in rows:
            triples[entity.value].add(Triple(entity, property_, value))
        return cls(triples)

    def has(self, entity: str) -> bool:
        """Whether an entity has a name or class."""
        return entity in self._triples

    def triples(self, entities: Iterable[str]) -> set[Triple]:
        """What is said of these entities."""
        return {triple for entity in entities for triple in self._triples.get(entity, ())}

    def possible(self, refers_to: Mapping[str, str]) -> set[Vote]:
        """All that sources can say of names, if it makes the names and classes that there are."""
        votes: set[Vote] = set()
        for mention, entity in refers_to.items():
            labels = {
                triple.object
                for triple in self._triples.get(entity, ())
                if triple.predicate in (SKOS.prefLabel, SKOS.altLabel)
            }
            votes |= {(mention, ENTITY_TYPE, Literal(type_)) for type_ in TYPE_CLASSES}
            votes |= {(mention, p, iri_or_literal(v)) for p in (NAME, ALIAS) for v in labels}
        return votes

    def settled(self, entity: str, changes: Iterable[Changed]) -> bool:
        """Whether the votes of an entity come out as they did, without counting them.

        More votes for what has won, and fewer for a class that has lost, change nothing. A name
        that has fewer votes may be gone.
        """
        return all(self._is_settled(entity, *changed) for changed in changes)

    def _is_settled(self, entity: str, property_: str, value: Term, change: int) -> bool:
        if property_ == NAME:
            return change > 0 and self._has(entity, SKOS.prefLabel, value)
        if property_ == ALIAS:
            is_alternative = self._has(entity, SKOS.altLabel, value)
            return self._has(entity, SKOS.prefLabel, value) or (change > 0 and is_alternative)
        if property_ == ENTITY_TYPE and value.value != "misc" and value.value in TYPE_CLASSES:
            return self._has(entity, RDF.type, TYPE_CLASSES[value.value]) == (change > 0)
        return True

    def _has(self, entity: str, property_: NamedNode, value: Term) -> bool:
        triple = Triple(NamedNode(entity), property_, value)
        return triple in self._triples.get(entity, ())
