"""Media types: what is offered in answers and taken in requests, and the choice by Accept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyoxigraph as ox

TABLES: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media type -> format of SELECT and ASK results; the first is the default."""

GRAPHS: dict[str, ox.RdfFormat] = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
    "application/ld+json": ox.RdfFormat.JSON_LD,
    "application/trig": ox.RdfFormat.TRIG,
    "application/n-quads": ox.RdfFormat.N_QUADS,
    "text/n3": ox.RdfFormat.N3,
    "application/x-turtle": ox.RdfFormat.TURTLE,
    "text/plain": ox.RdfFormat.N_TRIPLES,
    "application/xml": ox.RdfFormat.RDF_XML,
    "text/xml": ox.RdfFormat.RDF_XML,
    "application/json": ox.RdfFormat.JSON_LD,
}
"""Media type -> format of triples; the first is the default."""

PATTERN = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+")
_QUALITY = re.compile(r";\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", re.IGNORECASE)


def base_type(value: str) -> str:
    """A media type without its parameters, in lower case; empty if it is none."""
    name = value.partition(";")[0].strip().lower()
    return name if PATTERN.fullmatch(name) else ""


def charset(value: str) -> str:
    """The charset that a Content-Type names, in lower case, or nothing."""
    found = re.search(r";\s*charset\s*=\s*\"?([\w.:-]+)\"?", value, re.IGNORECASE)
    return found.group(1).lower() if found else ""


def choose(accept: str, offered: Mapping[str, object]) -> str | None:
    """The media type of those offered that an Accept header likes best, or None.

    Quality counts first, then how precisely the header names the type, then the order of the
    offer (RFC 9110, 12.5.1). An empty header accepts anything.
    """
    ranges = list(_ranges(accept)) or [("*/*", 1.0)]
    best: tuple[float, int, int] | None = None
    chosen = None
    for place, media_type in enumerate(offered):
        fits = [(_precision(r, media_type), quality) for r, quality in ranges]
        precision, quality = max(fits, key=lambda fit: fit[0])
        rank = (quality, precision, -place)
        if precision >= 0 and quality > 0 and (best is None or rank > best):
            best, chosen = rank, media_type
    return chosen


def content_type(media_type: str) -> str:
    """The header's value: texts say that they are UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    for part in accept.split(","):
        name = base_type(part)
        if name:
            quality = _QUALITY.search(part)
            yield name, float(quality.group(1)) if quality else 1.0


def _precision(range_: str, media_type: str) -> int:
    """2 for the type itself, 1 for its kind, 0 for any, -1 for another."""
    if range_ == media_type:
        return 2
    if range_ == "*/*":
        return 0
    return 1 if range_ == media_type.partition("/")[0] + "/*" else -1
