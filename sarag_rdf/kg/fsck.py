"""Consistency of a whole graph and of its caches: checks, and repair of what is derived."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sarag_rdf.base.errors import (
    EntailmentError,
    MissingDependencyError,
    ModelError,
    StoreError,
    shown_path,
)
from sarag_rdf.base.ports import Change, Progress
from sarag_rdf.building.check import fsck
from sarag_rdf.building.check.fsck import Finding, FsckReport, check_arrays, invalid_cache, stats
from sarag_rdf.building.derive.entailed_graph import ADVICE, entailment_errors, repair_entailment
from sarag_rdf.building.derive.incremental import rebuild
from sarag_rdf.building.index.quarantine import read_contents, read_quarantine
from sarag_rdf.building.index.repair import repair as complete_change
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta, with_revision
from sarag_rdf.graph.vectors.vector_store import RecordingVectorStore
from sarag_rdf.kg.session import Session
from sarag_rdf.kg.vectors import DATABASES
from sarag_rdf.models.caches import SqliteCache, fault_of

_IN_PROGRESS = ("description", "revision", "imports")
"""Checks that fail while an import or a restoration is running."""
log = logging.getLogger(__name__)


def check_caches(session: Session, reader: GraphReader, *, deep: bool) -> list[Finding]:
    """Everything cached that is broken.

    With `deep`, arrays are also compared with arrays that are rebuilt from the graph, which must be
    consistent then.
    """
    meta = read_meta(reader.store) or Meta("")
    broken = [invalid_cache(path.name, fault) for path, fault in _broken_databases(session).items()]
    for scope in session.vectors.scopes(reader) if meta.revision else ():
        broken += _broken_vectors(session, scope, meta, deep=deep)
    return broken


def discard_caches(session: Session, reader: GraphReader, *, only_broken: bool) -> list[str]:
    """Delete indexes and arrays, all or only broken ones; returns their names.

    Cache databases are renamed instead: the replies in them were paid for.
    """
    meta = read_meta(reader.store) or Meta("")
    discarded = []
    for path in _broken_databases(session):
        session.models.close()
        try:
            SqliteCache(path, what="cache").set_aside()
        except OSError as error:
            log.warning("%s cannot be renamed: %s", shown_path(path), error.strerror)
        else:
            discarded.append(path.name)
    for scope in session.vectors.scopes(reader) if meta.revision else ():
        store = session.vectors.store(scope)
        broken = _broken_vectors(session, scope, meta, deep=True)
        names = [one.cache for one in broken] if only_broken else store.names()
        for name in dict.fromkeys(names):
            store.discard(name)
            discarded.append(name)
    return discarded


def _broken_vectors(
    session: Session, reader: GraphReader, meta: Meta, *, deep: bool
) -> list[Finding]:
    """Indexes and arrays of some parts that are broken; the content of sound ones with `deep`."""
    store = session.vectors.store(reader)
    broken = fsck.check_caches(reader, store, meta.revision, meta.embedding_model)
    return _outdated_arrays(session, reader, meta) if deep and not broken else broken


def _outdated_arrays(session: Session, reader: GraphReader, meta: Meta) -> list[Finding]:
    """Arrays that differ from those built from the graph; none where these cannot be built."""
    store = session.vectors.store(reader)
    rebuilt = RecordingVectorStore(store)
    try:
        session.vectors.rebuild_arrays(reader, meta, rebuilt)
    except (ModelError, StoreError, KeyError, ValueError):
        return []
    return list(check_arrays(store, rebuilt.arrays, meta.revision, meta.embedding_model))


def _broken_databases(session: Session) -> dict[Path, str]:
    """Cache databases that cannot be used, and why; a folder that is a file stands for all."""
    for name in ("", "vectors"):
        folder = session.location.cache(name)
        if folder is None or not os.path.lexists(folder):
            continue
        if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir may raise
            return {folder: "is not a folder"}
    paths = filter(None, map(session.location.cache, DATABASES))
    return {path: fault for path in paths if (fault := fault_of(path))}


def check(session: Session, progress: Progress) -> FsckReport:
    """Check the graph as it is now; nothing is written.

    While another process writes, a change that is not complete is a note, not a finding.
    """
    writer = session.location.writer()
    with session.read(latest=True) as snapshot:
        report = _check(session, snapshot.own, progress)
    writer = writer or session.location.writer()
    if writer is None:
        return report
    running = [finding for finding in report.findings if finding.check in _IN_PROGRESS]
    notes = [
        f"{finding.check}: {finding.message}, and {writer} is writing: check again when it has "
        "finished"
        for finding in running
    ]
    findings = tuple(finding for finding in report.findings if finding not in running)
    return replace(report, findings=findings, notes=(*report.notes, *notes))


def repair(session: Session, progress: Progress) -> FsckReport:
    """Rebuild derived data that is inconsistent; the report has what cannot be repaired.

    Evidence and links are never deleted.
    """
    with session.write(create=False, repair=False) as reader:
        before = _check(session, reader, progress)
        repaired = [] if before.in_order else _repair(session, reader)
        if not repaired:
            return before
        repaired.append(_build_vectors(session, reader, progress))
        return replace(_check(session, reader, progress), repaired=tuple(repaired))


def _check(session: Session, reader: GraphReader, progress: Progress) -> FsckReport:
    advance = progress("checking", 6)
    graphs = fsck.sizes(reader)
    findings = [
        *fsck.check_revision(reader, graphs),
        *fsck.check_terms(reader, graphs),
    ]
    advance(1)
    sources = {source.value for source, *_ in reader.select_provenance("source-states")}
    quarantined = read_quarantine(reader)
    findings += fsck.check_parts(reader, graphs, sources, quarantined)
    findings += _check_quarantine(reader, quarantined)
    advance(1)
    findings += _check_derived(reader)
    findings += _check_entailment(reader)
    advance(1)
    findings += fsck.check_shapes(reader)
    advance(1)
    findings += check_caches(session, reader, deep=not findings)
    advance(2)
    counts = stats(reader)
    return FsckReport(tuple(findings), tuple(fsck.foreign_graphs(reader, graphs)), counts=counts)


def _repair(session: Session, reader: GraphReader) -> list[str]:
    """Rebuild inconsistent derived data and discard broken caches; returns a line for each."""
    done: list[str] = []
    if read_meta(reader.store) is None:
        return done
    if complete_change(reader):
        done.append("rebuilt the traversed graph and set a revision")
    elif any(finding.check == fsck.DERIVED for finding in _check_derived(reader)):
        reader.store.apply(with_revision(reader, rebuild(reader)))
        done.append("rebuilt the traversed graph")
    done += _repair_entailment(reader)
    discarded = discard_caches(session, reader, only_broken=not done)
    return done + [f"discarded {name}" for name in discarded]


def _build_vectors(session: Session, reader: GraphReader, progress: Progress) -> str:
    error = session.vectors.try_build(reader, progress)
    return (
        f"vectors not updated; the next search updates them: {error}"
        if error
        else ("updated the vectors")
    )


def _check_derived(reader: GraphReader) -> Iterator[Finding]:
    try:
        expected = rebuild(reader).insert
    except StoreError as error:
        yield Finding(fsck.DERIVED, f"the evidence cannot be read: {error}")
        return
    yield from fsck.check_derived(reader, expected)


def _check_entailment(reader: GraphReader) -> Iterator[Finding]:
    try:
        missing, surplus = entailment_errors(reader)
    except (EntailmentError, MissingDependencyError) as error:
        advice = ADVICE if isinstance(error, EntailmentError) else ""
        yield Finding("entailment", f"not checked: {error}", advice)
        return
    if missing or surplus:
        yield Finding(
            "entailment",
            f"{_are(len(missing))} missing, {_do(len(surplus))} not follow",
            fsck.REPAIR,
        )


def _repair_entailment(reader: GraphReader) -> list[str]:
    with suppress(EntailmentError, MissingDependencyError):  # which the check reports
        change = repair_entailment(reader)
        if change != Change():
            reader.store.apply(with_revision(reader, change))
            return ["corrected the entailed graph"]
    return []


def _are(number: int) -> str:
    return f"{number} entailed triple is" if number == 1 else f"{number} entailed triples are"


def _do(number: int) -> str:
    return f"{number} does" if number == 1 else f"{number} do"


def _check_quarantine(reader: GraphReader, quarantined: Iterable[str]) -> Iterator[Finding]:
    for source in quarantined:
        try:
            for content in read_contents(reader, [source]).values():
                content.violations  # noqa: B018 - raises for what is damaged
        except StoreError as error:
            yield Finding("quarantine", str(error), f"sarag quarantine drop {source}")
