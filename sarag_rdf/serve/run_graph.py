"""Reads one graph for the Graph Store Protocol.

Nodes that came in as blank, and are stored under IRIs of ``/.well-known/genid/``, go out as blank
nodes again (RDF 1.1 Concepts, 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from sarag_rdf.serve.jobs import ReadGraphJob, Reply, RequestError
from sarag_rdf.serve.media import GRAPHS, content_type
from sarag_rdf.serve.run_query import accepted, serialize
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.skolem import blank_again
from sarag_rdf.serve.spool import Spool


def graph_exists(store: ox.Store, graph: str | None) -> bool:
    """Whether there is such a named graph; the default graph always exists."""
    return graph is None or store.contains_named_graph(ox.NamedNode(graph))


def read_graph(store: ox.Store, job: ReadGraphJob, settings: ServeSettings, spool: Spool) -> Reply:
    """All triples of a graph, without a limit; raises `RequestError` (404, 406)."""
    media_type = accepted(job.accept, GRAPHS)
    if not graph_exists(store, job.graph):
        raise RequestError(404, f"there is no graph {job.graph}")
    triples = map(blank_again, _triples(store, job.graph, union=settings.union))
    serialize(triples, spool, GRAPHS[media_type])
    data, path = spool.done()
    return Reply(200, content_type(media_type), data, path)


def _triples(store: ox.Store, graph: str | None, *, union: bool) -> Iterator[Any]:
    if graph is None and union:
        found = store.query(
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", use_default_graph_as_union=True
        )
        assert isinstance(found, ox.QueryTriples)  # noqa: S101 - it is a CONSTRUCT
        yield from found
        return
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    for quad in store.quads_for_pattern(None, None, None, name):
        yield quad.triple
