"""Answers queries and reads graphs from a snapshot, in the requested format."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import pyoxigraph as ox

from sarag_rdf.errors import QueryError, UsageError
from sarag_rdf.export.rdf import check_rdfxml
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.skolem import Unskolemizer
from sarag_rdf.iris import DEFAULT_BASE
from sarag_rdf.rdf.oxigraph import OxigraphStore
from sarag_rdf.rdf.query_guard import inspect_query, refuse_network
from sarag_rdf.rdf.sparql_tokens import undeclared_prefix
from sarag_rdf.serve import tables
from sarag_rdf.serve.http import GRAPHS, TABLES, accepted, content_type
from sarag_rdf.serve.jobs import QueryJob, ReadGraphJob, Reply, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Snapshot
from sarag_rdf.serve.spool import Spool
from sarag_rdf.vocab import PREFIXES

MAX_ROWS = "X-SPARQL-MaxRows"
TRUNCATED = "X-SPARQL-Truncated"
_MESSAGE = 300
_Item = TypeVar("_Item")


class Limited(Iterable[_Item]):
    """At most `limit` items of an iterator (0 for all); `truncated` once there were more."""

    def __init__(self, items: Iterator[_Item], limit: int) -> None:
        self._items = items
        self._limit = limit
        self.truncated = False

    def __iter__(self) -> Iterator[_Item]:
        if not self._limit:
            yield from self._items
            return
        yield from islice(self._items, self._limit)
        self.truncated = next(self._items, None) is not None


def run_query(snapshot: Snapshot, job: QueryJob, settings: ServeSettings, spool: Spool) -> Reply:
    """The answer to a query; raises `RequestError`, `StoreError`."""
    result = _evaluate(snapshot, job, settings)
    if isinstance(result, ox.QueryBoolean):
        media_type = accepted(job.accept, TABLES)
        data = tables.boolean(bool(result), TABLES[media_type])
        return Reply(200, content_type(media_type), data)
    if isinstance(result, ox.QueryTriples):
        return _triples(result, job, settings, spool)
    return _rows(result, job, settings, spool)


def evaluate_errors(error: Exception, sparql: str = "") -> RequestError:
    """What the engine said of `sparql`, as an error of the request."""
    text = textwrap.shorten(str(error), _MESSAGE, placeholder=" ...")
    if isinstance(error, SyntaxError):
        text = undeclared_prefix(sparql) or text
        return RequestError(400, f"the text does not parse: {text}")
    return RequestError(400, f"this cannot be evaluated: {text}")


def _evaluate(snapshot: Snapshot, job: QueryJob, settings: ServeSettings) -> Any:
    """The data set of the protocol counts before that of the query (SPARQL 1.1 Protocol, 2.1.4).

    Where neither names one, it is the union of some parts of the graph.
    """
    try:
        traits = inspect_query(job.text)
    except QueryError as error:
        raise RequestError(400, str(error)) from error
    if not settings.allow_service:
        try:
            refuse_network(traits)
        except QueryError as error:
            raise RequestError(403, str(error)) from error
    named = job.default_graphs is not None or job.named_graphs is not None
    store, graphs = snapshot.store(), dict[str, Any]()
    if named and job.over:
        raise RequestError(400, "the data set is named twice: by 'over' and by IRIs of graphs")
    if named:
        graphs["default_graph"] = [ox.NamedNode(iri) for iri in job.default_graphs or ()]
        graphs["named_graphs"] = [ox.NamedNode(iri) for iri in job.named_graphs or ()]
    elif not traits.names_dataset and (settings.union or job.over):
        try:
            store, graphs = snapshot.place(job.text, job.over or settings.over)
        except UsageError as error:
            raise RequestError(400, str(error)) from error
    try:
        return store.query(job.text, base_iri=job.base, **graphs)
    except (SyntaxError, RuntimeError, ValueError) as error:
        raise evaluate_errors(error, job.text) from error


def _rows(found: ox.QuerySolutions, job: QueryJob, settings: ServeSettings, spool: Spool) -> Reply:
    media_type = accepted(job.accept, TABLES)
    format_ = TABLES[media_type]
    variables = [variable.value for variable in found.variables]
    limited = Limited(map(tuple, _evaluated(found)), settings.max_rows)
    spool.extend(tables.rows(variables, limited, format_))
    spool.write(tables.tail(format_))
    head = tables.head(variables, format_, job.help_url if limited.truncated else "")
    rest, path = spool.done()
    headers = _limit_headers(settings, limited.truncated)
    return Reply(200, content_type(media_type), head + rest, path, headers)


def _triples(found: ox.QueryTriples, job: QueryJob, settings: ServeSettings, spool: Spool) -> Reply:
    media_type = accepted(job.accept, GRAPHS)
    limited = Limited(_evaluated(found), settings.max_rows)
    write_triples(limited, media_type, spool)
    data, path = spool.done()
    headers = _limit_headers(settings, limited.truncated)
    return Reply(200, content_type(media_type), data, path, headers)


def _evaluated(found: Iterator[_Item]) -> Iterator[_Item]:
    """The results of a query; raises `RequestError` (400) where it cannot be evaluated further."""
    try:
        yield from found
    except (RuntimeError, ValueError) as error:
        raise evaluate_errors(error) from error


def _limit_headers(settings: ServeSettings, truncated: bool) -> dict[str, str]:
    if not settings.max_rows:
        return {}
    return {MAX_ROWS: str(settings.max_rows), TRUNCATED: "true" if truncated else "false"}


def graph_exists(store: ox.Store, graph: str | None) -> bool:
    """Whether there is such a named graph; the default graph always exists."""
    return graph is None or store.contains_named_graph(ox.NamedNode(graph))


def read_graph(store: ox.Store, job: ReadGraphJob, settings: ServeSettings, spool: Spool) -> Reply:
    """All triples of a graph, without a limit; raises `RequestError` (404, 406)."""
    media_type = accepted(job.accept, GRAPHS)
    if not graph_exists(store, job.graph):
        raise RequestError(404, f"there is no graph {job.graph}")
    meta = read_meta(OxigraphStore(store, writable=False))
    named = Unskolemizer(meta.base if meta else DEFAULT_BASE)
    triples = map(named.triple, _graph_triples(store, job.graph, union=settings.union))
    write_triples(triples, media_type, spool)
    data, path = spool.done()
    return Reply(200, content_type(media_type), data, path)


def _graph_triples(store: ox.Store, graph: str | None, *, union: bool) -> Iterator[Any]:
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


def write_triples(triples: Iterable[ox.Triple], media_type: str, spool: Spool) -> None:
    """Write triples into a spool; raises `RequestError` (406) for one that cannot be written so."""
    format_ = GRAPHS[media_type]
    if format_ == ox.RdfFormat.RDF_XML:
        triples = check_rdfxml(triples, PREFIXES)
    elif format_ == ox.RdfFormat.JSON_LD:
        triples = _without_terms(triples)
    try:
        ox.serialize(triples, spool.stream, format_, prefixes=PREFIXES)
    except UsageError as error:
        raise RequestError(406, str(error)) from error


def _without_terms(triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise UsageError(
                "JSON-LD cannot express triple terms: choose another format, such as Turtle "
                "(text/turtle)"
            )
        yield triple
