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
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from sarag_rdf.base.sentences import printable_line
from sarag_rdf.base.types import Retrieved
from sarag_rdf.server.picture.flow import SIZE, SQUARE, Line, flow_of, in_one_line, text_width, wrap

FONTS: Final = tuple(sorted((Path(__file__).parent / "fonts").glob("*.ttf")))
"""DejaVu Sans in two weights, as TrueType files."""
_ZOOM: Final = 1.5
"""Pixels of the PNG per pixel of the SVG."""


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    return _activation("activation.html.j2", retrieved)


def activation_svg(retrieved: Retrieved) -> str:
    """Draw a retrieval as an SVG; the same retrieval gives the same text."""
    return _activation("activation.svg.j2", retrieved)


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


def _activation(name: str, retrieved: Retrieved) -> str:
    flow = flow_of(retrieved)
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
    )


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
        "clean": printable_line,
        "csp_hash": _csp_hash,
        "excerpt": _excerpt,
        "in_one_line": in_one_line,
        "text_width": text_width,
        "with_colours": _with_colours,
        "wrap": wrap,
    }
    return environment


def _csp_hash(text: str) -> str:
    """The source expression of an inline script or style in a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _excerpt(text: str) -> str:
    text = printable_line(text[:400])
    return text if len(text) <= 180 else text[:180].rsplit(" ", 1)[0] + " …"


def _with_colours(style: str, colours: str) -> Markup:
    """A style sheet without variables, which renderers of SVG do not know."""
    values = dict(re.findall(r"--([\w-]+):\s*([^;\s]+)", colours))
    return Markup(re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], style))  # noqa: S704


# ------------------------------------------------------------------------- Neighbourhoods


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
    return render("neighbourhood.svg.j2", title=name, left=left, right=right)
