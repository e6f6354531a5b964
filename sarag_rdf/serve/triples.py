"""Writes triples in the format that was asked for; refuses what the format cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.export.rdfxml import expressible
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.media import GRAPHS
from sarag_rdf.serve.spool import Spool
from sarag_rdf.vocab import PREFIXES


def write_triples(triples: Iterable[ox.Triple], media_type: str, spool: Spool) -> None:
    """Write triples into a spool; raises `RequestError` (406) for one that cannot be written so."""
    format_ = GRAPHS[media_type]
    if format_ == ox.RdfFormat.RDF_XML:
        triples = expressible(triples, PREFIXES)
    elif format_ == ox.RdfFormat.JSON_LD:
        triples = _without_terms(triples)
    try:
        ox.serialize(triples, spool.stream, format_, prefixes=PREFIXES)
    except UsageError as error:
        raise RequestError(406, str(error)) from error


def _without_terms(triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise UsageError(
                "JSON-LD cannot express triple terms: choose another format, such as Turtle "
                "(text/turtle)"
            )
        yield triple
