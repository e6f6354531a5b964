"""Validation of triples by an engine: the library `shacl`, or pySHACL.

`shacl` is fast enough to validate every source. It has no packages for some platforms, such as
Linux on ARM; there pySHACL is installed instead, which is slower and reports the same violations.
Both implement SHACL Core and SPARQL-based constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, Literal

import pyoxigraph as ox
from pyoxigraph import Quad, Triple

from sarag_rdf.errors import MissingDependencyError, SaragError, UsageError
from sarag_rdf.rdf.shacl.report import Result, ValidationReport, report_of, results_of
from sarag_rdf.resources import ontology_path

Engine = Literal["shacl", "pyshacl"]

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

    Raises `SaragError` if a file is not Turtle.
    """
    try:
        triples = [
            quad.triple
            for file in files
            for quad in ox.parse(file, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
        ]
    except SyntaxError as error:
        raise _invalid_shapes(error) from error
    return Shapes(_ntriples(triples))


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
    return SaragError(f"the SHACL shapes are invalid: {_one_line(error)}; correct the shapes file")


def _cannot_validate(error: Any) -> SaragError:
    return SaragError(
        f"the data cannot be validated: {_one_line(error)}; correct the data or the shapes"
    )


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())
