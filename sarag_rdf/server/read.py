"""Evaluates queries and reads graphs on a snapshot, and serializes the results."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import pyoxigraph as ox

from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.base.iris import DEFAULT_BASE
from sarag_rdf.base.vocab import COMMON, PREFIXES
from sarag_rdf.graph.store.input_files import Unskolemizer
from sarag_rdf.graph.store.results import encode_boolean, encode_footer, encode_header, encode_rows
from sarag_rdf.graph.store.sparql_syntax import (
    dataset_clauses,
    inspect_query,
    refuse_network,
    undeclared_prefix,
)
from sarag_rdf.kg.export.prefixes import ontology_prefixes, prefixes_under
from sarag_rdf.kg.export.rdf import check_rdfxml
from sarag_rdf.kg.queries import prologue_for
from sarag_rdf.server.graphs import StoreSnapshot
from sarag_rdf.server.http import RDF_TYPES, RESULT_TYPES, content_type, negotiate
from sarag_rdf.server.jobs import JobReply, RequestError, Spool
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.worker import Worker

MAX_ROWS = "X-SPARQL-MaxRows"
TRUNCATED = "X-SPARQL-Truncated"
_MAX_MESSAGE = 300
"""Characters of an engine's error message."""
_Item = TypeVar("_Item")


class Limited(Iterable[_Item]):
    """At most `limit` items of an iterator (0 for all).

    When it is exhausted, `count` is their number, and `truncated` is set if there were more.
    """

    def __init__(self, items: Iterator[_Item], limit: int) -> None:
        self._items = items
        self._limit = limit
        self.truncated = False
        self.count = 0

    def __iter__(self) -> Iterator[_Item]:
        for item in islice(self._items, self._limit or None):
            self.count += 1
            yield item
        self.truncated = bool(self._limit) and next(self._items, None) is not None


@dataclass(frozen=True, slots=True)
class QueryJob:
    """A query; `default_graphs` and `named_graphs` are None if the request names no dataset.

    `over` names the parts of the graph to query in that case; empty for those of the server.
    `help_url` is the URL of the documentation of the row limit, and `max_rows` the limit in place
    of the server's. A query that `is_bare` need not declare the prefixes of the graph.
    """

    text: str
    accept: str
    base: str
    help_url: str = ""
    over: tuple[str, ...] = ()
    default_graphs: tuple[str, ...] | None = None
    named_graphs: tuple[str, ...] | None = None
    max_rows: int | None = None
    is_bare: bool = False

    def run(self, worker: Worker) -> JobReply:
        """The result; raises `RequestError`, `StoreError`."""
        settings, snapshot, readable = worker.settings, worker.snapshot, worker.readable
        if self.is_bare:
            prologue = prologue_for(self.text, lambda: known_prefixes(snapshot, readable))
            self = replace(self, text=prologue + self.text)
        limit = settings.max_rows if self.max_rows is None else self.max_rows
        result = evaluate(snapshot, self, settings, readable)
        if isinstance(result, ox.QueryBoolean):
            media_type = negotiate(self.accept, RESULT_TYPES)
            data = encode_boolean(bool(result), RESULT_TYPES[media_type])
            return JobReply(200, content_type(media_type), data, rows=1)
        with worker.spool() as spool:
            if isinstance(result, ox.QueryTriples):
                return _triples(result, self, limit, spool)
            return _rows(result, self, limit, spool)


def evaluation_error(error: Exception, sparql: str = "") -> RequestError:
    """The `RequestError` for an exception of the engine while parsing or evaluating `sparql`."""
    text = textwrap.shorten(str(error), _MAX_MESSAGE, placeholder=" ...")
    if isinstance(error, SyntaxError):
        text = undeclared_prefix(sparql) or text
        return RequestError(400, f"the SPARQL does not parse: {text}")
    return RequestError(400, f"evaluation failed: {text}")


def evaluate(
    snapshot: StoreSnapshot,
    job: QueryJob,
    settings: ServeSettings,
    readable: frozenset[str] | None,
) -> Any:
    """The result of a query over the `readable` graphs; raises `RequestError`, `StoreError`.

    The dataset of the request overrides that of the query (SPARQL 1.1 Protocol, 2.1.4). If neither
    names one, the default graph is the union of parts of the graph. Graphs that are not readable
    are empty: they are left out of any dataset.
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
    named = job.default_graphs, job.named_graphs
    if named != (None, None) and job.over:
        raise RequestError(400, "the dataset is named twice: by 'over' and by graph IRIs")
    if named == (None, None) and traits.names_dataset and readable is not None:
        named = _dataset_of(job)
    store, dataset = snapshot.store, dict[str, Any]()
    if named != (None, None):
        for key, iris in zip(("default_graph", "named_graphs"), named, strict=True):
            graphs = [iri for iri in iris or () if readable is None or iri in readable]
            dataset[key] = [ox.NamedNode(iri) for iri in graphs]
    elif not traits.names_dataset and (settings.union or job.over):
        try:
            store, dataset = snapshot.resolve(job.text, job.over, readable)
        except UsageError as error:
            raise RequestError(400, str(error)) from error
    elif readable is not None:
        dataset["default_graph"] = [ox.DefaultGraph()]
        dataset["named_graphs"] = [ox.NamedNode(iri) for iri in sorted(readable)]
    try:
        return store.query(job.text, base_iri=job.base, **dataset)
    except (SyntaxError, RuntimeError, ValueError) as error:
        raise evaluation_error(error, job.text) from error


def _dataset_of(job: QueryJob) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The graphs of FROM and FROM NAMED, as rdflib understands them.

    Only these are queried, whatever the engine would make of the text.
    """
    try:
        return dataset_clauses(job.text, job.base)
    except QueryError as error:
        raise RequestError(403, str(error)) from error


