"""Ranks of statements, as in Wikibase: preferred, normal (without a triple) or deprecated.

A rank is decided for a statement, and every relationship that states it has the rank, now and
later. A deprecated statement is not part of the traversed graph, nor is what follows from it; its
relationships keep their property, ends, sentences and sources, as a full statement of Wikibase does
that is not truthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.vocab import SARAG, WIKIBASE
from sarag_rdf.building.decision_records import RANKS, Decisions
from sarag_rdf.building.derive import Statement


def rank_triples(
    statements: Iterable[Statement], refers_to: Mapping[str, str], decisions: Decisions
) -> set[Triple]:
    """The ranks of relationships, with the properties that they state."""
    triples: set[Triple] = set()
    for statement in statements if decisions.ranks else ():
        subject, object_ = refers_to.get(statement.subject, ""), statement.object
        is_value = isinstance(object_, Literal)
        term = str(object_) if is_value else f"<{refers_to.get(str(object_), '')}>"
        rank = decisions.ranks.get((subject, statement.property, term))
        if rank is not None:
            node, property_ = NamedNode(statement.relationship), NamedNode(statement.property)
            direction = SARAG.inverseProperty if statement.is_inverse else SARAG.property
            triples |= {
                Triple(node, WIKIBASE.rank, RANKS[rank]),
                Triple(node, direction, property_),
            }
            triples |= {Triple(node, SARAG.subject, NamedNode(subject))} if is_value else set()
    return triples
