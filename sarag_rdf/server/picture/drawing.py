"""An activated subgraph as one SVG, PNG or HTML page, of one drawing (`graph.svg.j2`).

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
from typing import Any

import jinja2
from markupsafe import Markup

from sarag_rdf.base.resources import font_files, template_text
from sarag_rdf.base.types import Retrieved
from sarag_rdf.server.picture.geometry import clean, text_width, wrap
from sarag_rdf.server.picture.layout import SQUARE, Line, Picture, Square, lay_out, parts_of
from sarag_rdf.server.picture.selection import KINDS, Kind, Role, hops_of

_TYPES = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Geopolitical entity",
    "time": "Date",
    "misc": "Miscellaneous",
}
_STATES = {"seed": "seed", "activated": "activated", "dormant": "not activated"}


def render(template: str, retrieved: Retrieved, picture: Picture, **values: Any) -> str:
    """Render a template of `picture/`, with further `values`; all text is escaped."""
    ids = {node.entity.iri: node.id for node in picture.nodes}
    ids |= {square.iri: square.id for square in picture.squares}
    beside: dict[str, list[Line]] = {part: [] for part in ids.values()}
    for line in picture.lines:
        beside[line.origin].append(line)
        beside[line.target].append(line)
    return (
        _templates()
        .get_template(template)
        .render(
            picture=picture,
            retrieved=retrieved,
            names=_names(retrieved, picture),
            beside=beside,
            chains={
                n.id: parts_of(hops_of(n.entity.chain), ids, picture.lines) for n in picture.nodes
            },
            called={node.id: node.name for node in picture.nodes}
            | {square.id: f"document {square.mark}" for square in picture.squares},
            square_half=SQUARE,
            **values,
        )
    )


def _names(retrieved: Retrieved, picture: Picture) -> dict[str, str]:
    """Names of nodes by IRI; documents are called so."""
    entities = {entity.iri: clean(entity.name) for entity in retrieved.entities}
    documents = {iri: f"document {clean(name)}" for iri, name in retrieved.names.items()}
    drawn = {square.iri: f"document {square.mark}" for square in picture.squares}
    return documents | entities | drawn


@cache
def _templates() -> jinja2.Environment:
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
        "state": _STATES.__getitem__,
        "type_name": _TYPES.__getitem__,
        "with_colours": _with_colours,
    }
    return environment


def _csp_hash(text: str) -> str:
    """Name an inline script or style for a content security policy."""
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


_SIDE, _GUTTER, _LEGEND = 330.0, 34.0, 96.0
"""Width of the list of documents, left margin, height of the legend."""
_NAMES: dict[Kind, str] = {
    "seed": "Seed", "activated": "Activated", "dormant": "Not activated",
}  # fmt: skip
_ROLES: dict[Role, str] = {
    "path": "Path of activation to a retrieved document",
    "carried": "Brought activation to an entity",
    "plain": "Other relationship",
}


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
    legend_nodes: list[tuple[Kind, float, float, float]] = field(default_factory=list)
    legend_lines: list[tuple[Role, float, float]] = field(default_factory=list)


def activation_svg(retrieved: Retrieved) -> str:
    """Draw a retrieval as an SVG; the same retrieval gives the same text."""
    picture = lay_out(retrieved)
    return render("activation.svg.j2", retrieved, picture, sheet=_sheet(picture))


def _sheet(picture: Picture) -> Sheet:
    width = picture.width + _SIDE + _GUTTER
    title = wrap(picture.question or "(no question)", width - 94, 23, 3)
    top = 40.0 + 28.0 * len(title)
    sheet = Sheet(width, top + picture.height + _LEGEND, top)
    for i, line in enumerate(title):
        sheet.texts.append(Text(_GUTTER, 44 + 28.0 * i, line, 21, is_bold=True))
    if picture.nodes or picture.squares:
        _list_documents(sheet, picture)
        _add_legend(sheet, picture)
    else:
        nothing = "Nothing was found: no entity and no document."
        sheet.texts.append(Text(_GUTTER, top + 20, nothing, 15, is_muted=True))
    if picture.squares and not picture.nodes and not picture.lines:
        inactive = "The retriever reports no activation: only documents are drawn."
        sheet.texts.append(Text(_GUTTER, top + 26, inactive, 13, is_muted=True))
    return sheet


def _list_documents(sheet: Sheet, picture: Picture) -> None:
    ranked = [square for square in picture.squares if square.ranked]
    others = [square for square in picture.squares if not square.ranked]
    x, y = picture.width + 20, sheet.top + 26
    for heading, squares in (("Retrieved documents", ranked), ("Other documents", others)):
        if squares:
            sheet.texts.append(Text(x, y, heading, 15, is_bold=True))
            y += 34
        for square in squares:
            y = _list_document(sheet, square, x, y) + 30


def _list_document(sheet: Sheet, square: Square, x: float, y: float) -> float:
    """Add one document to the list, and return the last baseline."""
    sheet.squares.append((square.mark, square.is_seed, x + SQUARE, y - 4))
    if square.ranked:
        score = f"{square.ranked.score:.2f}"
        sheet.texts.append(Text(x + _SIDE - 14, y, score, 12, is_muted=True, is_right=True))
    lines = wrap(square.title, _SIDE - 90, 13, 2)
    sheet.texts += [Text(x + 34, y + 17.0 * i, line, 13) for i, line in enumerate(lines)]
    y += 17.0 * (len(lines) - 1)
    if square.way:
        for line in wrap(f"from {' → '.join(square.way)}", _SIDE - 60, 11, 2):
            y += 15
            sheet.texts.append(Text(x + 34, y, line, 11, is_muted=True))
    return y


def _add_legend(sheet: Sheet, picture: Picture) -> None:
    x, y = _GUTTER + 11, sheet.top + picture.height + 22
    for kind in KINDS:
        if number := picture.count(kind):
            sheet.legend_nodes.append((kind, x, y, 6.0 if kind == "dormant" else 9.0))
            x = _add_term(sheet, x + 16, y, f"{_NAMES[kind]} ({number})")
    for is_seed, name in ((True, "Seed document"), (False, "Document")):
        number = sum(square.is_seed == is_seed for square in picture.squares)
        if number:
            sheet.squares.append(("", is_seed, x, y))
            x = _add_term(sheet, x + 18, y, f"{name} ({number})")
    if picture.nodes:
        _add_term(sheet, x - 4, y, "Larger: more activation")
    x, y = _GUTTER, y + 26
    for role, name in _ROLES.items():
        if any(line.role == role for line in picture.lines):
            sheet.legend_lines.append((role, x, y))
            x = _add_term(sheet, x + 40, y, name) + 6
    if picture.remark:
        sheet.texts.append(Text(_GUTTER, y + 28, picture.remark, 11, is_muted=True))


def _add_term(sheet: Sheet, x: float, y: float, text: str) -> float:
    """Add a term of the legend, and return where the next one begins."""
    sheet.texts.append(Text(x, y + 4.5, text, 12.5))
    return round(x + text_width(text, 12.5) + 26, 1)


_ZOOM = 1.5
"""Pixels of the PNG per pixel of the SVG."""


def write_activation_png(retrieved: Retrieved, path: Path) -> None:
    """Write a picture of the activated subgraph; the same retrieval gives the same bytes.

    The bytes depend on the version of resvg, and on the fonts of the machine where DejaVu Sans
    lacks a character. Raises `OSError` if the file cannot be written.
    """
    import resvg_py

    fonts = [str(file) for file in font_files()]
    svg = activation_svg(retrieved)
    path.write_bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=_ZOOM,
            font_files=fonts,
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    return render("activation.html.j2", retrieved, lay_out(retrieved))
