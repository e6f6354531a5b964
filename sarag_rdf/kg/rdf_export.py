"""Prefixes for exports: those of common vocabularies, of the graph's own IRIs and of ontologies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import IO, Any, Final, TypeVar
from xml.parsers import expat

import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter, is_iri
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.sentences import NOT_IN_XML
from sarag_rdf.base.vocab import COMMON, PREFIXES, RDF, SARAG, SH, XSD, iri, iri_or_literal, text_of
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.parts import graph_names

_FIRST_SEGMENTS = (
    *("dataset", "entity", "source", "doc", "relationship", "mention", "phrase"),
    *("mapping", "extraction", "run", "graph"),
)
"""The first path segments of IRIs below the base, in the order of their subjects in exports; each
is also the name of a prefix."""
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_UNWRITTEN = frozenset(
    iri.value
    for iri in (RDF.type, RDF.langString, XSD.string, XSD.integer, XSD.decimal, XSD.boolean)
)
"""IRIs for which Turtle has shorter forms than prefixed names."""

_IRIS = """SELECT ?g ?x WHERE {
  { GRAPH ?g { ?x ?p ?o } } UNION { GRAPH ?g { ?s ?x ?o } } UNION { GRAPH ?g { ?s ?p ?x } }
  UNION { GRAPH ?g { ?s ?p ?o } BIND(DATATYPE(?o) AS ?x) }
  FILTER(isIRI(?x))
} GROUP BY ?g ?x"""
_DECLARED = f"""PREFIX vann: <http://purl.org/vocab/vann/>
SELECT DISTINCT ?prefix ?namespace WHERE {{
  GRAPH ?g {{
    {{ ?ontology vann:preferredNamespacePrefix ?prefix ; vann:preferredNamespaceUri ?namespace }}
    UNION {{ ?declaration <{SH.base}prefix> ?prefix ; <{SH.base}namespace> ?namespace }}
  }}
  FILTER(STRSTARTS(STR(?g), "%s") || STR(?g) = "%s")
}}"""


def prefixes_under(base: str) -> dict[str, str]:
    """Prefixes of common vocabularies, and of IRIs below this base."""
    return PREFIXES | {name: f"{base}{name}/" for name in _FIRST_SEGMENTS}


def ontology_prefixes(store: GraphStore, base: str) -> dict[str, str]:
    """The prefixes that stored ontologies declare, with VANN or ``sh:declare``, and ``common``.

    Those of their files are in the metadata of the graph.

    If there are several namespaces for a prefix, the first in the order of IRIs counts. Namespaces
    that have a prefix anyway are omitted.
    """
    minter = Minter(base)
    query = _DECLARED % (minter.graph("ontologies"), minter.meta_graph)
    rows = store.select(query, "prefix").rows
    declared = sorted((text_of(prefix), text_of(namespace)) for prefix, namespace in rows)
    known = set(prefixes_under(base).values())
    return {"common": COMMON.base} | {
        prefix: namespace
        for prefix, namespace in reversed(declared)
        if _PREFIX.fullmatch(prefix) and is_iri(namespace) and namespace not in known
    }


def used_prefixes(
    store: GraphStore,
    prefixes: Mapping[str, str],
    graphs: Collection[str],
    *,
    with_names: bool = False,
) -> dict[str, str]:
    """Those of the prefixes that abbreviate IRIs in the graphs.

    With `with_names`, the names of the graphs count, too.
    """
    unused, used = dict(prefixes), set[str]()
    for graph, term in store.select(_IRIS, "x").rows:
        if graph.value not in graphs:
            continue
        for name in (term.value, graph.value) if with_names else (term.value,):
            if name.startswith(tuple(unused.values())) and name not in _UNWRITTEN:
                matching = {prefix for prefix, space in unused.items() if name.startswith(space)}
                used |= matching
                unused = {p: space for p, space in unused.items() if p not in matching}
    return {name: space for name, space in prefixes.items() if name in used}


FORMATS: dict[str, ox.RdfFormat] = {
    "turtle": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdfxml": ox.RdfFormat.RDF_XML,
}
DATASET_FORMATS = frozenset({"trig", "nquads"})
PREFIX_FORMATS = frozenset({"turtle", "trig", "jsonld", "rdfxml"})
RDF12_FORMATS = ("turtle", "trig", "ntriples", "nquads")
_SUBJECT_BATCH = 500
_MAX_SORTED_QUADS = 2_000
"""Graphs with up to this many quads are read and sorted as a whole."""

_REIFIED = frozenset({SARAG.subject, SARAG.object, SARAG.property, SARAG.inverseProperty})
"""Properties of relationships that determine the triples that they reify."""

QuadRow = tuple[Any, Any, Any, Any]
"""(subject, predicate, object, graph)"""
Values = Mapping[Any, Any]
"""Relationship -> the literal that it states."""
BlankNodes = Mapping[str, ox.BlankNode]
"""Skolem IRI -> the blank node that it stands for."""
_Statement = TypeVar("_Statement", ox.Triple, ox.Quad)


@dataclass(frozen=True, kw_only=True)
class ExportParts(Options):
    """The parts of a graph to export; by default all graphs that are not imported."""

    name = "RDF exports"
    documents: bool = option(False, "Select the source graphs, which contain the evidence.")
    entities: bool = option(False, "Select entities, their names, classes and links.")
    ontologies: bool = option(False, "Select the ontologies of the graph.")
    graphs: tuple[str, ...] = option((), "Select a named graph by its IRI.", flag="--graph")
    imported: bool = option(False, "Include imported graphs.")
    rdf12: bool = option(False, "Write RDF 1.2, with relationships as reifiers.")


@dataclass(frozen=True, slots=True)
class GraphSelection:
    """IRIs of the graphs to export; of `entity_graph` only statements about entities."""

    graphs: tuple[str, ...]
    entity_graph: str = ""
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.graphs))


class ReadingOrder:
    """The order of subjects for a reader: the data set, things, texts, evidence, and all others.

    Values come after the things, and name uses before the mentions.
    """

    def __init__(self, store: GraphStore, base: str) -> None:
        self._base = base
        values = f"SELECT DISTINCT ?s WHERE {{ GRAPH ?g {{ ?s a {SARAG.Value} }} }}"
        self._values = {iri(row[0]) for row in store.select(values, "s").rows}

    def __call__(self, subject: str) -> tuple[float, str]:
        """The sort key of a subject."""
        segment, _, rest = subject.removeprefix(self._base).partition("/")
        if not subject.startswith(self._base) or segment not in _FIRST_SEGMENTS:
            return len(_FIRST_SEGMENTS), subject
        if segment == "doc" and "#" in rest:  # a name use
            segment = "mention"
        return _FIRST_SEGMENTS.index(segment) + (subject in self._values) / 2, subject

    def of_triple(self, triple: ox.Triple) -> tuple[tuple[float, str], bool, str, str]:
        """The sort key of a triple: by subject, the type first."""
        predicate = triple.predicate
        kept = predicate != RDF.type, predicate.value, str(triple.object)
        return self(iri(triple.subject)), *kept


def _merge_rows(
    rows: Iterable[QuadRow], selection: GraphSelection, values: Values | None, order: ReadingOrder
) -> list[ox.Triple]:
    """The unique, sorted triples of rows that contain all statements about some subjects.

    With `values`, also reifiers. Raises `StoreError` for a blank node, whose label would change
    from export to export.
    """
    triples: dict[ox.Triple, None] = {}
    of_entities: dict[ox.Triple, None] = {}
    for subject, predicate, value, graph in rows:
        iri(subject)
        if graph.value in selection.names:
            into = of_entities if graph.value == selection.entity_graph else triples
            into[ox.Triple(subject, predicate, iri_or_literal(value))] = None
    if values is not None:
        triples |= dict.fromkeys(reifier_triples([*triples, *of_entities], values))
    triples |= dict.fromkeys(_entity_triples([*of_entities]))
    return sorted(triples, key=order.of_triple)


def _rows_by_subject(
    store: GraphStore, graphs: Sequence[str], order: ReadingOrder
) -> Iterator[list[QuadRow]]:
    """Yield all rows of batches of subjects; for several `graphs`, also from other graphs."""
    known: set[str] = set()
    for graph in graphs:
        text = f"SELECT DISTINCT ?s WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        known.update(iri(row[0]) for row in store.select(text, "s").rows)
    subjects = iter(sorted(known, key=order))
    only = ox.NamedNode(graphs[0]) if len(graphs) == 1 else None
    while batch := [ox.NamedNode(subject) for subject in islice(subjects, _SUBJECT_BATCH)]:
        where = f"VALUES ?s {{ {' '.join(map(str, batch))} }} GRAPH {only or '?g'} {{ ?s ?p ?o }}"
        rows = store.select(f"SELECT ?s ?p ?o ?g WHERE {{ {where} }}", "s").rows
        yield [(s, p, o, only or g) for s, p, o, g in rows]


def sorted_triples(
    store: GraphStore, selection: GraphSelection, base: str, *, rdf12: bool = False
) -> Iterator[ox.Triple]:
    """The unique triples of the selected graphs, in the `ReadingOrder` of a graph's base."""
    values = _relationship_values(store) if rdf12 else None
    order = ReadingOrder(store, base)
    for rows in _rows_by_subject(store, selection.graphs, order):
        yield from _merge_rows(rows, selection, values, order)


