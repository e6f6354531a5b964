"""Writes to the graph, one at a time, and keeps what must hold of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pyoxigraph as ox

from sarag_rdf.errors import InputError, QueryError
from sarag_rdf.location import GraphLocation
from sarag_rdf.plain_xml import PlainXml
from sarag_rdf.serve.difference import Difference, compare, quads_in
from sarag_rdf.serve.jobs import Payload, Reply, RequestError, UpdateJob, WriteGraphJob
from sarag_rdf.serve.media import GRAPHS
from sarag_rdf.serve.run_graph import graph_exists
from sarag_rdf.serve.run_query import evaluate_errors
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.settle import Settler
from sarag_rdf.stores.oxigraph import OxigraphStore
from sarag_rdf.stores.update_guard import UpdateTraits, inspect_update, is_plain, with_dataset
from sarag_rdf.stores.working_copy import on_copy
from sarag_rdf.terms import DEEPEST_TERM, is_deep

_NO_DEFAULT = (
    "the default graph is the union of all graphs here and cannot be written or read alone: name "
    "graphs with GRAPH, WITH or USING, or start the server with --default-graph empty"
)
_TOO_DEEP = f"nests triple terms more than {DEEPEST_TERM} deep"


def update(job: UpdateJob, settings: ServeSettings) -> Reply:
    """Run an update; raises `RequestError`, `StoreError`.

    It runs on a copy of the store, and what it changed there decides, so that nothing depends on
    how its text is read here.
    """
    text, traits = _screened(job, settings)
    with _writing(settings) as (store, settler):
        settler.refuse_own(traits.graphs or ())
        graphs = traits.graphs if is_plain(text) else None

        def changed(copy: ox.Store) -> Difference | RequestError:
            try:
                copy.update(text, base_iri=job.base)
            except (SyntaxError, RuntimeError, ValueError, OSError) as error:
                return evaluate_errors(error)
            return compare(store.engine, copy, graphs)

        difference = on_copy(store, settings.folder, changed)
        if isinstance(difference, RequestError):
            raise difference
        if any(is_deep(quad) for quads in difference.come.values() for quad in quads):
            raise RequestError(400, f"the update {_TOO_DEEP}")
        if settings.union and None in difference.come:
            raise RequestError(400, _NO_DEFAULT)
        settler.write(difference)
    return Reply(204)


def write_graph(job: WriteGraphJob, settings: ServeSettings) -> Reply:
    """Replace, extend or drop one graph; raises `RequestError`, `StoreError`."""
    if job.graph is None and settings.union:
        raise RequestError(409, _NO_DEFAULT)
    parsed = {quad for payload in job.payloads for quad in _parsed(payload, job)}
    with _writing(settings) as (store, settler):
        settler.refuse_own(() if job.graph is None else (job.graph,))
        existed = graph_exists(store.engine, job.graph)
        if job.action == "drop" and not existed:
            raise RequestError(404, f"there is no graph {job.graph}")
        old = set(quads_in(store.engine, job.graph))
        new = {"replace": parsed, "merge": old | parsed, "drop": set[ox.Quad]()}[job.action]
        settler.write(_difference(job, existed, old, new))
    return Reply(204 if existed else 201)


def _difference(
    job: WriteGraphJob, existed: bool, old: set[ox.Quad], new: set[ox.Quad]
) -> Difference:
    difference = Difference()
    if job.graph is not None:
        difference.removed |= {job.graph} if job.action == "drop" else set()
        difference.created |= set() if existed else {job.graph}
        difference.emptied |= {job.graph} if old and not new else set()
    if job.graph not in difference.emptied:
        difference.add(job.graph, old - new, new - old)
    return difference


@contextmanager
def _writing(settings: ServeSettings) -> Iterator[tuple[OxigraphStore, Settler]]:
    """The store, open for writing and in order."""
    with GraphLocation(settings.folder, None).writing() as reader:
        store = reader.store
        assert isinstance(store, OxigraphStore)  # noqa: S101 - that of a folder is one
        yield store, Settler(reader, store)


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
        raise RequestError(400, f"the body {_TOO_DEEP}")
    return found
