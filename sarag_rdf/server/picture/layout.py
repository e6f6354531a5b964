"""What a picture of one retrieval shows, and where: the same for the HTML page and the PNG.

Drawn are the seeds, the entities on a path to a drawn document, the other activated entities,
and then their neighbours that were not activated, each group best first, until `max_nodes`;
the best documents, and others that are seeds or on a path to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import ActivatedEntity, Link, RankedDocument, Retrieved
from sarag_rdf.server.picture.geometry import (
    Label,
    Points,
    Wish,
    clean,
    fit,
    place_labels,
    spring_positions,
    wrap,
)
from sarag_rdf.server.picture.selection import KINDS, Hop, Kind, Paper, Picked, Role, kind_of, pick

SQUARE = 10.0
"""Half the side of a document's square."""

_MARGIN = 44.0
_MIN_RADIUS, _MAX_RADIUS = 6.0, 17.0
_INK: Mapping[Role, int] = {"path": 4, "carried": 2, "plain": 1}
"""How many lines a line counts as for labels, which rather cover others."""
_LABEL_SIZE: Mapping[Kind, float] = {"seed": 14.0, "activated": 13.0, "dormant": 11.5}

Ends = tuple[float, float, float, float]
"""x1, y1, x2, y2 of a line that stops at the outlines of what it joins."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entity; its area follows its activation. `on_path` if it is on one to a document."""

    id: str
    entity: ActivatedEntity
    name: str
    kind: Kind
    on_path: bool
    x: float
    y: float
    radius: float
    label: Label


@dataclass(frozen=True, slots=True)
class Line:
    """What joins two nodes or squares, given by their ids: all relationships of two entities.

    Of a document and an entity that it describes there are none. Unless it is plain, activation
    passed from `origin` to `target`, or `both` ways, as `picture_pick.Role` says.
    """

    id: str
    origin: str
    target: str
    relations: tuple[Link, ...]
    role: Role
    both: bool
    ends: Ends


@dataclass(frozen=True, slots=True)
class Square:
    """A document: `mark` is its rank, or a letter if it is on a path or a seed only.

    `way` names the nodes from a seed to it, and `parts` are the ids of nodes and lines on it, as
    far as drawn.
    """

    id: str
    iri: str
    mark: str
    title: str
    ranked: RankedDocument | None
    is_seed: bool
    x: float
    y: float
    way: tuple[str, ...]
    parts: tuple[str, ...]


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
            "seed": ("seed", "seeds"),
            "activated": ("activated entity", "activated entities"),
            "dormant": ("entity not activated", "entities not activated"),
            "document": ("document", "documents"),
        }
        left_out = self.left_out.items()
        parts = [f"{number} {words[kind][number > 1]}" for kind, number in left_out if number]
        return f"Not drawn: {', '.join(parts)}." if parts else ""


def lay_out(retrieved: Retrieved, max_nodes: int = 80, max_documents: int = 12) -> Picture:
    """Choose what to draw of a retrieval, and where. Raises `UsageError` for a negative limit."""
    if max_nodes < 0 or max_documents < 0:
        raise UsageError("max_nodes and max_documents must not be negative")
    picked = pick(retrieved, max_nodes, max_documents)
    radii = [_radius(entity) for entity in picked.entities] + [SQUARE] * len(picked.papers)
    size = _canvas(len(radii))
    points = _positions(picked, radii, size)
    lines = _lines(picked, points, radii)
    ink = _ink([line.ends for line in lines for _ in range(_INK[line.role])])
    nodes = _nodes(picked, points, radii, ink, size)
    squares = _squares(picked.papers, points[len(nodes) :].tolist(), nodes, lines)
    pages = {paper.iri for paper in picked.papers}
    left_out: dict[Kind | Literal["document"], int] = {
        kind: sum(kind_of(e) == kind and e.iri not in pages for e in retrieved.entities)
        - sum(node.kind == kind for node in nodes)
        for kind in KINDS
    }
    left_out["document"] = len(retrieved.documents) - sum(s.ranked is not None for s in squares)
    question = clean(retrieved.query.text)
    return Picture(question, tuple(nodes), tuple(lines), tuple(squares), left_out, *size)


def _radius(entity: ActivatedEntity) -> float:
    share = min(1.0, max(0.0, entity.activation))
    return round(math.sqrt(_MIN_RADIUS**2 + (_MAX_RADIUS**2 - _MIN_RADIUS**2) * share), 1)


def _canvas(nodes: int) -> tuple[float, float]:
    """Width and height: a picture of many nodes is larger, so its text seems smaller."""
    scale = min(1.25, max(1.0, math.sqrt(nodes / 40)))
    return round(1000 * scale), round(680 * scale)


