"""Media types: what is offered in answers and taken in requests, and the choice by Accept."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyoxigraph as ox

from sarag_rdf.serve.jobs import RequestError

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
    offer (RFC 9110, 12.5.1). An empty header accepts anything. The time taken grows with the
    length of the header, not with its square.
    """
    qualities = _qualities(accept) or {"*/*": 1.0}
    best: tuple[float, int, int] | None = None
    chosen = None
    for place, media_type in enumerate(offered):
        ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        found = next((range_ for range_ in ranges if range_ in qualities), None)
        if found is None or not qualities[found] > 0:
            continue
        rank = (qualities[found], -ranges.index(found), -place)
        if best is None or rank > best:
            best, chosen = rank, media_type
    return chosen


def accepted(accept: str, offered: Mapping[str, object]) -> str:
    """The media type of the answer; raises `RequestError` (406) if the client takes none."""
    media_type = choose(accept, offered)
    if media_type is None:
        raise RequestError(406, f"this answer can be had as {', '.join(offered)}")
    return media_type


def content_type(media_type: str) -> str:
    """The header's value: texts say that they are UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _qualities(accept: str) -> dict[str, float]:
    """Quality of each media range in an Accept header; where one is repeated, the first counts."""
    found: dict[str, float] = {}
    for part in accept.split(","):
        name = base_type(part)
        if name and name not in found:
            quality = _QUALITY.search(part)
            found[name] = float(quality.group(1)) if quality else 1.0
    return found