def sorted_quads(
    store: GraphStore, selection: GraphSelection, base: str, *, rdf12: bool = False
) -> Iterator[ox.Quad]:
    """The quads of the selected graphs, graph by graph, each in the `ReadingOrder`."""
    values = _relationship_values(store) if rdf12 else None
    order = ReadingOrder(store, base)
    for graph in selection.graphs:
        name = ox.NamedNode(graph)
        for rows in _graph_rows(store, graph, order):
            for triple in _merge_rows(rows, selection, values, order):
                yield ox.Quad(triple.subject, triple.predicate, triple.object, name)


def _graph_rows(store: GraphStore, graph: str, order: ReadingOrder) -> Iterator[list[QuadRow]]:
    """The rows of one graph, in one batch if it is small."""
    name = ox.NamedNode(graph)
    quads = islice(store.quads(graph), _MAX_SORTED_QUADS + 1)
    rows: list[QuadRow] = [(q.subject, q.predicate, q.object, name) for q in quads]
    return (
        iter([rows]) if len(rows) <= _MAX_SORTED_QUADS else _rows_by_subject(store, [graph], order)
    )


def _exporter(format_: str) -> Exporter:
    def write(graph: ExportedGraph, output: IO[bytes], parts: ExportParts) -> None:
        write_parts(graph.read(()), format_, output, parts)

    return Exporter(write, ExportParts)


