"""Positions of nodes and labels in a picture, and text measured without a font."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Shape (n, 2)."""
Anchor = Literal["start", "middle", "end"]

_LINE_HEIGHT = 1.18
_COVERING = 100.0
"""Cost of a label that covers a node, however little of it."""
_DIRECTIONS = (
    (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0),
    (0.75, 0.75), (0.75, -0.75), (-0.75, 0.75), (-0.75, -0.75),
    (0.4, 1.0), (0.4, -1.0), (-0.4, 1.0), (-0.4, -1.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """Lines of text at a point: `y` is the first baseline; not `shown` if there is no room."""

    lines: tuple[str, ...]
    x: float
    y: float
    anchor: Anchor
    size: float
    shown: bool = True

    @property
    def line_height(self) -> float:
        """Distance of two baselines."""
        return self.size * _LINE_HEIGHT


@dataclass(frozen=True, slots=True)
class Wish:
    """A label that asks for a place beside a node; one that is not `firm` may be left out."""

    x: float
    y: float
    radius: float
    lines: tuple[str, ...]
    size: float
    firm: bool


def spring_positions(n: int, lengths: Mapping[tuple[int, int], float]) -> Points:
    """Place nodes 0..n-1 by Kamada and Kawai (1989): distances come close to path lengths.

    The nodes start on a circle, so there is nothing random. Parts that no path joins are kept
    a little apart.
    """
    if n < 2:
        return np.zeros((n, 2))
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from((i, j, length) for (i, j), length in lengths.items())
    paths = dict(networkx.all_pairs_dijkstra_path_length(graph))
    apart = max(2.0, 0.6 * max(max(row.values()) for row in paths.values()))
    distances = {i: {j: paths[i].get(j, apart) for j in range(n)} for i in range(n)}
    positions = networkx.kamada_kawai_layout(graph, dist=distances)
    points: Points = np.array([positions[i] for i in range(n)])
    return points


def fit(
    points: Points,
    radii: NDArray[np.float64],
    joined: Sequence[tuple[int, int]],
    width: float,
    height: float,
    margin: float,
) -> Points:
    """Lay the points' long side flat, fill the canvas, and move nodes apart that overlap.

    They are moved off the lines between `joined` others, too.
    """
    if not len(points):
        return points
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    if len(axes) == 2:
        axes *= np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)])[:, None]
        centred = centred @ axes.T
    centred *= np.where(centred[0] > 0, -1.0, 1.0)  # the first node goes to the upper left
    low, high = centred.min(axis=0), centred.max(axis=0)
    room = np.array([width - 2.8 * margin, height - 2 * margin])
    scale = room / np.maximum(high - low, 1e-3)
    most = 170.0 * (math.sqrt(len(points)) + 1) / max(float((high - low).max()), 1e-3)
    scale = np.minimum(np.minimum(scale, scale.min() * 1.6), most)
    placed = (centred - (low + high) / 2) * scale + np.array([width, height]) / 2
    return _spread(placed, radii, joined, width, height, margin)


def _spread(
    points: Points,
    radii: NDArray[np.float64],
    joined: Sequence[tuple[int, int]],
    width: float,
    height: float,
    margin: float,
) -> Points:
    pitch = math.sqrt(width * height / max(len(points), 12))
    apart = 1.05 * np.minimum(1.0, radii / 7.0)
    apart = (apart[:, None] + apart[None]) / 2
    reach = np.array([0.78 * pitch, 0.5 * pitch])
    low = np.array([margin * 1.4, margin])
    high = np.array([width, height]) - low
    for _ in range(120):
        gaps = points[:, None] - points[None]
        closest = np.linalg.norm(gaps / reach, axis=2)
        np.fill_diagonal(closest, np.inf)
        push = np.maximum(0.0, apart - closest)
        moves = gaps / np.maximum(closest, 1e-3)[..., None] * push[..., None]
        step = 0.25 * moves.sum(axis=1) + 0.3 * _off_lines(points, radii + 8.0, joined)
        if not step.any():
            break
        points = np.clip(points + step, low, high)
    return points


def _off_lines(
    points: Points, clear: NDArray[np.float64], joined: Sequence[tuple[int, int]]
) -> Points:
    """Moves that bring points as far from the lines between others as they shall be `clear`."""
    if not joined:
        return np.zeros_like(points)
    start, stop = np.array(joined).T
    along = points[stop] - points[start]
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-6)
    along = along / length[:, None]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    gaps = points[:, None] - points[start][None]
    side = (gaps * across).sum(axis=2)
    position = (gaps * along).sum(axis=2)
    lack = np.maximum(0.0, clear[:, None] - np.abs(side))
    lack[(position < 0.0) | (position > length)] = 0.0
    lack[stop, np.arange(len(stop))] = lack[start, np.arange(len(start))] = 0.0
    moves: Points = ((np.where(side < 0.0, -lack, lack))[..., None] * across).sum(axis=1)
    return moves


