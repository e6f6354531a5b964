"""Puts a graph in order whose last change was broken off.

`repair` does it for what can happen behind an endpoint: such a graph is described but has no
revision. That is taken away before anything else is changed, and given back at the end. `heal`
does it for a graph in a folder that an earlier version was writing to when it was killed.
"""

from __future__ import annotations

import logging

from sarag_rdf.derive.incremental import rebuild
from sarag_rdf.graph.metadata import read_meta, revised
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.skolem import Skolemizer, has_blank_node
from sarag_rdf.index.quarantine import inspect_evidence
from sarag_rdf.ports import Change

log = logging.getLogger(__name__)


def repair(reader: GraphReader) -> bool:
    """Drop sources that are there in part, derive all anew, and give a revision, if need be."""
    meta = read_meta(reader.store)
    if meta is None or meta.revision:
        return False
    reader.store.apply(Change(drop=tuple(_partial(reader))))
    reader.store.apply(revised(reader, rebuild(reader), meta=()))
    return True


def heal(reader: GraphReader) -> None:
    """Make a graph whole after a write that changed evidence and nothing else.

    Blank nodes get IRIs. Source graphs that do not conform, or are there in part, are dropped with
    a warning: nothing can be derived from them. The traversed graph is derived from the rest.
    """
    if read_meta(reader.store) is None:
        return
    blank = [quad for quad in reader.store.quads() if has_blank_node(quad)]
    graphs = {quad.graph_name.value: None for quad in blank if hasattr(quad.graph_name, "value")}
    named = Skolemizer(reader.minter.base)
    kept = [quad for graph in graphs for quad in named.quads(reader.store.quads(graph))]
    reader.store.apply(Change(drop=tuple(graphs), insert=tuple(kept)))
    dropped = {*_partial(reader), *_unsound(reader)}
    for graph in sorted(dropped):
        log.warning(
            "a write to %s was broken off and left what does not conform: it is dropped; index "
            "the files again",
            graph,
        )
    reader.store.apply(Change(drop=tuple(dropped)))
    reader.store.apply(revised(reader, rebuild(reader)))


def _partial(reader: GraphReader) -> list[str]:
    """Source graphs that do not describe their source."""
    whole = {source.value for source, *_ in reader.select_provenance("source-states")}
    known = {reader.minter.source_graph(source) for source in whole}
    return [
        graph.value
        for (graph,) in reader.select_provenance("source-graphs")
        if graph.value not in known
    ]


def _unsound(reader: GraphReader) -> list[str]:
    """Source graphs that the gate would keep out."""
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    return [g for g in graphs if not inspect_evidence(reader.store.quads(g)).conforms]
