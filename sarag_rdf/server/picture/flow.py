"""A trace as a flow from left to right: a column for the seeds and one for each step from them.

Each node has a row of its own within its column and its name beside it, so no label covers
another. Lines start behind the name of a node and end at the shape of the next.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final, Literal

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.sentences import printable_line
from sarag_rdf.base.types import Retrieved
from sarag_rdf.server.picture.trace import Edge, Node, Trace, trace_of

State = Literal["seed", "activated", "dormant"]
"""Of a node; a dormant one is below the threshold of activation, but on the way to a result."""
STATES: tuple[State, ...] = ("seed", "activated", "dormant")
Role = Literal["path", "carried", "plain"]
"""Of a line: activation passed over it on its way to a result; or to something else; or it is a
relationship over which none passed."""
SQUARE: Final = 10.0
"""Half the side of a document's square, in pixels."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_COLUMN, _ROW, _MARGIN, _HEADING = 268.0, 33.0, 34.0, 46.0
_LABEL, SIZE = 158.0, 12.5
"""Greatest width of a name, and its font size."""
_MIN_RADIUS, _MAX_RADIUS = 5.0, 12.0
_Pairs = Mapping[frozenset[str], Sequence[Edge]]


@dataclass(slots=True)
class Place:
    """A node at its centre, with its label. A document has a `mark`: its rank, or a letter.

    `way` names the nodes on the chain to it, and `parts` are the ids of the places and lines of
    the chain that are drawn.
    """

    id: str
    node: Node
    mark: str
    x: float
    y: float
    way: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return printable_line(self.node.name) or printable_line(self.node.iri)

    @property
    def state(self) -> State:
        is_active = self.node.entity is None or self.node.entity.is_activated
        return "seed" if self.node.is_seed else "activated" if is_active else "dormant"

    @property
    def radius(self) -> float:
        """Its area grows with the activation."""
        share = min(1.0, max(0.0, self.node.activation))
        radius = math.sqrt(_MIN_RADIUS**2 + (_MAX_RADIUS**2 - _MIN_RADIUS**2) * share)
        return round(radius, 1) if self.node.kind == "entity" else SQUARE

    @property
    def label(self) -> tuple[str, ...]:
        return wrap(self.name, _LABEL, SIZE, 2)

    @property
    def label_x(self) -> float:
        """Where the label begins."""
        return self.x + self.radius + 7

    @property
    def end(self) -> float:
        """Where the label ends; names on paths and of seeds are bold, thus wider."""
        width = max((text_width(line, SIZE) for line in self.label), default=0.0)
        return self.label_x + width * (1.08 if self.node.on_path or self.node.is_seed else 0.98)


@dataclass(frozen=True, slots=True)
class Line:
    """What joins two places, by their ids; `path` is SVG, and `x`, `y` its middle.

    Unless it is plain, activation passed from `origin` to `target`, or `both` ways.
    """

    id: str
    origin: str
    target: str
    relations: tuple[Edge, ...]
    role: Role
    both: bool
    path: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Flow:
    """The drawing of one search; `headings` are the columns with their x and their title."""

    question: str
    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    headings: tuple[tuple[float, str], ...]
    left_out: Mapping[str, int]
    width: float
    height: float

    @property
    def entities(self) -> list[Place]:
        """The places of entities."""
        return [place for place in self.places if place.node.kind == "entity"]

    @property
    def documents(self) -> list[Place]:
        """The places of documents: the results in their order, then others."""
        return [place for place in self.places if place.node.kind == "document"]

    def count(self, state: State) -> int:
        """Number of drawn entities in a state."""
        return sum(place.state == state for place in self.entities)

    @property
    def remark(self) -> str:
        """Says how much is not drawn; empty if everything is."""
        words = {"entity": ("activated entity", "activated entities")}
        words["document"] = "document", "documents"
        parts = [f"{n} {words[kind][n > 1]}" for kind, n in self.left_out.items() if n]
        return f"Not drawn: {' and '.join(parts)}." if parts else ""


