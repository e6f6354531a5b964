"""SHACL validation of a whole graph with `ontology/shapes.ttl`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyoxigraph as ox

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import RDFS
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.shacl import ShaclEngine, ValidationReport, read_shapes
from sarag_rdf.graph.store.shacl import validate as validate_data


def validate(reader: GraphReader, engine: ShaclEngine | None = None) -> ValidationReport:
    """Validate the union of all graphs except imported graphs, ontologies and quarantine.

    `engine` as in `sarag_rdf.graph.store.shacl.validate`, and the same errors.
    """
    return validate_data(read_shapes("shapes.ttl"), _own_quads(reader), _subclass_axioms(), engine)


def _own_quads(reader: GraphReader) -> Iterator[ox.Quad]:
    minter = reader.minter
    prefix = ox.Literal(minter.graphs)
    where = f"GRAPH ?g {{ ?s ?p ?o }} FILTER(STRSTARTS(STR(?g), {prefix}))"
    rows = reader.store.select(f"SELECT ?g WHERE {{ {where} }} GROUP BY ?g", "g").rows
    for graph in sorted(row[0].value for row in rows):
        if minter.kind_of(graph) not in ("imported", "ontologies", "quarantine"):
            yield from reader.store.quads(graph)


@cache
def _subclass_axioms() -> tuple[ox.Triple, ...]:
    """The subclasses in the ontology."""
    quads = ox.parse(path=ontology_path("sarag.ttl"), format=ox.RdfFormat.TURTLE)
    return tuple(quad.triple for quad in quads if quad.predicate == RDFS.subClassOf)
