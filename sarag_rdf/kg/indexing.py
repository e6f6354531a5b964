"""Documents into a graph: index, update, sync, delete, and the plan of each.

A plan says what would be done: nothing is written and no model is called. Its `refused` says why it
would need to be confirmed with `yes`. Options are those of reading (`root`, `language`,
`max_chars`), `words` and `overlap` of a chunk, and `yes`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Extractor, Progress
from sarag_rdf.base.types import Method
from sarag_rdf.building.index import run
from sarag_rdf.building.index.commit import remove
from sarag_rdf.building.index.plan import Inputs, Plan, locate_folder, locate_inputs, read_inputs
from sarag_rdf.building.index.plan import plan as plan_new
from sarag_rdf.building.index.run import IndexReport
from sarag_rdf.building.index.sync import IndexedSources
from sarag_rdf.building.index.sync import plan_sync as plan_folder
from sarag_rdf.building.index.sync import plan_update as plan_changed
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.kg.ontologies import extractor_of
from sarag_rdf.kg.session import Session

log = logging.getLogger(__name__)

MakePlan = Callable[[GraphReader, Method], Plan]
"""Compares inputs with the graph that a reader reads."""
WORDS = 500
"""Words of a chunk by default."""
OVERLAP = 200
"""Words that neighbouring chunks share by default."""


def new_sources(
    inputs: Inputs | Iterable[Inputs], *, words: int = WORDS, overlap: int = OVERLAP, **reading: Any
) -> MakePlan:
    """Plans to add the inputs that the graph does not hold yet."""

    def make(reader: GraphReader, method: Method) -> Plan:
        sources = read_inputs(inputs, **reading)
        return plan_new(reader, sources, method, words=words, overlap=overlap)

    return make


def changed_sources(
    inputs: Inputs | Iterable[Inputs],
    *,
    yes: bool = False,
    words: int = WORDS,
    overlap: int = OVERLAP,
    **reading: Any,
) -> MakePlan:
    """Plans to update the inputs that the graph holds."""

    def make(reader: GraphReader, method: Method) -> Plan:
        placed = locate_inputs(inputs, **reading)
        return plan_changed(reader, placed, method, yes=yes, words=words, overlap=overlap)

    return make


def folder_contents(
    folder: str | Path,
    *,
    yes: bool = False,
    words: int = WORDS,
    overlap: int = OVERLAP,
    **reading: Any,
) -> MakePlan:
    """Plans to make the sources that come from a folder match it."""

    def make(reader: GraphReader, method: Method) -> Plan:
        prefix, placed = locate_folder(folder, **reading)
        return plan_folder(
            reader,
            placed,
            method,
            prefix=prefix,
            folder=str(folder),
            yes=yes,
            words=words,
            overlap=overlap,
        )

    return make


def plan(
    session: Session, make: MakePlan, extractor: str | Extractor, *, create: bool = True
) -> Plan:
    """The plan that `index` would carry out now."""
    method = extractor_of(session, extractor).method
    with session.read(missing_ok=create, latest=True) as snapshot:
        return make(snapshot.reader if create else snapshot.own, method)


def index(
    session: Session,
    make: MakePlan,
    extractor: str | Extractor,
    progress: Progress,
    *,
    create: bool = True,
) -> IndexReport:
    """Carry out the plan that `make` makes, under one lock.

    A graph that does not exist is created if there is something to index; without `create` it
    raises `NotAGraphError`. Raises `InputError` for a plan that has to be confirmed.
    """
    loaded = extractor_of(session, extractor)
    first: Plan | None = None
    if create and not session.location.exists():
        with session.read(missing_ok=True, latest=True) as snapshot:
            first = make(snapshot.reader, loaded.method)
        if not first.todo:
            return run.initial_report(first)
    with session.write(create=create) as reader:
        is_still_new = first is not None and read_meta(reader.store) is None
        todo = first if first and is_still_new else make(reader, loaded.method)
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
