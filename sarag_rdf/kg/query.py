"""SPARQL queries over chosen parts of a graph."""

from __future__ import annotations

from collections.abc import Sequence

from sarag_rdf.graph.parts import default_graphs
from sarag_rdf.kg.session import Session
from sarag_rdf.ports import Table, Triples


def run_query(
    session: Session, text: str, *, over: Sequence[str] = (), allow_service: bool = False
) -> Table | Triples | bool:
    """Run a query over the parts in `over`; see `KnowledgeGraph.query`."""
    from sarag_rdf.rdf.query_guard import check_query, refuse_network  # a search needs no parser

    traits = check_query(text)
    if not allow_service:
        refuse_network(traits)
    with session.read() as snapshot:
        store = snapshot.reader.store
        if traits.names_dataset:
            return store.query(text)
        graphs = default_graphs(snapshot.reader, over or session.over)
        return store.query(text, union=graphs is None, default_graphs=graphs)
