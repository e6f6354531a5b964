"""An activated subgraph as one SVG, PNG or HTML page, from one drawing (`graph.svg.j2`).

The SVG has a title, the drawing in its light colours, a list of documents and a legend. The PNG,
for papers and slides, is the SVG rendered by resvg; DejaVu Sans is part of the package, and
characters that it does not have are taken from the fonts of the machine. The HTML page needs no
network and no other file: all that comes from a graph or a question is put into it as escaped text,
and its content security policy allows only the script and the style that were hashed here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from sarag_rdf.base.resources import font_files, template_text
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
from sarag_rdf.server.picture.text import clean, text_width, wrap

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
_ZOOM: Final = 1.5
"""Pixels of the PNG per pixel of the SVG."""


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    return _render("activation.html.j2", retrieved, flow_of(retrieved))


def activation_svg(retrieved: Retrieved) -> str:
    """Draw a retrieval as an SVG; the same retrieval gives the same text."""
    flow = flow_of(retrieved)
    return _render("activation.svg.j2", retrieved, flow, sheet=_sheet(flow))


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
            font_files=[str(file) for file in font_files()],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )


def _render(template: str, retrieved: Retrieved, flow: Flow, **values: Any) -> str:
    beside: dict[str, list[Line]] = {place.id: [] for place in flow.places}
    for line in flow.lines:
        beside[line.origin].append(line)
        beside[line.target].append(line)
    return (
        templates()
        .get_template(template)
        .render(
            flow=flow,
            retrieved=retrieved,
            beside=beside,
            names={p.id: f"document {p.mark}" if p.mark else p.name for p in flow.places},
            square_half=SQUARE,
            label_size=SIZE,
            roles=_ROLES,
            states=_STATES,
            **values,
        )
    )


@cache
def templates() -> jinja2.Environment:
    """The templates of pictures; all text is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template_text),
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


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text; `x`, `y` are the start of its baseline, or the end if `is_right`."""

    x: float
    y: float
    text: str
    size: float
    is_bold: bool = False
    is_muted: bool = False
    is_right: bool = False


@dataclass(slots=True)
class Sheet:
    """What surrounds the drawing, which begins at `top`; sizes are in pixels."""

    width: float
    height: float
    top: float
    texts: list[Text] = field(default_factory=list)
    squares: list[tuple[str, bool, float, float]] = field(default_factory=list)
    legend_nodes: list[tuple[State, float, float, float]] = field(default_factory=list)
    legend_lines: list[tuple[Role, float, float]] = field(default_factory=list)


def _sheet(flow: Flow) -> Sheet:
    width = max(900.0, flow.width + _SIDE + _GUTTER)
    title = wrap(flow.question or "(no question)", width - 94, 23, 3)
    top = 40.0 + 28.0 * len(title)
    sheet = Sheet(width, top, top)
    for i, line in enumerate(title):
        sheet.texts.append(Text(_GUTTER, 44 + 28.0 * i, line, 21, is_bold=True))
    if not flow.places:
        nothing = "Nothing was found: no entity and no document."
        sheet.texts.append(Text(_GUTTER, top + 20, nothing, 15, is_muted=True))
        sheet.height = top + _LEGEND
        return sheet
    bottom = max(flow.height, _list_documents(sheet, flow) - top)
    _add_legend(sheet, flow, top + bottom + 22)
    sheet.height = top + bottom + _LEGEND
    return sheet


def _list_documents(sheet: Sheet, flow: Flow) -> float:
    """List the documents at the right, and return the last baseline."""
    ranked = [place for place in flow.documents if place.node.ranked]
    others = [place for place in flow.documents if not place.node.ranked]
    x, y = sheet.width - _SIDE, sheet.top + 24
    for heading, documents in (("Retrieved documents", ranked), ("Other documents", others)):
        if documents:
            sheet.texts.append(Text(x, y, heading, 15, is_bold=True))
            y += 34
        for place in documents:
            y = _list_document(sheet, place, x, y) + 30
    return y


def _list_document(sheet: Sheet, place: Place, x: float, y: float) -> float:
    """Add one document to the list, and return the last baseline."""
    sheet.squares.append((place.mark, place.node.is_seed, x + SQUARE, y - 4))
    if ranked := place.node.ranked:
        score = f"{ranked.score:.2f}"
        sheet.texts.append(Text(x + _SIDE - 30, y, score, 12, is_muted=True, is_right=True))
    lines = wrap(place.name, _SIDE - 100, 13, 2)
    sheet.texts += [Text(x + 34, y + 17.0 * i, line, 13) for i, line in enumerate(lines)]
    y += 17.0 * (len(lines) - 1)
    if place.way:
        for line in wrap(f"from {' → '.join(place.way)}", _SIDE - 70, 11, 2):
            y += 15
            sheet.texts.append(Text(x + 34, y, line, 11, is_muted=True))
    return y


def _add_legend(sheet: Sheet, flow: Flow, y: float) -> None:
    x = _GUTTER + 11
    for state in STATES:
        if number := flow.count(state):
            sheet.legend_nodes.append((state, x, y, 6.0 if state == "dormant" else 9.0))
            x = _add_term(sheet, x + 16, y, f"{_STATES[state]} ({number})")
    for is_seed, name in ((True, "Seed document"), (False, "Document")):
        if number := sum(place.node.is_seed == is_seed for place in flow.documents):
            sheet.squares.append(("", is_seed, x, y))
            x = _add_term(sheet, x + 18, y, f"{name} ({number})")
    if flow.entities:
        _add_term(sheet, x - 4, y, "Larger: more activation")
    x, y = _GUTTER, y + 26
    for role, name in _ROLES.items():
        if any(line.role == role for line in flow.lines):
            sheet.legend_lines.append((role, x, y))
            x = _add_term(sheet, x + 40, y, name) + 6
    if flow.remark:
        sheet.texts.append(Text(_GUTTER, y + 28, flow.remark, 11, is_muted=True))


def _add_term(sheet: Sheet, x: float, y: float, text: str) -> float:
    """Add a term of the legend, and return where the next one begins."""
    sheet.texts.append(Text(x, y + 4.5, text, 12.5))
    return round(x + text_width(text, 12.5) + 26, 1)
