"""The revision of a graph: every change gives it another, and caches are valid for one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ports import Change
from sarag_rdf.vocab import SARAG


def revised(reader: GraphReader, change: Change, *, meta: Iterable[Quad] | None = None) -> Change:
    """The same change with a new revision; `meta` is what the description holds, if known.

    A graph that is described and has no revision gets none: its last change was broken off, which
    `repair` must find.
    """
    minter = reader.minter
    known = tuple(reader.store.quads(minter.meta_graph) if meta is None else meta)
    old = tuple(quad for quad in known if quad.predicate == SARAG.revision)
    if known and not old:
        return change
    node, graph = NamedNode(minter.knowledge_graph), NamedNode(minter.meta_graph)
    new = Quad(node, SARAG.revision, Literal(uuid.uuid4().hex), graph)
    return replace(change, delete=(*change.delete, *old), insert=(*change.insert, new))
