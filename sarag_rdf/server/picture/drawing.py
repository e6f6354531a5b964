"""Pictures from templates: the activation of a search, and a resource with its neighbours.

An activation is one SVG, PNG or HTML page, from one drawing (`graph.svg.j2`). The SVG has a title,
the drawing in its light colours, a list of documents and a legend. The PNG, for papers and slides,
is the SVG rendered by resvg; DejaVu Sans is part of the package, and characters that it does not
have are taken from the fonts of the machine. The HTML page needs no network and no other file: all
that comes from a graph or a question is put into it as escaped text, and its content security
policy allows only the script and the style that were hashed here.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from sarag_rdf.base.types import Retrieved
from sarag_rdf.server.picture.flow import (
    SIZE,
    SQUARE,
    STATES,
    Flow,
    Line,
    Place,
    Role,
    State,
    flow_of,
)
from sarag_rdf.server.picture.lettering import clean, in_one_line, text_width, wrap

_TYPES = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Geopolitical entity",
    "time": "Date",
    "misc": "Miscellaneous",
}
_STATES: dict[State, str] = {
    "seed": "Seed", "activated": "Activated", "dormant": "On a path, not activated itself",
}  # fmt: skip
_ROLES: dict[Role, str] = {
    "path": "Path of activation to a retrieved document",
    "carried": "Passed activation to another node",
    "plain": "Other relationship",
}
_SIDE, _GUTTER, _LEGEND = 330.0, 34.0, 96.0
"""Width of the list of documents, left margin, height of the legend, in pixels."""
FONTS: Final = tuple(sorted((Path(__file__).parent / "fonts").glob("*.ttf")))
"""DejaVu Sans in two weights, as TrueType files."""
_ZOOM: Final = 1.5
"""Pixels of the PNG per pixel of the SVG."""


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    return _activation("activation.html.j2", retrieved, flow_of(retrieved))


def activation_svg(retrieved: Retrieved) -> str:
    """Draw a retrieval as an SVG; the same retrieval gives the same text."""
    flow = flow_of(retrieved)
    return _activation("activation.svg.j2", retrieved, flow, sheet=_Sheet(flow))


def write_activation_png(retrieved: Retrieved, path: Path) -> None:
    """Write a picture of the activated subgraph; the same retrieval gives the same bytes.

    The bytes depend on the version of resvg, and on the fonts of the machine where DejaVu Sans
    lacks a character. Raises `OSError` if the file cannot be written.
    """
    import resvg_py

    path.write_bytes(
        resvg_py.svg_to_bytes(
            svg_string=activation_svg(retrieved),
            zoom=_ZOOM,
            font_files=[str(file) for file in FONTS],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )


def _activation(name: str, retrieved: Retrieved, flow: Flow, **values: Any) -> str:
    beside: dict[str, list[Line]] = {place.id: [] for place in flow.places}
    for line in flow.lines:
        beside[line.origin].append(line)
        beside[line.target].append(line)
    return render(
        name,
        flow=flow,
        retrieved=retrieved,
        beside=beside,
        names={p.id: f"document {p.mark}" if p.mark else p.name for p in flow.places},
        square_half=SQUARE,
        label_size=SIZE,
        roles=_ROLES,
        states=_STATES,
        **values,
    )  # fmt: skip


def render(name: str, **values: Any) -> str:
    """Fill a template of the server's pages and pictures; all text is escaped."""
    return _templates().get_template(name).render(**values)


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": clean,
        "csp_hash": _csp_hash,
        "excerpt": _excerpt,
        "phrase": _phrase,
        "type_name": _TYPES.__getitem__,
        "with_colours": _with_colours,
    }
    return environment


