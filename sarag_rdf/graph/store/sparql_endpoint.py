"""A SPARQL 1.1 endpoint as a `GraphStore`: every result is complete, or an error."""

from __future__ import annotations

import itertools
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox
from pyoxigraph import Literal, Quad

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import RemoteStoreError, RemoteTruncatedError, StoreError, UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.vocab import SARAG, iri
from sarag_rdf.graph.store.sparql_client import (
    ACCEPT_IRIS,
    ACCEPT_ROWS,
    ACCEPT_TRIPLES,
    BACKOFF,
    DataSet,
    SparqlClient,
    announced_limit,
    read_iris,
    read_rows,
    read_triples,
)
from sarag_rdf.graph.store.sparql_syntax import split_prologue, tokens, uses_graph

PAGE = 10_000
"""Rows per page; Virtuoso does not sort more at a time."""
_DEFAULT_DATASET: DataSet = {}
"""The endpoint's own dataset."""
SMALL = 100
"""Results of fewer rows are complete if the endpoint returns this many rows at a time."""
LARGE = 50_000
"""The most rows, in no data, that an endpoint is asked for, to see whether it returns them."""
VALUES = 10_000
"""Values in a query; an endpoint that refuses so many gets fewer."""
VALUES_OF = {"virtuoso": 500}
"""Values in a query by the name of a server; Virtuoso takes the square of the time for more."""


