"""Exports RDF: streaming and in a fixed order, so the same graph gives the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import IO, Any, Final, TypeVar
from xml.parsers import expat

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.ports import GraphStore
from sarag_rdf.terms import iri, iri_or_literal
from sarag_rdf.vocab import PREFIXES, RDF, SARAG

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


_GRAPHS = "SELECT ?g WHERE { GRAPH ?g { } FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"
_GRAPHS_UNDER = """SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } FILTER(STRSTARTS(STR(?g), %s)) }
GROUP BY ?g"""
"""Slower, and understood by more servers."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is asked for; where nothing is, all graphs that are not imported.

    `documents` are the graphs of the sources, `entities` what the traversed graph says of
    entities, `graphs` the IRIs of single graphs; `imported` adds all imported graphs.
    """

    documents: bool = False
    entities: bool = False
    graphs: Sequence[str] = ()
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The graphs to export, by IRI; of the one called `narrowed` only what is said of entities."""

    graphs: tuple[str, ...]
    narrowed: str = ""
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.graphs))


def graph_names(store: GraphStore, under: str = "") -> list[str]:
    """The IRIs of all named graphs that hold something, in order.

    In a store that is shared with others, those that begin with `under`.
    """
    text = _GRAPHS_UNDER % ox.Literal(under) if store.is_shared else _GRAPHS
    return sorted(iri(row[0]) for row in store.select(text, "g").rows)


def choose(store: GraphStore, minter: Minter, parts: Parts) -> Chosen:
    """The graphs that are meant; raises `UsageError` for a graph that there is not.

    What was put into quarantine is never exported.
    """
    names = graph_names(store, minter.graphs)
    names = [n for n in names if not n.startswith(minter.quarantine_graphs)]
    imported = [name for name in names if name.startswith(minter.imported_graphs)]
    wanted = set(_known(parts.graphs, names))
    if parts.documents:
        wanted.update(name for name in names if name.startswith(minter.source_graphs))
    if not (parts.documents or parts.entities or parts.graphs):
        wanted.update(set(names).difference(imported))
    if parts.imported:
        wanted.update(imported)
    narrowed = minter.kg_graph if parts.entities and minter.kg_graph not in wanted else ""
    if narrowed in names:
        wanted.add(narrowed)
    return Chosen(tuple(sorted(wanted)), narrowed)


def _known(wanted: Iterable[str], names: Sequence[str]) -> Iterable[str]:
    for name in wanted:
        if name not in names:
            near = get_close_matches(name, names, cutoff=0.0)
            raise UsageError(
                f"there is no graph <{name}>; "
                + (f"near to it: {', '.join(f'<{n}>' for n in near)}" if near else "it is empty")
            )
        yield name


def of_entities(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Those whose subject is an entity; `triples` are all that is said of some subjects."""
    entities = {
        triple.subject
        for triple in triples
        if triple.predicate == RDF.type and triple.object == SARAG.Entity
    }
    return [triple for triple in triples if triple.subject in entities]


RDF12_FORMATS = ("turtle", "trig", "ntriples", "nquads")


def check_rdf12(format_: str, *, traversed: bool) -> None:
    """Raise `UsageError` for a format without triple terms, or parts without the `traversed` graph.

    The triples that are reified stand there.
    """
    if format_ not in RDF12_FORMATS:
        raise UsageError(
            f"{format_} cannot carry RDF 1.2: choose one of {', '.join(RDF12_FORMATS)}, or leave "
            "--rdf12 out"
        )
    if not traversed:
        raise UsageError(
            "RDF 1.2 adds reifiers of links between entities, which are not among the parts "
            "chosen: add --entities, or leave --rdf12 out"
        )


def reifiers(triples: Iterable[ox.Triple]) -> list[ox.Triple]:
    """``<relationship> rdf:reifies <<( subject sarag:relatedTo object )>>`` for each relationship.

    `triples` are all that is said of some subjects.
    """
    subjects: dict[Any, Any] = {}
    objects: dict[Any, Any] = {}
    for triple in triples:
        if triple.predicate == SARAG.subject:
            subjects[triple.subject] = triple.object
        elif triple.predicate == SARAG.object:
            objects[triple.subject] = triple.object
    return [
        ox.Triple(node, RDF.reifies, ox.Triple(subject, SARAG.relatedTo, objects[node]))
        for node, subject in subjects.items()
        if node in objects
    ]


_Statement = TypeVar("_Statement", ox.Triple, ox.Quad)
_NODE: Final = ox.NamedNode("urn:x")
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SYNTAX: Final = frozenset(
    RDF.base + name
    for name in (
        *("RDF", "ID", "Description", "about", "parseType", "resource", "nodeID", "datatype"),
        *("li", "aboutEach", "aboutEachPrefix", "bagID"),
    )
)
"""Names that are no predicates in RDF/XML (RDF 1.1 XML Syntax, section 5.1)."""


def expressible(
    statements: Iterable[_Statement], prefixes: Mapping[str, str]
) -> Iterator[_Statement]:
    """The same statements; raises `UsageError` for one that cannot be written with these prefixes.

    Predicates of triple terms count, too. Each predicate is checked once, by parsing what the
    engine writes for it.
    """
    known: set[str] = set()
    for statement in statements:
        inner: object = statement
        while isinstance(inner, ox.Triple | ox.Quad):
            predicate, inner = inner.predicate, inner.object
            if predicate.value not in known:
                if predicate.value in _SYNTAX or not _is_name(predicate, dict(prefixes)):
                    raise UsageError(
                        f"RDF/XML cannot express the predicate <{predicate.value}>: choose "
                        "another format, such as Turtle (text/turtle)"
                    )
                known.add(predicate.value)
        if isinstance(inner, ox.Literal) and _NOT_IN_XML.search(inner.value):
            raise UsageError(
                "RDF/XML cannot express a literal with control characters: choose another "
                "format, such as Turtle (text/turtle)"
            )
        yield statement


def _is_name(predicate: ox.NamedNode, prefixes: dict[str, str]) -> bool:
    triple = ox.Triple(_NODE, predicate, _NODE)
    written = ox.serialize([triple], format=ox.RdfFormat.RDF_XML, prefixes=prefixes)
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(written or b"", True)
    except expat.ExpatError:
        return False
    return True