def flow_of(retrieved: Retrieved, max_rows: int = 18, max_documents: int = 12) -> Flow:
    """The drawing of a search; the same search gives the same drawing.

    A column holds at most `max_rows` nodes: those on paths to the best `max_documents` first, then
    seeds, then the most activated things, then values such as years. Raises `UsageError` for a
    limit below 1.
    """
    if min(max_rows, max_documents) < 1:
        raise UsageError("max_rows and max_documents must be at least 1")
    ranked = sorted(retrieved.documents, key=lambda d: (d.rank, d.document.iri))[:max_documents]
    trace = trace_of(replace(retrieved, documents=tuple(ranked)))
    columns, left_out = _columns(trace, max_rows)
    left_out["document"] += len(retrieved.documents) - len(ranked)
    pairs: dict[frozenset[str], list[Edge]] = {}
    for edge in trace.between(node.iri for column in columns for node in column):
        if edge.source != edge.target:
            pairs.setdefault(frozenset((edge.source, edge.target)), []).append(edge)
    rows = max(map(len, columns), default=1)
    heights = _heights([[node.iri for node in column] for column in columns], pairs, rows)
    column_of = {node.iri: number for number, column in enumerate(columns) for node in column}

    def order(node: Node) -> tuple[float, int, float]:
        rank = node.ranked.rank if node.ranked else math.inf
        return rank, column_of[node.iri], heights[node.iri]

    nodes = sorted((trace.nodes[iri] for iri in column_of), key=order)
    places: dict[str, Place] = {}
    letters = iter(_LETTERS)  # mark documents that are not results
    for letter, kind in (("n", "entity"), ("d", "document")):
        for number, node in enumerate(node for node in nodes if node.kind == kind):
            mark = ""
            if kind == "document":
                mark = str(node.ranked.rank) if node.ranked else next(letters, "")
            x = round(_MARGIN + column_of[node.iri] * _COLUMN + _MAX_RADIUS, 1)
            places[node.iri] = Place(f"{letter}{number}", node, mark, x, heights[node.iri])
    ordered = sorted(pairs, key=sorted)
    lines = {pair: _line(f"l{n}", pairs[pair], places) for n, pair in enumerate(ordered)}
    names = {iri: printable_line(name) for iri, name in retrieved.names.items()}
    names |= {iri: f"document {p.mark}" if p.mark else p.name for iri, p in places.items()}
    for place in places.values():
        parts: list[str] = []
        for step in place.node.chain:
            parts += [places[end].id for end in (step.origin, step.target) if end in places]
            if line := lines.get(frozenset((step.origin, step.target))):
                parts.append(line.id)
        place.parts = tuple(dict.fromkeys(parts))
        place.way = tuple(dict.fromkeys(names.get(s.origin, s.origin) for s in place.node.chain))
    return Flow(
        printable_line(retrieved.query.text),
        tuple(places.values()),
        tuple(lines.values()),
        tuple((_MARGIN + n * _COLUMN, _heading(column[0])) for n, column in enumerate(columns)),
        left_out,
        round(2 * _MARGIN + len(columns) * _COLUMN - 70),
        round(_HEADING + rows * _ROW + _MARGIN),
    )


def _columns(trace: Trace, most: int) -> tuple[list[list[Node]], dict[str, int]]:
    """The nodes of each column, and how many of each kind have no room in it."""

    def order(node: Node) -> tuple[bool, bool, bool, bool, float, str]:
        is_value = node.is_value
        is_seed, activation = node.is_seed, node.activation
        return not node.on_path, not node.ranked, not is_seed, is_value, -activation, node.iri

    by_depth: dict[float, list[Node]] = {}
    left_out = {"entity": 0, "document": 0}
    for node in sorted(trace.nodes.values(), key=order):
        is_active = node.entity is not None and node.entity.is_activated
        if node.is_seed or node.ranked or node.on_path or is_active:
            column = by_depth.setdefault(math.inf if node.depth is None else node.depth, [])
            if len(column) < most:
                column.append(node)
            else:
                left_out[node.kind] += 1
    return [column for _, column in sorted(by_depth.items())], left_out


def _heading(node: Node) -> str:
    if node.depth is None:
        return "No activation"
    plural = "s" if node.depth > 1 else ""
    return f"{node.depth} step{plural} from a seed" if node.depth else "Seeds"