def _csp_hash(text: str) -> str:
    """The source expression of an inline script or style in a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _excerpt(text: str) -> str:
    text = clean(text[:400])
    return text if len(text) <= 180 else text[:180].rsplit(" ", 1)[0] + " …"


def _phrase(line: Line) -> tuple[str, ...]:
    """Lines of text for the middle of a link: the strongest relationship of it."""
    return wrap(clean(line.relations[0].text), 140, 11, 3) if line.relations else ()


def _with_colours(style: str, colours: str) -> Markup:
    """A style sheet without variables, which renderers of SVG do not know."""
    values = dict(re.findall(r"--([\w-]+):\s*([^;\s]+)", colours))
    return Markup(re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], style))  # noqa: S704


class _Sheet:
    """What surrounds the drawing, which begins at `top`; sizes are in pixels.

    `texts` have the start of their baseline, their text, size and attributes. `squares` have the
    mark of a document, whether it is a seed, and their centre.
    """

    def __init__(self, flow: Flow) -> None:
        self.texts: list[tuple[float, float, str, float, Markup]] = []
        self.squares: list[tuple[str, bool, float, float]] = []
        self.legend_nodes: list[tuple[State, float, float, float]] = []
        self.legend_lines: list[tuple[Role, float, float]] = []
        self.width = max(900.0, flow.width + _SIDE + _GUTTER)
        title = wrap(flow.question or "(no question)", self.width - 94, 23, 3)
        self.top = 40.0 + 28.0 * len(title)
        for i, line in enumerate(title):
            self._text(_GUTTER, 44 + 28.0 * i, line, 21, bold=True)
        bottom = 0.0
        if flow.places:
            bottom = max(flow.height, self._list_documents(flow) - self.top)
            self._add_legend(flow, self.top + bottom + 22)
        else:
            nothing = "Nothing was found: no entity and no document."
            self._text(_GUTTER, self.top + 20, nothing, 15, muted=True)
        self.height = self.top + bottom + _LEGEND

    def _text(
        self, x: float, y: float, text: str, size: float, *, bold: bool = False,
        muted: bool = False, right: bool = False,
    ) -> None:  # fmt: skip
        attributes = ' font-weight="700"' * bold + ' class="name dormant"' * muted
        attributes += ' text-anchor="end"' * right
        self.texts.append((x, y, text, size, Markup(attributes)))  # noqa: S704 - as above

    def _list_documents(self, flow: Flow) -> float:
        """List the documents at the right, and return the last baseline."""
        x, y = self.width - _SIDE, self.top + 24
        for heading, is_result in (("Retrieved documents", True), ("Other documents", False)):
            documents = [p for p in flow.documents if bool(p.node.ranked) == is_result]
            if documents:
                self._text(x, y, heading, 15, bold=True)
                y += 34
            for place in documents:
                y = self._list_document(place, x, y) + 30
        return y

    def _list_document(self, place: Place, x: float, y: float) -> float:
        self.squares.append((place.mark, place.node.is_seed, x + SQUARE, y - 4))
        if ranked := place.node.ranked:
            self._text(x + _SIDE - 30, y, f"{ranked.score:.2f}", 12, muted=True, right=True)
        lines = wrap(place.name, _SIDE - 100, 13, 2)
        for i, line in enumerate(lines):
            self._text(x + 34, y + 17.0 * i, line, 13)
        y += 17.0 * (len(lines) - 1)
        way = f"from {' → '.join(place.way)}" if place.way else ""
        for line in wrap(way, _SIDE - 70, 11, 2) if way else ():
            y += 15
            self._text(x + 34, y, line, 11, muted=True)
        return y

    def _add_legend(self, flow: Flow, y: float) -> None:
        x = _GUTTER + 11
        for state in STATES:
            if number := flow.count(state):
                self.legend_nodes.append((state, x, y, 6.0 if state == "dormant" else 9.0))
                x = self._add_term(x + 16, y, f"{_STATES[state]} ({number})")
        for is_seed, name in ((True, "Seed document"), (False, "Document")):
            if number := sum(place.node.is_seed == is_seed for place in flow.documents):
                self.squares.append(("", is_seed, x, y))
                x = self._add_term(x + 18, y, f"{name} ({number})")
        if flow.entities:
            self._add_term(x - 4, y, "Larger: more activation")
        x, y = _GUTTER, y + 26
        for role, name in _ROLES.items():
            if any(line.role == role for line in flow.lines):
                self.legend_lines.append((role, x, y))
                x = self._add_term(x + 40, y, name) + 6
        if flow.remark:
            self._text(_GUTTER, y + 28, flow.remark, 11, muted=True)

    def _add_term(self, x: float, y: float, text: str) -> float:
        """Add a term of the legend, and return where the next one begins."""
        self._text(x, y + 4.5, text, 12.5)
        return round(x + text_width(text, 12.5) + 26, 1)


# ------------------------------------------------------------------------- Neighbourhoods

_WIDTH, _CENTRE = 460, 230.0
_PITCH, _MARGIN = 50.0, 26.0
_REACH, _ARC = 60.0, 26.0
"""Distance of the neighbours from the centre: at the top and bottom, and how much more between."""
_NAME, _STATEMENT = 13.0, 11.0
"""Sizes of fonts."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour and the statement that joins it; `inverse` if the statement starts there."""

    name: str
    statement: str
    href: str
    inverse: bool


def neighbourhood_svg(name: str, neighbours: Sequence[Neighbour]) -> str:
    """A resource and its neighbours as an SVG with links, which needs no script to be used.

    It has no style and no colours of its own; all texts are escaped. Where statements lead,
    neighbours stand on the right, and where they come from on the left, unless one side is much
    longer than the other.
    """
    right = [n for n in neighbours if not n.inverse]
    left = [n for n in neighbours if n.inverse]
    while abs(len(left) - len(right)) > 1:
        longer, shorter = (right, left) if len(right) > len(left) else (left, right)
        shorter.append(longer.pop())
    height = 2 * _MARGIN + max(len(left), len(right), 2) * _PITCH
    return render(
        "neighbourhood.svg.j2",
        width=_WIDTH,
        height=round(height),
        x=_CENTRE,
        y=round(height / 2, 1),
        title=clean(name),
        lines=wrap(clean(name), 120, _NAME + 1, 2),
        places=[*_column(left, -1, height), *_column(right, 1, height)],
        size=_NAME,
        small=_STATEMENT,
    )  # fmt: skip


def _column(neighbours: Sequence[Neighbour], side: int, height: float) -> Iterator[dict[str, Any]]:
    for number, neighbour in enumerate(neighbours):
        share = (number + 0.5) / len(neighbours)
        y = round(height / 2 + (number - (len(neighbours) - 1) / 2) * _PITCH, 1)
        x = round(_CENTRE + side * (_REACH + _ARC * math.sin(math.pi * share)), 1)
        room = _WIDTH / 2 - abs(x - _CENTRE) - 12
        bend = _CENTRE + side * (_REACH * 0.55)
        begin, stop = (_CENTRE + side * 15, height / 2), (x - side * 8, y)
        if neighbour.inverse:
            begin, stop = (x - side * 6, y), (_CENTRE + side * 18, height / 2)
        yield {
            "neighbour": neighbour,
            "name": in_one_line(neighbour.name, room, _NAME),
            "statement": in_one_line(neighbour.statement, room, _STATEMENT),
            "x": x,
            "y": y,
            "anchor": "start" if side > 0 else "end",
            "label_x": round(x + side * 10, 1),
            "path": "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*begin, bend, y, *stop),
        }
