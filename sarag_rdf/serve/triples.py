"""Writes triples in the format that was asked for; refuses what the format cannot express."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import pyoxigraph as ox

from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.media import GRAPHS
from sarag_rdf.serve.spool import Spool
from sarag_rdf.vocab import PREFIXES, RDF

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LOCAL_NAME = re.compile(f"[{_START}][{_START}0-9.\u00b7\u0300-\u036f\u203f\u2040-]*$")
"""What an IRI must end in to be written as an element: an NCName of XML."""
_LONGEST = 256
"""Characters at the end of an IRI that are looked at."""
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SYNTAX = {
    RDF.base + name
    for name in (
        *("RDF", "ID", "Description", "about", "parseType", "resource", "nodeID", "datatype"),
        *("li", "aboutEach", "aboutEachPrefix", "bagID"),
    )
}
"""Terms of RDF/XML's own syntax, which cannot be predicates (RDF 1.1 XML Syntax, 5.1)."""


def write_triples(triples: Iterable[ox.Triple], media_type: str, spool: Spool) -> None:
    """Write triples into a spool; raises `RequestError` (406) for one that cannot be written so."""
    format_ = GRAPHS[media_type]
    if format_ == ox.RdfFormat.RDF_XML:
        triples = _for_xml(triples, media_type)
    elif format_ == ox.RdfFormat.JSON_LD:
        triples = _for_json(triples, media_type)
    ox.serialize(triples, spool.stream, format_, prefixes=PREFIXES)


def _for_json(triples: Iterable[ox.Triple], media_type: str) -> Iterator[ox.Triple]:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise _inexpressible(media_type, "triple terms")
        yield triple


def _for_xml(triples: Iterable[ox.Triple], media_type: str) -> Iterator[ox.Triple]:
    for triple in triples:
        inner: object = triple
        while isinstance(inner, ox.Triple):
            predicate, inner = inner.predicate.value, inner.object
            if not _is_element_name(predicate):
                raise _inexpressible(media_type, f"the predicate {predicate}")
        if isinstance(inner, ox.Literal) and _NOT_IN_XML.search(inner.value):
            raise _inexpressible(media_type, "control characters in a literal")
        yield triple


@lru_cache(maxsize=1024)
def _is_element_name(predicate: str) -> bool:
    return predicate not in _SYNTAX and bool(_LOCAL_NAME.search(predicate[-_LONGEST:]))


def _inexpressible(media_type: str, what: str) -> RequestError:
    return RequestError(406, f"{media_type} cannot express {what}: ask for text/turtle")
