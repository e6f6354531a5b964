"""A live SPARQL 1.1 endpoint as a GraphStore: every answer is complete, or an error."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox
from pyoxigraph import Literal, Quad

from sarag_rdf.endpoints import SparqlEndpoint
from sarag_rdf.errors import RemoteStoreError, RemoteTruncatedError, StoreError, UsageError
from sarag_rdf.ports import Change, Table, Triples
from sarag_rdf.rdf.dataset import uses_graph
from sarag_rdf.rdf.query_guard import inspect_query
from sarag_rdf.rdf.sparql_client import BACKOFF, Client, DataSet
from sarag_rdf.rdf.sparql_results import (
    ACCEPT_ROWS,
    ACCEPT_TRIPLES,
    announced_limit,
    read_rows,
    read_triples,
)
from sarag_rdf.rdf.sparql_tokens import tokens
from sarag_rdf.terms import iri
from sarag_rdf.vocab import SARAG

PAGE = 10_000
"""Rows a page: Virtuoso sorts no more at a time."""
_AS_IT_IS: DataSet = {}
"""The endpoint's own data set."""
UNSUSPICIOUS = 100
"""No endpoint cuts results below this: fewer rows are taken as whole without asking again."""


class SparqlStore:
    """A GraphStore behind a query endpoint, and an update and a graph store endpoint to write to.

    Endpoints cut results at a limit, and not all of them say so. So for a result of some size it is
    asked whether there is more, and if there is, `select` reads it page by page.
    """

    is_shared = True

    def __init__(
        self, remote: SparqlEndpoint, *, writable: bool = False, backoff: float = BACKOFF
    ) -> None:
        self._remote = remote.writable() if writable else remote
        self._writable = writable
        self._url = self._remote.query_url
        self._client: Client | None = Client(self._remote, backoff=backoff)

    @property
    def _open_client(self) -> Client:
        if self._client is None:
            raise StoreError("this graph has been closed: open it again")
        return self._client

    @property
    def _writing_client(self) -> Client:
        if not self._writable:
            raise StoreError("this graph was opened for reading only")
        return self._open_client

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        dataset = self._dataset(text, union, default_graphs)
        form = query_form(text)
        if form in ("CONSTRUCT", "DESCRIBE"):
            return self._triples(text, dataset)
        result, limit = self._rows(text, dataset)
        if isinstance(result, Table) and self._is_short(text, result, limit, dataset):
            raise RemoteTruncatedError(
                f"{self._url} gave {len(result.rows)} rows and has more: ask for parts, "
                "with ORDER BY, LIMIT and a FILTER on what the last part ended with"
            )
        return result

    def select(self, text: str, key: str) -> Table:
        result, limit = self._rows(text)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        if not self._is_cut(text, result, limit):
            return result
        names = (key, *(name for name in result.variables if name != key))
        order = [names.index(name) for name in result.variables]
        rows = self._pages(text, names, len(result.rows), ())
        return Table(result.variables, [tuple(row[place] for place in order) for row in rows])

    def apply(self, change: Change) -> None:
        """Make a change step by step: an endpoint has no atomic one.

        See docs/how-to/use-a-sparql-endpoint.md.
        """
        write(self._writing_client, change)

    def load(self, quads: Iterable[ox.Quad]) -> None:
        add(self._writing_client, quads)

    def load_ntriples(self, data: bytes, graph: str) -> None:
        name = ox.NamedNode(graph)
        triples = ox.parse(data, format=ox.RdfFormat.N_TRIPLES)
        self.load(ox.Quad(t.subject, t.predicate, t.object, name) for t in triples)

    def quads(self, graph: str | None = None) -> Iterator[ox.Quad]:
        names = [graph] if graph is not None else self.graphs()
        for name in names:
            node = ox.NamedNode(name)
            rows = self.select(f"SELECT ?s ?p ?o WHERE {{ GRAPH {node} {{ ?s ?p ?o }} }}", "s").rows
            yield from (ox.Quad(s, p, o, node) for s, p, o in rows)

    def graphs(self) -> list[str]:
        # With DISTINCT instead, Virtuoso 7.2.5 may never answer.
        rows = self.select("SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "g").rows
        return sorted(row[0].value for row in rows)

    def close(self) -> None:
        self._client = None

    def _dataset(self, text: str, union: bool, default_graphs: Sequence[str] | None) -> DataSet:
        """The parameters that choose what a query sees.

        Oxigraph takes all graphs for the default one if it is asked to; the protocol hides from
        GRAPH what is not named once a default graph is.
        """
        if default_graphs is None:
            return {"union-default-graph": ["true"]} if union else {}
        named = self.graphs() if uses_graph(text) else []
        return {"default-graph-uri": list(default_graphs), "named-graph-uri": named}

    def _rows(self, text: str, dataset: DataSet = _AS_IT_IS) -> tuple[Table | bool, int | None]:
        """One answer as it came, and the limit at which it was cut if the endpoint says so."""
        response = self._open_client.query(text, ACCEPT_ROWS, dataset)
        return read_rows(response), announced_limit(response)

    def _triples(self, text: str, dataset: DataSet) -> Triples:
        response = self._open_client.query(text, ACCEPT_TRIPLES, dataset)
        result, limit = read_triples(response), announced_limit(response)
        if limit is not None or self._lacks(text, len(result.triples), dataset):
            raise RemoteTruncatedError(
                f"{self._url} gave {len(result.triples)} triples and has more: ask for parts"
            )
        return result

    def _lacks(self, text: str, count: int, dataset: DataSet) -> bool:
        """Whether triples are missing: not every endpoint says so, but rows of theirs tell."""
        if count < UNSUSPICIOUS:
            return False
        select = solutions_of(text)
        if select is None:
            return count % 100 == 0
        rows, limit = self._rows(select, dataset)
        return not isinstance(rows, Table) or self._is_short(select, rows, limit, dataset)

    def _is_short(self, text: str, table: Table, limit: int | None, dataset: DataSet) -> bool:
        """The same for a query of any form: one with FROM cannot stand in a further query."""
        if len(table.rows) >= UNSUSPICIOUS and inspect_query(text).names_dataset:
            return limit is not None or len(table.rows) % 1000 == 0
        return self._is_cut(text, table, limit, dataset)

    def _is_cut(
        self, text: str, table: Table, limit: int | None, dataset: DataSet = _AS_IT_IS
    ) -> bool:
        """Whether there is more than was given, as the endpoint says or as one more query shows."""
        count = len(table.rows)
        if limit is not None and count >= limit:
            return True
        if count < UNSUSPICIOUS:
            return False
        further, _ = self._rows(beyond(text, count), dataset)
        return not isinstance(further, Table) or bool(further.rows)

    def _pages(
        self, text: str, variables: Sequence[str], most: int, fixed: tuple[tuple[str, str], ...]
    ) -> Iterator[tuple[Any, ...]]:
        """All rows where the first variables are fixed, by the next: at most `most` a page.

        The last value of a page, which may go on, is read again with the next page. One that has
        more rows than a page can hold is read in pages by the variable that follows.
        """
        column, size = len(fixed), min(PAGE, most)
        after: str | None = None
        while True:
            asked = page(text, variables, fixed, after, size)
            found, limit = self._rows(asked)
            if not isinstance(found, Table):
                raise StoreError("a SELECT query was expected")
            rows, texts = found.rows, [text_of(row[column]) for row in found.rows]
            if texts != sorted(texts) or (after is not None and texts and texts[0] <= after):
                raise RemoteStoreError(
                    f"{self._url} does not sort by code points, so that its results cannot be read "
                    "in pages: its limit of rows must be raised"
                )
            if len(rows) < size and not self._is_cut(asked, found, limit):
                yield from rows
                return
            end = texts.index(texts[-1])  # the last text may go on
            if end:
                yield from rows[:end]
                size, after = min(PAGE, most), texts[end - 1]
            elif len(rows) == size < most:
                size = min(4 * size, most)
            elif column + 1 < len(variables):
                within = (*fixed, (variables[column], texts[-1]))
                yield from self._pages(text, variables, most, within)
                after = texts[-1]
            else:
                raise RemoteTruncatedError(
                    f"{self._url} gives {len(rows)} rows at most, and has more that differ in "
                    "nothing to sort by: its limit must be raised"
                )


_PROLOGUE = re.compile(
    r"(?:\s+|\#[^\n\r]*|BASE\s*<[^<>\s]*>|PREFIX\s*[^\s:<>]*:\s*<[^<>\s]*>)*", re.IGNORECASE
)
_FORM = re.compile(r"SELECT|ASK|CONSTRUCT|DESCRIBE", re.IGNORECASE)


def split_prologue(text: str) -> tuple[str, str]:
    """BASE, PREFIX and comments at the head of a query, and the rest."""
    match = _PROLOGUE.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]


