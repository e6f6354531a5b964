"""What a picture of one retrieval shows, and where: the same for the HTML page and the PNG.

Drawn are the seeds, the entities that lead to a drawn document, the other activated entities,
and then their neighbours that were not activated, each group best first, until `max_nodes`;
and the best documents, each linked to the entity that brought it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sarag_rdf.errors import UsageError
from sarag_rdf.export.picture_geometry import (
    Label,
    Points,
    Wish,
    fit,
    place_labels,
    place_squares,
    spring_positions,
)
from sarag_rdf.export.picture_pick import KINDS, Kind, Picked, kind_of, pick
from sarag_rdf.export.picture_text import clean, wrap
from sarag_rdf.types import ActivatedEntity, Link, RankedDocument, Retrieved

SQUARE = 10.0
"""Half the side of a document's square."""

_MARGIN = 44.0
_MIN_RADIUS, _MAX_RADIUS = 6.0, 17.0
_LABEL_SIZE: Mapping[Kind, float] = {"seed": 14.0, "activated": 13.0, "dormant": 11.5}

Ends = tuple[float, float, float, float]
"""x1, y1, x2, y2 of a line that stops at the outlines of what it joins."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entity; its area follows its activation."""

    id: str
    entity: ActivatedEntity
    name: str
    kind: Kind
    x: float
    y: float
    radius: float
    label: Label


@dataclass(frozen=True, slots=True)
class Line:
    """All relationships between two entities, given by the ids of their nodes.

    If `carried`, activation passed from `origin` to `target` on its way to an activated entity
    or to one that brought a document.
    """

    id: str
    origin: str
    target: str
    relations: tuple[Link, ...]
    carried: bool
    ends: Ends