def write_parts(reader: GraphReader, format_: str, output: IO[bytes], parts: ExportParts) -> None:
    """Write parts of a graph to a binary stream, with the prefixes that are used.

    The blank nodes of ontologies, which are stored as IRIs, are written as blank nodes again, since
    OWL 2 requires them for class expressions and lists. Raises `UsageError` for unknown graphs and
    unsuitable formats, and for a predicate that RDF/XML cannot express.
    """
    store, minter = reader.store, reader.minter
    selection = select_graphs(store, minter, parts)
    if parts.rdf12 and format_ not in RDF12_FORMATS:
        raise UsageError(
            f"{format_} does not support RDF 1.2: use one of {', '.join(RDF12_FORMATS)}, or omit "
            "--rdf12"
        )
    if parts.rdf12 and minter.kg_graph not in selection.names:
        raise UsageError(
            "RDF 1.2 adds reifiers of links between entities, which are not in the selected "
            "parts: add --entities, or omit --rdf12"
        )
    is_dataset = format_ in DATASET_FORMATS
    prefixes: dict[str, str] = {}
    if format_ in PREFIX_FORMATS:
        known = ontology_prefixes(store, minter.base) | prefixes_under(minter.base)
        prefixes = used_prefixes(store, known, selection.names, with_names=is_dataset)
        prefixes |= {"rdf": RDF.base} if parts.rdf12 else {}
    sorted_items: Any = sorted_quads if is_dataset else sorted_triples
    items = sorted_items(store, selection, minter.base, rdf12=parts.rdf12)
    if nodes := _blank_nodes(store, minter, selection.graphs):
        items = (_with_blank_nodes(item, nodes) for item in items)
    if format_ == "rdfxml":
        items = check_rdfxml(items, prefixes)
    ox.serialize(items, output, FORMATS[format_], prefixes=prefixes)


def _blank_nodes(store: GraphStore, minter: Minter, graphs: Iterable[str]) -> BlankNodes:
    """The Skolem IRIs in graphs of ontologies, with the blank nodes that they stand for."""
    skolem = re.compile(re.escape(f"{minter.base}genid/") + "([0-9a-f]{32})")
    nodes = {}
    for graph in graphs:
        if minter.kind_of(graph) == "ontologies":
            for quad in store.quads(graph):
                if match := skolem.fullmatch(iri(quad.subject)):
                    nodes[match[0]] = ox.BlankNode(f"b{match[1]}")
    return nodes


def _with_blank_nodes(item: _Statement, nodes: BlankNodes) -> _Statement:
    """The triple or quad with blank nodes for these IRIs as subject and object."""
    subject = nodes.get(iri(item.subject), item.subject)
    object_ = item.object
    if isinstance(object_, ox.NamedNode):
        object_ = nodes.get(object_.value, object_)
    if isinstance(item, ox.Quad):
        return ox.Quad(subject, item.predicate, object_, item.graph_name)
    return ox.Triple(subject, item.predicate, object_)