def _positions(picked: Picked, radii: Sequence[float], size: tuple[float, float]) -> Points:
    """Places of entities, then documents; those that nothing joins are in a row at the bottom."""
    count = len(picked.entities)
    joined = {position for pair in picked.pairs for position in (pair.origin, pair.target)}
    placed = [i for i in range(len(radii)) if i < count or i in joined]
    loose = [i for i in range(len(radii)) if i not in placed]
    at = {position: i for i, position in enumerate(placed)}
    lengths = {}
    for pair in picked.pairs:
        ends = [picked.entities[i] for i in (pair.origin, pair.target) if i < count]
        plain = (1.1, 1.0, 1.5)[sum(kind_of(entity) == "dormant" for entity in ends)]
        length = 0.8 if len(ends) < 2 else plain if pair.role == "plain" else 1.25
        lengths[at[pair.origin], at[pair.target]] = length
    width, height = size
    if loose:
        height -= 2 * SQUARE
    positions = spring_positions(len(placed), lengths)
    points = np.zeros((len(radii), 2))
    points[placed] = fit(positions, np.array(radii)[placed], list(lengths), width, height, _MARGIN)
    for column, i in enumerate(loose, start=1):
        points[i] = 2.4 * column * SQUARE, size[1] - 1.6 * SQUARE
    return points.round(1)


def _lines(picked: Picked, points: Points, radii: Sequence[float]) -> list[Line]:
    ids = _ids(picked)
    lines = []
    for i, pair in enumerate(picked.pairs):
        a, b = pair.origin, pair.target
        ends = _ends(points[a], points[b], radii[a], radii[b])
        lines.append(Line(f"l{i}", ids[a], ids[b], pair.relations, pair.role, pair.both, ends))
    return lines


def _ids(picked: Picked) -> list[str]:
    nodes = [f"n{i}" for i in range(len(picked.entities))]
    return nodes + [f"d{i}" for i in range(len(picked.papers))]


def _ends(start: Points, stop: Points, inset: float, outset: float) -> Ends:
    """Leave room for the outline at both ends; between nodes that touch, a short line is left."""
    gap = stop - start
    length = max(float(np.hypot(*gap)), 1e-6)
    inset, outset = inset + 2, outset + 3
    shrink = min(1.0, 0.9 * length / (inset + outset)) / length
    first, last = start + gap * inset * shrink, stop - gap * outset * shrink
    x1, y1, x2, y2 = np.concatenate([first, last]).round(1).tolist()
    return x1, y1, x2, y2


def _ink(lines: Sequence[Ends]) -> Points:
    """Points along the lines, about as dense as labels are high."""
    share = np.linspace(0.0, 1.0, 25)[:, None]
    along = [np.array(e[:2]) * (1 - share) + np.array(e[2:]) * share for e in lines]
    return np.concatenate(along) if along else np.zeros((0, 2))


def _nodes(
    picked: Picked,
    points: Points,
    radii: Sequence[float],
    ink: Points,
    canvas: tuple[float, float],
) -> list[Node]:
    entities = picked.entities
    on_paths = {iri for paper in picked.papers for hop in paper.path for iri in hop}
    names = [clean(entity.name) or clean(entity.iri) for entity in entities]
    kinds = [kind_of(entity) for entity in entities]
    wishes = []
    for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        size, outer = _LABEL_SIZE[kind], 1.2 * radii[i] + 2 if kind == "seed" else radii[i]
        x, y = points[i].tolist()
        text = wrap(name, 12.5 * size, size, 2)
        wishes.append(Wish(x, y, outer, text, size, kind != "dormant"))
    sides = np.array(radii)[:, None]
    blocks = np.concatenate([points - sides, points + sides], axis=1)
    labels = place_labels(wishes, blocks, ink, *canvas)
    return [
        Node(f"n{i}", e, names[i], kinds[i], e.iri in on_paths, wish.x, wish.y, radii[i], label)
        for i, (e, wish, label) in enumerate(zip(entities, wishes, labels, strict=True))
    ]


def _squares(
    papers: Sequence[Paper],
    places: Sequence[tuple[float, float]],
    nodes: Sequence[Node],
    lines: Sequence[Line],
) -> list[Square]:
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    marks = [str(p.ranked.rank) if p.ranked else next(letters, "") for p in papers]
    names = {node.entity.iri: node.name for node in nodes}
    names |= {p.iri: f"document {mark}" for p, mark in zip(papers, marks, strict=True)}
    ids = {node.entity.iri: node.id for node in nodes}
    ids |= {paper.iri: f"d{i}" for i, paper in enumerate(papers)}
    squares = []
    for i, (paper, (x, y)) in enumerate(zip(papers, places, strict=True)):
        before = dict.fromkeys(origin for origin, _ in paper.path)
        way = tuple(names[iri] for iri in before if iri in names)
        squares.append(
            Square(
                f"d{i}",
                paper.iri,
                marks[i],
                clean(paper.title) or clean(paper.iri),
                paper.ranked,
                paper.is_seed,
                x,
                y,
                way,
                parts_of(paper.path, ids, lines),
            )
        )
    return squares


def parts_of(path: Iterable[Hop], ids: Mapping[str, str], lines: Sequence[Line]) -> tuple[str, ...]:
    """Ids of what a path leads over, as far as drawn: nodes and squares (`ids`, by IRI), lines."""
    by_ends = {frozenset((line.origin, line.target)): line.id for line in lines}
    parts: dict[str, None] = {}
    for hop in path:
        ends = [ids[iri] for iri in hop if iri in ids]
        parts |= dict.fromkeys(ends)
        if line := by_ends.get(frozenset(ends)):
            parts[line] = None
    return tuple(parts)
