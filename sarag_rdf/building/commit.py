"""Commits of added and removed sources with their derived data, each in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.ports import Change, Progress, silent
from sarag_rdf.base.types import Method
from sarag_rdf.base.vocab import DCAT, OWL, PROV, RDF, SARAG, VOID, Term, iri
from sarag_rdf.building.evidence_quarantine import read_quarantine
from sarag_rdf.building.incremental import rebuild, refresh
from sarag_rdf.building.retained import VoteCounts
from sarag_rdf.building.source_evidence import extraction_iri
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import end_time, now, read_meta, with_revision
from sarag_rdf.graph.parts import dangling_links


@dataclass(slots=True)
class Writer:
    """Commits the changes of one run; each commit changes the revision, and records the run."""

    reader: GraphReader
    method: Method | None = None
    """How the sources of the run are extracted."""
    _run: NamedNode = field(init=False)
    _started: Literal | None = field(init=False, default=None)
    _vote_counts: VoteCounts = field(init=False, default_factory=VoteCounts)

    def __post_init__(self) -> None:
        self._run = NamedNode(self.reader.minter.run(str(uuid.uuid4())))

    def write_metadata(self, embedding_model: str) -> None:
        """Write the description of the graph and its embedding model, unless it is up to date.

        An empty `embedding_model` is not recorded: that of a graph without documents is unknown.
        """
        node = NamedNode(self.reader.minter.knowledge_graph)
        meta, base = NamedNode(self.reader.minter.meta_graph), Literal(self.reader.minter.base)
        classes = (SARAG.KnowledgeGraph, DCAT.Dataset, VOID.Dataset)
        pairs: list[tuple[NamedNode, Term]] = [(RDF.type, class_) for class_ in classes]
        pairs += [(SARAG.baseIRI, base), (VOID.uriSpace, base)]
        if embedding_model:
            pairs.append((SARAG.embeddingModel, Literal(embedding_model)))
        requested = {Quad(node, *pair, meta) for pair in pairs}
        old = set(self.reader.store.quads(self.reader.minter.meta_graph))
        stale = {q for q in old - requested if q.predicate == SARAG.embeddingModel}
        if requested - old:
            change = Change((), tuple(stale), tuple(sorted(requested - old, key=str)))
            self.reader.store.apply(with_revision(self.reader, change, meta=old))

    def commit(
        self,
        drop: Sequence[str],
        insert: Sequence[Quad],
        sources: Sequence[str],
        *,
        removed: Sequence[str] = (),
        released: Sequence[str] = (),
        quarantine: Sequence[Quad] = (),
    ) -> None:
        """Replace, add and delete source graphs in one transaction.

        `drop` are the source graphs to delete or replace, `insert` the new quads, `sources` the
        IRIs of the new sources, `removed` those of the deleted ones. The same transaction drops
        the quarantine graphs in `released` and inserts the quads in `quarantine`.
        """
        vote_counts, self._vote_counts = self._vote_counts, VoteCounts()
        started = self._started or now()
        change = refresh(self.reader, drop, insert, vote_counts)
        replaced = dict.fromkeys((*change.drop, *(iri(quad.graph_name) for quad in insert)))
        change = replace(
            change,
            drop=(*replaced, *released),
            insert=(*change.insert, *quarantine, *self._run_quads(sources, removed, started)),
        )
        self.reader.store.apply(with_revision(self.reader, change))
        self._started = started
        self._vote_counts = vote_counts

    def release(self, graphs: Sequence[str], quarantine: Sequence[Quad] = ()) -> None:
        """Drop quarantine graphs, and insert quads of others; evidence does not change."""
        change = Change(tuple(graphs), (), tuple(quarantine))
        self.reader.store.apply(with_revision(self.reader, change))

    def finish(self) -> None:
        """Record the end of the run, if it wrote anything, and delete dangling links.

        Links are deleted last, so that an entity that is removed and added again in the same run
        keeps its links.
        """
        if self._started is None:
            return
        dangling = tuple(dangling_links(self.reader))
        nodes = sorted(iri(q.subject) for q in dangling if q.predicate == OWL.annotatedSource)
        ended = self._runs(PROV.endedAtTime, end_time(self._started))
        run = (*self._runs(PROV.invalidated, *map(NamedNode, nodes)), *ended)
        change = Change(delete=dangling, insert=run)
        self.reader.store.apply(with_revision(self.reader, change) if dangling else change)

    def _runs(self, predicate: NamedNode, *values: Term) -> list[Quad]:
        graph = NamedNode(self.reader.minter.runs_graph)
        return [Quad(self._run, predicate, value, graph) for value in values]

    def _run_quads(
        self, sources: Sequence[str], removed: Sequence[str], started: Literal
    ) -> list[Quad]:
        quads = self._runs(PROV.used, *map(NamedNode, sources))
        quads += self._runs(PROV.invalidated, *map(NamedNode, removed))
        if self.method is not None:
            minter = self.reader.minter
            iris = (extraction_iri(minter, source, self.method) for source in sources)
            quads += self._runs(PROV.wasInformedBy, *map(NamedNode, iris))
        if self._started is None:
            quads += self._runs(RDF.type, SARAG.Run, PROV.Activity)
            quads += self._runs(PROV.startedAtTime, started)
        return quads


COMMIT_REMOVALS = 256
"""Sources that are deleted in one commit."""


def remove(writer: Writer, sources: tuple[str, ...], progress: Progress = silent) -> int:
    """Delete sources and their quarantine records as part of a run; returns their number."""
    if not sources:
        return 0
    minter, quarantined = writer.reader.minter, read_quarantine(writer.reader).keys()
    advance = progress("deleting sources", len(sources))
    for batch in batches(sources, COMMIT_REMOVALS):
        drop = [minter.source_graph(source) for source in batch]
        released = [minter.quarantine_graph(source) for source in batch if source in quarantined]
        writer.commit(drop, (), (), removed=batch, released=released)
        advance(len(batch))
    return len(sources)


def repair(reader: GraphReader) -> bool:
    """Mend a graph behind an endpoint after an interrupted write; false if not necessary.

    A change removes the revision first and writes it last, so that after an interruption the graph
    is described but has no revision. Sources without a description are dropped, and derived data is
    rebuilt.
    """
    meta = read_meta(reader.store)
    if meta is None or meta.revision:
        return False
    sources = {source.value for source, *_ in reader.select_provenance("source-states")}
    complete = {reader.minter.source_graph(source) for source in sources}
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    reader.store.apply(Change(drop=tuple(graph for graph in graphs if graph not in complete)))
    reader.store.apply(with_revision(reader, rebuild(reader), meta=()))
    return True
