"""Puts a graph in order whose last change was broken off, which can happen behind an endpoint.

Such a graph is described but has no revision: that is taken away before anything else is changed,
and given back at the end.
"""

from __future__ import annotations

from sarag_rdf.graph.meta import read_meta
from sarag_rdf.graph.revision import revised
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.refresh import rebuild
from sarag_rdf.ports import Change


def repair(reader: GraphReader) -> bool:
    """Drop sources that are there in part, derive all anew, and give a revision, if need be."""
    meta = read_meta(reader.store)
    if meta is None or meta.revision:
        return False
    whole = {source.value for source, *_ in reader.kept("source-states")}
    known = {reader.minter.source_graph(source) for source in whole}
    partial = tuple(g.value for (g,) in reader.kept("source-graphs") if g.value not in known)
    reader.store.apply(Change(drop=partial))
    reader.store.apply(revised(reader, rebuild(reader), meta=()))
    return True
