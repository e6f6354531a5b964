"""Names and classes of entities are votes of sources: can a change of votes change the outcome?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from pyoxigraph import NamedNode, Triple

from sarag_rdf.index.derive import ALIAS, ENTITY_TYPE, NAME, Evidence
from sarag_rdf.ports import Term
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

    def triples(self, entities: Iterable[str]) -> set[Triple]:
        """What is said of these entities."""
        return {triple for entity in entities for triple in self._triples.get(entity, ())}

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