def place_labels(
    wishes: Sequence[Wish], blocks: Points, lines: Points, width: float, height: float
) -> list[Label]:
    """Find each label, first wishes first, the side of its node where it hides least.

    `blocks` are the boxes (n, 4: left, top, right, bottom) of nodes and documents, which labels
    keep off if they can; `lines` are points along the links. A label that is not firm and would
    cover another is not shown.
    """
    boxes = np.full((len(wishes), 4), -1e6)
    firm = np.array([wish.firm for wish in wishes], dtype=bool)
    chosen = [0] * len(wishes)
    for _ in range(3):
        for i, wish in enumerate(wishes):
            boxes[i] = -1e6
            rivals = boxes[firm] if wish.firm else boxes
            options = np.array([_box(wish, direction) for direction in _DIRECTIONS])
            costs = [
                8.0 * _overlap(box, rivals).sum() / wish.size
                + 8.0 * (covered := _overlap(box, blocks).sum()) / wish.size
                + _COVERING * bool(covered)
                + 4.0 * _inside(box, lines)
                + 9.0 * _outside(box, width, height)
                + k
                for k, box in enumerate(options)
            ]
            chosen[i] = int(np.argmin(costs))
            boxes[i] = options[chosen[i]]
    labels = []
    for i, wish in enumerate(wishes):
        box, boxes[i] = boxes[i].copy(), -1e6
        covered = max(_overlap(box, boxes).sum(), _overlap(box, blocks).sum())
        shown = wish.firm or bool(covered < 0.05 * _area(box))
        if shown:
            boxes[i] = box
        labels.append(_label(wish, box, chosen[i], shown))
    return labels


def _box(wish: Wish, direction: tuple[float, float]) -> Points:
    w = max((text_width(line, wish.size) for line in wish.lines), default=0.0)
    h = wish.size * _LINE_HEIGHT * len(wish.lines)
    dx, dy = direction
    aside = w / 2 if abs(dx) > 0.5 else w / 3
    x = wish.x + dx * (wish.radius + 3) + math.copysign(aside, dx) * (dx != 0)
    y = wish.y + dy * (wish.radius + 2) + math.copysign(h / 2, dy) * (dy != 0)
    return np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2])


def _label(wish: Wish, box: Points, direction: int, shown: bool) -> Label:
    side = _DIRECTIONS[direction][0]
    anchor: Anchor = "start" if side > 0.5 else "end" if side < -0.5 else "middle"
    x = {"start": box[0], "end": box[2], "middle": (box[0] + box[2]) / 2}[anchor]
    y = box[1] + wish.size * 0.95
    return Label(wish.lines, round(float(x), 1), round(float(y), 1), anchor, wish.size, shown)


def _area(box: Points) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))


def _overlap(box: Points, others: Points) -> NDArray[np.float64]:
    w = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    h = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    area: NDArray[np.float64] = np.maximum(w, 0.0) * np.maximum(h, 0.0)
    return area


def _inside(box: Points, points: Points) -> int:
    hit = (points >= box[:2] - 1).all(axis=1) & (points <= box[2:] + 1).all(axis=1)
    return int(hit.sum())


def _outside(box: Points, width: float, height: float) -> float:
    over = np.maximum(0.0, [4 - box[0], 4 - box[1], box[2] - width + 4, box[3] - height + 4])
    return float(over.sum())


_NARROW = frozenset("iIjl.,:;'|!() ftr[]-/")
_WIDE = frozenset("mwMW@%")
_NOT_XML = frozenset("\ufffe\uffff")
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """Make a text printable: one line, without controls and characters that XML lacks."""
    characters = []
    for character in text:
        category = unicodedata.category(character)
        if category == "Cs" or character in _NOT_XML:
            characters.append("\ufffd")
        elif category == "Cc":
            characters.append(" ")
        elif character not in _BIDI_CONTROLS:
            characters.append(character)
    return " ".join("".join(characters).split())


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


def wrap(text: str, width: float, size: float, max_lines: int) -> tuple[str, ...]:
    """Break a text into at most `max_lines` lines of like length; cut the rest with an ellipsis."""
    lines = _fill(text, width, size)
    if len(lines) > max_lines:
        last = lines[max_lines - 1]
        while last and text_width(last + "…", size) > width:
            last = last[:-1]
        return (*lines[: max_lines - 1], last.rstrip() + "…")
    longest = max((text_width(word, size) for word in text.split()), default=0.0)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        balanced = _fill(text, width * share, size)
        if len(balanced) == len(lines) and longest <= width * share:
            return tuple(balanced)
    return tuple(lines)


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
