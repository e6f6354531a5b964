"""Shapes asked of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sarag_rdf.shacl.data import Data, Node
from sarag_rdf.shacl.report import Result, ValidationReport, report_of
from sarag_rdf.shacl.shapes import Shape
from sarag_rdf.vocab import SH

_CLOSED = SH.ClosedConstraintComponent


def validate(shapes: Iterable[Shape], data: Data) -> ValidationReport:
    """Check every node that a shape is for."""
    results: list[Result] = []
    for shape in shapes:
        for focus in _focus_nodes(shape, data):
            _check_node(shape, data, focus, results)
    return report_of(results, len(data))


def _focus_nodes(shape: Shape, data: Data) -> dict[Node, None]:
    found: dict[Node, None] = {}
    for class_ in shape.classes:
        found |= data.instances(class_)
    if shape.subjects_of:
        found |= dict.fromkeys(data.subjects_of(shape.subjects_of))
    return found


def _check_node(shape: Shape, data: Data, focus: Node, results: list[Result]) -> None:
    """Add what is wrong with a node and its properties."""
    properties = data.properties.get(focus, {})
    _check_values(shape, data, focus, (focus,), results)
    if shape.closed is not None:
        for predicate in properties.keys() - shape.closed:
            wrong = properties[predicate]
            results += [
                Result(focus, predicate, _CLOSED, shape.node, shape.message, v) for v in wrong
            ]
    for inner in shape.properties:
        values = properties.get(inner.path) if inner.path else None
        if values:
            _check_values(inner, data, focus, tuple(values), results)
        elif inner.of_absence:
            _check_values(inner, data, focus, (), results)


def _check_values(
    shape: Shape, data: Data, focus: Node, values: Sequence[Node], results: list[Result]
) -> None:
    for constraint in shape.constraints if values else shape.of_absence:
        wrong = constraint.check(data, focus, values)
        if wrong:
            results += [
                Result(focus, shape.path, constraint.component, shape.node, shape.message, v)
                for v in wrong
            ]
