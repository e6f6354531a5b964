"""A graph as a whole: whether it is in order, and putting in order what is derived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sarag_rdf.derive.incremental import rebuild
from sarag_rdf.errors import EndpointError, ModelError, StoreError, UsageError, VectorStoreError
from sarag_rdf.graph.metadata import read_meta, repair_run_times, with_revision
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.quarantine import read_contents, read_quarantine
from sarag_rdf.index.repair import repair
from sarag_rdf.inspect import fsck
from sarag_rdf.inspect.fsck import Finding, FsckReport, stats
from sarag_rdf.kg.embedding import Embeddings
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.ports import Progress, silent


class Checking:
    """Checks a graph and its caches; see `KnowledgeGraph.fsck`."""

    def __init__(self, location: GraphLocation, embeddings: Embeddings) -> None:
        self._location = location
        self._embeddings = embeddings

    def check(self, progress: Progress = silent) -> FsckReport:
        """What is not in order; nothing is written."""
        self._location.forget()
        return self._checked(self._location.own(), progress)

    def repair(self, progress: Progress = silent) -> FsckReport:
        """Make anew what is derived and not in order; what is left is in the report.

        Evidence and links are never deleted.
        """
        self._embeddings.forget()
        with self._location.changing() as reader:
            before = self._checked(reader, progress)
            repaired = [] if before.in_order else self._repaired(reader)
            if not repaired:
                return before
            repaired.append(self._built(reader, progress))
            return replace(self._checked(reader, progress), repaired=tuple(repaired))

    def _checked(self, reader: GraphReader, progress: Progress) -> FsckReport:
        advance = progress("checking", 6)
        graphs = fsck.sizes(reader)
        findings = [
            *fsck.check_revision(reader, graphs),
            *fsck.check_terms(reader, graphs),
        ]
        advance(1)
        sources = {source.value for source, *_ in reader.select_provenance("source-states")}
        held = read_quarantine(reader)
        findings += fsck.check_parts(reader, graphs, sources, held)
        findings += _quarantine(reader, held)
        advance(1)
        findings += _derived(reader)
        advance(1)
        findings += fsck.check_shapes(reader)
        advance(1)
        broken = self._embeddings.check(reader, deep=not findings)
        findings += [found.finding for found in broken]
        advance(2)
        counts = stats(reader)
        return FsckReport(
            tuple(findings), tuple(fsck.foreign_graphs(reader, graphs)), counts=counts
        )

    def _repaired(self, reader: GraphReader) -> list[str]:
        """Make anew what is derived, delete what is broken of caches; what was done."""
        done: list[str] = []
        if read_meta(reader.store) is None:
            return done
        if repair(reader):
            done.append("derived the traversed graph anew, and gave the graph a revision")
        elif any(finding.check == fsck.DERIVED for finding in _derived(reader)):
            reader.store.apply(with_revision(reader, rebuild(reader)))
            done.append("derived the traversed graph anew")
        gone = self._embeddings.discard(reader, only_broken=not done)
        times = repair_run_times(reader)
        if times.insert:
            reader.store.apply(times)
            done.append("gave runs that ended before they began the time of their beginning as end")
        return done + [f"discarded {name}" for name in gone]

    def _built(self, reader: GraphReader, progress: Progress) -> str:
        try:
            self._embeddings.build(select_parts(reader), progress)
        except (EndpointError, ModelError, UsageError, VectorStoreError) as error:
            return f"left the vectors to the next search: {error}"
        return "brought the vectors up to date"


def _derived(reader: GraphReader) -> Iterator[Finding]:
    try:
        expected = rebuild(reader).insert
    except StoreError as error:
        yield Finding(fsck.DERIVED, f"the evidence cannot be read: {error}")
        return
    yield from fsck.check_derived(reader, expected)


def _quarantine(reader: GraphReader, held: Iterable[str]) -> Iterator[Finding]:
    for source in held:
        try:
            for content in read_contents(reader, [source]).values():
                content.violations  # noqa: B018 - raises for what is damaged
        except StoreError as error:
            yield Finding("quarantine", str(error), f"sarag quarantine drop {source}")
