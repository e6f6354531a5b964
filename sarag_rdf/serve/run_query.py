"""Answers a query from a snapshot: screened, limited in rows, in the format that was asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import pyoxigraph as ox

from sarag_rdf.errors import QueryError, UsageError
from sarag_rdf.serve import tables
from sarag_rdf.serve.jobs import QueryJob, Reply, RequestError
from sarag_rdf.serve.media import GRAPHS, TABLES, accepted, content_type
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Snapshot
from sarag_rdf.serve.spool import Spool
from sarag_rdf.serve.triples import write_triples
from sarag_rdf.stores.query_guard import inspect_query, refuse_network
from sarag_rdf.stores.query_tokens import undeclared_prefix

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
