"""Parsing of SHACL shapes, and validation of data against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode

from sarag_rdf.errors import SaragError
from sarag_rdf.rdf.shacl.constraints import (
    CONSTRAINTS,
    VIOLATED_BY_ABSENCE,
    Check,
    component,
    is_in,
    is_true,
)
from sarag_rdf.rdf.shacl.data import Data, Node
from sarag_rdf.rdf.shacl.report import Result, ValidationReport, report_of
from sarag_rdf.resources import ontology_path
from sarag_rdf.vocab import RDF, SH

_NON_VALIDATING: Final = frozenset({SH.name, SH.description, SH.order, SH.message})
_STRUCTURAL: Final = frozenset(
    {
        *(SH.path, SH.property, SH.deactivated, SH.closed, SH.ignoredProperties, SH["in"]),
        *(SH.targetClass, SH.targetSubjectsOf),
    }
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint component with its check."""

    component: NamedNode
    check: Check


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape, or a property shape if it has a `path`.

    `of_absence` are the constraints that a node without the property violates. `closed` contains
    the properties that a node may have, or is None for an open shape.
    """

    node: Node
    message: Literal | None
    path: NamedNode | None
    classes: tuple[Node, ...]
    subjects_of: frozenset[NamedNode]
    constraints: tuple[Constraint, ...]
    of_absence: tuple[Constraint, ...]
    properties: tuple[Shape, ...]
    closed: frozenset[Node] | None


class _ShapesGraph:
    """The triples of shapes files, by subject and property."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._nodes: defaultdict[Node, defaultdict[NamedNode, list[Node]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for triple in triples:
            values = self._nodes[triple.subject][triple.predicate]
            if triple.object not in values:
                values.append(triple.object)
        self._shapes: dict[Node, Shape] = {}

    def targeted(self) -> Iterator[Shape]:
        """The shapes with a target declaration."""
        for node, values in list(self._nodes.items()):
            has_target = SH.targetClass in values or SH.targetSubjectsOf in values
            if has_target and not self._is_true(node, SH.deactivated):
                yield self.shape(node)

    def shape(self, node: Node) -> Shape:
        if node not in self._shapes:
            self._shapes[node] = self._parse(node)
        return self._shapes[node]

    def _parse(self, node: Node) -> Shape:
        values = self._nodes.get(node)
        if not values:
            raise SaragError(f"the shapes files contain no shape {node}")
        self._reject_unsupported(node)
        if SH.path in values and SH.property in values:
            raise SaragError(f"unsupported: the property shape {node} has sh:property")
        if SH.path in values and (SH.targetClass in values or SH.targetSubjectsOf in values):
            raise SaragError(f"unsupported: the property shape {node} has a target")
        inner = values.get(SH.property, ())
        properties = [p for p in inner if not self._is_true(p, SH.deactivated)]
        paths = self._iris(node, SH.path)
        constraints = tuple(self._constraints(node))
        messages = [m for m in values.get(SH.message, ()) if isinstance(m, Literal)]
        return Shape(
            node,
            messages[0] if messages else None,
            paths[0] if paths else None,
            tuple(values.get(SH.targetClass, ())),
            frozenset(self._iris(node, SH.targetSubjectsOf)),
            constraints,
            tuple(c for c in constraints if c.component in VIOLATED_BY_ABSENCE),
            tuple(self.shape(p) for p in properties),
            self._closed(node),
        )

    def _reject_unsupported(self, node: Node) -> None:
        supported = CONSTRAINTS.keys() | _NON_VALIDATING | _STRUCTURAL
        for predicate in self._nodes[node]:
            if predicate.value.startswith(SH.base) and predicate not in supported:
                raise SaragError(f"unsupported: the shape {node} has {predicate}")

    def _constraints(self, node: Node) -> Iterator[Constraint]:
        for parameter, values in self._nodes[node].items():
            for value in values:
                if parameter in CONSTRAINTS:
                    yield Constraint(component(parameter), CONSTRAINTS[parameter](value))
                elif parameter == SH["in"]:
                    yield Constraint(component(parameter), is_in(self._list(value)))

    def _closed(self, node: Node) -> frozenset[Node] | None:
        if not self._is_true(node, SH.closed):
            return None
        values = self._nodes[node]
        ignored = [p for head in values.get(SH.ignoredProperties, ()) for p in self._list(head)]
        declared = [p for inner in values.get(SH.property, ()) for p in self._iris(inner, SH.path)]
        return frozenset((*ignored, *declared))

    def _iris(self, node: Node, predicate: NamedNode) -> tuple[NamedNode, ...]:
        values = self._nodes[node].get(predicate, [])
        for value in values:
            if not isinstance(value, NamedNode):
                raise SaragError(f"unsupported: the {predicate} of the shape {node} is not an IRI")
        return tuple(value for value in values if isinstance(value, NamedNode))

    def _is_true(self, node: Node, predicate: NamedNode) -> bool:
        return any(map(is_true, self._nodes[node].get(predicate, ())))

    def _list(self, head: Node) -> Iterator[Node]:
        while head != RDF.nil:
            yield self._nodes[head][RDF.first][0]
            head = self._nodes[head][RDF.rest][0]


@cache
def read_shapes(*names: str) -> tuple[Shape, ...]:
    """The shapes of packaged files, such as ``shapes.ttl``, as one shapes graph.

    Raises `SaragError` for features that are not supported.
    """
    return parse_shapes(*(ontology_path(name).read_bytes() for name in names))


def parse_shapes(*files: bytes) -> tuple[Shape, ...]:
    """The shapes of Turtle files, as one shapes graph."""
    triples = [
        quad.triple
        for file in files
        for quad in ox.parse(file, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
    ]
    return tuple(_ShapesGraph(triples).targeted())


_CLOSED = SH.ClosedConstraintComponent


def validate(shapes: Iterable[Shape], data: Data) -> ValidationReport:
    """Validate the focus nodes of all shapes."""
    results: list[Result] = []
    for shape in shapes:
        for focus in _focus_nodes(shape, data):
            _check_node(shape, data, focus, results)
    return report_of(results, len(data))


def _focus_nodes(shape: Shape, data: Data) -> dict[Node, None]:
    nodes: dict[Node, None] = {}
    for class_ in shape.classes:
        nodes |= data.instances(class_)
    if shape.subjects_of:
        nodes |= dict.fromkeys(data.subjects_of(shape.subjects_of))
    return nodes


def _check_node(shape: Shape, data: Data, focus: Node, results: list[Result]) -> None:
    """Append the violations of a focus node and its properties to `results`."""
    properties = data.properties.get(focus, {})
    _check_values(shape, data, focus, (focus,), results)
    if shape.closed is not None:
        for predicate in properties.keys() - shape.closed:
            results += [
                Result(focus, predicate, _CLOSED, shape.node, shape.message, value)
                for value in properties[predicate]
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
        results += [
            Result(focus, shape.path, constraint.component, shape.node, shape.message, value)
            for value in constraint.check(data, focus, values)
        ]
