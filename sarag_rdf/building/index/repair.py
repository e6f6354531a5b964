"""Repair of a graph after an interrupted write.

`repair` is for graphs behind an endpoint: a change removes the revision first and writes it last,
so that after an interruption the graph is described but has no revision. `recover` is for a graph
in a folder whose last write, by an earlier version of the library, was killed.
"""

from __future__ import annotations

import logging

from sarag_rdf.base.ports import Change
from sarag_rdf.building.derive.incremental import rebuild
from sarag_rdf.building.index.quarantine import validate_evidence
from sarag_rdf.graph.metadata import read_meta, with_revision
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.skolem import Skolemizer, has_blank_node

log = logging.getLogger(__name__)


def repair(reader: GraphReader) -> bool:
    """Drop incomplete sources, rebuild derived data and set a revision; false if not necessary."""
    meta = read_meta(reader.store)
    if meta is None or meta.revision:
        return False
    reader.store.apply(Change(drop=tuple(_incomplete(reader))))
    reader.store.apply(with_revision(reader, rebuild(reader), meta=()))
    return True


def recover(reader: GraphReader) -> None:
    """Repair a graph after a write that changed evidence but not derived data.

    Blank nodes are replaced by IRIs. Incomplete source graphs, and those that do not conform, are
    dropped with a warning. The traversed graph is rebuilt from the rest.
    """
    if read_meta(reader.store) is None:
        return
    blank = [quad for quad in reader.store.quads() if has_blank_node(quad)]
    graphs = {quad.graph_name.value: None for quad in blank if hasattr(quad.graph_name, "value")}
    skolemizer = Skolemizer(reader.minter.base)
    quads = [quad for graph in graphs for quad in skolemizer.quads(reader.store.quads(graph))]
    reader.store.apply(Change(drop=tuple(graphs), insert=tuple(quads)))
    dropped = {*_incomplete(reader), *_invalid(reader)}
    for graph in sorted(dropped):
        log.warning(
            "dropped %s, which does not conform after an interrupted write: index its files again",
            graph,
        )
    reader.store.apply(Change(drop=tuple(dropped)))
    reader.store.apply(with_revision(reader, rebuild(reader)))


def _incomplete(reader: GraphReader) -> list[str]:
    """Source graphs without the description of their source."""
    sources = {source.value for source, *_ in reader.select_provenance("source-states")}
    complete = {reader.minter.source_graph(source) for source in sources}
    return [
        graph.value
        for (graph,) in reader.select_provenance("source-graphs")
        if graph.value not in complete
    ]


def _invalid(reader: GraphReader) -> list[str]:
    """Source graphs that do not conform to the shapes."""
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    return [g for g in graphs if not validate_evidence(reader.store.quads(g)).conforms]
