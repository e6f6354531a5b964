"""``sarag fsck``: whether a graph and its caches are consistent, and repair of what is derived."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np
from pyoxigraph import NamedNode

from sarag_rdf.base.errors import (
    EntailmentError,
    MissingDependencyError,
    ModelError,
    StoreError,
    shown_path,
)
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.base.ports import Arrays, Change, Progress, silent
from sarag_rdf.base.vocab import RDF, SARAG
from sarag_rdf.building.commit import repair as complete_change
from sarag_rdf.building.entailed_graph import ADVICE, entailment_errors, repair_entailment
from sarag_rdf.building.evidence_quarantine import read_contents, read_quarantine
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, note, progress_bars
from sarag_rdf.cli.query_commands import listed
from sarag_rdf.graph.graph_reader import KINDS, GraphReader, Kind
from sarag_rdf.graph.metadata import Meta, read_meta, stats, with_revision
from sarag_rdf.graph.parts import (
    COMPLETE,
    dangling_link_subjects,
    imported_graphs,
    stored_ontologies,
)
from sarag_rdf.graph.texts import texts_of
from sarag_rdf.graph.vectors.graph_vectors import arrays_key, index_key
from sarag_rdf.graph.vectors.search_indexes import VectorIndex
from sarag_rdf.graph.vectors.vector_store import VectorStore, forget_verified
from sarag_rdf.kg.gate import validate_own
from sarag_rdf.kg.session import Session
from sarag_rdf.kg.vectors import DATABASES
from sarag_rdf.models.caches import SqliteCache, fault_of

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

DERIVED = "derived"
"""The check of the traversed graph."""
CACHES = "caches"
"""The check of cached indexes and arrays."""
REPAIR = "sarag fsck --repair"
_IN_PROGRESS = ("description", "revision", "imports")
"""Checks that fail while an import or a restoration is running."""
_TOLERANCE = 1e-3
"""Maximum deviation of the length of a vector from 1."""
_BLOCK = 8192
_COUNTED = ("sources", "documents", "entities", "relationships", "quads")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: the check that detected it, a message, a remedy, and the name of a cache."""

    check: str
    message: str
    remedy: str = ""
    cache: str = ""

    def __str__(self) -> str:
        text = f"{self.check}: {self.message}"
        return f"{text} (do: {self.remedy})" if self.remedy else text


