"""Queries in a worker process: evaluated over the graphs that a client may read, and serialized."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, TypeVar

import pyoxigraph as ox

from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.vocab import COMMON, PREFIXES
from sarag_rdf.graph.store.results import encode_boolean, encode_footer, encode_header, encode_rows
from sarag_rdf.graph.store.sparql_syntax import check_query, dataset_clauses, refuse_network
from sarag_rdf.kg.queries import prologue_for
from sarag_rdf.kg.rdf_export import check_rdfxml, ontology_prefixes, prefixes_under
from sarag_rdf.server.endpoint_store import EndpointStore
from sarag_rdf.server.jobs import JobReply, RequestError
from sarag_rdf.server.media import RDF_TYPES, RESULT_TYPES, content_type, negotiate
from sarag_rdf.server.worker import Worker, evaluation_error

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class QueryJob:
    """A query; `default_graphs` and `named_graphs` are None if the request names no dataset.

    `over` names the parts of the graph to query in that case; empty for those of the server.
    `help_url` is the URL of the documentation of the row limit, and `max_rows` the limit in place
    of the server's. A query that `is_bare` need not declare the prefixes of the graph. With `at`, a
    year, month or date, it sees the graph without what did not hold then.
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
    at: str = ""

    def limit(self, worker: Worker) -> int:
        """The maximum number of rows; 0 for no limit."""
        return worker.settings.max_rows if self.max_rows is None else self.max_rows

    def run(self, worker: Worker) -> JobReply:
        """The result; raises `RequestError`, `StoreError`."""
        result = evaluate(worker, self)
        is_graph = isinstance(result, Rows) and result.variables is None
        media_type = negotiate(self.accept, RDF_TYPES if is_graph else RESULT_TYPES)
        if isinstance(result, bool):
            data = encode_boolean(result, RESULT_TYPES[media_type])
            return JobReply(200, content_type(media_type), data, rows=1)
        limit = self.limit(worker)
        rows = Limited(_iterate(result.items), limit)
        head = b""
        with worker.file() as file:
            if result.variables is None:
                write_triples(rows, media_type, file)
            else:
                format_ = RESULT_TYPES[media_type]
                variables = result.variables
                file.writelines(encode_rows(variables, rows, format_))
                file.write(encode_footer(format_))
                head = encode_header(variables, format_, self.help_url if rows.truncated else "")
        headers = {
            "X-SPARQL-MaxRows": str(limit),
            "X-SPARQL-Truncated": str(rows.truncated).lower(),
        }
        return JobReply(
            200, content_type(media_type), head, file.name, headers if limit else {}, rows.count
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Solutions with values for `variables`, or triples (None)."""

    items: Iterator[Any]
    variables: tuple[str, ...] | None = None

    @classmethod
    def of(cls, result: Any) -> Rows | bool:
        """The rows of a result of pyoxigraph or of an endpoint, or its truth value."""
        match result:
            case bool() | ox.QueryBoolean():
                return bool(result)
            case ox.QuerySolutions():
                return cls(map(tuple, result), tuple(name.value for name in result.variables))
            case Table():
                return cls(iter(result.rows), result.variables)
            case _:
                return cls(iter(result.triples if isinstance(result, Triples) else result))


class Limited(Iterable[_Item]):
    """At most `limit` items of an iterator (0 for all).

    When it is exhausted, `count` is their number, and `truncated` is set if there were more.
    """

    def __init__(self, items: Iterator[_Item], limit: int) -> None:
        self._items, self._limit = items, limit
        self.truncated = False
        self.count = 0

    def __iter__(self) -> Iterator[_Item]:
        for item in islice(self._items, self._limit or None):
            self.count += 1
            yield item
        self.truncated = bool(self._limit) and next(self._items, None) is not None


def evaluate(worker: Worker, job: QueryJob) -> Rows | bool:
    """The result of a query over the graphs that the client may read.

    The dataset of the request overrides that of the query (SPARQL 1.1 Protocol, 2.1.4). If neither
    names one, the default graph is the union of parts of the graph. Graphs that are not readable
    are empty: they are left out of any dataset. Raises `RequestError`, `QueryError`, `StoreError`.
    """
    text = job.text
    if job.is_bare:
        text = prologue_for(text, lambda: known_prefixes(worker)) + text
    traits, readable = check_query(text), worker.readable
    named: tuple[Any, Any] = job.default_graphs, job.named_graphs
    if named != (None, None) and job.over:
        raise RequestError(400, "the dataset is named twice: by 'over' and by graph IRIs")
    try:
        if not worker.settings.allow_service:
            refuse_network(traits)
        if named == (None, None) and traits.names_dataset and readable is not None:
            # only these are queried, whatever the engine would make of the text
            named = dataset_clauses(text, job.base)
    except QueryError as error:
        raise RequestError(403, str(error)) from error
    seen, dataset = worker.at(job.at), dict[str, Any]()
    store = seen.store
    if named != (None, None):
        for key, iris in zip(("default_graph", "named_graphs"), named, strict=True):
            graphs = [iri for iri in iris or () if readable is None or iri in readable]
            dataset[key] = [ox.NamedNode(iri) for iri in graphs]
    elif not traits.names_dataset and (worker.settings.union or job.over):
        store, dataset = worker.union(text, job.over, seen)
    elif readable is not None:
        dataset["default_graph"] = [ox.DefaultGraph()]
        dataset["named_graphs"] = [ox.NamedNode(iri) for iri in sorted(readable)]
    if isinstance(store, EndpointStore):  # any other result is read as far as it is needed
        dataset["most_rows"] = job.limit(worker)
    try:
        return Rows.of(store.query(text, base_iri=job.base, **dataset))
    except (SyntaxError, RuntimeError, ValueError) as error:
        raise evaluation_error(error, text) from error


def _iterate(results: Iterator[_Item]) -> Iterator[_Item]:
    """Iterate over results; raises `RequestError` (400) if the evaluation fails."""
    try:
        yield from results
    except (RuntimeError, ValueError) as error:
        raise evaluation_error(error) from error


def known_prefixes(worker: Worker) -> dict[str, str]:
    """Prefix -> namespace; those of ontologies only for clients that may read all graphs."""
    meta = worker.snapshot.meta
    if meta is None:
        return dict(PREFIXES)
    known = {"common": COMMON.base}
    if worker.readable is None:
        known = ontology_prefixes(worker.snapshot.port, meta.base)
    return known | prefixes_under(meta.base)


def write_triples(
    triples: Iterable[ox.Triple],
    media_type: str,
    file: IO[bytes],
    prefixes: Mapping[str, str] = PREFIXES,
) -> None:
    """Serialize triples; raises `RequestError` (406) for one that the format cannot express."""
    format_ = RDF_TYPES[media_type]
    if format_ == ox.RdfFormat.RDF_XML:
        triples = check_rdfxml(triples, prefixes)
    elif format_ == ox.RdfFormat.JSON_LD:
        triples = map(_without_triple_term, triples)
    try:
        ox.serialize(triples, file, format_, prefixes=dict(prefixes))
    except UsageError as error:
        raise RequestError(406, str(error)) from error


def _without_triple_term(triple: ox.Triple) -> ox.Triple:
    if isinstance(triple.object, ox.Triple):
        raise UsageError(
            "JSON-LD cannot express triple terms: choose another format, such as Turtle "
            "(text/turtle)"
        )
    return triple