def query_form(text: str) -> str:
    """SELECT, ASK, CONSTRUCT or DESCRIBE; empty if the text begins with something else."""
    match = _FORM.match(split_prologue(text)[1])
    return match.group().upper() if match else ""


def text_of(term: Any) -> str:
    """What rows are ordered by: the text of an IRI or literal, nothing for an unbound variable."""
    return "" if term is None else str(term.value)


def page(
    text: str,
    variables: Sequence[str],
    fixed: Sequence[tuple[str, str]],
    after: str | None,
    limit: int,
) -> str:
    """Rows in the order of one variable, at most `limit`.

    The first variables have the texts that are `fixed`; rows are ordered by the one that follows
    these, and its text comes behind `after` (all for None).
    """
    key = variables[len(fixed)]
    filters = [_equals(name, value) for name, value in fixed]
    if after is not None:
        filters.append(f"FILTER(STR(?{key}) > {Literal(after)})")
    prologue, select = split_prologue(text)
    return "\n".join(
        [
            f"{prologue}\nSELECT {' '.join(f'?{name}' for name in variables)} WHERE {{",
            f"{{ {select}\n}}",
            *filters,
            f"}} ORDER BY STR(?{key}) LIMIT {limit}",
        ]
    )


def _equals(variable: str, value: str) -> str:
    """That a variable has this text, or is unbound or empty where there is none.

    Virtuoso 7.2.5 crashes on ``=`` behind a subselect with VALUES and BIND, and sorts wrongly
    where a COALESCE stands for what is unbound.
    """
    text = f"STR(?{variable})"
    if not value:
        return f'FILTER(!BOUND(?{variable}) || {text} = "")'
    return f"FILTER({text} >= {Literal(value)} && {text} <= {Literal(value)})"


