"""SPARQL queries over chosen parts of a graph, what a query would read, and the graph in rdflib."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from sarag_rdf.base.errors import MissingDependencyError, QueryError, UsageError
from sarag_rdf.base.ports import GraphStore, Table, Triples
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.building.entailed_graph import absent_at
from sarag_rdf.graph.graph_reader import DOCUMENTS
from sarag_rdf.graph.parts import default_graphs
from sarag_rdf.graph.store.oxigraph import OxigraphStore, query_in_child
from sarag_rdf.kg.session import Session, Snapshot

if TYPE_CHECKING:
    import rdflib

    from sarag_rdf.graph.store.query_outline import UnusedTerm, Vocabulary

Prefixes = Callable[[], Mapping[str, str]]
MOST_COUNTED = 100_000
"""Triples at which the count of a pattern stops."""
_FIRST_LINE = re.compile(r"\bat 1:(\d+)")


def run_query(
    session: Session,
    text: str,
    over: Sequence[str],
    declared: Prefixes | None,
    *,
    at: str = "",
    allow_service: bool = False,
    timeout: float | None = None,
) -> Table | Triples | bool:
    """Run a query over the parts in `over`; see `KnowledgeGraph.query`.

    `declared` gives the prefixes of the ontologies; without it, no prefixes are predeclared.
    """
    from sarag_rdf.graph.store.sparql_syntax import (  # a search needs no parser
        check_query,
        is_update,
        refuse_network,
    )

    if is_update(text):
        raise QueryError(
            "the query is an update, and queries only read: change the graph by commands (see "
            "sarag --help), or send updates to sarag serve --writable"
        )

    prologue = prologue_for(text, declared) if declared else ""
    with _columns_after(prologue):
        traits = check_query(prologue + text)
        if not allow_service:
            refuse_network(traits)
        with session.read() as snapshot:
            parts = over or session.over
            run = _runner(
                snapshot, parts, names_dataset=traits.names_dataset, at=at, timeout=timeout
            )
            return run(prologue + text)


def prologue_for(text: str, declared: Prefixes) -> str:
    """Declarations of the known prefixes that occur in a query, on one line.

    `declared` gives those of the ontologies; it is called only if the common prefixes leave one
    unknown. A declaration in the query takes precedence.
    """
    from sarag_rdf.graph.store.sparql_syntax import tokens

    used = {token.prefix for token in tokens(text) if token.kind == "name"}
    known: dict[str, str] = dict(PREFIXES)
    if not used <= known.keys():
        known = {**declared(), **known}
    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in known.items() if name in used)


@contextmanager
def _columns_after(prologue: str) -> Iterator[None]:
    """Errors count the columns of the first line without the prologue."""
    try:
        yield
    except QueryError as error:
        raise QueryError(
            _FIRST_LINE.sub(lambda at: f"at 1:{max(1, int(at[1]) - len(prologue))}", str(error))
        ) from error


def _runner(
    snapshot: Snapshot,
    over: Sequence[str],
    *,
    names_dataset: bool,
    at: str = "",
    timeout: float | None = None,
) -> Callable[[str], Table | Triples | bool]:
    """Runs queries over the parts in `over`, or over the data set that they name themselves.

    With `at`, the graph is seen as it was then. With a `timeout`, the queries of a store in a
    folder run in a child process.
    """
    graphs = None if names_dataset else default_graphs(snapshot.reader, over)
    absent = absent_at(snapshot.own, at) if at else frozenset()
    store = snapshot.local if absent else snapshot.reader.store
    run: Callable[..., Table | Triples | bool] = store.query
    if timeout is not None and isinstance(store, OxigraphStore) and store.folder is not None:
        run = partial(query_in_child, store.folder, seconds=timeout, without=absent)
    elif absent:
        run = snapshot.local.without(absent).query
    union = not names_dataset and graphs is None
    return lambda text: run(text, union=union, default_graphs=graphs)


@dataclass(frozen=True, slots=True)
class PatternCount:
    """A triple pattern with prefixed names, and the number of triples that match it.

    Of a path of any length one step is counted, and `is_step` is set. `triples` is None for a
    pattern in a SERVICE, and `MOST_COUNTED` if it `has_more`. `graph` is the term of the GRAPH
    around it, or empty. `is_required` unless it is in OPTIONAL, UNION, MINUS, FILTER or a subquery.
    """

    pattern: str
    graph: str
    triples: int | None
    has_more: bool
    is_required: bool
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """What a query reads, without its results.

    `form` is SELECT, ASK, CONSTRUCT or DESCRIBE. `over` names the parts whose union is the default
    graph; it is empty if the query names `default_graphs` with FROM, or `named_graphs`. `graphs`
    are the terms of GRAPH, `services` those of SERVICE. `undeclared` are prefixes without a
    declaration, with which the query does not run.
    """

    form: str
    over: tuple[str, ...]
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    graphs: tuple[str, ...]
    services: tuple[str, ...]
    patterns: tuple[PatternCount, ...]
    unused: tuple[UnusedTerm, ...]
    undeclared: tuple[str, ...] = ()


def explain_query(
    session: Session, text: str, over: Sequence[str], declared: Prefixes | None, known: Vocabulary
) -> QueryExplanation:
    """What a query reads; see `KnowledgeGraph.explain_query`.

    `declared` are the prefixes as in `run_query`, `known` the declared classes and properties.
    """
    from sarag_rdf.graph.store import query_outline
    from sarag_rdf.graph.store.sparql_syntax import undeclared_prefixes

    prologue = prologue_for(text, declared) if declared else ""
    text = prologue + text
    with _columns_after(prologue):
        undeclared = tuple(undeclared_prefixes(text))
        prefixes = "".join(f"PREFIX {p}: <{query_outline.UNDECLARED}{p}:> " for p in undeclared)
        outline = query_outline.outline_of(prefixes + text)
    names_dataset = bool(outline.default_graphs or outline.named_graphs)
    with session.read() as snapshot:
        parts = over or session.over or (DOCUMENTS,)
        run = _runner(snapshot, parts, names_dataset=names_dataset)
        counts = []
        for pattern in outline.patterns:
            triples = None
            if not pattern.service:
                triples = query_outline.as_number(
                    run(query_outline.count(outline, pattern, MOST_COUNTED + 1))
                )
            counts.append(
                PatternCount(
                    query_outline.compact(pattern.text, outline.prefixes),
                    query_outline.compact(pattern.graph, outline.prefixes),
                    None if triples is None else min(triples, MOST_COUNTED),
                    (triples or 0) > MOST_COUNTED,
                    pattern.is_required,
                    bool(pattern.step),
                )
            )
        unused = query_outline.unused_terms(outline, run, known)
    return QueryExplanation(
        outline.form,
        () if names_dataset else tuple(parts),
        outline.default_graphs,
        outline.named_graphs,
        tuple(query_outline.compact(term, outline.prefixes) for term in outline.graphs),
        outline.services,
        tuple(counts),
        unused,
        undeclared,
    )


_CHANGES = ("add", "addN", "remove", "update", "remove_graph", "destroy")
"""Methods of a store of rdflib that change it; `add_graph` is called for reading, too."""


def read_only_dataset(store: GraphStore) -> rdflib.Dataset:
    """An `rdflib.Dataset` that reads a store; changes raise `UsageError`.

    Raises `MissingDependencyError`; `UsageError` for the store of a SPARQL endpoint.
    """
    if not isinstance(store, OxigraphStore):
        raise UsageError(
            "the graph of a SPARQL endpoint has no store here: use rdflib's SPARQLStore with its "
            "URL"
        )
    try:
        from oxrdflib import OxigraphStore as OxrdflibStore
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "oxrdflib is not installed: pip install 'sarag-rdf[rdflib]'"
        ) from error
    import rdflib

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            "this data set is read-only: change the graph with the methods of KnowledgeGraph"
        )

    methods: dict[str, Any] = dict.fromkeys(_CHANGES, refuse)
    methods["add_graph"] = lambda _, graph: None  # noqa: ARG005
    methods["snapshot"] = store  # which has the files open
    read_only = type("ReadOnlyStore", (OxrdflibStore,), methods)
    dataset = rdflib.Dataset(store=read_only(store=store.inner), default_union=True)
    for prefix, namespace in PREFIXES.items():
        dataset.bind(prefix, namespace)
    return dataset