@dataclass(frozen=True, slots=True)
class Square:
    """A retrieved document; `nodes` and `lines` are the chain that led to it, as far as drawn."""

    id: str
    ranked: RankedDocument
    title: str
    x: float
    y: float
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    ends: Ends | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of one retrieval; `left_out` counts what is not drawn."""

    question: str
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    squares: tuple[Square, ...]
    left_out: Mapping[Kind | Literal["document"], int]
    width: float
    height: float

    def count(self, kind: Kind) -> int:
        """Number of drawn entities of one kind."""
        return sum(node.kind == kind for node in self.nodes)

    @property
    def remark(self) -> str:
        """Says how much is not drawn; empty if everything is."""
        words = {
            "seed": "seeds",
            "activated": "activated entities",
            "dormant": "entities not activated",
            "document": "documents",
        }
        parts = [f"{number} {words[kind]}" for kind, number in self.left_out.items() if number]
        return f"Not drawn: {', '.join(parts)}." if parts else ""


def lay_out(retrieved: Retrieved, max_nodes: int = 80, max_documents: int = 12) -> Picture:
    """Choose what to draw of a retrieval, and where. Raises `UsageError` for a negative limit."""
    if max_nodes < 0 or max_documents < 0:
        raise UsageError("max_nodes and max_documents must not be negative")
    picked = pick(retrieved, max_nodes, max_documents)
    radii = [_radius(entity) for entity in picked.entities]
    size = _canvas(len(radii))
    points = _positions(picked, radii, size)
    lines = _lines(picked, points, radii)
    corners = _square_points(picked, points, radii, lines, size)
    vias = _vias(picked, corners, points, radii)
    ink = _ink([*(line.ends for line in lines), *(ends for ends in vias if ends)])
    nodes = _nodes(picked.entities, points, radii, corners, ink, size)
    squares = _squares(picked, corners, vias, nodes, lines)
    left_out: dict[Kind | Literal["document"], int] = {
        kind: sum(kind_of(e) == kind for e in retrieved.entities)
        - sum(node.kind == kind for node in nodes)
        for kind in KINDS
    }
    left_out["document"] = len(retrieved.documents) - len(squares)
    question = clean(retrieved.query.text)
    return Picture(question, tuple(nodes), tuple(lines), tuple(squares), left_out, *size)


def _radius(entity: ActivatedEntity) -> float:
    share = min(1.0, max(0.0, entity.activation))
    return round(math.sqrt(_MIN_RADIUS**2 + (_MAX_RADIUS**2 - _MIN_RADIUS**2) * share), 1)


def _canvas(entities: int) -> tuple[float, float]:
    """Width and height: a picture of many entities is larger, so its text seems smaller."""
    scale = min(1.25, max(1.0, math.sqrt(entities / 40)))
    return round(1000 * scale), round(680 * scale)


def _positions(picked: Picked, radii: Sequence[float], size: tuple[float, float]) -> Points:
    lengths = {}
    for pair in picked.pairs:
        ends = (picked.entities[pair.origin], picked.entities[pair.target])
        plain = (1.1, 1.0, 1.5)[sum(kind_of(entity) == "dormant" for entity in ends)]
        lengths[pair.origin, pair.target] = 1.25 if pair.carried else plain
    width, height = size
    if None in picked.owners:
        height -= 2 * SQUARE
    points = spring_positions(len(radii), lengths)
    return fit(points, np.array(radii), width, height, _MARGIN).round(1)


def _lines(picked: Picked, points: Points, radii: Sequence[float]) -> list[Line]:
    lines = []
    for i, pair in enumerate(picked.pairs):
        a, b = pair.origin, pair.target
        ends = _ends(points[a], points[b], radii[a], radii[b])
        lines.append(Line(f"l{i}", f"n{a}", f"n{b}", pair.relations, pair.carried, ends))
    return lines


def _ends(start: Points, stop: Points, inset: float, outset: float) -> Ends:
    """Leave room for the outline at both ends; between nodes that touch, a short line is left."""
    gap = stop - start
    length = max(float(np.hypot(*gap)), 1e-6)
    inset, outset = inset + 2, outset + 3
    shrink = min(1.0, 0.9 * length / (inset + outset)) / length
    first, last = start + gap * inset * shrink, stop - gap * outset * shrink
    x1, y1, x2, y2 = np.concatenate([first, last]).round(1).tolist()
    return x1, y1, x2, y2


def _square_points(
    picked: Picked,
    points: Points,
    radii: Sequence[float],
    lines: Sequence[Line],
    size: tuple[float, float],
) -> Points:
    owners = [None if i is None else (*points[i].tolist(), radii[i]) for i in picked.owners]
    blocks = _blocks(points, radii)
    ink = _ink([line.ends for line in lines])
    return place_squares(owners, SQUARE, blocks, ink, *size).round(1)


def _vias(
    picked: Picked, corners: Points, points: Points, radii: Sequence[float]
) -> list[Ends | None]:
    return [
        None if owner is None else _ends(corners[i], points[owner], SQUARE, radii[owner])
        for i, owner in enumerate(picked.owners)
    ]


def _blocks(points: Points, halves: Sequence[float]) -> Points:
    sides = np.array(halves)[:, None]
    return np.concatenate([points - sides, points + sides], axis=1)


def _ink(lines: Sequence[Ends]) -> Points:
    """Points along the lines, about as dense as labels are high."""
    share = np.linspace(0.0, 1.0, 25)[:, None]
    along = [np.array(e[:2]) * (1 - share) + np.array(e[2:]) * share for e in lines]
    return np.concatenate(along) if along else np.zeros((0, 2))


def _nodes(
    entities: Sequence[ActivatedEntity],
    points: Points,
    radii: Sequence[float],
    corners: Points,
    ink: Points,
    canvas: tuple[float, float],
) -> list[Node]:
    names = [clean(entity.name) or clean(entity.iri) for entity in entities]
    kinds = [kind_of(entity) for entity in entities]
    wishes = []
    for name, kind, (x, y), radius in zip(names, kinds, points.tolist(), radii, strict=True):
        size, outer = _LABEL_SIZE[kind], 1.2 * radius + 2 if kind == "seed" else radius
        text = wrap(name, 12.5 * size, size, 2)
        wishes.append(Wish(x, y, outer, text, size, kind != "dormant"))
    blocks = [_blocks(points, radii), _blocks(corners, [SQUARE] * len(corners))]
    labels = place_labels(wishes, np.concatenate(blocks), ink, *canvas)
    return [
        Node(f"n{i}", entities[i], names[i], kinds[i], wish.x, wish.y, radii[i], label)
        for i, (wish, label) in enumerate(zip(wishes, labels, strict=True))
    ]


def _squares(
    picked: Picked,
    corners: Points,
    vias: Sequence[Ends | None],
    nodes: Sequence[Node],
    lines: Sequence[Line],
) -> list[Square]:
    squares = []
    for i, (document, owner) in enumerate(zip(picked.documents, picked.owners, strict=True)):
        title = clean(document.document.title) or clean(document.document.text[:80])
        title = title or clean(document.document.iri)
        x, y = corners[i].tolist()
        chain, passed = ((), ()) if owner is None else chain_of(nodes[owner], nodes, lines)
        squares.append(Square(f"d{i}", document, title, x, y, chain, passed, vias[i]))
    return squares


def chain_of(
    node: Node, nodes: Sequence[Node], lines: Sequence[Line]
) -> tuple[tuple[Node, ...], tuple[Line, ...]]:
    """Nodes, from a seed to `node`, and lines by which activation came, as far as drawn."""
    by_iri = {n.entity.iri: n for n in nodes}
    by_ends = {frozenset((line.origin, line.target)): line for line in lines}
    chain = node.entity.chain
    iris = dict.fromkeys([*(step.origin for step in chain), node.entity.iri])
    steps = [(by_iri.get(step.origin), by_iri.get(step.target)) for step in chain]
    passed = [by_ends.get(frozenset((a.id, b.id))) for a, b in steps if a and b]
    return tuple(by_iri[i] for i in iris if i in by_iri), tuple(filter(None, passed))
