"""Validation results and reports, as values and as SHACL validation reports in Turtle."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from sarag_rdf.vocab import PREFIXES, RDF, SH, XSD

Node = NamedNode | BlankNode | Literal | Triple
"""An RDF term; validated data may contain blank nodes and triple terms, unlike stored data."""

_MAX_VALUE = 200
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A SHACL result as strings: focus node, path, message, value (may be empty), component.

    `path` is the IRI of a property; empty for the focus node itself and for other paths.
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
    """A SHACL result as RDF terms.

    `path_triples` describe a `path` that is a blank node, as SHACL writes paths that are not a
    single property.
    """

    focus: Node
    path: Node | None
    component: Node
    shape: Node
    message: Node | None
    value: Node | None
    severity: Node = SH.Violation
    path_triples: tuple[Triple, ...] = ()

    @property
    def violation(self) -> Violation:
        """The result as strings."""
        return Violation(
            _text(self.focus),
            _text(self.path) if isinstance(self.path, NamedNode) else "",
            _text(self.message) or "does not conform",
            _text(self.value),
            _text(self.component).removeprefix(SH.base),
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


def results_of(ntriples: str) -> list[Result]:
    """The results of a validation report in N-Triples, without nested ones (`sh:detail`)."""
    graph: defaultdict[Node, list[Triple]] = defaultdict(list)
    for quad in ox.parse(ntriples, format=ox.RdfFormat.N_TRIPLES):
        graph[quad.subject].append(quad.triple)
    return [
        _result(graph, triple.object)
        for triples in list(graph.values())
        for triple in triples
        if triple.predicate == SH.result
    ]


def _result(graph: Mapping[Node, Sequence[Triple]], node: Node) -> Result:
    values = {triple.predicate: triple.object for triple in graph[node]}
    messages = [t.object for t in graph[node] if t.predicate == SH.resultMessage]
    path = values.get(SH.resultPath)
    return Result(
        values[SH.focusNode],
        path,
        values[SH.sourceConstraintComponent],
        values[SH.sourceShape],
        min(messages, key=str, default=None),
        values.get(SH.value),
        values[SH.resultSeverity],
        tuple(_description(graph, path)) if isinstance(path, BlankNode) else (),
    )


def _description(graph: Mapping[Node, Sequence[Triple]], node: Node) -> Iterator[Triple]:
    """The triples of a blank node, and those of the blank nodes that they lead to."""
    seen, new = {node}, [node]
    while new:
        for triple in graph.get(new.pop(), ()):
            yield triple
            if isinstance(triple.object, BlankNode) and triple.object not in seen:
                seen.add(triple.object)
                new.append(triple.object)


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
        yield Triple(node, SH.resultSeverity, result.severity)
        yield Triple(node, SH.focusNode, result.focus)
        if result.path is not None:
            yield Triple(node, SH.resultPath, result.path)
            yield from result.path_triples
        if result.value is not None:
            yield Triple(node, SH.value, result.value)
        if result.message is not None:
            yield Triple(node, SH.resultMessage, result.message)
        yield Triple(node, SH.sourceShape, result.shape)
        yield Triple(node, SH.sourceConstraintComponent, result.component)
