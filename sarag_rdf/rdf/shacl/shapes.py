"""Parses SHACL shapes and validates data against them."""

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
    OF_ABSENCE,
    Check,
    component,
    is_in,
    is_true,
)
from sarag_rdf.rdf.shacl.data import Data, Node
from sarag_rdf.rdf.shacl.report import Result, ValidationReport, report_of
from sarag_rdf.resources import ontology_path
from sarag_rdf.vocab import RDF, SH

_SAYS_NOTHING: Final = frozenset({SH.name, SH.description, SH.order, SH.message})
_READ_APART: Final = frozenset(
    {
        *(SH.path, SH.property, SH.deactivated, SH.closed, SH.ignoredProperties, SH["in"]),
        *(SH.targetClass, SH.targetSubjectsOf),
    }
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that a shape asks for."""

    component: NamedNode
    check: Check


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape, or a property shape if it has a `path`.

    `of_absence` are the constraints that a node without the property breaks. `closed` holds the
    only properties that a node may have, or is None.
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


class _File:
    """The triples of shapes files, by subject and property."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._found: defaultdict[Node, defaultdict[NamedNode, list[Node]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for triple in triples:
            values = self._found[triple.subject][triple.predicate]
            if triple.object not in values:
                values.append(triple.object)
        self._made: dict[Node, Shape] = {}

    def targeted(self) -> Iterator[Shape]:
        """The shapes that say of themselves which nodes they are for."""
        for node, found in list(self._found.items()):
            is_targeted = SH.targetClass in found or SH.targetSubjectsOf in found
            if is_targeted and not self._is_true(node, SH.deactivated):
                yield self.shape(node)

    def shape(self, node: Node) -> Shape:
        if node not in self._made:
            self._made[node] = self._make(node)
        return self._made[node]

    def _make(self, node: Node) -> Shape:
        found = self._found.get(node)
        if not found:
            raise SaragError(f"there is no shape {node} in the shapes files")
        self._refuse_unknown(node)
        if SH.path in found and SH.property in found:
            raise SaragError(f"the shape {node} has properties of properties, not known here")
        if SH.path in found and (SH.targetClass in found or SH.targetSubjectsOf in found):
            raise SaragError(f"the property shape {node} has a target, which is not known here")
        properties = [p for p in found.get(SH.property, ()) if not self._is_true(p, SH.deactivated)]
        paths = self._iris(node, SH.path)
        constraints = tuple(self._constraints(node))
        messages = [m for m in found.get(SH.message, ()) if isinstance(m, Literal)]
        return Shape(
            node,
            messages[0] if messages else None,
            paths[0] if paths else None,
            tuple(found.get(SH.targetClass, ())),
            frozenset(self._iris(node, SH.targetSubjectsOf)),
            constraints,
            tuple(c for c in constraints if c.component in OF_ABSENCE),
            tuple(self.shape(p) for p in properties),
            self._closed(node),
        )

    def _refuse_unknown(self, node: Node) -> None:
        known = CONSTRAINTS.keys() | _SAYS_NOTHING | _READ_APART
        for predicate in self._found[node]:
            if predicate.value.startswith(SH.base) and predicate not in known:
                raise SaragError(f"the shape {node} has {predicate}, which is not known here")

    def _constraints(self, node: Node) -> Iterator[Constraint]:
        for parameter, values in self._found[node].items():
            for value in values:
                if parameter in CONSTRAINTS:
                    yield Constraint(component(parameter), CONSTRAINTS[parameter](value))
                elif parameter == SH["in"]:
                    yield Constraint(component(parameter), is_in(self._list(value)))

    def _closed(self, node: Node) -> frozenset[Node] | None:
        if not self._is_true(node, SH.closed):
            return None
        found = self._found[node]
        ignored = [p for head in found.get(SH.ignoredProperties, ()) for p in self._list(head)]
        named = [p for inner in found.get(SH.property, ()) for p in self._iris(inner, SH.path)]
        return frozenset((*ignored, *named))

    def _iris(self, node: Node, predicate: NamedNode) -> tuple[NamedNode, ...]:
        values = self._found[node].get(predicate, [])
        for value in values:
            if not isinstance(value, NamedNode):
                raise SaragError(f"the shape {node} has a {predicate} that is not a single IRI")
        return tuple(value for value in values if isinstance(value, NamedNode))

    def _is_true(self, node: Node, predicate: NamedNode) -> bool:
        return any(map(is_true, self._found[node].get(predicate, ())))

    def _list(self, head: Node) -> Iterator[Node]:
        while head != RDF.nil:
            yield self._found[head][RDF.first][0]
            head = self._found[head][RDF.rest][0]


@cache
def read_shapes(*names: str) -> tuple[Shape, ...]:
    """The shapes of packaged files (``shapes.ttl``) taken together.

    Raises `SaragError` if they say what is not known here.
    """
    return parse_shapes(*(ontology_path(name).read_bytes() for name in names))


def parse_shapes(*files: bytes) -> tuple[Shape, ...]:
    """The shapes of Turtle files taken together."""
    triples = [
        quad.triple
        for file in files
        for quad in ox.parse(file, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
    ]
    return tuple(_File(triples).targeted())


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
