"""RDF out: streaming, in a fixed order, so that the same graph gives the same bytes.

Subjects are sorted by IRI and their triples by property (rdf:type first) and object; only the
list of subjects is held in memory. Flat formats hold the union of the graphs, each triple once;
data set formats hold one graph after the other, by IRI.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.export.parts import Chosen, Parts, choose, graph_names, of_entities
from sarag_rdf.export.rdfxml import expressible
from sarag_rdf.export.reifiers import check_rdf12, reifiers
from sarag_rdf.graph.rows import GraphReader
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
_SMALL = 2_000
"""Quads up to which a graph is read and sorted as a whole."""
_OWN = (
    *("dataset", "doc", "description", "entity", "extraction", "graph", "mapping", "mention"),
    *("relationship", "run", "source"),
)
"""What IRIs under the base go on with; each has a prefix of that name."""

Row = tuple[Any, Any, Any, Any]
"""Subject, predicate, object, graph."""


def _order(triple: ox.Triple) -> tuple[str, bool, str, str]:
    predicate = triple.predicate
    return str(triple.subject), predicate != RDF.type, predicate.value, str(triple.object)


def _in_order(rows: Iterable[Row], chosen: Chosen | None, *, rdf12: bool) -> list[ox.Triple]:
    """The triples of rows that hold all that is said of some subjects: each once, sorted.

    Raises `StoreError` for a blank node: its name would differ with every export.
    """
    whole: dict[ox.Triple, None] = {}
    narrowed: dict[ox.Triple, None] = {}
    for subject, predicate, value, graph in rows:
        iri(subject)
        if chosen is None or graph.value in chosen.names:
            into = narrowed if chosen and graph.value == chosen.narrowed else whole
            into[ox.Triple(subject, predicate, iri_or_literal(value))] = None
    if rdf12:
        whole |= dict.fromkeys(reifiers([*whole, *narrowed]))
    if narrowed:
        whole |= dict.fromkeys(of_entities(list(narrowed)))
    return sorted(whole, key=_order)


def _subjects(store: GraphStore, graphs: Sequence[str] | None) -> list[str]:
    found: set[str] = set()
    for name in ["?g"] if graphs is None else [f"<{graph}>" for graph in graphs]:
        text = f"SELECT DISTINCT ?s WHERE {{ GRAPH {name} {{ ?s ?p ?o }} }}"
        found.update(iri(row[0]) for row in store.select(text, "s").rows)
    return sorted(found)


def _by_subjects(store: GraphStore, graphs: Sequence[str] | None) -> Iterator[list[Row]]:
    """All that graphs, or all graphs and perhaps others, say of subjects, a batch at a time."""
    subjects = iter(_subjects(store, graphs))
    only = ox.NamedNode(graphs[0]) if graphs is not None and len(graphs) == 1 else None
    while batch := [ox.NamedNode(subject) for subject in islice(subjects, _SUBJECTS)]:
        where = f"VALUES ?s {{ {' '.join(map(str, batch))} }} GRAPH {only or '?g'} {{ ?s ?p ?o }}"
        rows = store.select(f"SELECT ?s ?p ?o ?g WHERE {{ {where} }}", "s").rows
        yield [(s, p, o, only or g) for s, p, o, g in rows]


def sorted_triples(
    store: GraphStore, chosen: Chosen | None = None, *, rdf12: bool = False
) -> Iterator[ox.Triple]:
    """Triples of the chosen graphs, or of all, each once and in order."""
    for rows in _by_subjects(store, chosen.graphs if chosen else None):
        yield from _in_order(rows, chosen, rdf12=rdf12)


def sorted_quads(
    store: GraphStore, chosen: Chosen | None = None, *, rdf12: bool = False
) -> Iterator[ox.Quad]:
    """Quads of the chosen graphs, or of all, graph by graph."""
    for graph in chosen.graphs if chosen else graph_names(store):
        name = ox.NamedNode(graph)
        for rows in _of_graph(store, graph):
            for triple in _in_order(rows, chosen, rdf12=rdf12):
                yield ox.Quad(triple.subject, triple.predicate, triple.object, name)


def _of_graph(store: GraphStore, graph: str) -> Iterator[list[Row]]:
    """All that one graph says; at once if that is little."""
    name = ox.NamedNode(graph)
    quads = islice(store.quads(graph), _SMALL + 1)
    found: list[Row] = [(q.subject, q.predicate, q.object, name) for q in quads]
    return iter([found]) if len(found) <= _SMALL else _by_subjects(store, [graph])


def prefixes_under(base: str) -> dict[str, str]:
    """Prefixes of the usual vocabularies, and of the names that a graph of this base has."""
    return PREFIXES | {name: f"{base}{name}/" for name in _OWN}


def write_rdf(
    store: GraphStore,
    format_: str,
    output: IO[bytes],
    *,
    base: str | None = None,
    chosen: Chosen | None = None,
    rdf12: bool = False,
) -> None:
    """Write the chosen graphs, or all, to a binary stream.

    `base` gives the names of its own prefixes. With `rdf12` relationships are reifiers, too.
    Raises `UsageError` for an unknown format, and for a predicate that RDF/XML cannot express.
    """
    if format_ not in FORMATS:
        raise UsageError(f"unknown format '{format_}': choose one of {', '.join(FORMATS)}")
    prefixes = prefixes_under(base) if base else PREFIXES
    items: Iterator[ox.Triple] | Iterator[ox.Quad]
    if format_ in DATASET_FORMATS:
        items = sorted_quads(store, chosen, rdf12=rdf12)
    else:
        items = sorted_triples(store, chosen, rdf12=rdf12)
        if format_ == "rdfxml":
            items = expressible(items, prefixes)
    ox.serialize(items, output, FORMATS[format_], prefixes=prefixes)


def write_parts(
    reader: GraphReader, format_: str, output: IO[bytes], parts: Parts, *, rdf12: bool = False
) -> None:
    """Write the parts that are asked for; raises `UsageError` for what cannot be written."""
    store, minter = reader.store, reader.minter
    chosen = choose(store, minter, parts)
    if rdf12:
        check_rdf12(format_, traversed=minter.kg_graph in chosen.names)
    write_rdf(store, format_, output, base=minter.base, chosen=chosen, rdf12=rdf12)


def rdf_bytes(store: GraphStore, format_: str, *, base: str | None = None) -> bytes:
    """The same, in memory."""
    buffer = io.BytesIO()
    write_rdf(store, format_, buffer, base=base)
    return buffer.getvalue()