class SparqlStore:
    """A `GraphStore` for a query endpoint, with an update and a graph store endpoint for writing.

    Endpoints truncate results at a limit, and not all of them report it. Therefore a second query
    checks whether a result of some size is complete; if not, `select` reads it in pages. Small
    results, and triples, which cannot be counted by a query, are complete if the endpoint returns
    more of their kind at a time: it is asked for so many that are in no data, at most once for each
    doubling.
    """

    is_shared = True

    def __init__(
        self, remote: SparqlEndpoint, *, writable: bool = False, backoff: float = BACKOFF
    ) -> None:
        self._remote = remote.writable() if writable else remote
        self._writable = writable
        self._url = self._remote.query_url
        self._client: SparqlClient | None = SparqlClient(self._remote, backoff=backoff)
        self._most_rows = self._most_triples = 1  # that the endpoint has returned when asked
        self._is_limited = False  # to so many rows
        self._returns_iris = True  # in a form that is known to be complete
        self._max_values = 0

    @property
    def _open_client(self) -> SparqlClient:
        if self._client is None:
            raise StoreError("this graph is closed: open it again")
        return self._client

    @property
    def _writing_client(self) -> SparqlClient:
        if not self._writable:
            raise StoreError("this graph was opened read-only")
        if not self._remote.update_url:
            raise UsageError(
                f"the update endpoint of {self._url} is not known: give its URL with --update-url, "
                "and its graph store with --store-url if it has one"
            )
        return self._open_client

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        return self.query_in(text, self._dataset(text, union, default_graphs))

    def query_in(
        self, text: str, dataset: DataSet, *, paged: bool = False
    ) -> Table | Triples | bool:
        """The result of a query in a data set; rows may be `paged` if they have no order."""
        form = query_form(text)
        if form in ("CONSTRUCT", "DESCRIBE"):
            return self._triples(text, dataset)
        result, limit = self._rows(text, dataset)
        if isinstance(result, Table) and self._is_truncated(text, result, limit, dataset):
            if paged:
                rows = self._pages(text, result.variables, len(result.rows), (), dataset)
                return Table(result.variables, list(rows))
            raise RemoteTruncatedError(
                f"{self._url} returned {len(result.rows)} rows and has more: query in pages, with "
                "ORDER BY, LIMIT and a FILTER on the last value of the previous page"
            )
        return result

    @property
    def _server(self) -> str:
        """The name of the server in lower case; empty before its first response."""
        return self._open_client.server.partition("/")[0].lower()

    @property
    def max_sorted(self) -> int:
        """The largest LIMIT of a SELECT with an order; Virtuoso refuses one that is larger."""
        return PAGE if self._server in ("", "virtuoso") else sys.maxsize

    @property
    def max_values(self) -> int:
        """The most values in a query; an endpoint that is not known yet is asked nothing first."""
        if self._max_values:
            return self._max_values
        return VALUES_OF.get(self._server, VALUES if self._server else min(VALUES_OF.values()))

    @max_values.setter
    def max_values(self, values: int) -> None:
        self._max_values = values

    def select(self, text: str, key: str, *, iris: bool = False) -> Table:
        result, limit = self._iris(text) if iris else self._rows(text)
        if not isinstance(result, Table):
            raise StoreError("not a SELECT query")
        if not self._is_truncated(text, result, limit):
            return result
        names = (key, *(name for name in result.variables if name != key))
        order = [names.index(name) for name in result.variables]
        rows = self._pages(text, names, len(result.rows), ())
        return Table(result.variables, [tuple(row[column] for column in order) for row in rows])

    def each_row(self, text: str, key: str, *, iris: bool = False) -> Iterator[tuple[Any, ...]]:
        yield from self.select(text, key, iris=iris).rows

    def apply(self, change: Change) -> None:
        """Apply a change in several requests, in an order that makes an interruption detectable.

        The old revision is deleted first, and the new one is inserted last; the checksum of a
        source is the last triple of its graph. See docs/how-to/use-a-sparql-endpoint.md.
        """
        client = self._writing_client
        replacements: defaultdict[str, list[Quad]] = defaultdict(list)
        additions: list[Quad] = []
        for quad in change.insert:
            graph = iri(quad.graph_name)
            (replacements[graph] if graph in change.drop else additions).append(quad)
        for is_revision in (True, False):
            deleted = (q for q in change.delete if (q.predicate == SARAG.revision) is is_revision)
            _update(client, "DELETE", deleted)
        _insert(client, (quad for quad in additions if quad.predicate != SARAG.revision))
        for graph in change.drop:
            ordered = sorted(replacements[graph], key=lambda quad: quad.predicate == SARAG.sha256)
            _replace(client, graph, ordered)
        for graph in change.create:
            client.update(f"CREATE SILENT GRAPH <{graph}>")
        _update(client, "INSERT", (quad for quad in additions if quad.predicate == SARAG.revision))

    def load(self, quads: Iterable[ox.Quad]) -> None:
        _insert(self._writing_client, quads)

    def load_ntriples(self, data: bytes, graph: str) -> None:
        name = ox.NamedNode(graph)
        triples = ox.parse(data, format=ox.RdfFormat.N_TRIPLES)
        self.load(ox.Quad(t.subject, t.predicate, t.object, name) for t in triples)

    def quads(self, graph: str | None = None) -> Iterator[ox.Quad]:
        for node in map(ox.NamedNode, self.graphs() if graph is None else [graph]):
            rows = self.select(f"SELECT ?s ?p ?o WHERE {{ GRAPH {node} {{ ?s ?p ?o }} }}", "s").rows
            yield from (ox.Quad(s, p, o, node) for s, p, o in rows)

    def graphs(self) -> list[str]:
        # With DISTINCT instead, Virtuoso 7.2.5 may never answer.
        rows = self.select("SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "g").rows
        return sorted(row[0].value for row in rows)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _dataset(self, text: str, union: bool, default_graphs: Sequence[str] | None) -> DataSet:
        """The protocol parameters; with default graphs, GRAPH ranges over the given named ones."""
        if default_graphs is None:
            return {"union-default-graph": ["true"]} if union else {}
        named = self.graphs() if uses_graph(text) else []
        return {"default-graph-uri": list(default_graphs), "named-graph-uri": named}

    def _rows(
        self, text: str, dataset: DataSet = _DEFAULT_DATASET
    ) -> tuple[Table | bool, int | None]:
        """A single result, and the limit at which it was truncated if the endpoint reports it."""
        response = self._open_client.query(text, ACCEPT_ROWS, dataset)
        return read_rows(response), announced_limit(response)

    def _iris(self, text: str) -> tuple[Table | bool, int | None]:
        """The same for cells that are IRIs, which CSV has without more words."""
        if self._returns_iris:
            response = self._open_client.query(text, ACCEPT_IRIS, {})
            if (table := read_iris(response)) is not None:
                return table, announced_limit(response)
            self._returns_iris = False
        return self._rows(text)

    def _triples(self, text: str, dataset: DataSet) -> Triples:
        response = self._open_client.query(text, ACCEPT_TRIPLES, dataset)
        result, limit = read_triples(response), announced_limit(response)
        if limit is not None or self._lacks_triples(text, len(result.triples), dataset):
            raise RemoteTruncatedError(
                f"{self._url} returned {len(result.triples)} triples and has more: query in parts"
            )
        return result

    def _lacks_triples(self, text: str, count: int, dataset: DataSet) -> bool:
        """Whether a result of CONSTRUCT or DESCRIBE is incomplete, or the solutions behind it."""
        select = solutions_of(text)
        if select is not None:
            rows, limit = self._rows(select, dataset)
            if not isinstance(rows, Table) or self._is_truncated(select, rows, limit, dataset):
                return True
        if count >= self._most_triples:
            query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {more_than(max(count, SMALL))}"
            response = self._open_client.query(query, ACCEPT_TRIPLES, {})
            self._most_triples = max(self._most_triples, len(read_triples(response).triples))
        return count >= self._most_triples

    def _is_truncated(
        self, text: str, table: Table, limit: int | None, dataset: DataSet = _DEFAULT_DATASET
    ) -> bool:
        """Whether there are more rows, as reported by the endpoint or found by another query."""
        count = len(table.rows)
        if limit is not None and count >= limit:
            return True
        if self._most_rows <= count < LARGE and not self._is_limited:
            asked = min(LARGE, max(SMALL, 2 * count))
            some, _ = self._rows(f"SELECT ?s WHERE {more_than(asked)}")
            returned = len(some.rows) if isinstance(some, Table) else 1
            self._most_rows, self._is_limited = max(self._most_rows, returned), returned < asked
        if count < self._most_rows:
            return False
        further, _ = self._rows(beyond(text, count), dataset)
        return not isinstance(further, Table) or bool(further.rows)

    def _pages(
        self,
        text: str,
        variables: Sequence[str],
        max_rows: int,
        fixed: tuple[tuple[str, str], ...],
        dataset: DataSet = _DEFAULT_DATASET,
    ) -> Iterator[tuple[Any, ...]]:
        """All rows with the fixed values of the first variables, in pages by the next variable.

        The last value of a page may continue on the next one, so its rows are read again there. A
        value with more rows than a page (at most `max_rows`) is read in pages by the next variable.
        """
        column, size = len(fixed), min(PAGE, max_rows)
        after: str | None = None
        while True:
            query = page(text, variables, fixed, after, size)
            table, limit = self._rows(query, dataset)
            if not isinstance(table, Table):
                raise StoreError("not a SELECT query")
            rows, texts = table.rows, [text_of(row[column]) for row in table.rows]
            if texts != sorted(texts) or (after is not None and texts and texts[0] <= after):
                raise RemoteStoreError(
                    f"{self._url} does not sort by code points, so its results cannot be read in "
                    "pages: raise its row limit"
                )
            if len(rows) < size and not self._is_truncated(query, table, limit, dataset):
                yield from rows
                return
            end = texts.index(texts[-1])  # the last value may continue on the next page
            if end:
                yield from rows[:end]
                size, after = min(PAGE, max_rows), texts[end - 1]
            elif len(rows) == size < max_rows:
                size = min(4 * size, max_rows)
            elif column + 1 < len(variables):
                value = (variables[column], texts[-1])
                yield from self._pages(text, variables, max_rows, (*fixed, value), dataset)
                after = texts[-1]
            else:
                raise RemoteTruncatedError(
                    f"{self._url} returns at most {len(rows)} rows, and has more that cannot be "
                    "distinguished by sorting: raise its row limit"
                )


_FORM = re.compile(r"SELECT|ASK|CONSTRUCT|DESCRIBE", re.IGNORECASE)


def split_dataset(text: str) -> tuple[str, str, str]:
    """The prologue of a SELECT query, its FROM clauses, and the rest, which can be nested."""
    prologue, select = split_prologue(text)
    clauses: list[tuple[int, int]] = []
    depth, start = 0, -1
    for token in tokens(select):
        depth += (token.kind == "open") - (token.kind == "close")
        if start >= 0 and token.kind in ("iri", "name"):
            clauses.append((start, token.offset + len(token.text)))
            start = -1
        elif not depth and token.kind == "word" and token.text.upper() == "FROM":
            start = token.offset
    dataset = " ".join(select[begin:end] for begin, end in clauses)
    for begin, end in reversed(clauses):
        select = f"{select[:begin]} {select[end:]}"
    return prologue, dataset, select


def query_form(text: str) -> str:
    """SELECT, ASK, CONSTRUCT or DESCRIBE; empty for another keyword."""
    match = _FORM.match(split_prologue(text)[1])
    return match.group().upper() if match else ""


def text_of(term: Any) -> str:
    """The sort key of a term: the text of an IRI or literal; empty if unbound."""
    return "" if term is None else str(term.value)


def page(
    text: str,
    variables: Sequence[str],
    fixed: Sequence[tuple[str, str]],
    after: str | None,
    limit: int,
) -> str:
    """A query for at most `limit` rows of `text`, ordered by one variable.

    The first variables have the `fixed` texts; rows are ordered by the next variable, whose text is
    greater than `after` (None for no condition).
    """
    key = variables[len(fixed)]
    filters = [_equals(name, value) for name, value in fixed]
    if after is not None:
        filters.append(f"FILTER({_compared(key, '>', after)})")
    prologue, dataset, select = split_dataset(text)
    return "\n".join(
        [
            f"{prologue}\nSELECT {' '.join(f'?{name}' for name in variables)} {dataset} WHERE {{",
            f"{{ {select}\n}}",
            *filters,
            f"}} ORDER BY STR(?{key}) LIMIT {limit}",
        ]
    )


def _equals(variable: str, value: str) -> str:
    """A filter that a variable has this text; an empty text also matches an unbound variable.

    Virtuoso 7.2.5 crashes on ``=`` after a subselect with VALUES and BIND, and sorts incorrectly
    if COALESCE replaces unbound values.
    """
    text = f"STR(?{variable})"
    if not value:
        return f'FILTER(!BOUND(?{variable}) || {text} = "")'
    return f"FILTER({_compared(variable, '>=', value)} && {_compared(variable, '<=', value)})"


def _compared(variable: str, operator: str, value: str) -> str:
    """A comparison of the text of a variable with a value.

    Virtuoso 7.2.5 compares an IRI with a literal incorrectly if they have characters outside ASCII:
    it then compares bytes of UTF-8 with code points.
    """
    text = f"STR(?{variable})"
    comparison = f"{text} {operator} {Literal(value)}"
    if value.isascii() or not is_iri(value):
        return comparison
    return f"IF(isIRI(?{variable}), {text} {operator} STR(<{value}>), {comparison})"


def beyond(text: str, count: int) -> str:
    """A query for row number `count` of the result, counted from 0."""
    prologue, dataset, select = split_dataset(text)
    return f"{prologue}\nSELECT * {dataset} WHERE {{\n{{ {select}\n}}\n}} OFFSET {count} LIMIT 1"


def more_than(count: int) -> str:
    """A pattern with more than `count` solutions for ?s ?p ?o, all distinct, on any data."""
    side = next(n for n in itertools.count(1) if n**3 > count)
    values = " ".join(f"<urn:x:{number}>" for number in range(side))
    return f"{{ {' '.join(f'VALUES ?{name} {{ {values} }}' for name in 'spo')} }}"


def solutions_of(text: str) -> str | None:
    """A SELECT for the solutions of a CONSTRUCT query; None for a DESCRIBE."""
    prologue, construct = split_prologue(text)
    remaining = tokens(construct)
    first, second = next(remaining, None), next(remaining, None)
    if first is None or first.text.upper() != "CONSTRUCT":
        return None
    end = len(first.text)
    if second is not None and second.text == "{":
        end = next((token.offset + 1 for token in remaining if token.text == "}"), end)
    return f"{prologue}\nSELECT * {construct[end:]}"


UPDATE_TRIPLES = 1000
"""Triples per update; Virtuoso rejects more than about 1,200."""
GRAPH_TRIPLES = 5000
"""Triples per request of the Graph Store Protocol."""
MANY = 200
"""Triples of one graph from which they are added by the Graph Store Protocol."""
BYTES = 1_000_000
"""The maximum size of a request in bytes, unless a single triple is larger."""


def _replace(client: SparqlClient, graph: str, quads: Sequence[Quad]) -> None:
    """Replace the content of a graph; without quads it is dropped."""
    if not quads or not client.remote.store_url:
        client.update(f"DROP SILENT GRAPH <{graph}>")
        _update(client, "INSERT", quads)
        return
    for number, lines in enumerate(_batches((f"{q.triple} ." for q in quads), GRAPH_TRIPLES)):
        client.store("POST" if number else "PUT", graph, "\n".join(lines).encode())


def _insert(client: SparqlClient, quads: Iterable[Quad]) -> None:
    """Insert quads, of one graph after the other; updates are for few, or if there is no store.

    Virtuoso takes ten times as long for an update as for the same triples sent to a graph.
    """
    few: list[Quad] = []
    for graph, stretch in itertools.groupby(quads, lambda quad: iri(quad.graph_name)):
        while batch := list(itertools.islice(stretch, GRAPH_TRIPLES)):
            if len(batch) < MANY or not client.remote.store_url:
                few += batch
            else:
                for lines in _batches((f"{quad.triple} ." for quad in batch), GRAPH_TRIPLES):
                    client.store("POST", graph, "\n".join(lines).encode())
            if len(few) >= UPDATE_TRIPLES:
                _update(client, "INSERT", few)
                few = []
    _update(client, "INSERT", few)


def _update(client: SparqlClient, verb: str, quads: Iterable[Quad]) -> None:
    lines = (f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads)
    for batch in _batches(lines, UPDATE_TRIPLES):
        client.update(f"{verb} DATA {{\n" + "\n".join(batch) + "\n}")


def _batches(lines: Iterable[str], max_lines: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode())
        if batch and (len(batch) == max_lines or size + length > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch
