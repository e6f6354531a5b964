"""Validation against SHACL shapes (https://www.w3.org/TR/shacl/), and its reports.

The engine is the library `shacl`, or pySHACL.

`shacl` is fast enough to validate every source. It has no packages for some platforms, such as
Linux on ARM; there pySHACL is installed instead, which is slower and reports the same violations.
Both implement SHACL Core and SPARQL-based constraints.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import takewhile
from typing import Any, Final, NewType
from typing import Literal as OneOf

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import MissingDependencyError, SaragError, UsageError, one_line
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import PREFIXES, RDF, SH, XSD
from sarag_rdf.graph.store.sparql_syntax import inspect_query

Node = NamedNode | BlankNode | Literal | Triple
"""An RDF term; validated data may contain blank nodes and triple terms, unlike stored data."""

_MAX_VALUE = 200
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A SHACL result as strings; `path` is empty but for a property.

    `component` and `severity` are local names.
    """

    focus: str
    path: str
    message: str
    value: str = ""
    component: str = ""
    severity: str = ""

    def __str__(self) -> str:
        value = f" (found: {_one_line(self.value)})" if self.value else ""
        return f"{self.focus}: {self.message}{value}"

    @property
    def constraint(self) -> str:
        """The severity, the parameter of the shape, and the path: "Warning: sh:minCount of <P>"."""
        name = self.component.removesuffix("ConstraintComponent")
        path = f" of <{self.path}>" if self.path else ""
        return f"{self.severity}: sh:{name[:1].lower()}{name[1:]}{path}"


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


Properties = Mapping[NamedNode, Node]
"""The properties of a SHACL result, each with one value."""
_WRITTEN: Final = (
    *(SH.resultSeverity, SH.focusNode, SH.resultPath, SH.value, SH.resultMessage, SH.sourceShape),
    SH.sourceConstraintComponent,
)
"""The properties of results in a report, in their order; nested results are left out."""


def _report_of(ntriples: str, triples: int) -> ValidationReport:
    """The report of an engine in N-Triples, sorted by focus node, path and message."""
    by_subject = _by_subject(ntriples, ox.RdfFormat.N_TRIPLES)
    nodes = [t.object for ts in by_subject.values() for t in ts if t.predicate == SH.result]
    results = [_properties(by_subject[node]) for node in nodes]
    ordered = sorted(
        ((_violation(result), result) for result in results), key=lambda pair: astuple(pair[0])
    )
    return ValidationReport(
        not ordered,
        triples,
        tuple(violation for violation, _ in ordered),
        _turtle(_report_triples([result for _, result in ordered], by_subject)),
    )


def violations_of(turtle: str) -> tuple[Violation, ...]:
    """The violations in a report as Turtle, sorted by focus node, path and message."""
    nodes = map(_properties, _by_subject(turtle, ox.RdfFormat.TURTLE).values())
    return tuple(sorted((_violation(n) for n in nodes if SH.focusNode in n), key=astuple))


def _by_subject(text: str, format_: ox.RdfFormat) -> dict[Node, list[Triple]]:
    triples: defaultdict[Node, list[Triple]] = defaultdict(list)
    for quad in ox.parse(text, format=format_):
        triples[quad.subject].append(quad.triple)
    return dict(triples)


def _properties(triples: Iterable[Triple]) -> Properties:
    """The properties of a node; of several messages the first as text."""
    properties: dict[NamedNode, Node] = {}
    for triple in triples:
        key, value = triple.predicate, triple.object
        is_message = key == SH.resultMessage and key in properties
        properties[key] = min(properties[key], value, key=str) if is_message else value
    return properties


def _violation(result: Properties) -> Violation:
    path = result.get(SH.resultPath)
    return Violation(
        _text(result[SH.focusNode]),
        _text(path) if isinstance(path, NamedNode) else "",
        _text(result.get(SH.resultMessage)) or "does not conform",
        _text(result.get(SH.value)),
        _text(result.get(SH.sourceConstraintComponent)).removeprefix(SH.base),
        _text(result.get(SH.resultSeverity)).removeprefix(SH.base),
    )


def _text(node: Node | None) -> str:
    """A node without brackets and quotes."""
    if node is None:
        return ""
    return str(node) if isinstance(node, Triple) else node.value


def _report_triples(
    results: Sequence[Properties], by_subject: Mapping[Node, Sequence[Triple]]
) -> Iterator[Triple]:
    report = BlankNode("report")
    yield Triple(report, RDF.type, SH.ValidationReport)
    conforms = "false" if results else "true"
    yield Triple(report, SH.conforms, Literal(conforms, datatype=XSD.boolean))
    nodes = [BlankNode(f"result{number}") for number in range(1, len(results) + 1)]
    for node in nodes:
        yield Triple(report, SH.result, node)
    for node, result in zip(nodes, results, strict=True):
        yield Triple(node, RDF.type, SH.ValidationResult)
        for property_ in _WRITTEN:
            if property_ in result:
                yield Triple(node, property_, result[property_])
                if property_ == SH.resultPath:
                    yield from _description(by_subject, result[property_])


def _description(by_subject: Mapping[Node, Sequence[Triple]], node: Node) -> Iterator[Triple]:
    """The triples of a blank node, such as a path, and those of the blank nodes in them."""
    seen, new = {node}, [node] if isinstance(node, BlankNode) else []
    while new:
        for triple in by_subject.get(new.pop(), ()):
            yield triple
            if isinstance(triple.object, BlankNode) and triple.object not in seen:
                seen.add(triple.object)
                new.append(triple.object)


def _turtle(triples: Iterable[Triple]) -> str:
    """Turtle with sorted prefixes, because pyoxigraph writes them in any order."""
    prefixes = {**PREFIXES, "sash": "https://w3id.org/sarag/shapes#", "sh": SH.base}
    data = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b""
    lines = data.decode("utf-8").split("\n")
    count = sum(1 for _ in takewhile(lambda line: line.startswith("@prefix "), lines))
    return "\n".join((*sorted(lines[:count]), *lines[count:]))


ShaclEngine = OneOf["shacl", "pyshacl"]

Validator = Callable[[str], str]
"""Validates triples in N-Triples; the result is a report in N-Triples."""


Shapes = NewType("Shapes", str)
"""A shapes graph in N-Triples. Each engine compiles it once, at its first validation."""


@cache
def read_shapes(*names: str) -> Shapes:
    """The shapes of packaged files, such as ``shapes.ttl``, as one shapes graph."""
    return parse_shapes(*(ontology_path(name).read_bytes() for name in names))


def parse_shapes(*files: bytes) -> Shapes:
    """The shapes of Turtle files; raises `SaragError`, also for SERVICE or FROM in a query."""
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
            traits = inspect_query(triple.object.value)
            if traits.reaches_network or traits.names_dataset:  # engines notice only some
                raise _invalid_shapes("a query has SERVICE or FROM: remove them")
    return Shapes(_ntriples(triples))


_QUERIES: Final = (SH.select, SH.ask, SH.construct, SH.update)


def validate(
    shapes: Shapes,
    data: Iterable[Triple | Quad],
    axioms: Iterable[Triple] = (),
    engine: ShaclEngine | None = None,
) -> ValidationReport:
    """Validate the union of the graphs in `data`.

    `axioms`, such as the subclasses of an ontology, are added to the data; the report does not
    count them. Without `engine`, `shacl` is used if it is installed, otherwise pySHACL.

    Raises `SaragError` if the shapes are invalid or nested too deeply, or if the engine cannot
    read the data, `MissingDependencyError` without the package of the engine.
    """
    engine = engine or ("shacl" if find_spec("shacl") else "pyshacl")
    if engine not in ENGINES:
        raise UsageError(f"unknown engine '{engine}': use one of {', '.join(ENGINES)}")
    text = _ntriples(data)
    report = _validator(engine, shapes)(text + _ntriples(axioms))
    return _report_of(report, text.count("\n"))


@lru_cache(maxsize=8)
def _validator(engine: ShaclEngine, shapes: Shapes) -> Validator:
    return _COMPILERS[engine](shapes)


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

    def validate_text(data: str) -> str:
        try:
            report = compiled.validate_text(data, "ntriples")
        except ValueError as error:
            raise _cannot_validate(error) from error
        return str(report.serialize("ntriples")) if report.results else ""

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

    def validate_text(data: str) -> str:
        try:
            parsed = rdflib.Graph().parse(data=data, format="nt")
            _, report, _ = pyshacl_validate(parsed, shacl_graph=graph, inplace=True)
        except (ReportableRuntimeError, rdflib.exceptions.ParserError, TypeError) as error:
            raise _cannot_validate(error) from error
        if isinstance(report, ValidationFailure):
            raise _invalid_shapes(report)
        return str(report.serialize(format="nt"))

    return validate_text


_COMPILERS: Final[Mapping[ShaclEngine, Callable[[str], Validator]]] = {
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
