"""Validation results and reports, as values and as SHACL validation reports in Turtle."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from sarag_rdf.rdf.shacl.data import Node
from sarag_rdf.vocab import PREFIXES, RDF, SH, XSD

_MAX_VALUE = 200
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A SHACL result as strings: focus node, path, message, value (may be empty), component.

    `component` is the local name of the constraint component, such as MinCountConstraintComponent.
    """

    focus: str
    path: str
    message: str
    value: str = ""
    component: str = ""

    def __str__(self) -> str:
        value = f" (found: {_one_line(self.value)})" if self.value else ""
        return f"{self.focus}: {self.message}{value}"


def _one_line(value: str) -> str:
    """The beginning of a value, with non-printable characters escaped."""
    text = value
    if len(value) > _MAX_VALUE:
        text = f"{value[:_MAX_VALUE]} ... {len(value):,} characters"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Whether a graph conforms, its number of triples, the violations, and the report as Turtle."""

    conforms: bool
    triples: int
    violations: tuple[Violation, ...]
    turtle: str


@dataclass(frozen=True, slots=True)
class Result:
    """A SHACL result as RDF terms."""

    focus: Node
    path: NamedNode | None
    component: NamedNode
    shape: Node
    message: Literal | None
    value: Node | None

    @property
    def violation(self) -> Violation:
        """The result as strings."""
        return Violation(
            _text(self.focus),
            self.path.value if self.path else "",
            self.message.value if self.message else "does not conform",
            _text(self.value),
            self.component.value.removeprefix(SH.base),
        )


def report_of(results: Sequence[Result], triples: int) -> ValidationReport:
    """A report of results, sorted by focus node, path and message."""
    ordered = sorted(results, key=lambda result: by_focus(result.violation))
    return ValidationReport(
        not ordered,
        triples,
        tuple(result.violation for result in ordered),
        _turtle(ordered),
    )


def violations_of(turtle: str) -> tuple[Violation, ...]:
    """The violations in a report as Turtle, sorted by `by_focus`."""
    nodes: defaultdict[Node, dict[NamedNode, Node]] = defaultdict(dict)
    for quad in ox.parse(turtle, format=ox.RdfFormat.TURTLE):
        nodes[quad.subject][quad.predicate] = quad.object

    violations = [
        Violation(
            _text(result.get(SH.focusNode)),
            _text(result.get(SH.resultPath)),
            _text(result.get(SH.resultMessage)) or "does not conform",
            _text(result.get(SH.value)),
            _text(result.get(SH.sourceConstraintComponent)).removeprefix(SH.base),
        )
        for result in nodes.values()
        if SH.focusNode in result
    ]
    return tuple(sorted(violations, key=by_focus))


def _text(node: Node | None) -> str:
    """A node without brackets and quotes."""
    if node is None:
        return ""
    return str(node) if isinstance(node, Triple) else node.value


def by_focus(violation: Violation) -> tuple[str, ...]:
    """The sort key of violations: focus node first."""
    return (
        violation.focus,
        violation.path,
        violation.message,
        violation.value,
        violation.component,
    )


def _turtle(results: Sequence[Result]) -> str:
    """The report as Turtle, with sorted prefixes, because pyoxigraph writes them in any order."""
    prefixes = {**PREFIXES, "sash": "https://w3id.org/sarag/shapes#", "sh": SH.base}
    output = io.BytesIO()
    ox.serialize(_triples(results), output, ox.RdfFormat.TURTLE, prefixes=prefixes)
    lines = output.getvalue().decode("utf-8").split("\n")
    count = sum(1 for _ in takewhile(lambda line: line.startswith("@prefix "), lines))
    return "\n".join((*sorted(lines[:count]), *lines[count:]))


def _triples(results: Sequence[Result]) -> Iterator[Triple]:
    report = BlankNode("report")
    yield Triple(report, RDF.type, SH.ValidationReport)
    conforms = "false" if results else "true"
    yield Triple(report, SH.conforms, Literal(conforms, datatype=XSD.boolean))
    nodes = [BlankNode(f"result{number}") for number in range(1, len(results) + 1)]
    for node in nodes:
        yield Triple(report, SH.result, node)
    for node, result in zip(nodes, results, strict=True):
        yield Triple(node, RDF.type, SH.ValidationResult)
        yield Triple(node, SH.resultSeverity, SH.Violation)
        yield Triple(node, SH.focusNode, result.focus)
        if result.path is not None:
            yield Triple(node, SH.resultPath, result.path)
        if result.value is not None:
            yield Triple(node, SH.value, result.value)
        if result.message is not None:
            yield Triple(node, SH.resultMessage, result.message)
        yield Triple(node, SH.sourceShape, result.shape)
        yield Triple(node, SH.sourceConstraintComponent, result.component)