def select_graphs(store: GraphStore, minter: Minter, parts: ExportParts) -> GraphSelection:
    """The graphs of parts, without quarantine; raises `UsageError` for an unknown graph."""
    kinds = {name: minter.kind_of(name) for name in graph_names(store, minter.graphs)}
    names = [name for name, kind in kinds.items() if kind != "quarantine"]
    for name in parts.graphs:
        if name not in names:
            matches = get_close_matches(name, names, cutoff=0.0)
            closest = ", ".join(f"<{match}>" for match in matches)
            hint = f"did you mean one of {closest}?" if closest else "the store has no graphs"
            raise UsageError(f"no such graph: <{name}>; {hint}")
    requested = set(parts.graphs)
    whole = not (parts.documents or parts.entities or parts.ontologies or parts.graphs)
    for name in names:
        kind = kinds[name]
        if (
            (parts.documents and kind == "sources")
            or (parts.ontologies and kind == "ontologies")
            or (parts.imported if kind == "imported" else whole)
        ):
            requested.add(name)
    entity_graph = minter.kg_graph if parts.entities and minter.kg_graph not in requested else ""
    if entity_graph in names:
        requested.add(entity_graph)
    return GraphSelection(tuple(sorted(requested)), entity_graph)


def _entity_triples(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """The triples about entities; `triples` must contain all statements about their subjects.

    Links to values, such as dates and adjectives, are omitted with the values.
    """
    entities = {t.subject for t in triples if t.object == SARAG.Entity}
    values: set[object] = {t.subject for t in triples if t.object == SARAG.Value}
    return [t for t in triples if t.subject in entities and t.object not in values]


_VALUES = f"""SELECT DISTINCT ?relationship ?value WHERE {{
  GRAPH ?g {{ ?relationship {SARAG.value} ?value ; {SARAG.valueText} ?text }}
}}"""


def _relationship_values(store: GraphStore) -> Values:
    """The values of relationships, which are in other graphs than the triples that they state."""
    return dict(store.select(_VALUES, "relationship").rows)


def reifier_triples(triples: Iterable[ox.Triple], values: Values) -> list[ox.Triple]:
    """``<relationship> rdf:reifies <<( subject property object )>>`` for each relationship.

    The property is sarag:relatedTo; a typed relationship also reifies its statement. `triples` must
    contain all statements about their subjects, and `values` the values of relationships.
    """
    parts: defaultdict[Any, dict[Any, Any]] = defaultdict(dict)
    for triple in triples:
        if triple.predicate in _REIFIED:
            parts[triple.subject][triple.predicate] = triple.object
    reified: list[ox.Triple] = []
    for node, part in parts.items():
        subject, object_ = part.get(SARAG.subject), part.get(SARAG.object)
        property_, inverse = part.get(SARAG.property), part.get(SARAG.inverseProperty)
        value = values.get(node, object_)
        candidates = (
            (subject, SARAG.relatedTo, object_),
            (subject, property_, value),
            (object_, inverse, subject),
        )
        reified += [
            ox.Triple(node, RDF.reifies, ox.Triple(*terms))
            for terms in candidates
            if None not in terms
        ]
    return reified


_NODE: Final = ox.NamedNode("urn:x")
_RESERVED_NAMES: Final = frozenset(
    RDF.base + name
    for name in (
        *("RDF", "ID", "Description", "about", "parseType", "resource", "nodeID", "datatype"),
        *("li", "aboutEach", "aboutEachPrefix", "bagID"),
    )
)
"""Names that cannot be predicates in RDF/XML (RDF 1.1 XML Syntax, section 5.1)."""


def check_rdfxml(
    statements: Iterable[_Statement], prefixes: Mapping[str, str]
) -> Iterator[_Statement]:
    """Yield the statements; raises `UsageError` for one that RDF/XML cannot express.

    Predicates of triple terms are checked too. Each predicate is checked once, by parsing the
    XML that the engine writes for it.
    """
    known: set[str] = set()
    for statement in statements:
        inner: object = statement
        while isinstance(inner, ox.Triple | ox.Quad):
            predicate, inner = inner.predicate, inner.object
            if predicate.value not in known:
                if predicate.value in _RESERVED_NAMES or not _is_writable(
                    predicate, dict(prefixes)
                ):
                    raise UsageError(
                        f"RDF/XML cannot express the predicate <{predicate.value}>: use another "
                        "format, such as Turtle (text/turtle)"
                    )
                known.add(predicate.value)
        if isinstance(inner, ox.Literal) and NOT_IN_XML.search(inner.value):
            raise UsageError(
                "RDF/XML cannot express a literal with control characters: use another format, "
                "such as Turtle (text/turtle)"
            )
        yield statement


def _is_writable(predicate: ox.NamedNode, prefixes: dict[str, str]) -> bool:
    triple = ox.Triple(_NODE, predicate, _NODE)
    rdf_xml = ox.serialize([triple], format=ox.RdfFormat.RDF_XML, prefixes=prefixes)
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(rdf_xml or b"", True)
    except expat.ExpatError:
        return False
    return True


TURTLE, TRIG, N_TRIPLES, N_QUADS, JSON_LD, RDF_XML = map(_exporter, FORMATS)