@dataclass(frozen=True, slots=True)
class FsckReport:
    """Remaining findings, notes that are not problems, descriptions of repairs, and counts."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_order(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


_GraphSize = tuple[str, int, int]
"""A named graph, its number of quads, and the number of quads with blank nodes."""


def fsck(
    kg: KnowledgeGraph, *, repair: bool = False, deep: bool = False, progress: Progress = silent
) -> FsckReport:
    """Check shapes, orphans, derived data and caches; `repair` rebuilds derived data.

    Evidence and links are never deleted: the report lists what cannot be repaired, with a
    remedy for each. With `deep`, all files of the graph are read first.
    """
    if deep and (found := _check_deeply(kg.session, progress)):
        return FsckReport(found)
    run = _repaired if repair else _checked
    return run(kg.session, progress)


def _checked(session: Session, progress: Progress) -> FsckReport:
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


def _check_deeply(session: Session, progress: Progress) -> tuple[Finding, ...]:
    """What the deep checks of plug-ins find, each a function of the arguments of this one."""
    forget_verified()
    checks = [load("checks", name) for name in plugins("checks")]
    return tuple(finding for run in checks for finding in run(session, progress))


def _repaired(session: Session, progress: Progress) -> FsckReport:
    """Rebuild derived data that is inconsistent; evidence and links are never deleted."""
    with session.write(create=False, repair=False) as reader:
        before = _check(session, reader, progress)
        repaired = [] if before.in_order else _repair(session, reader)
        if not repaired:
            return before
        error = session.vectors.try_build(reader, progress)
        built = "updated the vectors"
        if error:
            built = f"vectors not updated; the next search updates them: {error}"
        return replace(_check(session, reader, progress), repaired=(*repaired, built))


def _check(session: Session, reader: GraphReader, progress: Progress) -> FsckReport:
    advance = progress("checking", 6)
    rows = reader.select_provenance("graph-sizes")
    graphs = sorted((g.value, int(n.value), int(blank.value)) for g, n, blank in rows)
    findings = [*_check_revision(reader, graphs), *_check_terms(reader, graphs)]
    advance(1)
    quarantined = read_quarantine(reader)
    findings += _check_parts(reader, {graph for graph, *_ in graphs}, quarantined)
    findings += _check_quarantine(reader, quarantined)
    advance(1)
    findings += _check_derived(reader)
    findings += _check_entailment(reader)
    advance(1)
    findings += (Finding("shapes", str(violation)) for violation in validate_own(reader).violations)
    advance(1)
    findings += _check_caches(session, reader, deep=not findings)
    advance(2)
    return FsckReport(tuple(findings), tuple(_foreign(reader, graphs)), counts=stats(reader))


def _repair(session: Session, reader: GraphReader) -> list[str]:
    """Rebuild inconsistent derived data and discard broken caches; returns a line for each."""
    lines: list[str] = []
    if read_meta(reader.store) is None:
        return lines
    if complete_change(reader):
        lines.append("rebuilt the traversed graph and set a revision")
    elif any(finding.check == DERIVED for finding in _check_derived(reader)):
        reader.store.apply(with_revision(reader, rebuild(reader)))
        lines.append("rebuilt the traversed graph")
    with suppress(EntailmentError, MissingDependencyError):  # which the check reports
        change = repair_entailment(reader)
        if change != Change():
            reader.store.apply(with_revision(reader, change))
            lines.append("corrected the entailed graph")
    discarded = _discard_caches(session, reader, only_broken=not lines)
    return lines + [f"discarded {name}" for name in discarded]


# The graph


def _check_revision(reader: GraphReader, graphs: Collection[_GraphSize]) -> Iterator[Finding]:
    """Check that the graph has metadata, and that its last change was completed."""
    meta = read_meta(reader.store)
    if meta is None and graphs and not reader.store.is_shared:
        yield Finding(
            "description",
            "the store has quads, but no metadata of a graph",
            "restore the graph from an export: sarag import --as sarag",
        )
    elif meta is not None and not meta.revision:
        yield Finding("revision", "missing: the last change was interrupted", REPAIR)


def _check_terms(reader: GraphReader, graphs: Iterable[_GraphSize]) -> Iterator[Finding]:
    """Check that there are no blank nodes, and that the default graph is empty."""
    for graph, _, blank in graphs:
        if blank and graph.startswith(reader.minter.graphs):
            remedy = REPAIR if graph == reader.minter.kg_graph else _drop_command(graph)
            yield Finding("blank nodes", f"{counted(blank, 'quad')} in <{graph}>", remedy)
    if reader.store.is_shared:
        return
    table = reader.store.select("SELECT (COUNT(*) AS ?count) WHERE { ?s ?p ?o }", "count")
    if count := int(table.rows[0][0].value):
        yield Finding(
            "default graph",
            f"{counted(count, 'quad')}, which sarag does not read",
            "DELETE WHERE { ?s ?p ?o } through sarag serve --writable",
        )


def _check_parts(
    reader: GraphReader, existing: set[str], quarantined: Iterable[str]
) -> Iterator[Finding]:
    """Check that graphs and their descriptions match, that imports are complete, and links."""
    minter = reader.minter
    sources = {source.value for source, *_ in reader.select_provenance("source-states")}
    source_graphs = {minter.source_graph(source): source for source in sources}
    imports = imported_graphs(reader)
    ontologies = {ontology.graph: ontology.name for ontology in stored_ontologies(reader)}
    described: dict[str | None, tuple[Collection[str], str]] = {
        "sources": (source_graphs, "has no source"),
        "quarantine": (set(map(minter.quarantine_graph, quarantined)), "has no quarantined source"),
        "imported": ({imported.graph for imported in imports}, "is not a known import"),
        "ontologies": (ontologies, "is not a known ontology"),
    }
    for graph in sorted(existing):
        kind = minter.kind_of(graph)
        graphs, problem = described.get(kind, (existing, ""))
        if graph not in graphs:
            is_source = kind == "sources"
            remedy = _source_remedy(reader, graph) if is_source else _drop_command(graph)
            yield Finding("orphans", f"<{graph}> {problem}", remedy)
    for graph in sorted(source_graphs.keys() - existing):
        yield from _misplaced(reader, source_graphs[graph])
    for imported in imports:
        if imported.state != COMPLETE:
            yield Finding(
                "imports",
                f"'{imported.name}' is not complete",
                f"the same sarag import again, or sarag import --drop {imported.name}",
            )
    for graph in sorted(ontologies.keys() - existing):
        name = ontologies[graph]
        remedy = f"sarag ontology remove {name}"
        yield Finding("ontologies", f"the triples of '{name}' are missing", remedy)
    for entity in dangling_link_subjects(reader):
        message = f"dangling link: <{entity}> is not an entity"
        yield Finding("links", message, f"sarag link --undo {entity}")


def _misplaced(reader: GraphReader, source: str) -> Iterator[Finding]:
    """The graphs that describe a source without a graph of its own."""
    node = NamedNode(source)
    where = f"SELECT ?g WHERE {{ GRAPH ?g {{ {node} a {SARAG.Source} }} }}"
    for (graph,) in reader.store.select(where, "g").rows:
        remedy = f"{_drop_command(graph.value)}, and sarag index its file again"
        yield Finding("orphans", f"{node} is in {graph} instead of its own graph", remedy)


def _source_remedy(reader: GraphReader, graph: str) -> str:
    """The remedy for a source graph without its source, which its documents may refer to."""
    named = f"SELECT ?source WHERE {{ GRAPH {NamedNode(graph)} {{ ?d {SARAG.source} ?source }} }}"
    rows = reader.store.select(f"{named} GROUP BY ?source", "source").rows
    names = (getattr(source, "value", "") for (source,) in rows)
    keys = filter(None, map(reader.minter.key_of_source, names))
    return next((f"sarag index the file of {key} again" for key in keys), _drop_command(graph))


def _drop_command(graph: str) -> str:
    return f"DROP GRAPH <{graph}> through sarag serve --writable"


def _check_quarantine(reader: GraphReader, quarantined: Iterable[str]) -> Iterator[Finding]:
    for source in quarantined:
        try:
            for content in read_contents(reader, [source]).values():
                content.violations  # noqa: B018 - raises for what is damaged
        except StoreError as error:
            yield Finding("quarantine", str(error), f"sarag quarantine drop {source}")


def _check_derived(reader: GraphReader) -> Iterator[Finding]:
    """Check that the traversed graph is the one that follows from the evidence."""
    try:
        derived = set(rebuild(reader).insert)
    except StoreError as error:
        yield Finding(DERIVED, f"the evidence cannot be read: {error}")
        return
    stored = set(reader.store.quads(reader.minter.kg_graph))
    missing, extra = derived - stored, stored - derived
    if entities := sum(q.predicate == RDF.type and q.object == SARAG.Entity for q in extra):
        noun = "entity" if entities == 1 else "entities"
        yield Finding("orphans", f"{entities} {noun} without evidence", REPAIR)
    if missing or extra:
        text = f"{counted(len(missing), 'quad')} missing, {len(extra)} extra"
        yield Finding(DERIVED, f"the traversed graph differs from its evidence: {text}", REPAIR)


def _check_entailment(reader: GraphReader) -> Iterator[Finding]:
    try:
        missing, surplus = map(len, entailment_errors(reader))
    except (EntailmentError, MissingDependencyError) as error:
        advice = ADVICE if isinstance(error, EntailmentError) else ""
        yield Finding("entailment", f"not checked: {error}", advice)
        return
    if missing or surplus:
        are = f"{counted(missing, 'entailed triple')} {'is' if missing == 1 else 'are'} missing"
        do = f"{surplus} {'does' if surplus == 1 else 'do'} not follow"
        yield Finding("entailment", f"{are}, {do}", REPAIR)


def _foreign(reader: GraphReader, graphs: Iterable[_GraphSize]) -> Iterator[str]:
    """Notes on graphs that sarag does not use; on an endpoint, only on those below its base IRI."""
    minter = reader.minter
    for graph, quads, _ in graphs:
        is_ours = graph.startswith(minter.graphs) or not reader.store.is_shared
        if is_ours and minter.kind_of(graph) is None:
            yield f"<{graph}> is not used by sarag: {counted(quads, 'quad')}"


# Caches


def _check_caches(session: Session, reader: GraphReader, *, deep: bool) -> list[Finding]:
    """Findings about caches; with `deep`, arrays are compared with those of a consistent graph."""
    meta = read_meta(reader.store) or Meta("")
    broken = [_invalid(path.name, fault) for path, fault in _broken_databases(session).items()]
    for scope in session.vectors.scopes(reader) if meta.revision else ():
        broken += _broken_vectors(session, scope, meta, deep=deep)
    return broken


def _discard_caches(session: Session, reader: GraphReader, *, only_broken: bool) -> list[str]:
    """Delete indexes and arrays, all or only broken ones; returns their names.

    Cache databases are renamed, not deleted, since the replies in them were paid for.
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
        for name in dict.fromkeys(f.cache for f in broken) if only_broken else store.names():
            store.discard(name)
            discarded.append(name)
    return discarded


