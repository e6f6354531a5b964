"""Runs a query of plain-word patterns on the graph: links names, predicates, and binds variables.

Relationships are nodes with a text, so a predicate is not an IRI to be found but a text to be near
to: each pattern gets the relationships that touch what is known of its ends and whose texts are
nearest to it, and one SPARQL query joins them over all patterns. A relationship touches an entity
that it has as an end, or that its document is about: texts seldom repeat what they are about. Two
entities stand for the same thing if one's name is a part, between commas, of the other's.
"""

from __future__ import annotations

from sarag_rdf.algo.iri_list import find
from sarag_rdf.algo.pattern import PatternQuery
from sarag_rdf.graph.bindings import Grounding, Linked
from sarag_rdf.graph.pattern_match import PatternMatch
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.graph.view import GraphView
from sarag_rdf.iris import normalize_name

NEAREST = 5
"""Entities of the nearest names that a name may be linked to, beside those of that very name."""


class Grounder:
    """Grounds queries in one revision of a graph."""

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def ground(self, query: PatternQuery) -> Grounding:
        """Link, match and bind; raises what the store and the embedder raise."""
        terms = {end for p in query.patterns for end in (p.subject, p.object)}
        linked = {t: self._linked(t.text) for t in sorted(terms, key=str) if not t.is_variable}
        every = tuple(link for links in linked.values() for link in links)
        missing = [term.text for term, links in linked.items() if not links]
        if missing:
            return Grounding(every, problem=f"no entity is called '{missing[0]}'")
        run = PatternMatch(self._view, query, linked)
        problem = run.match()
        if problem:
            return Grounding(every, problem=problem, is_linked=True)
        sparql = run.sparql()
        bindings = run.bindings(sparql)
        problem = "" if bindings else "the patterns have no common solution"
        return Grounding(every, bindings, problem, sparql, True)

    def _linked(self, name: str) -> tuple[Linked, ...]:
        """Entities of this name or alias, and those of near names with a word in common."""
        view = self._view
        key = normalize_name(name)
        exact = view.names.entities([key]).get(key, {})
        vector = view.vectors.embedder.embed([name])[0]
        near = dict(view.vectors.index("entity").nearest(vector, NEAREST))
        labels = entity_labels(view.reader, {*exact, *near})
        words = _words(name)
        found = {e: s for e, s in near.items() if words & _words(labels[e][0])}
        found |= dict.fromkeys(exact, 1.0)
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            Linked(name, entity, labels[entity][0], similarity)
            for entity, similarity in ordered
            if find(view.iris.entities, entity) >= 0
        )


def _words(name: str) -> set[str]:
    return {word for word in normalize_name(name).split() if len(word) > 2}
