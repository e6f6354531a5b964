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

from sarag_rdf.errors import UsageError
from sarag_rdf.ports import GraphStore
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


def _graph(base: str | None) -> str:
    """A GRAPH pattern over all triples: of the graphs under a base, for others may stand beside."""
    mine = f" FILTER(STRSTARTS(STR(?g), {ox.Literal(base + 'graph/')}))" if base else ""
    return f"GRAPH ?g {{ ?s ?p ?o }}{mine}"


def _order(triple: ox.Triple) -> tuple[str, bool, str, str]:
    predicate, value = triple.predicate, iri_or_literal(triple.object)
    return iri(triple.subject), predicate != RDF.type, predicate.value, str(value)


def sorted_triples(
    store: GraphStore, graph: str | None = None, *, base: str | None = None
) -> Iterator[ox.Triple]:
    """Triples of one graph, or of all (under a base), each once and in order.

    Raises `StoreError` for a blank node: its name would differ with every export.
    """
    where = f"GRAPH <{graph}> {{ ?s ?p ?o }}" if graph else _graph(base)
    rows = store.select(f"SELECT DISTINCT ?s WHERE {{ {where} }}", "s").rows
    subjects = iter(sorted(iri(row[0]) for row in rows))
    while batch := [ox.NamedNode(subject) for subject in islice(subjects, _SUBJECTS)]:
        values = " ".join(map(str, batch))
        text = f"SELECT DISTINCT ?s ?p ?o WHERE {{ VALUES ?s {{ {values} }} {where} }}"
        found = store.select(text, "s").rows
        yield from sorted((ox.Triple(*row) for row in found), key=_order)


def sorted_quads(store: GraphStore, *, base: str | None = None) -> Iterator[ox.Quad]:
    """All quads (of the graphs under a base), graph by graph."""
    rows = store.select(f"SELECT ?g WHERE {{ {_graph(base)} }} GROUP BY ?g", "g").rows
    for graph in sorted(iri(row[0]) for row in rows):
        name = ox.NamedNode(graph)
        for triple in sorted_triples(store, graph):
            yield ox.Quad(triple.subject, triple.predicate, triple.object, name)


def write_rdf(
    store: GraphStore, format_: str, output: IO[bytes], *, base: str | None = None
) -> None:
    """Write the graph to a binary stream; `base` gives the names of its own prefixes and graphs.

    Raises `UsageError` for an unknown format.
    """
    if format_ not in FORMATS:
        raise UsageError(f"unknown format '{format_}': choose one of {', '.join(FORMATS)}")
    prefixes = dict(PREFIXES)
    if base:
        for name in ("entity", "mention", "doc", "description", "relationship", "source"):
            prefixes[name] = f"{base}{name}/"
        prefixes |= {"extraction": f"{base}extraction/", "graph": f"{base}graph/"}
    quads = format_ in DATASET_FORMATS
    items = sorted_quads(store, base=base) if quads else sorted_triples(store, base=base)
    ox.serialize(items, output, FORMATS[format_], prefixes=prefixes)


def rdf_bytes(store: GraphStore, format_: str, *, base: str | None = None) -> bytes:
    """The same, in memory."""
    buffer = io.BytesIO()
    write_rdf(store, format_, buffer, base=base)
    return buffer.getvalue()
