"""What joins the graph and what does not: the evidence of each source is held against the shapes.

The shapes of the whole graph and those of evidence, as one shapes graph, are asked of one source's
graph alone. A source that does not conform is held: see `index.quarantine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import Quad, Triple

from sarag_rdf.index.read import InputProblem
from sarag_rdf.shacl.data import Data
from sarag_rdf.shacl.engine import validate
from sarag_rdf.shacl.report import ValidationReport, Violation
from sarag_rdf.shacl.shapes import read_shapes

SHAPES = ("shapes.ttl", "evidence-shapes.ttl")


def inspect_evidence(evidence: Iterable[Quad | Triple]) -> ValidationReport:
    """Validate one source's graph by itself."""
    return validate(read_shapes(*SHAPES), Data(evidence))


def held_problem(
    name: str, source: str, violations: Sequence[Violation], *, known: bool
) -> InputProblem:
    """The line that tells of a source in quarantine.

    `known` if an older version of it is in the graph.
    """
    more = f" and {len(violations) - 1} more" if len(violations) > 1 else ""
    stays = "; its older version stays in the graph" if known else ""
    return InputProblem(
        name,
        f"does not conform and is in quarantine{stays}: {violations[0]}{more} "
        f"(sarag quarantine show {source})",
    )
