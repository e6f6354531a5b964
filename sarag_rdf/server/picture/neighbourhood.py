"""A resource and its neighbours as an SVG with links, which needs no script to be read or used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sarag_rdf.server.picture.drawing import templates
from sarag_rdf.server.picture.text import clean, text_width, wrap

_WIDTH, _CENTRE = 460, 230.0
_PITCH, _MARGIN = 50.0, 26.0
_REACH, _ARC = 60.0, 26.0
"""Distance of the neighbours from the centre: at the top and bottom, and how much more between."""
_SIZE, _SMALL = 13.0, 11.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour and the statement that joins it; `inverse` if the statement starts there."""

    name: str
    statement: str
    href: str
    inverse: bool


@dataclass(frozen=True, slots=True)
class _Place:
    neighbour: Neighbour
    name: str
    statement: str
    x: float
    y: float
    side: int
    label_x: float
    path: str


def neighbourhood_svg(name: str, neighbours: Sequence[Neighbour]) -> str:
    """The drawing, without style and colours; all texts are escaped.

    Where statements lead, neighbours stand on the right, and where they come from on the left,
    unless one side is much longer than the other.
    """
    right = [n for n in neighbours if not n.inverse]
    left = [n for n in neighbours if n.inverse]
    while abs(len(left) - len(right)) > 1:
        longer, shorter = (right, left) if len(right) > len(left) else (left, right)
        shorter.append(longer.pop())
    rows = max(len(left), len(right), 2)
    height = 2 * _MARGIN + rows * _PITCH
    places = [*_column(left, -1, height), *_column(right, 1, height)]
    return (
        templates()
        .get_template("neighbourhood.svg.j2")
        .render(
            width=_WIDTH,
            height=round(height),
            x=_CENTRE,
            y=round(height / 2, 1),
            title=clean(name),
            lines=wrap(clean(name), 120, _SIZE + 1, 2),
            places=places,
            size=_SIZE,
            small=_SMALL,
        )
    )


def _column(neighbours: Sequence[Neighbour], side: int, height: float) -> list[_Place]:
    places = []
    for number, neighbour in enumerate(neighbours):
        share = (number + 0.5) / len(neighbours)
        y = round(height / 2 + (number - (len(neighbours) - 1) / 2) * _PITCH, 1)
        x = round(_CENTRE + side * (_REACH + _ARC * math.sin(math.pi * share)), 1)
        room = _WIDTH / 2 - abs(x - _CENTRE) - 12
        start, bend = height / 2, _CENTRE + side * (_REACH * 0.55)
        begin, stop = (_CENTRE + side * 15, start), (x - side * 8, y)
        if neighbour.inverse:
            begin, stop = (x - side * 6, y), (_CENTRE + side * 18, start)
        path = f"M{begin[0]:.1f} {begin[1]:.1f}Q{bend:.1f} {y:.1f} {stop[0]:.1f} {stop[1]:.1f}"
        places.append(
            _Place(
                neighbour,
                _line(neighbour.name, room, _SIZE),
                _line(neighbour.statement, room, _SMALL),
                x,
                y,
                side,
                round(x + side * 10, 1),
                path,
            )
        )
    return places


def _line(text: str, width: float, size: float) -> str:
    """A text in one line, cut where it is wider."""
    line = clean(text)
    if text_width(line, size) <= width:
        return line
    while line and text_width(line + "…", size) > width:
        line = line[:-1]
    return line.rstrip() + "…"
