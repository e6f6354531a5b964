"""Rendering of the templates of a picture: one drawing for the HTML page and the SVG."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from sarag_rdf.picture.geometry import clean, wrap
from sarag_rdf.picture.layout import SQUARE, Line, Picture, parts_of
from sarag_rdf.picture.selection import hops_of
from sarag_rdf.resources import template_text
from sarag_rdf.types import Retrieved

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
            chains={n.id: parts_of(hops_of(n.entity), ids, picture.lines) for n in picture.nodes},
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
