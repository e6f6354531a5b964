"""Commits added and removed sources with everything derived from them, each in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.derive.incremental import refresh
from sarag_rdf.derive.remaining import Tally
from sarag_rdf.graph.metadata import ended, now, revised
from sarag_rdf.graph.parts import links_in_vain
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.quarantine import read_quarantine
from sarag_rdf.ports import Change, Progress, Term, silent
from sarag_rdf.terms import iri
from sarag_rdf.vocab import DCAT, OWL, PROV, RDF, SARAG, VOID


@dataclass(slots=True)
class Writer:
    """One run that writes: it changes the revision with every commit and records its times."""

    reader: GraphReader
    extraction: str = ""
    _run: NamedNode = field(init=False)
    _started: Literal | None = field(init=False, default=None)
    _tally: Tally = field(init=False, default_factory=Tally)

    def __post_init__(self) -> None:
        self._run = NamedNode(self.reader.minter.run(str(uuid.uuid4())))

    def describe(self, embedding_model: str) -> None:
        """Say what graph this is, and which model embeds it, if that is not yet said."""
        node = NamedNode(self.reader.minter.knowledge_graph)
        wanted = {
            self._meta(node, RDF.type, SARAG.KnowledgeGraph),
            self._meta(node, RDF.type, DCAT.Dataset),
            self._meta(node, RDF.type, VOID.Dataset),
            self._meta(node, SARAG.baseIRI, Literal(self.reader.minter.base)),
            self._meta(node, VOID.uriSpace, Literal(self.reader.minter.base)),
            self._meta(node, SARAG.embeddingModel, Literal(embedding_model)),
        }
        old = set(self.reader.store.quads(self.reader.minter.meta_graph))
        stale = {q for q in old - wanted if q.predicate == SARAG.embeddingModel}
        if wanted - old:
            change = Change((), tuple(stale), tuple(sorted(wanted - old, key=str)))
            self.reader.store.apply(revised(self.reader, change, meta=old))

    def commit(
        self,
        drop: Sequence[str],
        insert: Sequence[Quad],
        sources: Sequence[str],
        *,
        removed: Sequence[str] = (),
        released: Sequence[str] = (),
        held: Sequence[Quad] = (),
    ) -> None:
        """Replace or add source graphs, wholly or not at all.

        `drop` names the source graphs that go or are replaced, `insert` the new quads,
        `sources` the IRIs of the sources that come, `removed` of those that go. In the same step
        the quarantine graphs in `released` go, and the quads of quarantine graphs in `held` come.
        """
        tally, self._tally = self._tally, Tally()
        started = self._started or now()
        change = refresh(self.reader, drop, insert, tally)
        replaced = dict.fromkeys((*change.drop, *(iri(quad.graph_name) for quad in insert)))
        change = replace(
            change,
            drop=(*replaced, *released),
            insert=(*change.insert, *held, *self._run_quads(sources, removed, started)),
        )
        self.reader.store.apply(revised(self.reader, change))
        self._started = started
        self._tally = tally

    def release(self, graphs: Sequence[str], held: Sequence[Quad] = ()) -> None:
        """Drop quarantine graphs, and write others; nothing else changes."""
        change = Change(tuple(graphs), (), tuple(held))
        self.reader.store.apply(revised(self.reader, change))

    def finish(self) -> None:
        """Record when the run ended, if it wrote anything; links of what is no more go.

        They go last, so that an entity which comes back within a run keeps its links.
        """
        if self._started is None:
            return
        vain = tuple(links_in_vain(self.reader))
        nodes = [iri(quad.subject) for quad in vain if quad.predicate == OWL.annotatedSource]
        told = [self._runs(PROV.invalidated, NamedNode(node)) for node in sorted(nodes)]
        change = Change(
            delete=vain, insert=(*told, self._runs(PROV.endedAtTime, ended(self._started)))
        )
        self.reader.store.apply(revised(self.reader, change) if vain else change)

    def _meta(self, subject: NamedNode, predicate: NamedNode, value: Term) -> Quad:
        return Quad(subject, predicate, value, NamedNode(self.reader.minter.meta_graph))

    def _runs(self, predicate: NamedNode, value: Term) -> Quad:
        return Quad(self._run, predicate, value, NamedNode(self.reader.minter.runs_graph))

    def _run_quads(
        self, sources: Sequence[str], removed: Sequence[str], started: Literal
    ) -> list[Quad]:
        quads = [self._runs(PROV.used, NamedNode(source)) for source in sources]
        quads += [self._runs(PROV.invalidated, NamedNode(source)) for source in removed]
        if self._started is None:
            quads += [
                self._runs(RDF.type, SARAG.Run),
                self._runs(RDF.type, PROV.Activity),
                self._runs(PROV.startedAtTime, started),
            ]
            if self.extraction:
                quads.append(self._runs(PROV.wasInformedBy, NamedNode(self.extraction)))
        return quads


AT_ONCE = 256
"""Sources that go in one commit."""


def remove(reader: GraphReader, sources: Iterable[str], progress: Progress = silent) -> int:
    """Delete sources, and their records in quarantine; how many they were."""
    writer = Writer(reader)
    count = remove_by(writer, tuple(sources), progress)
    writer.finish()
    return count


def remove_by(writer: Writer, sources: tuple[str, ...], progress: Progress = silent) -> int:
    """The same as part of a run."""
    if not sources:
        return 0
    minter, held = writer.reader.minter, read_quarantine(writer.reader).keys()
    advance = progress("deleting sources", len(sources))
    for batch in _batches(sources):
        drop = [minter.source_graph(source) for source in batch]
        released = [minter.quarantine_graph(source) for source in batch if source in held]
        writer.commit(drop, (), (), removed=batch, released=released)
        advance(len(batch))
    return len(sources)


def _batches(sources: Iterable[str]) -> Iterator[list[str]]:
    pending = iter(sources)
    while batch := list(islice(pending, AT_ONCE)):
        yield batch
