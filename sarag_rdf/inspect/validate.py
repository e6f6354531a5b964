"""SHACL validation of a whole graph with `ontology/shapes.ttl`, by sarag's engine or pySHACL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

import pyoxigraph as ox

from sarag_rdf.errors import MissingDependencyError, UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.rdf.shacl.data import Data
from sarag_rdf.rdf.shacl.report import ValidationReport, Violation, by_focus
from sarag_rdf.rdf.shacl.shapes import read_shapes
from sarag_rdf.rdf.shacl.shapes import validate as validate_data
from sarag_rdf.resources import ontology_path

Engine = Literal["sarag", "pyshacl"]
ENGINES: tuple[Engine, ...] = ("sarag", "pyshacl")


def validate(reader: GraphReader, engine: Engine = "sarag") -> ValidationReport:
    """Validate the union of all graphs except imported graphs, ontologies and quarantine.

    Both engines report the same violations; pySHACL takes far longer.
    """
    if engine not in ENGINES:
        raise UsageError(f"unknown engine '{engine}': use one of {', '.join(ENGINES)}")
    if engine == "pyshacl":
        return validate_triples(quad.triple for quad in _own_quads(reader))
    return validate_data(read_shapes("shapes.ttl"), Data(_own_quads(reader), _ontology()))


def _own_quads(reader: GraphReader) -> Iterator[ox.Quad]:
    minter = reader.minter
    excluded = (minter.imported_graphs, minter.ontology_graphs, minter.quarantine_graphs)
    prefix = ox.Literal(reader.minter.graphs)
    where = f"GRAPH ?g {{ ?s ?p ?o }} FILTER(STRSTARTS(STR(?g), {prefix}))"
    rows = reader.store.select(f"SELECT ?g WHERE {{ {where} }} GROUP BY ?g", "g").rows
    for graph in sorted(row[0].value for row in rows):
        if not graph.startswith(excluded):
            yield from reader.store.quads(graph)


@cache
def _ontology() -> tuple[ox.Triple, ...]:
    quads = ox.parse(path=ontology_path("sarag.ttl"), format=ox.RdfFormat.TURTLE)
    return tuple(quad.triple for quad in quads)


def validate_triples(triples: Iterable[ox.Triple]) -> ValidationReport:
    """Validate triples with pySHACL; rdflib loads them into memory.

    Raises `MissingDependencyError` without pySHACL.
    """
    try:
        from pyshacl import validate as shacl_validate
    except ImportError as error:
        raise MissingDependencyError(
            "the engine pyshacl needs an optional package: pip install 'sarag-rdf[shacl]'"
        ) from error
    import rdflib
    from rdflib.namespace import SH

    data = rdflib.Graph()
    data.parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
    shapes = rdflib.Graph().parse(str(ontology_path("shapes.ttl")), format="turtle")
    ontology = rdflib.Graph().parse(str(ontology_path("sarag.ttl")), format="turtle")
    conforms, report, _ = shacl_validate(data, shacl_graph=shapes, ont_graph=ontology)
    violations = [
        Violation(
            str(report.value(result, SH.focusNode)),
            str(report.value(result, SH.resultPath) or ""),
            str(report.value(result, SH.resultMessage) or "does not conform"),
            str(report.value(result, SH.value) or ""),
            str(report.value(result, SH.sourceConstraintComponent)).removeprefix(str(SH)),
        )
        for result in report.objects(None, SH.result)
    ]
    return ValidationReport(
        bool(conforms),
        len(data),
        tuple(sorted(violations, key=by_focus)),
        report.serialize(format="turtle"),
    )
