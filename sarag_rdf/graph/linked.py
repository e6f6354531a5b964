"""Links that start from entities which are no more."""

from __future__ import annotations

from pyoxigraph import Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import OWL


def linked_in_vain(reader: GraphReader) -> list[str]:
    """IRIs that links start from and that no entity has."""
    linked = {entity.value for (entity,) in reader.kept("entities-linked")}
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