def beyond(text: str, count: int) -> str:
    """One row of the result if it has more than `count`, else none."""
    prologue, select = split_prologue(text)
    return f"{prologue}\nSELECT * WHERE {{\n{{ {select}\n}}\n}} OFFSET {count} LIMIT 1"


def solutions_of(text: str) -> str | None:
    """The SELECT of the solutions that a CONSTRUCT makes its triples of; None for a DESCRIBE."""
    prologue, construct = split_prologue(text)
    found = tokens(construct)
    first, second = next(found, None), next(found, None)
    if first is None or first.text.upper() != "CONSTRUCT":
        return None
    end = len(first.text)
    if second is not None and second.text == "{":
        end = next((token.offset + 1 for token in found if token.text == "}"), end)
    return f"{prologue}\nSELECT * {construct[end:]}"


UPDATE_TRIPLES = 1000
"""Triples an update: Virtuoso refuses more than about 1,200."""
GRAPH_TRIPLES = 5000
"""Triples a request of the Graph Store Protocol."""
BYTES = 1_000_000
"""Bytes a request at most, as far as single triples allow."""


def add(client: Client, quads: Iterable[Quad]) -> None:
    """Add quads in batches, each to its graph."""
    _check(client)
    lines = (f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads)
    for batch in _batches(lines, UPDATE_TRIPLES):
        _send(client, "INSERT", batch)


def write(client: Client, change: Change) -> None:
    """Take the revision away, change what is derived, replace graphs, give the new revision."""
    _check(client)
    replaced: defaultdict[str, list[Quad]] = defaultdict(list)
    kept: list[Quad] = []
    for quad in change.insert:
        graph = iri(quad.graph_name)
        (replaced[graph] if graph in change.drop else kept).append(quad)
    _update(client, "DELETE", [quad for quad in change.delete if _is_revision(quad)])
    _update(client, "DELETE", [quad for quad in change.delete if not _is_revision(quad)])
    _update(client, "INSERT", [quad for quad in kept if not _is_revision(quad)])
    for graph in change.drop:
        _replace(client, graph, sorted(replaced[graph], key=_says_whole))
    _update(client, "INSERT", [quad for quad in kept if _is_revision(quad)])


def _is_revision(quad: Quad) -> bool:
    return quad.predicate == SARAG.revision


def _says_whole(quad: Quad) -> bool:
    return quad.predicate == SARAG.sha256


def _replace(client: Client, graph: str, quads: Sequence[Quad]) -> None:
    """Make these the quads of a graph; with none of them it is gone."""
    if not quads or not client.remote.store_url:
        client.update(f"DROP SILENT GRAPH <{graph}>")
        _update(client, "INSERT", quads)
        return
    for number, lines in enumerate(_batches((f"{q.triple} ." for q in quads), GRAPH_TRIPLES)):
        client.store("POST" if number else "PUT", graph, "\n".join(lines).encode())


def _update(client: Client, verb: str, quads: Sequence[Quad]) -> None:
    lines = (f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads)
    for batch in _batches(lines, UPDATE_TRIPLES):
        _send(client, verb, batch)


def _send(client: Client, verb: str, lines: list[str]) -> None:
    client.update(f"{verb} DATA {{\n" + "\n".join(lines) + "\n}")


def _check(client: Client) -> None:
    if not client.remote.update_url:
        raise UsageError(
            f"{client.remote.query_url}: how to write to it is not known: name its update "
            "endpoint with --update-url, and its graph store with --store-url if it has one"
        )


def _batches(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode())
        if batch and (len(batch) == most or size + length > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch
