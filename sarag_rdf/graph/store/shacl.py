"""Validation against SHACL shapes (https://www.w3.org/TR/shacl/), and its reports.

The engine is the library `shacl`, or pySHACL.

`shacl` is fast enough to validate every source. It has no packages for some platforms, such as
Linux on ARM; there pySHACL is installed instead, which is slower and reports the same violations.
Both implement SHACL Core and SPARQL-based constraints.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from typing import Any, Final
from typing import Literal as OneOf

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import MissingDependencyError, SaragError, UsageError, one_line
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import PREFIXES, RDF, SH, XSD

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


Engine = OneOf["shacl", "pyshacl"]

Validator = Callable[[str], list[Result]]
"""Validates triples, given as N-Triples."""


class Shapes:
    """A shapes graph. Each engine compiles it once, at its first validation."""

    def __init__(self, ntriples: str) -> None:
        self._ntriples = ntriples
        self._validators: dict[Engine, Validator] = {}

    def validator(self, engine: Engine) -> Validator:
        """The compiled shapes.

        Raises `SaragError` if the shapes graph is invalid, `MissingDependencyError` without the
        package of the engine.
        """
        if engine not in self._validators:
            self._validators[engine] = _COMPILERS[engine](self._ntriples)
        return self._validators[engine]


@cache
def read_shapes(*names: str) -> Shapes:
    """The shapes of packaged files, such as ``shapes.ttl``, as one shapes graph."""
    return parse_shapes(*(ontology_path(name).read_bytes() for name in names))


def parse_shapes(*files: bytes) -> Shapes:
    """The shapes of Turtle files, as one shapes graph.

    Raises `SaragError` if a file is not Turtle, or has a query that could reach the network.
    """
    try:
        triples = [
            quad.triple
            for file in files
            for quad in ox.parse(file, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
        ]
    except SyntaxError as error:
        raise _invalid_shapes(error) from error
    for triple in triples:
        if triple.predicate in _QUERIES and isinstance(triple.object, Literal):
            _refuse_network(triple.object.value)
    return Shapes(_ntriples(triples))


_QUERIES: Final = (SH.select, SH.ask, SH.construct, SH.update)


def _refuse_network(query: str) -> None:
    """Raise `SaragError` for SERVICE and FROM, which the engines notice in part only."""
    from sarag_rdf.graph.store.sparql_syntax import inspect_query

    traits = inspect_query(query)
    if traits.reaches_network or traits.names_dataset:
        raise _invalid_shapes("a query has SERVICE or FROM: remove them")


def validate(
    shapes: Shapes,
    data: Iterable[Triple | Quad],
    axioms: Iterable[Triple] = (),
    engine: Engine | None = None,
) -> ValidationReport:
    """Validate the union of the graphs in `data`.

    `axioms`, such as the subclasses of an ontology, are added to the data; the report does not
    count them. Without `engine`, `shacl` is used if it is installed, otherwise pySHACL.

    Raises `SaragError` if the shapes are invalid or nested too deeply, or if the engine cannot
    read the data, `MissingDependencyError` without the package of the engine.
    """
    engine = engine or _installed_engine()
    if engine not in ENGINES:
        raise UsageError(f"unknown engine '{engine}': use one of {', '.join(ENGINES)}")
    text = _ntriples(data)
    results = shapes.validator(engine)(text + _ntriples(axioms))
    return report_of(results, text.count("\n"))


@cache
def _installed_engine() -> Engine:
    return "shacl" if find_spec("shacl") else "pyshacl"


def _ntriples(data: Iterable[Triple | Quad]) -> str:
    """The distinct triples, one per line."""
    triples = (item.triple if isinstance(item, Quad) else item for item in data)
    return "".join(dict.fromkeys(f"{triple} .\n" for triple in triples))


def _shacl_validator(shapes: str) -> Validator:
    try:
        import shacl
    except ImportError as error:
        raise MissingDependencyError(
            "the engine shacl needs a package: pip install shacl, or use the engine pyshacl"
        ) from error
    try:
        compiled = shacl.Shapes.from_text(shapes, "ntriples")
    except ValueError as error:
        raise _invalid_shapes(error) from error

    def validate_text(data: str) -> list[Result]:
        try:
            report = compiled.validate_text(data, "ntriples")
        except ValueError as error:
            raise _cannot_validate(error) from error
        return results_of(report.serialize("ntriples")) if report.results else []

    return validate_text


def _pyshacl_validator(shapes: str) -> Validator:
    try:
        from pyshacl import validate as pyshacl_validate
        from pyshacl.errors import ReportableRuntimeError, ValidationFailure
    except ImportError as error:
        raise MissingDependencyError(
            "the engine pyshacl needs an optional package: pip install 'sarag-rdf[pyshacl]'"
        ) from error
    import rdflib

    graph = rdflib.Graph().parse(data=shapes, format="nt")

    def validate_text(data: str) -> list[Result]:
        try:
            parsed = rdflib.Graph().parse(data=data, format="nt")
            _, report, _ = pyshacl_validate(parsed, shacl_graph=graph, inplace=True)
        except (ReportableRuntimeError, rdflib.exceptions.ParserError, TypeError) as error:
            raise _cannot_validate(error) from error
        if isinstance(report, ValidationFailure):
            raise _invalid_shapes(report)
        return results_of(report.serialize(format="nt"))

    return validate_text


_COMPILERS: Final[Mapping[Engine, Callable[[str], Validator]]] = {
    "shacl": _shacl_validator,
    "pyshacl": _pyshacl_validator,
}
ENGINES: Final = tuple(_COMPILERS)


def _invalid_shapes(error: Any) -> SaragError:
    return SaragError(
        f"the SHACL shapes are invalid: {one_line(str(error))}; correct the shapes file"
    )


def _cannot_validate(error: Any) -> SaragError:
    return SaragError(
        f"the data cannot be validated: {one_line(str(error))}; correct the data or the shapes"
    )
