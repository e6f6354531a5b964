"""The parts of a knowledge graph: documents, imported graphs, links, ontologies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import SHARED_GRAPHS, Minter
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import (
    DCTERMS,
    OWL,
    PROV,
    RDFS,
    SARAG,
    VANN,
    VOID,
    iri,
    iri_or_literal,
    text_of,
)
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader, Part
from sarag_rdf.graph.metadata import now, run_quads
from sarag_rdf.graph.records import by_subject, record_of, record_quads, stored
from sarag_rdf.graph.store.oxigraph import OxigraphStore

ALL = "all"
"""The name that selects all parts."""
LINKS = "links"
COMPLETE = "complete"
"""State of an imported graph whose import has finished."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The metadata of an imported graph: its origin, how it is read, the progress of its import.

    `state` is `COMPLETE`, or the number of triples up to the last checkpoint; the number of
    `triples` is known of complete graphs. `label`, `alias` and `description` are the properties for
    names and descriptions.
    """

    name: str = stored(DCTERMS.identifier)
    kind: str = stored(SARAG.kind)
    graph: str = stored(SARAG.graph, "iri")
    origin: str = stored(DCTERMS.source)
    sha256: str = stored(SARAG.sha256)
    settings: str = stored(SARAG.settings)
    state: str = stored(SARAG.importState, default="0")
    triples: int | None = stored(VOID.triples, "integer", None)
    label: tuple[str, ...] = stored(SARAG.labelProperty, "iri", many=True)
    alias: tuple[str, ...] = stored(SARAG.aliasProperty, "iri", many=True)
    description: tuple[str, ...] = stored(SARAG.descriptionProperty, "iri", many=True)
    iri: str = ""
    """The node of the metadata."""

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """Properties by role, without roles that have none."""
        roles = {"alias": self.alias, "description": self.description, "label": self.label}
        return {role: properties for role, properties in roles.items() if properties}


def imported_graphs(reader: GraphReader) -> list[Imported]:
    """All imported graphs that may be read, complete or not, ordered by name."""
    nodes = by_subject(reader.store.quads(reader.minter.meta_graph))
    imports = (
        record_of(Imported, quads, iri=node)
        for node, quads in nodes.items()
        if any(quad.object == SARAG.ImportedGraph for quad in quads)
    )
    readable = (i for i in imports if i.name and i.graph and reader.may_read(i.graph))
    return sorted(readable, key=lambda imported: imported.name)


def select_parts(
    reader: GraphReader, over: Sequence[str] = (), *, without: str = ""
) -> GraphReader:
    """The reader of the parts in `over`, or of all but `without`; raises `UsageError`."""
    imported = {i.name: i for i in imported_graphs(reader)}
    names = _part_names(over or [ALL], imported)
    if not over and without != DOCUMENTS:
        names = [name for name in names if name != without]
    if names == [DOCUMENTS]:
        return reader
    parts = [reader.own if name == DOCUMENTS else _part(reader, imported[name]) for name in names]
    if len(parts) > 1 and reader.may_read(reader.minter.links_graph):
        graphs = {"links": reader.minter.links_graph}
        parts.append(Part(LINKS, LINKS, graphs, reader.store))
    return replace(reader, over=tuple(parts))


def default_graphs(reader: GraphReader, over: Sequence[str] = ()) -> list[str] | None:
    """The named graphs, sorted, whose union is the default graph of a query over some parts.

    None means all named graphs, over whose union a query is far faster: `over` names all parts, or
    `reader` reads a graph that sarag did not write. The default is the part of the documents: all
    graphs that were not imported, including links, decisions, metadata and runs. The links are
    also included with several imported graphs, and the entailed graph with one for which entailment
    is on. Raises `UsageError` for an unknown name.
    """
    if reader.over is not None:
        return None
    imported = {i.name: i for i in imported_graphs(reader)}
    names = _part_names(over or [DOCUMENTS], imported)
    if {DOCUMENTS, *imported}.issubset(names):
        return None
    graphs = {imported[name].graph for name in names if name != DOCUMENTS}
    entailed, meta = reader.minter.entailed_graph, reader.store.quads(reader.minter.meta_graph)
    if reader.may_read(entailed) and graphs & recorded_graphs(reader.minter, meta):
        graphs.add(entailed)
    if len(names) > 1:
        graphs.add(reader.minter.links_graph)
    if DOCUMENTS in names:
        others = {i.graph for i in imported.values()}
        graphs.update(graph for graph in reader.store.graphs() if graph not in others)
    return sorted(graphs)


def recorded_graphs(minter: Minter, meta: Iterable[Quad]) -> set[str]:
    """The graphs for which entailment is on, according to the metadata."""
    node = NamedNode(minter.entailed_graph)
    return {
        text_of(q.object) for q in meta if q.subject == node and q.predicate == PROV.wasDerivedFrom
    }


def _part_names(over: Sequence[str], imported: dict[str, Imported]) -> list[str]:
    """The part names in `over` without duplicates; `ALL` stands for all complete parts."""
    for name in over:
        if name in imported and imported[name].state != COMPLETE:
            raise UsageError(
                f"the import of '{name}' is not complete: run the same sarag import again"
            )
        known = [ALL, DOCUMENTS, *imported]
        if name not in known:
            closest = get_close_matches(name, known, 1)
            hint = f"; did you mean {closest[0]}?" if closest else ""
            raise UsageError(f"no such graph: '{name}': use one of {', '.join(known)}{hint}")
    if ALL in over:
        return [DOCUMENTS, *(name for name, i in imported.items() if i.state == COMPLETE)]
    return list(dict.fromkeys(over))


def _part(reader: GraphReader, imported: Imported) -> Part:
    graphs, ontologies = {"kg": imported.graph}, tuple(o.graph for o in stored_ontologies(reader))
    return Part(imported.name, imported.kind, graphs, reader.store, imported.paths, ontologies)


def accessible_graphs(
    reader: GraphReader, allow: Sequence[str] | None, deny: Sequence[str]
) -> frozenset[str]:
    """The named graphs that may be read: all or those in `allow`, without those in `deny`.

    Both contain names of parts (`DOCUMENTS`, `LINKS`, imported graphs) or IRIs of graphs. What is
    derived from a graph that may not be read may not be read either: all that is derived from the
    documents, if one of their graphs is denied; and links, entailments, metadata and runs if any
    graph is, unless `allow` names them. That follows from the two lists alone, and not from the
    graphs that there are: else their effect would tell whether a denied graph exists.
    """
    minter = reader.minter
    shared = {minter.graph(kind) for kind in SHARED_GRAPHS}
    every = set(reader.store.graphs())
    parts = {i.name: {i.graph} for i in imported_graphs(reader)}
    documents = every.difference(shared, *parts.values())
    parts |= {DOCUMENTS: documents, LINKS: {minter.links_graph}}

    def named(names: Sequence[str]) -> set[str]:
        return {graph for name in names for graph in parts.get(name, {name})}

    listed = named(allow or ()) & every
    readable = listed if allow is not None else every - shared
    if not (allow is None or DOCUMENTS in allow) or any(
        name == DOCUMENTS or _is_of_documents(reader, name) for name in deny
    ):
        derived = {graph for graph in documents if minter.kind_of(graph) != "sources"}
        readable -= derived - listed
    if allow is None and set(deny) <= shared | {LINKS}:
        readable |= shared & every
    return frozenset(readable - named(deny))


def _is_of_documents(reader: GraphReader, graph: str) -> bool:
    """Whether the IRI is that of a graph which the library writes for the documents."""
    kind = reader.minter.kind_of(graph)
    return (
        graph.startswith(reader.minter.graphs) and kind != "imported" and kind not in SHARED_GRAPHS
    )


def part_graphs(reader: GraphReader, over: Sequence[str] = ()) -> dict[str, frozenset[str]]:
    """The parts in `over`, by default all, with their named graphs; raises `UsageError`."""
    imported = {i.name: i for i in imported_graphs(reader)}
    documents = frozenset(g for g in reader.store.graphs() if _is_of_documents(reader, g))
    return {
        name: documents if name == DOCUMENTS else frozenset({imported[name].graph})
        for name in _part_names(over or [ALL], imported)
    }


_GRAPHS = "SELECT ?g WHERE { GRAPH ?g { } FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"
_GRAPHS_UNDER = """SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } FILTER(STRSTARTS(STR(?g), %s)) }
GROUP BY ?g"""
"""Slower than `_GRAPHS`, but supported by more servers."""


def graph_names(store: GraphStore, under: str = "") -> list[str]:
    """The IRIs of all non-empty named graphs, sorted; in a shared store those below `under`."""
    text = _GRAPHS_UNDER % Literal(under) if store.is_shared else _GRAPHS
    return sorted(iri(row[0]) for row in store.select(text, "g").rows)


def local_store(reader: GraphReader) -> OxigraphStore:
    """The store of a graph that sarag wrote; of one behind an endpoint, a copy of its graphs."""
    store = reader.store
    if isinstance(store, OxigraphStore):
        return store
    names = graph_names(store, reader.minter.graphs)
    return OxigraphStore.copy_of(quad for name in names for quad in store.quads(name))


def graph_size(store: GraphStore, graph: str) -> int:
    """The number of triples in a named graph."""
    text = query_file("index", "graph-size").fill(None, {"kg": graph})
    ((size,),) = store.select(text, "triples").rows
    return int(size.value)


def dangling_link_subjects(reader: GraphReader) -> list[str]:
    """IRIs of the subjects of links that are no longer entities."""
    linked = {entity.value for (entity,) in reader.select_provenance("entities-linked")}
    own = GraphReader(reader.store, reader.minter)
    return sorted(linked - {row[0].value for row in own.rows_for("entity-names", linked)})


def dangling_links(reader: GraphReader) -> list[Quad]:
    """All quads of links whose subject is no longer an entity, with those of their provenance."""
    dangling = set(dangling_link_subjects(reader))
    if not dangling:
        return []
    quads = list(reader.store.quads(reader.minter.links_graph))
    nodes = {
        quad.subject
        for quad in quads
        if quad.predicate == OWL.annotatedSource and text_of(quad.object) in dangling
    }
    return [quad for quad in quads if quad.subject in nodes or text_of(quad.subject) in dangling]


# --------------------------------------------------------------------------------------- Ontologies


@dataclass(frozen=True, slots=True)
class StoredOntology:
    """An ontology of a graph: the IRI of its named graph, and where it came from.

    `source` is the IRI of the file, `sha256` its digest, `triples` their number, `added` the time
    at which it was added (ISO 8601), or empty if that is not recorded. `prefix` is the one that the
    file declares for the `namespace` of its terms.
    """

    name: str = stored(DCTERMS.identifier)
    graph: str = ""
    source: str = stored(DCTERMS.source, default="")
    sha256: str = stored(SARAG.sha256, default="")
    title: str = stored(RDFS.label, default="")
    version: str = stored(OWL.versionInfo, default="")
    triples: int = stored(VOID.triples, "integer", 0)
    prefix: str = stored(VANN.preferredNamespacePrefix, default="")
    namespace: str = stored(VANN.preferredNamespaceUri, default="")
    added: str = ""


def stored_ontologies(reader: GraphReader) -> list[StoredOntology]:
    """The ontologies of a graph that may be read, ordered by name."""
    minter = reader.minter
    added: dict[str, str] = {}
    for graph, time in reader.select_provenance("ontologies-added"):
        added[graph.value] = max(time.value, added.get(graph.value, ""))
    ontologies = (
        record_of(StoredOntology, quads, graph=graph, added=added.get(graph, ""))
        for graph, quads in by_subject(reader.store.quads(minter.meta_graph)).items()
        if minter.kind_of(graph) == "ontologies" and reader.may_read(graph)
    )
    return sorted((o for o in ontologies if o.name), key=lambda ontology: ontology.name)


def ontology_triples(reader: GraphReader, names: Iterable[str] = ()) -> Iterator[Triple]:
    """The triples of the ontologies with these names, or of all; one in several is repeated."""
    requested = frozenset(names)
    for ontology in stored_ontologies(reader):
        if not requested or ontology.name in requested:
            yield from (quad.triple for quad in reader.store.quads(ontology.graph))


def ontology_added(
    reader: GraphReader, ontology: StoredOntology, triples: Sequence[Triple]
) -> tuple[list[Quad], Change]:
    """The quads of an ontology, and the change of metadata that storing them implies."""
    graph = NamedNode(ontology.graph)
    content = [Quad(t.subject, t.predicate, iri_or_literal(t.object), graph) for t in triples]
    run = run_quads(reader, "ontology added", now(), added=[graph.value])
    metadata = record_quads(ontology, graph, reader.minter.meta_graph, VOID.Dataset)
    return content, Change((), tuple(_stored_metadata(reader, graph)), (*metadata, *run))


def ontology_removed(reader: GraphReader, ontology: StoredOntology) -> Change:
    """The change of metadata when an ontology is removed."""
    graph = NamedNode(ontology.graph)
    run = run_quads(reader, "ontology removed", now(), removed=[graph.value])
    return Change((), tuple(_stored_metadata(reader, graph)), tuple(run))


def _stored_metadata(reader: GraphReader, graph: NamedNode) -> list[Quad]:
    quads = reader.store.quads(reader.minter.meta_graph)
    return [quad for quad in quads if iri(quad.subject) == graph.value]
