"""Media types: those of results and RDF, and the choice among them by Accept (RFC 9110, 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyoxigraph as ox

from sarag_rdf.server.jobs import RequestError

FORM = "application/x-www-form-urlencoded"
HTML = "text/html"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"

RESULT_TYPES: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media type -> format of SELECT and ASK results; the first is the default."""

RDF_TYPES: dict[str, ox.RdfFormat] = {
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

_MEDIA_TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+")
_QUALITY = re.compile(r";\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]+)\"?", re.IGNORECASE)


def base_type(value: str) -> str:
    """A media type without its parameters, in lower case; empty if it is malformed."""
    name = value.partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) else ""


def check_charset(content_type: str, what: str) -> None:
    """Raise `RequestError` (415) for a Content-Type with another charset than UTF-8."""
    match = _CHARSET.search(content_type)
    if match and match[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise RequestError(415, f"unsupported charset: send the {what} as UTF-8")


def choose_media_type(accept: str, offered: Mapping[str, object]) -> str | None:
    """The best of the offered media types for an Accept header, or None.

    Types are ranked by quality, then by the specificity of the matching media range, then by the
    order of the offer (RFC 9110, 12.5.1). An empty header accepts any type. Takes time linear in
    the length of the header.
    """
    qualities: dict[str, float] = {}
    for part in accept.split(","):
        if name := base_type(part):
            quality = _QUALITY.search(part)
            qualities.setdefault(name, float(quality[1]) if quality else 1.0)
    qualities = qualities or {"*/*": 1.0}
    ranks = {}
    for position, media_type in enumerate(offered):
        ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        matching = next((range_ for range_ in ranges if range_ in qualities), None)
        if matching and qualities[matching]:
            ranks[media_type] = qualities[matching], -ranges.index(matching), -position
    return max(ranks, key=ranks.__getitem__, default=None)


def negotiate(accept: str, offered: Mapping[str, object]) -> str:
    """The media type of the response; raises `RequestError` (406) if none is acceptable."""
    media_type = choose_media_type(accept, offered)
    if media_type is None:
        raise RequestError(
            406, f"not acceptable: this resource is available as {', '.join(offered)}"
        )
    return media_type


def content_type(media_type: str) -> str:
    """The Content-Type header of a media type, with the charset of a text."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
