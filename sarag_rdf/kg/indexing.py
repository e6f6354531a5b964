"""A request to index, update or mirror documents, carried out."""

from __future__ import annotations

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Extractor, Progress
from sarag_rdf.building.index_run import IndexReport, initial_report, run
from sarag_rdf.building.plan import Plan, Request, plan
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.kg.session import Session


def run_request(
    session: Session, request: Request, loaded: Extractor, progress: Progress
) -> IndexReport:
    """Carry out the plan of a request, under one lock.

    A graph that does not exist is created if there is something to index.
    """
    creates = request.mode != "update"
    first: Plan | None = None
    if creates and not session.location.exists():
        with session.read(missing_ok=True, latest=True) as snapshot:
            first = plan(snapshot.reader, request, loaded.method)
        if not first.todo:
            return initial_report(first)
    with session.write(create=creates) as reader:
        is_still_new = first is not None and read_meta(reader.store) is None
        todo = first if first and is_still_new else plan(reader, request, loaded.method)
        if todo.refused:
            raise InputError(todo.refused)
        vectors = session.vectors
        vectors.record_model(reader)
        with vectors.prefetching(reader) as prefetcher:
            report = run(reader, todo, loaded, progress=progress, written=prefetcher.take)
        vectors.build(reader, progress)
        return report
