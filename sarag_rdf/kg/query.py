"""SPARQL queries over chosen parts of a graph."""

from __future__ import annotations

from collections.abc import Sequence

from sarag_rdf.graph.parts import covers_all_graphs, dataset_graphs
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
        reader, over = snapshot.reader, over or session.over
        if traits.names_dataset:
            return reader.store.query(text)
        if reader.over is not None or covers_all_graphs(reader, over):
            return reader.store.query(text, union=True)
        return reader.store.query(text, default_graphs=dataset_graphs(reader, over))
