"""What the statements of one thing must not say together, by the ontologies of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import pyoxigraph as ox

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import OWL, SH, text_of
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import TripleIndex
from sarag_rdf.graph.parts import ontology_triples


@dataclass(slots=True)
class Constraints:
    """What the statements of one thing must not say together."""

    single: set[str] = field(default_factory=set)
    """Properties with at most one value at a time."""
    ordered: set[tuple[str, str]] = field(default_factory=set)
    """(property, property whose values are not less)"""
    disjoint: set[frozenset[str]] = field(default_factory=set)
    """Pairs of classes."""
    superclasses: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, reader: GraphReader, schema: Schema) -> Constraints:
        """Those of the ontologies of the graph, or else of the packaged one, with their schema."""
        stored = [*ontology_triples(reader)]
        files = [] if stored else ["common.ttl"]
        parsed = (
            quad.triple
            for name in (*files, "common-shapes.ttl")
            for quad in ox.parse(path=str(ontology_path(name)), format=ox.RdfFormat.TURTLE)
        )
        index = TripleIndex([*stored, *parsed])
        known = cls({p.iri for p in schema.properties.values() if p.is_functional})
        for shape, path in index.pairs(SH.path.value):
            if any(text_of(most) == "1" for most in index.objects(shape, SH.maxCount.value)):
                known.single.add(path)
            known.ordered |= {(path, p) for p in index.iris(shape, SH.lessThanOrEquals.value)}
            known.ordered |= {(path, p) for p in index.iris(shape, SH.lessThan.value)}
        known.single.update(*(schema.equivalents.get(iri_, ()) for iri_ in known.single))
        known.disjoint |= {frozenset(pair) for pair in index.pairs(OWL.disjointWith.value)}
        for node in index.instances([OWL.AllDisjointClasses.value]):
            for members in index.objects(node, OWL.members.value):
                listed = index.members(str(getattr(members, "value", members)))
                known.disjoint |= set(map(frozenset, combinations(listed, 2)))
        known.superclasses = {iri_: schema.superclasses(iri_) for iri_ in schema.classes}
        return known
