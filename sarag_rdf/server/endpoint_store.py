"""A graph behind a SPARQL endpoint as the jobs of a server read it: as a store of pyoxigraph.

It has the few methods of `pyoxigraph.Store` that reading jobs call. Queries are sent to the
endpoint; every result is complete, or an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import QueryError, RemoteStoreError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.graph.store.oxigraph import DefaultGraphUnion
from sarag_rdf.graph.store.sparql_client import DataSet
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore, query_form, split_dataset
from sarag_rdf.graph.store.sparql_syntax import inspect_query, tokens, uses_graph

MOST_QUADS: Final = 50_000
"""Quads that a pattern returns, unless it names a graph only."""
_NO_GRAPH: Final = "urn:sarag:no-graph"
"""Stands for no graph, as a request without any has the endpoint's own data set."""
_ANY: Final = "ASK { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } UNION { GRAPH %s { ?s ?p ?o } } }"
"""Whether a query sees anything, by any way to a graph."""


class EndpointUnion(DefaultGraphUnion):
    """The union of graphs is that of the endpoint: nothing is copied."""

    def _copy(self, store: Any, graphs: frozenset[str]) -> None:  # noqa: ARG002
        return None


class EndpointStore:
    """One state of the graph behind an endpoint."""

    def __init__(self, port: SparqlStore, endpoint: SparqlEndpoint, *, is_foreign: bool) -> None:
        """A graph that `is_foreign` is the endpoint's default graph, or the one that it names."""
        self._port = port
        self._where = "GRAPH ?g {{ {} }}"
        self._union: DataSet = {"union-default-graph": ["true"]}
        if is_foreign:
            self._where = f"GRAPH <{endpoint.graph}> {{{{ {{}} }}}}" if endpoint.graph else "{}"
            self._union = {"default-graph-uri": [endpoint.graph]} if endpoint.graph else {}

    @cached_property
    def _graphs(self) -> list[str]:
        return self._port.graphs()

    def query(
        self,
        text: str,
        *,
        base_iri: str = "",
        use_default_graph_as_union: bool = False,
        default_graph: Sequence[Any] | None = None,
        named_graphs: Sequence[Any] | None = None,
        most_rows: int = 0,
    ) -> Table | Triples | bool:
        """The result of a query, of a SELECT at most so many rows (0 for all).

        The arguments before it are those of `pyoxigraph.Store.query`. Raises SyntaxError for what
        Oxigraph does not parse, so that no server takes an extension of SPARQL for its own, and
        what `SparqlStore.query` raises.
        """
        ox.Store().query(text, base_iri=base_iri or None)
        dataset: DataSet = self._union if use_default_graph_as_union else {}
        if default_graph is not None:
            names = self._graphs if named_graphs is None and uses_graph(text) else ()
            named = [graph.value for graph in named_graphs or ()] or names or [_NO_GRAPH]
            # the unnamed graph has no name, so that it cannot be asked for beside others
            default = [g.value for g in default_graph if isinstance(g, ox.NamedNode)]
            dataset = {"default-graph-uri": default or [_NO_GRAPH], "named-graph-uri": named}
            text = _without_dataset(text)
        if base_iri:
            text = f"BASE <{base_iri}>\n{text}"
        is_ordered = True
        if query_form(text) == "SELECT":
            limit = most_rows + 1 if most_rows else 0
            text, is_ordered = _limited(text, limit, self._port.max_sorted)
        return self._port.query_in(text, dataset, paged=not is_ordered)

    def quads_for_pattern(self, s: Any, p: Any, o: Any, graph: Any) -> Iterator[ox.Quad]:
        """The quads of a pattern (None for any term); at most `MOST_QUADS` of all graphs."""
        given = {name: term for name, term in (("s", s), ("p", p), ("o", o)) if term is not None}
        pattern = " ".join(str(given.get(name, f"?{name}")) for name in "spo")
        if graph is None:
            return self._quads(f"{self._where.format(pattern)} }} LIMIT {MOST_QUADS}", **given)
        if isinstance(graph, ox.NamedNode):
            pattern = f"GRAPH {graph} {{ {pattern} }}"
        return self._quads(f"{pattern} }}", g=graph, **given)

    def quads_about(
        self, subjects: Collection[str], predicates: Collection[str] = ()
    ) -> Iterator[ox.Quad]:
        """The quads of several subjects, with one of some predicates, in few requests."""
        some = f"VALUES ?p {{ {' '.join(f'<{p}>' for p in predicates)} }} " if predicates else ""
        where = self._where.format("?s ?p ?o")
        pending = iter(subjects)
        while batch := list(islice(pending, self._port.max_values)):
            values = " ".join(f"<{subject}>" for subject in batch)
            yield from self._quads(f"VALUES ?s {{ {values} }} {some}{where} }}")

    def contains_named_graph(self, graph: ox.NamedNode) -> bool:
        """Whether there is a graph that is not empty."""
        return self._port.query(f"ASK {{ GRAPH {graph} {{ ?s ?p ?o }} }}") is True

    def check_limits(self) -> None:
        """Raise `RemoteStoreError` unless the endpoint keeps queries to their graphs."""
        nothing = {"default-graph-uri": [_NO_GRAPH], "named-graph-uri": [_NO_GRAPH]}
        graph = next(iter(self._graphs), _NO_GRAPH)
        if self._port.query_in(_ANY % ox.NamedNode(graph), nothing):
            raise RemoteStoreError(
                "the endpoint does not keep a query to the graphs that its request names, so that "
                "no token for some graphs can be served: serve a copy of the graph in a folder"
            )

    def _quads(self, where: str, **given: Any) -> Iterator[ox.Quad]:
        """The quads of the solutions for s, p, o and g without those that are given."""
        if not self._where.startswith("GRAPH ?g"):
            given.setdefault("g", ox.DefaultGraph())
        names = [name for name in "spog" if name not in given]
        text = f"SELECT {' '.join(f'?{name}' for name in names)} WHERE {{ {where}"
        for row in self._port.select(text, names[0]).rows:
            terms = given | dict(zip(names, row, strict=True))
            yield ox.Quad(*(terms[name] for name in "spog"))


def _without_dataset(text: str) -> str:
    """A query without its FROM clauses; raises `QueryError` if they cannot be told."""
    if not inspect_query(text).names_dataset:
        return text
    prologue, _, rest = split_dataset(text)
    if inspect_query(prologue + rest).names_dataset:
        raise QueryError(
            "FROM in this query could not be read: name the graphs by the parameters "
            "default-graph-uri and named-graph-uri"
        )
    return prologue + rest


def _limited(text: str, rows: int, most_sorted: int) -> tuple[str, bool]:
    """A SELECT with a limit (0 for none) if it has none, and whether its rows have an order.

    One with an order gets no limit of more than `most_sorted` rows.
    """
    depth, words, end = 0, "", len(text)
    for token in tokens(text):
        depth += (token.kind == "open") - (token.kind == "close")
        if not depth and token.kind == "word":
            words += f" {token.text.upper()}"
            end = token.offset if token.text.upper() == "VALUES" else end
    is_ordered = any(word in words for word in ("ORDER", "LIMIT", "OFFSET"))
    if rows and "LIMIT" not in words and ("ORDER" not in words or rows <= most_sorted):
        text = f"{text[:end]}\nLIMIT {rows}\n{text[end:]}"
    return text, is_ordered