def _heights(columns: list[list[str]], edges: _Pairs, rows: int) -> dict[str, float]:
    """The y of each node: near the mean of those that lead to it or that it leads to.

    Columns are ordered by barycentres (Sugiyama, Tagawa and Toda 1981), sweeping to and fro; what
    activation passed over counts for more than other relationships.
    """
    near: dict[str, list[tuple[str, float]]] = {iri: [] for column in columns for iri in column}
    for pair, between in edges.items():
        one, other = sorted(pair)
        weight = max(9.0 if e.on_path else 3.0 if e.rounds else 0.3 for e in between)
        near[one].append((other, weight))
        near[other].append((one, weight))
    at = {
        iri: (row + 0.5) * rows / len(column) - 0.5
        for column in columns
        for row, iri in enumerate(column)
    }
    for _ in range(12):
        for column in (*columns, *reversed(columns)):
            means = {}
            for iri in column:
                total = sum(weight for _, weight in near[iri])
                mean = sum(at[other] * weight for other, weight in near[iri])
                means[iri] = mean / total if total else at[iri]
            column.sort(key=lambda iri: (means[iri], iri))
            spread = _apart([means[iri] for iri in column], rows - 1.0)
            at |= dict(zip(column, spread, strict=True))
    return {iri: round(_HEADING + (row + 0.5) * _ROW, 1) for iri, row in at.items()}


def _apart(means: Sequence[float], span: float) -> list[float]:
    """The ascending numbers nearest to `means` that are 1 apart, from 0 to `span`.

    Least squares, by pooling adjacent violators.
    """
    blocks: list[list[float]] = []
    for number, place in enumerate(means):
        blocks.append([place - number])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    most = span - len(means) + 1
    starts = [min(max(0.0, fmean(block)), most) for block in blocks for _ in block]
    return [start + number for number, start in enumerate(starts)]


def _line(name: str, between: Sequence[Edge], places: Mapping[str, Place]) -> Line:
    """A curve that leaves behind a name and enters a shape; within a column it bows to the left."""
    first = max(between, key=lambda e: (e.on_path, bool(e.rounds), e.weight))
    role: Role = "path" if first.on_path else "carried" if first.rounds else "plain"
    passed = {(e.source, e.target) for e in between if e.rounds and e.on_path == first.on_path}
    origin, target = places[first.source], places[first.target]
    if origin.x == target.x:
        start, stop = origin.x - origin.radius - 3, target.x - target.radius - 3
        bend = min(start, stop) - 14 - 0.05 * abs(origin.y - target.y)
        x = 0.25 * min(start, stop) + 0.75 * bend
    else:
        start, stop = origin.end + 5, target.x - target.radius - 3
        if origin.x > target.x:
            start, stop = origin.x - origin.radius - 3, target.end + 5
        x = bend = (start + stop) / 2
    return Line(
        name,
        origin.id,
        target.id,
        tuple(e for e in between if e.text),
        role,
        len(passed) > 1,
        f"M{start:.1f} {origin.y:.1f}C{bend:.1f} {origin.y:.1f} "
        f"{bend:.1f} {target.y:.1f} {stop:.1f} {target.y:.1f}",
        round(x, 1),
        round((origin.y + target.y) / 2, 1),
    )


# ------------------------------------------------------- Text, measured without a font, and wrapped

_NARROW = frozenset("iIjl.,:;'|!() ftr[]-/")
_WIDE = frozenset("mwMW@%")


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in a wide sans-serif font: a little too much on purpose."""
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    if character in _NARROW:
        return 0.37
    if character in _WIDE:
        return 0.95
    return 0.74 if character.isupper() else 0.61


def in_one_line(text: str, width: float, size: float) -> str:
    """A printable text in one line, cut with an ellipsis where it is wider."""
    line = printable_line(text)
    return line if text_width(line, size) <= width else _cut(line, width, size)


def wrap(text: str, width: float, size: float, max_lines: int) -> tuple[str, ...]:
    """Break a text into at most `max_lines` lines of like length; cut the rest with an ellipsis."""
    lines = _fill(text, width, size)
    if len(lines) > max_lines:
        return (*lines[: max_lines - 1], _cut(lines[max_lines - 1], width, size))
    longest = max((text_width(word, size) for word in text.split()), default=0.0)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        balanced = _fill(text, width * share, size)
        if len(balanced) == len(lines) and longest <= width * share:
            return tuple(balanced)
    return tuple(lines)


def _cut(line: str, width: float, size: float) -> str:
    while line and text_width(line + "…", size) > width:
        line = line[:-1]
    return line.rstrip() + "…"


def _fill(text: str, width: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if text_width(joined, size) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for character in word:  # a word wider than a line, or a script without spaces
            mark = unicodedata.category(character).startswith("M")
            if lines[-1] and not mark and text_width(lines[-1] + character, size) > width:
                lines.append("")
            lines[-1] += character
    return lines
