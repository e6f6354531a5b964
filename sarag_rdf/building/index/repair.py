"""Repair of a graph behind an endpoint after an interrupted write.

A change removes the revision first and writes it last, so that after an interruption the graph is
described but has no revision.
"""

from __future__ import annotations

from sarag_rdf.base.ports import Change
from sarag_rdf.building.derive.incremental import rebuild
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta, with_revision


def repair(reader: GraphReader) -> bool:
    """Drop incomplete sources, rebuild derived data and set a revision; false if not necessary."""
    meta = read_meta(reader.store)
    if meta is None or meta.revision:
        return False
    reader.store.apply(Change(drop=tuple(_incomplete(reader))))
    reader.store.apply(with_revision(reader, rebuild(reader), meta=()))
    return True


def _incomplete(reader: GraphReader) -> list[str]:
    """Source graphs without the description of their source."""
    sources = {source.value for source, *_ in reader.select_provenance("source-states")}
    complete = {reader.minter.source_graph(source) for source in sources}
    return [
        graph.value
        for (graph,) in reader.select_provenance("source-graphs")
        if graph.value not in complete
    ]
