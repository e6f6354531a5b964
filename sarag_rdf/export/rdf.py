"""RDF out: streaming, in a fixed order, so that the same graph gives the same bytes.

Subjects are sorted by IRI and their triples by property (rdf:type first) and object; only the
list of subjects is held in memory. Flat formats hold the union of all graphs, each triple once;
data set formats hold one graph after the other, by IRI.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import IO

import pyoxigraph as ox

from sarag_rdf.errors import StoreError, UsageError
from sarag_rdf.ports import GraphStore, Table
from sarag_rdf.terms import iri, iri_or_literal
from sarag_rdf.vocab import PREFIXES, RDF

FORMATS: dict[str, ox.RdfFormat] = {
    "turtle": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdfxml": ox.RdfFormat.RDF_XML,
}
DATASET_FORMATS = frozenset({"trig", "nquads"})
_SUBJECTS = 500


def _rows(store: GraphStore, text: str) -> list[tuple[ox.NamedNode, ...]]:
    result = store.query(text)
    if not isinstance(result, Table):
        raise StoreError("a SELECT query was expected")
    return result.rows


def _order(triple: ox.Triple) -> tuple[str, bool, str, str]:
    predicate, value = triple.predicate, iri_or_literal(triple.object)
    return iri(triple.subject), predicate != RDF.type, predicate.value, str(value)


def sorted_triples(store: GraphStore, graph: str | None = None) -> Iterator[ox.Triple]:
    """Triples of one graph, or of all, each once and in order.

    Raises `StoreError` for a blank node: its name would differ with every export.
    """
    name = f"<{graph}>" if graph else "?g"
    rows = _rows(store, f"SELECT DISTINCT ?s WHERE {{ GRAPH {name} {{ ?s ?p ?o }} }}")
    subjects = iter(sorted(iri(row[0]) for row in rows))
    while batch := [ox.NamedNode(subject) for subject in islice(subjects, _SUBJECTS)]:
        values = " ".join(map(str, batch))
        where = f"VALUES ?s {{ {values} }} GRAPH {name} {{ ?s ?p ?o }}"
        text = f"SELECT DISTINCT ?s ?p ?o WHERE {{ {where} }}"
        yield from sorted((ox.Triple(*row) for row in _rows(store, text)), key=_order)


def sorted_quads(store: GraphStore) -> Iterator[ox.Quad]:
    """All quads, graph by graph."""
    rows = _rows(store, "SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }")
    for graph in sorted(iri(row[0]) for row in rows):
        name = ox.NamedNode(graph)
        for triple in sorted_triples(store, graph):
            yield ox.Quad(triple.subject, triple.predicate, triple.object, name)


def write_rdf(
    store: GraphStore, format_: str, output: IO[bytes], *, base: str | None = None
) -> None:
    """Write the graph to a binary stream; `base` gives the names of its own prefixes.

    Raises `UsageError` for an unknown format.
    """
    if format_ not in FORMATS:
        raise UsageError(f"unknown format '{format_}': choose one of {', '.join(FORMATS)}")
    prefixes = dict(PREFIXES)
    if base:
        for name in ("entity", "mention", "doc", "description", "relationship", "source"):
            prefixes[name] = f"{base}{name}/"
        prefixes |= {"extraction": f"{base}extraction/", "graph": f"{base}graph/"}
    items = sorted_quads(store) if format_ in DATASET_FORMATS else sorted_triples(store)
    ox.serialize(items, output, FORMATS[format_], prefixes=prefixes)


def rdf_bytes(store: GraphStore, format_: str, *, base: str | None = None) -> bytes:
    """The same, in memory."""
    buffer = io.BytesIO()
    write_rdf(store, format_, buffer, base=base)
    return buffer.getvalue()
