"""Writes to the graph, one at a time, and keeps what must hold of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, cast

import pyoxigraph as ox

from sarag_rdf.errors import InputError, QueryError
from sarag_rdf.plain_xml import PlainXml
from sarag_rdf.serve.jobs import Payload, Reply, RequestError, UpdateJob, WriteGraphJob
from sarag_rdf.serve.media import GRAPHS
from sarag_rdf.serve.run_graph import graph_exists
from sarag_rdf.serve.run_query import evaluate_errors
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.settle import Settler
from sarag_rdf.serve.skolem import Skolemizer
from sarag_rdf.stores import holder
from sarag_rdf.stores.oxigraph import open_store
from sarag_rdf.stores.update_guard import UpdateTraits, inspect_update, with_dataset
from sarag_rdf.terms import DEEPEST_TERM, is_deep

_NO_DEFAULT = (
    "the default graph is the union of all graphs here and cannot be written or read alone: name "
    "graphs with GRAPH, WITH or USING, or start the server with --default-graph empty"
)
_BLANK_MARKS = ("_:", "[", "(")
"""Without one of these an update makes no blank node."""


def update(job: UpdateJob, settings: ServeSettings) -> Reply:
    """Run an update; raises `RequestError`, `StoreError`."""
    text, traits = _screened(job, settings)
    store = open_store(settings.store, writable=True)
    holder.sign(settings.folder)
    settler = Settler(store, settings.folder)
    graphs = traits.graphs
    _refuse_own(settler, graphs or ())
    blanks = traits.loads or traits.uses_service or any(mark in text for mark in _BLANK_MARKS)

    def change() -> Reply:
        try:
            store.update(text, base_iri=job.base)
        except (SyntaxError, RuntimeError, ValueError, OSError) as error:
            raise evaluate_errors(error) from error
        return Reply(204)

    return _settled(store, settler, graphs, change, blanks=blanks)


def write_graph(job: WriteGraphJob, settings: ServeSettings) -> Reply:
    """Replace, extend or drop one graph; raises `RequestError`, `StoreError`."""
    if job.graph is None and settings.union:
        raise RequestError(409, _NO_DEFAULT)
    parsed = [quad for payload in job.payloads for quad in _parsed(payload, job)]
    store = open_store(settings.store, writable=True)
    holder.sign(settings.folder)
    settler = Settler(store, settings.folder)
    _refuse_own(settler, () if job.graph is None else (job.graph,))
    existed = graph_exists(store, job.graph)
    if job.action == "drop" and not existed:
        raise RequestError(404, f"there is no graph {job.graph}")
    name = ox.DefaultGraph() if job.graph is None else ox.NamedNode(job.graph)

    def change() -> Reply:
        if job.action == "drop":
            store.update(f"DROP {'DEFAULT' if job.graph is None else f'GRAPH {name}'}")
            return Reply(204)
        old = set(settler.quads(job.graph))
        new = set(Skolemizer(settler.base).quads(parsed))
        made = "" if job.graph is None else f"CREATE SILENT GRAPH {name} ;\n"
        gone = _data("DELETE", old - new if job.action == "replace" else (), job.graph)
        store.update(made + gone + _data("INSERT", new - old, job.graph))
        return Reply(204 if existed else 201)

    graphs = frozenset() if job.graph is None else frozenset({job.graph})
    return _settled(store, settler, graphs, change, blanks=False)


def _settled(
    store: ox.Store,
    settler: Settler,
    graphs: frozenset[str] | None,
    change: Callable[[], Reply],
    *,
    blanks: bool,
) -> Reply:
    """Make a change of these graphs (None: of any) and what follows from it, or nothing."""
    evidence = graphs is None or any(map(settler.is_evidence, graphs))
    all_graphs = [g.value for g in store.named_graphs() if isinstance(g, ox.NamedNode)]
    kept_graphs: list[str | None] = [None, *(all_graphs if graphs is None else graphs)]
    kept = {q for graph in kept_graphs for q in settler.quads(graph)} if evidence else set()
    settler.begin()
    try:
        reply = change()
    except RequestError:
        settler.finish(evidence=False, blanks=False)
        raise
    try:
        settler.finish(evidence=evidence, blanks=blanks)
    except RequestError:
        now = [g.value for g in store.named_graphs() if isinstance(g, ox.NamedNode)]
        settler.put_back(kept, {*kept_graphs, *(now if graphs is None else ())})
        settler.finish(evidence=True, blanks=False)
        raise
    return reply


def _screened(job: UpdateJob, settings: ServeSettings) -> tuple[str, UpdateTraits]:
    """The text that runs, and its traits; raises `RequestError` for one that may not run."""
    try:
        traits = inspect_update(job.text, job.base)
    except QueryError as error:
        raise RequestError(400, str(error)) from error
    if traits.uses_service and not settings.allow_service:
        raise RequestError(403, "SERVICE reaches the network: it needs --allow-service")
    if traits.loads and not settings.allow_load:
        raise RequestError(403, "LOAD reaches the network: it needs --allow-load")
    clause = _using(job)
    if clause and traits.names_dataset:
        raise RequestError(
            400, "the data set is named twice: by USING or WITH, and by the request's parameters"
        )
    text = with_dataset(job.text, clause) if clause else job.text
    if settings.union and (inspect_update(text, job.base) if clause else traits).uses_default:
        raise RequestError(400, _NO_DEFAULT)
    return text, traits


def _using(job: UpdateJob) -> str:
    parts = [f"USING {ox.NamedNode(iri)}" for iri in job.using]
    parts += [f"USING NAMED {ox.NamedNode(iri)}" for iri in job.using_named]
    return " ".join(parts)


def _data(keyword: str, quads: Iterable[ox.Quad], graph: str | None) -> str:
    """An operation on quads of one graph, so that all of a request is one transaction."""
    lines = "\n".join(f"{quad.triple} ." for quad in quads)
    if not lines:
        return ""
    inner = lines if graph is None else f"GRAPH {ox.NamedNode(graph)} {{\n{lines}\n}}"
    return f"{keyword} DATA {{\n{inner}\n}} ;\n"


def _refuse_own(settler: Settler, graphs: Iterable[str]) -> None:
    for graph in graphs:
        if settler.is_own(graph):
            raise RequestError(
                403,
                f"{graph} is derived, described or imported by sarag: write to the graph of a "
                "source, to a graph of your own, or import it anew",
            )


def _parsed(payload: Payload, job: WriteGraphJob) -> list[ox.Quad]:
    """The triples of a payload, all in the graph of the job; blank nodes are told apart."""
    name = ox.DefaultGraph() if job.graph is None else ox.NamedNode(job.graph)
    format_ = GRAPHS[payload.media_type]
    try:
        with Path(payload.path).open("rb") as body:
            is_xml = format_ == ox.RdfFormat.RDF_XML
            stream = cast("IO[bytes]", PlainXml(body, "the body")) if is_xml else body
            quads = ox.parse(
                input=stream,
                format=format_,
                base_iri=job.base,
                without_named_graphs=True,
                rename_blank_nodes=True,
            )
            found = [ox.Quad(q.subject, q.predicate, q.object, name) for q in quads]
    except InputError as error:
        raise RequestError(400, str(error)) from error
    except MemoryError as error:
        raise RequestError(400, "the body holds a term of more than 16 MiB") from error
    except (SyntaxError, ValueError) as error:
        said = " ".join(str(error).split())
        raise RequestError(400, f"the {payload.media_type} does not parse: {said}") from error
    if any(map(is_deep, found)):
        raise RequestError(400, f"the body nests triple terms more than {DEEPEST_TERM} deep")
    return found
