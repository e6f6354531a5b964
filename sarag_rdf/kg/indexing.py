"""Documents into a graph, and out of it: plans, runs and deletions."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Extractor, Progress
from sarag_rdf.building.index import run
from sarag_rdf.building.index.commit import remove
from sarag_rdf.building.index.plan import Plan, Request
from sarag_rdf.building.index.plan import plan as plan_request
from sarag_rdf.building.index.run import IndexReport
from sarag_rdf.building.index.sources import IndexedSources
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.kg.ontologies import extractor_of
from sarag_rdf.kg.session import Session

log = logging.getLogger(__name__)


def plan(session: Session, request: Request, extractor: str | Extractor) -> Plan:
    """The plan that `index` would carry out now: nothing is written and no model is called.

    Its `refused` says why it would need to be confirmed.
    """
    method, creates = extractor_of(session, extractor).method, request.mode != "update"
    with session.read(missing_ok=creates, latest=True) as snapshot:
        return plan_request(snapshot.reader if creates else snapshot.own, request, method)


def index(
    session: Session, request: Request, extractor: str | Extractor, progress: Progress
) -> IndexReport:
    """Carry out the plan of a request, under one lock.

    A graph that does not exist is created if there is something to index; ``update`` raises
    `NotAGraphError` instead. Raises `InputError` for a plan that has to be confirmed.
    """
    loaded, creates = extractor_of(session, extractor), request.mode != "update"
    first: Plan | None = None
    if creates and not session.location.exists():
        with session.read(missing_ok=True, latest=True) as snapshot:
            first = plan_request(snapshot.reader, request, loaded.method)
        if not first.todo:
            return run.initial_report(first)
    with session.write(create=creates) as reader:
        is_still_new = first is not None and read_meta(reader.store) is None
        todo = first if first and is_still_new else plan_request(reader, request, loaded.method)
        if todo.refused:
            raise InputError(todo.refused)
        session.vectors.record_model(reader)
        with session.vectors.prefetching(reader) as prefetcher:
            report = run.run(reader, todo, loaded, progress=progress, written=prefetcher.take)
        session.vectors.build(reader, progress)
        return report


def delete(session: Session, sources: str | Iterable[str], progress: Progress) -> tuple[str, ...]:
    """Delete sources and everything that no other source supports; returns their keys or IRIs."""
    with session.write(create=False) as reader:
        indexed = IndexedSources(reader)
        try:
            iris = indexed.resolve(_names(sources))
        except UsageError as error:
            raise UsageError(f"nothing was deleted: {error}") from error
        remove(reader, iris, progress)
        failure = session.vectors.try_build(reader, progress)
        if failure is not None:
            log.warning("vectors not updated; the next search updates them: %s", failure)
        return tuple(indexed.display_names(iris).values())


def plan_delete(session: Session, sources: str | Iterable[str]) -> tuple[str, ...]:
    """Keys, or else IRIs, of the sources that `delete` would delete."""
    with session.read(latest=True) as snapshot:
        indexed = IndexedSources(snapshot.own)
        return tuple(indexed.display_names(indexed.resolve(_names(sources))).values())


def _names(sources: str | Iterable[str]) -> list[str]:
    return [sources] if isinstance(sources, str) else list(sources)
