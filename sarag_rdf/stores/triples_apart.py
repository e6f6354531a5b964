"""Triples that an endpoint sent: parsed in a child process, for they may nest without end."""

from __future__ import annotations

from typing import Final

import pyoxigraph as ox

from sarag_rdf.sandbox import Limits, half_of_memory, run
from sarag_rdf.terms import is_deep

_SHORT: Final = 2_000
"""Bytes in which nothing nests deeply enough to end a process."""
_SECONDS: Final = 120.0


def parse_apart(data: bytes, syntax: ox.RdfFormat) -> list[ox.Triple]:
    """The triples of `data`, in order.

    Raises SyntaxError and ValueError as the parser does, also for triple terms that are nested too
    deeply, and `EndedError` for data on which the parser crashes or does not end.
    """
    if len(data) > _SHORT:
        limits = Limits(_SECONDS, half_of_memory())
        data, syntax = run(_as_ntriples, limits, data, syntax.media_type), ox.RdfFormat.N_TRIPLES
    return [quad.triple for quad in ox.parse(data, syntax)]


def _as_ntriples(data: bytes, media_type: str) -> bytes:
    triples = [quad.triple for quad in ox.parse(data, ox.RdfFormat.from_media_type(media_type))]
    if any(map(is_deep, triples)):
        raise ValueError("triple terms are nested too deeply")
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
