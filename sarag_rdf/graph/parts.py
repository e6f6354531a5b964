"""The parts of a knowledge graph: its documents, the graphs that were imported, the links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from pyoxigraph import Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader, Part
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import OWL

ALL = "all"
"""Stands for all parts."""
LINKS = "links"
COMPLETE = "complete"
"""State of an imported graph that can be read."""


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported graph as the data set describes it; `state` is `COMPLETE` or how far it came."""

    iri: str
    name: str
    kind: str
    graph: str
    state: str
    paths: dict[str, list[str]] = field(default_factory=dict)


def imported_graphs(reader: GraphReader) -> list[Imported]:
    """All imported graphs, by name, complete or not."""
    found: dict[str, Imported] = {}
    paths: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for node, name, kind, graph, state, path, property_ in reader.select_provenance("imports"):
        values = (node.value, name.value, kind.value, graph.value, state.value)
        found[name.value] = Imported(*values)
        if path is not None:
            paths[name.value].setdefault(path.value, []).append(property_.value)
    return [
        replace(found[name], paths={key: sorted(v) for key, v in sorted(paths[name].items())})
        for name in sorted(found)
    ]


def searched(reader: GraphReader, over: Sequence[str] = ()) -> GraphReader:
    """The reader of the parts named in `over` (`ALL` for all), or of all that there are.

    Several parts are read with the links between them. Raises `UsageError` for an unknown name.
    """
    imported = {i.name: i for i in imported_graphs(reader)}
    wanted = _wanted(over or [ALL], imported)
    if wanted == [DOCUMENTS]:
        return reader
    parts = [reader.own if name == DOCUMENTS else _part(reader, imported[name]) for name in wanted]
    if len(parts) > 1:
        graphs = {"links": reader.minter.links_graph}
        parts.append(Part(LINKS, LINKS, graphs, reader.store))
    return replace(reader, over=tuple(parts))


def dataset_graphs(reader: GraphReader, over: Sequence[str] = ()) -> list[str]:
    """The named graphs of the parts in `over`, sorted: the default graph of a query over them.

    Without `over` they are those of the documents: every graph that was not imported, among them
    the links, the decisions and the descriptions of the data set and its runs. Several imported
    graphs come with the links, too. Raises `UsageError` for an unknown name.
    """
    imported = {i.name: i for i in imported_graphs(reader)}
    wanted = _wanted(over or [DOCUMENTS], imported)
    found = {imported[name].graph for name in wanted if name != DOCUMENTS}
    if len(wanted) > 1:
        found.add(reader.minter.links_graph)
    if DOCUMENTS in wanted:
        others = {i.graph for i in imported.values()}
        found.update(graph for graph in reader.store.graphs() if graph not in others)
    return sorted(found)


def is_whole(reader: GraphReader, over: Sequence[str] = ()) -> bool:
    """Whether `dataset_graphs` would give all graphs: their union is asked far faster.

    Raises what that raises.
    """
    imported = {i.name: i for i in imported_graphs(reader)}
    return {DOCUMENTS, *imported}.issubset(_wanted(over or [DOCUMENTS], imported))


def _wanted(over: Sequence[str], imported: dict[str, Imported]) -> list[str]:
    """The names of parts in `over`, each once; `ALL` stands for those that are complete."""
    for name in over:
        known = name in (ALL, DOCUMENTS) or name in imported
        if not known or (name in imported and imported[name].state != COMPLETE):
            raise UsageError(_unknown(name, imported))
    if ALL in over:
        return [DOCUMENTS, *(name for name, i in imported.items() if i.state == COMPLETE)]
    return list(dict.fromkeys(over))


def _part(reader: GraphReader, imported: Imported) -> Part:
    graphs = {"kg": imported.graph}
    return Part(imported.name, imported.kind, graphs, reader.store, imported.paths)


def _unknown(name: str, imported: dict[str, Imported]) -> str:
    if name in imported:
        return f"the import of '{name}' is not complete: run the same  sarag import  again"
    names = [ALL, DOCUMENTS, *imported]
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no graph '{name}' here: choose of {', '.join(names)}{hint}"


def linked_in_vain(reader: GraphReader) -> list[str]:
    """IRIs that links start from and that no entity has."""
    linked = {entity.value for (entity,) in reader.select_provenance("entities-linked")}
    own = GraphReader(reader.store, reader.minter)
    return sorted(linked - {row[0].value for row in own.rows_for("entity-names", linked)})


def links_in_vain(reader: GraphReader) -> list[Quad]:
    """All quads of these links: the link itself, and what is known of it."""
    gone = set(linked_in_vain(reader))
    if not gone:
        return []
    quads = list(reader.store.quads(reader.minter.links_graph))
    nodes = {
        quad.subject
        for quad in quads
        if quad.predicate == OWL.annotatedSource and text_of(quad.object) in gone
    }
    return [quad for quad in quads if quad.subject in nodes or text_of(quad.subject) in gone]
