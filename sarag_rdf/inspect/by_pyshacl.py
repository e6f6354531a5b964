"""The same validation by pySHACL, an implementation of others, to cross-check ours."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox
import rdflib
from pyshacl import validate as shacl_validate
from rdflib.namespace import SH

from sarag_rdf.resources import ontology_path
from sarag_rdf.shacl.report import ValidationReport, Violation, by_focus


def validate_triples(triples: Iterable[ox.Triple]) -> ValidationReport:
    """Validate triples, which rdflib then holds in memory, each once."""
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