def _invalid(name: str, reason: str) -> Finding:
    return Finding(CACHES, f"{name}: {reason}", REPAIR, name)


class _RecordingVectorStore(VectorStore):
    """Uses the indexes of another store; arrays are not loaded, and recorded when saved."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self.arrays: dict[str, Arrays] = {}

    def load(self, kind: str, key: str) -> VectorIndex | None:
        return self._store.load(kind, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:  # noqa: ARG002
        self.arrays[name] = arrays


def _broken_vectors(
    session: Session, reader: GraphReader, meta: Meta, *, deep: bool
) -> list[Finding]:
    """Invalid indexes and arrays of this revision, which a writer may replace meanwhile."""
    store = session.vectors.store(reader)
    broken: list[Finding] = []
    for name in store.names():
        key = store.key_of(name)
        key_of = index_key if name in KINDS else arrays_key
        if key in ("", key_of(meta.revision, meta.embedding_model)):
            findings = [*_check_cache(reader, store, name, key)]
            broken += findings if store.key_of(name) == key else ()
    if broken or not deep:
        return broken
    rebuilt = _RecordingVectorStore(store)
    try:
        session.vectors.rebuild_arrays(reader, meta, rebuilt)
    except (ModelError, StoreError, KeyError, ValueError):
        return []
    for name, arrays in rebuilt.arrays.items():
        cached = store.load_arrays(name, arrays_key(meta.revision, meta.embedding_model))
        if cached is not None and not (
            cached.keys() == arrays.keys()
            and all(np.array_equal(cached[key], arrays[key]) for key in arrays)
        ):
            broken.append(_invalid(name, "differs from the graph"))
    return broken


def _check_cache(reader: GraphReader, store: VectorStore, name: str, key: str) -> Iterator[Finding]:
    is_index = key and name in KINDS
    index = store.load(name, key) if is_index else None
    if index is None:
        if is_index or not key or store.load_arrays(name, key) is None:
            yield _invalid(name, "cannot be read")
        return
    iris = texts_of(reader, cast("Kind", name)).iris
    if list(index.iris) != list(iris):
        different = len(set(iris) ^ set(index.iris))
        yield _invalid(name, f"{counted(different, 'text')} only in the graph or in the index")
    if wrong := _count_non_unit_rows(index):
        yield _invalid(name, f"{counted(wrong, 'vector')} not of unit length")


def _count_non_unit_rows(index: VectorIndex) -> int:
    wrong = 0
    for begin in range(0, len(index), _BLOCK):
        rows = index.vectors(np.arange(begin, min(begin + _BLOCK, len(index)), dtype=np.int64))
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        wrong += int(np.count_nonzero(~(np.abs(lengths - 1) <= _TOLERANCE)))
    return wrong


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


@click.command(
    name="fsck",
    short_help="check the consistency of a graph, and repair it",
    epilog="Example:  sarag fsck --kg kg --repair",
)
@flags.write_options
@flags.embedding_options
@flags.json_option
@flags.switch("--repair", "Rebuild derived data; evidence is never deleted.")
@flags.switch("--deep", "First read all files of the graph, and compare their checksums.")
def command(**options: Any) -> int:
    """Check the consistency of a graph: shapes, orphans, derived data, revision, caches.

    Prints each finding with its remedy. Exit code 1 if any findings remain. If --deep finds that
    files are damaged, nothing else is checked or repaired.
    """
    with flags.open_graph(options) as kg, progress_bars() as progress:
        report = fsck(kg, repair=options["repair"], deep=options["deep"], progress=progress)
    if not options["as_json"]:
        for text in report.notes:
            note(f"note: {text}")
    counts = ", ".join(f"{report.counts.get(name)} {name}" for name in _COUNTED)
    state = f"inconsistent: {counted(len(report.findings), 'finding')}"
    return emit(
        options,
        {"in_order": report.in_order, **asdict(report)},
        *(f"repaired: {done}" for done in report.repaired),
        *listed(report.findings),
        f"{options['kg']}: {state if report.findings else f'consistent: {counts}'}",
        failed=bool(report.findings),
    )
