"""CURIEs: IRIs shortened by prefixes, which SSSOM asks for in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import NamedNode

from sarag_rdf.iris import namespace
from sarag_rdf.vocab import OWL, SEMAPV, SKOS, SSSOM

BUILT_IN = {
    "owl": OWL.base,
    "semapv": SEMAPV.base,
    "skos": SKOS.base,
    "sssom": SSSOM.base,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}
"""Prefixes that stand for the same everywhere; a file need not declare them."""
_KNOWN = {
    "wd": "http://www.wikidata.org/entity/",
    "dbr": "http://dbpedia.org/resource/",
    "schema": "http://schema.org/",
    "gnd": "https://d-nb.info/gnd/",
    "viaf": "http://viaf.org/viaf/",
}


def prefixes_for(iris: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Prefix -> namespace for all IRIs: those `given`, well-known ones, then ns1, ns2, ..."""
    names = {base: prefix for prefix, base in (BUILT_IN | _KNOWN | dict(given)).items()}
    found: dict[str, str] = {}
    number = 0
    for base in sorted({namespace(iri) for iri in iris}):
        if base not in names:
            number += 1
            names[base] = f"ns{number}"
        found[names[base]] = base
    return dict(sorted(found.items()))


class Curies:
    """Shortens by one set of prefixes, and expands by it and by `BUILT_IN`."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._bases = {**BUILT_IN, **prefixes}
        self._prefixes = {base: prefix for prefix, base in prefixes.items()}

    def shorten(self, iri: str) -> str:
        base = namespace(iri)
        prefix = self._prefixes.get(base)
        return f"{prefix}:{iri[len(base) :]}" if prefix else iri

    def expand(self, text: str) -> str:
        """The IRI of a CURIE, or of an IRI with or without ``<>``; raises `ValueError`."""
        bare = text.removeprefix("<").removesuffix(">")
        prefix, colon, local = bare.partition(":")
        if prefix in self._bases and not local.startswith("//"):
            bare = self._bases[prefix] + local
        elif not colon:
            raise ValueError(f"'{text}' is neither a CURIE nor an IRI")
        elif not local.startswith("//") and prefix not in ("urn", "mailto", "tag", "doi"):
            raise ValueError(f"'{text}' has a prefix that the file's curie_map lacks")
        NamedNode(bare)
        return bare
