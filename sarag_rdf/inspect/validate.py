"""SHACL validation of a whole graph, by pySHACL, with `ontology/shapes.ttl`."""

from __future__ import annotations

from dataclasses import dataclass

import rdflib
from pyshacl import validate as shacl_validate
from rdflib.namespace import SH

from sarag_rdf.export.rdf import rdf_bytes
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.resources import ontology_path


@dataclass(frozen=True, slots=True)
class Violation:
    """One SHACL result: node, property, what is wrong, and the value if there is one."""

    focus: str
    path: str
    message: str
    value: str = ""

    def __str__(self) -> str:
        found = f" (found: {self.value})" if self.value else ""
        return f"{self.focus}: {self.message}{found}"


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Whether a graph conforms; the violations by focus node; the SHACL report as Turtle."""

    conforms: bool
    triples: int
    violations: tuple[Violation, ...]
    turtle: str


def validate(reader: GraphReader) -> ValidationReport:
    """Validate the union of all graphs, which is what a flat export holds."""
    data = rdflib.Graph()
    data.parse(data=rdf_bytes(reader.store, "ntriples"), format="nt")
    return validate_graph(data)


def validate_graph(data: rdflib.Graph) -> ValidationReport:
    """Validate an rdflib graph."""
    shapes = rdflib.Graph().parse(str(ontology_path("shapes.ttl")), format="turtle")
    ontology = rdflib.Graph().parse(str(ontology_path("sarag.ttl")), format="turtle")
    conforms, report, _ = shacl_validate(data, shacl_graph=shapes, ont_graph=ontology)
    violations = [
        Violation(
            str(report.value(result, SH.focusNode)),
            str(report.value(result, SH.resultPath) or ""),
            str(report.value(result, SH.resultMessage) or "does not conform"),
            str(report.value(result, SH.value) or ""),
        )
        for result in report.objects(None, SH.result)
    ]
    violations.sort(key=lambda v: (v.focus, v.path, v.message, v.value))
    return ValidationReport(
        bool(conforms), len(data), tuple(violations), report.serialize(format="turtle")
    )
