"""Evaluates queries and reads graphs on a snapshot, and serializes the results."""

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
from sarag_rdf.rdf.results import encode_boolean, encode_footer, encode_header, encode_rows
from sarag_rdf.rdf.sparql_tokens import undeclared_prefix
from sarag_rdf.serve.http import RDF_TYPES, RESULT_TYPES, content_type, negotiate
from sarag_rdf.serve.jobs import JobReply, QueryJob, ReadGraphJob, RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import StoreSnapshot
from sarag_rdf.serve.spool import Spool
from sarag_rdf.vocab import PREFIXES

MAX_ROWS = "X-SPARQL-MaxRows"
TRUNCATED = "X-SPARQL-Truncated"
_MAX_MESSAGE = 300
"""Characters of an engine's error message."""
_Item = TypeVar("_Item")


class Limited(Iterable[_Item]):
    """At most `limit` items of an iterator (0 for all); `truncated` is set if there were more."""

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


def run_query(
    snapshot: StoreSnapshot, job: QueryJob, settings: ServeSettings, spool: Spool
) -> JobReply:
    """The reply to a query; raises `RequestError`, `StoreError`."""
    result = _evaluate(snapshot, job, settings)
    if isinstance(result, ox.QueryBoolean):
        media_type = negotiate(job.accept, RESULT_TYPES)
        data = encode_boolean(bool(result), RESULT_TYPES[media_type])
        return JobReply(200, content_type(media_type), data)
    if isinstance(result, ox.QueryTriples):
        return _triples(result, job, settings, spool)
    return _rows(result, job, settings, spool)


def evaluation_error(error: Exception, sparql: str = "") -> RequestError:
    """The `RequestError` for an exception of the engine while parsing or evaluating `sparql`."""
    text = textwrap.shorten(str(error), _MAX_MESSAGE, placeholder=" ...")
    if isinstance(error, SyntaxError):
        text = undeclared_prefix(sparql) or text
        return RequestError(400, f"the SPARQL does not parse: {text}")
    return RequestError(400, f"evaluation failed: {text}")


def _evaluate(snapshot: StoreSnapshot, job: QueryJob, settings: ServeSettings) -> Any:
    """The dataset of the request overrides that of the query (SPARQL 1.1 Protocol, 2.1.4).

    If neither names one, the default graph is the union of parts of the graph.
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
    has_dataset = job.default_graphs is not None or job.named_graphs is not None
    store, dataset = snapshot.store(), dict[str, Any]()
    if has_dataset and job.over:
        raise RequestError(400, "the dataset is named twice: by 'over' and by graph IRIs")
    if has_dataset:
        dataset["default_graph"] = [ox.NamedNode(iri) for iri in job.default_graphs or ()]
        dataset["named_graphs"] = [ox.NamedNode(iri) for iri in job.named_graphs or ()]
    elif not traits.names_dataset and (settings.union or job.over):
        try:
            store, dataset = snapshot.resolve(job.text, job.over or settings.over)
        except UsageError as error:
            raise RequestError(400, str(error)) from error
    try:
        return store.query(job.text, base_iri=job.base, **dataset)
    except (SyntaxError, RuntimeError, ValueError) as error:
        raise evaluation_error(error, job.text) from error


def _rows(
    solutions: ox.QuerySolutions, job: QueryJob, settings: ServeSettings, spool: Spool
) -> JobReply:
    media_type = negotiate(job.accept, RESULT_TYPES)
    format_ = RESULT_TYPES[media_type]
    variables = [variable.value for variable in solutions.variables]
    limited = Limited(map(tuple, _iterate(solutions)), settings.max_rows)
    spool.extend(encode_rows(variables, limited, format_))
    spool.write(encode_footer(format_))
    head = encode_header(variables, format_, job.help_url if limited.truncated else "")
    rest, path = spool.finish()
    headers = _limit_headers(settings, limited.truncated)
    return JobReply(200, content_type(media_type), head + rest, path, headers)


def _triples(
    triples: ox.QueryTriples, job: QueryJob, settings: ServeSettings, spool: Spool
) -> JobReply:
    media_type = negotiate(job.accept, RDF_TYPES)
    limited = Limited(_iterate(triples), settings.max_rows)
    write_triples(limited, media_type, spool)
    data, path = spool.finish()
    headers = _limit_headers(settings, limited.truncated)
    return JobReply(200, content_type(media_type), data, path, headers)


def _iterate(results: Iterator[_Item]) -> Iterator[_Item]:
    """Iterate over results; raises `RequestError` (400) if the evaluation fails."""
    try:
        yield from results
    except (RuntimeError, ValueError) as error:
        raise evaluation_error(error) from error


def _limit_headers(settings: ServeSettings, truncated: bool) -> dict[str, str]:
    if not settings.max_rows:
        return {}
    return {MAX_ROWS: str(settings.max_rows), TRUNCATED: "true" if truncated else "false"}


def graph_exists(store: ox.Store, graph: str | None) -> bool:
    """Whether a named graph exists; the default graph always does."""
    return graph is None or store.contains_named_graph(ox.NamedNode(graph))


def read_graph(
    store: ox.Store, job: ReadGraphJob, settings: ServeSettings, spool: Spool
) -> JobReply:
    """All triples of a graph, without a row limit; raises `RequestError` (404, 406)."""
    media_type = negotiate(job.accept, RDF_TYPES)
    if not graph_exists(store, job.graph):
        raise RequestError(404, f"no such graph: {job.graph}")
    meta = read_meta(OxigraphStore(store, writable=False))
    unskolemizer = Unskolemizer(meta.base if meta else DEFAULT_BASE)
    triples = map(unskolemizer.triple, _graph_triples(store, job.graph, union=settings.union))
    write_triples(triples, media_type, spool)
    data, path = spool.finish()
    return JobReply(200, content_type(media_type), data, path)


def _graph_triples(store: ox.Store, graph: str | None, *, union: bool) -> Iterator[Any]:
    if graph is None and union:
        triples = store.query(
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", use_default_graph_as_union=True
        )
        assert isinstance(triples, ox.QueryTriples)  # noqa: S101 - result of CONSTRUCT
        yield from triples
        return
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    for quad in store.quads_for_pattern(None, None, None, name):
        yield quad.triple


def write_triples(triples: Iterable[ox.Triple], media_type: str, spool: Spool) -> None:
    """Serialize triples; raises `RequestError` (406) for one that the format cannot express."""
    format_ = RDF_TYPES[media_type]
    if format_ == ox.RdfFormat.RDF_XML:
        triples = check_rdfxml(triples, PREFIXES)
    elif format_ == ox.RdfFormat.JSON_LD:
        triples = _reject_triple_terms(triples)
    try:
        ox.serialize(triples, spool.stream, format_, prefixes=PREFIXES)
    except UsageError as error:
        raise RequestError(406, str(error)) from error


def _reject_triple_terms(triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise UsageError(
                "JSON-LD cannot express triple terms: choose another format, such as Turtle "
                "(text/turtle)"
            )
        yield triple
