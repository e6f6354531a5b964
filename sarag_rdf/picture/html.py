"""An activated subgraph as one HTML page: no network, no other file, one small script.

All that comes from a graph or a question is put into the page as escaped text by the template;
the script holds no data. Should an escape ever be missed, the page's content security policy
allows only the script and the style that were hashed here, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

import jinja2

from sarag_rdf.picture.geometry import clean, wrap
from sarag_rdf.picture.layout import SQUARE, Line, Picture, lay_out, parts_of
from sarag_rdf.picture.selection import hops_of
from sarag_rdf.resources import template_text
from sarag_rdf.types import Retrieved

_TYPES = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Geopolitical entity",
    "misc": "Miscellaneous",
}
_STATES = {"seed": "seed", "activated": "activated", "dormant": "not activated"}


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    picture = lay_out(retrieved)
    ids = {node.entity.iri: node.id for node in picture.nodes}
    ids |= {square.iri: square.id for square in picture.squares}
    beside: dict[str, list[Line]] = {part: [] for part in ids.values()}
    for line in picture.lines:
        beside[line.origin].append(line)
        beside[line.target].append(line)
    return _template().render(
        picture=picture,
        retrieved=retrieved,
        names=_names(retrieved, picture),
        beside=beside,
        chains={n.id: parts_of(hops_of(n.entity), ids, picture.lines) for n in picture.nodes},
        called={node.id: node.name for node in picture.nodes}
        | {square.id: f"document {square.mark}" for square in picture.squares},
        square_half=SQUARE,
    )


def _names(retrieved: Retrieved, picture: Picture) -> dict[str, str]:
    """Names of nodes by IRI; documents are called so."""
    entities = {entity.iri: clean(entity.name) for entity in retrieved.entities}
    documents = {iri: f"document {clean(name)}" for iri, name in retrieved.names.items()}
    drawn = {square.iri: f"document {square.mark}" for square in picture.squares}
    return documents | entities | drawn


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
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
    }
    return environment.from_string(template_text("activation.html.j2"))


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