def _rows(solutions: ox.QuerySolutions, job: QueryJob, limit: int, spool: Spool) -> JobReply:
    media_type = negotiate(job.accept, RESULT_TYPES)
    format_ = RESULT_TYPES[media_type]
    variables = [variable.value for variable in solutions.variables]
    limited = Limited(map(tuple, _iterate(solutions)), limit)
    spool.extend(encode_rows(variables, limited, format_))
    spool.write(encode_footer(format_))
    head = encode_header(variables, format_, job.help_url if limited.truncated else "")
    rest, path = spool.finish()
    headers = _limit_headers(limit, limited.truncated)
    media_type = content_type(media_type)
    return JobReply(200, media_type, head + rest, path, headers, limited.count)


def _triples(triples: ox.QueryTriples, job: QueryJob, limit: int, spool: Spool) -> JobReply:
    media_type = negotiate(job.accept, RDF_TYPES)
    limited = Limited(_iterate(triples), limit)
    write_triples(limited, media_type, spool)
    data, path = spool.finish()
    headers = _limit_headers(limit, limited.truncated)
    return JobReply(200, content_type(media_type), data, path, headers, limited.count)


def _iterate(results: Iterator[_Item]) -> Iterator[_Item]:
    """Iterate over results; raises `RequestError` (400) if the evaluation fails."""
    try:
        yield from results
    except (RuntimeError, ValueError) as error:
        raise evaluation_error(error) from error


def _limit_headers(limit: int, truncated: bool) -> dict[str, str]:
    if not limit:
        return {}
    return {MAX_ROWS: str(limit), TRUNCATED: "true" if truncated else "false"}


def known_prefixes(snapshot: StoreSnapshot, readable: frozenset[str] | None) -> dict[str, str]:
    """Prefix -> namespace; those of ontologies only for clients that may read all graphs."""
    meta = snapshot.meta()
    if meta is None:
        return dict(PREFIXES)
    known = {"common": COMMON.base}
    if readable is None:
        known = ontology_prefixes(snapshot.port, meta.base)
    return known | prefixes_under(meta.base)


def graph_exists(store: ox.Store, graph: str | None) -> bool:
    """Whether a named graph exists; the default graph always does."""
    return graph is None or store.contains_named_graph(ox.NamedNode(graph))


@dataclass(frozen=True, slots=True)
class ReadGraphJob:
    """Read all triples of a graph, without a row limit; None for the default graph."""

    graph: str | None
    accept: str

    @property
    def text(self) -> str:
        return self.graph or ""

    def run(self, worker: Worker) -> JobReply:
        """The triples; raises `RequestError` (404, 406).

        To a client that may not read it, a graph does not exist.
        """
        media_type = negotiate(self.accept, RDF_TYPES)
        store, readable = worker.snapshot.store, worker.readable
        is_hidden = readable is not None and self.graph is not None and self.graph not in readable
        if is_hidden or not graph_exists(store, self.graph):
            raise RequestError(404, f"no such graph: {self.graph}")
        meta = worker.snapshot.meta()
        unskolemizer = Unskolemizer(meta.base if meta else DEFAULT_BASE)
        all_triples = _graph_triples(store, self.graph, readable, union=worker.settings.union)
        limited = Limited(map(unskolemizer.triple, all_triples), 0)
        with worker.spool() as spool:
            write_triples(limited, media_type, spool)
            data, path = spool.finish()
            return JobReply(200, content_type(media_type), data, path, rows=limited.count)


def _graph_triples(
    store: ox.Store, graph: str | None, readable: frozenset[str] | None, *, union: bool
) -> Iterator[Any]:
    if graph is None and union:
        dataset: dict[str, Any] = {"use_default_graph_as_union": True}
        if readable is not None:
            dataset = {"default_graph": [ox.NamedNode(iri) for iri in sorted(readable)]}
        triples = store.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", **dataset)
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
