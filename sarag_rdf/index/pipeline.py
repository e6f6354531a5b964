"""Indexing: what is new or changed is chunked, extracted and committed, some sources at a time.

``Source -chunk-> Document -extract-> Extraction -evidence-> quads -commit-> store``

A source is wholly in or not at all. What was committed stays when the run is interrupted, and
the next run goes on with the rest.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace

from sarag_rdf.errors import SaragError
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.chunk import chunk
from sarag_rdf.index.commit import Writer
from sarag_rdf.index.evidence import extraction_iri, source_quads, text_digest
from sarag_rdf.index.read import Duplicate, InputProblem
from sarag_rdf.ports import Advance, Extractor, Progress, silent
from sarag_rdf.types import Document, Extraction, Method, Source

COMMIT_DOCUMENTS = 256
COMMIT_SECONDS = 15.0
"""A commit is made after so many documents or seconds, whichever comes first."""


_Found = list[tuple[Document, Extraction]]


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source that has to be indexed; `known` if another version of it is in the graph."""

    iri: str
    source: Source
    documents: tuple[Document, ...]
    known: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do, by `method` (the extractor's, with the chunk sizes).

    `problems` are inputs that could not be read.
    """

    method: Method
    todo: tuple[PlannedSource, ...]
    unchanged: int
    duplicates: int
    problems: tuple[InputProblem, ...]

    @property
    def documents(self) -> list[Document]:
        """All chunks that have to be extracted."""
        return [document for planned in self.todo for document in planned.documents]


@dataclass(slots=True)
class IndexReport:
    """What a run did; counts of sources, and of the documents (chunks) in them."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    documents: int = 0
    mentions: int = 0
    relationships: int = 0
    problems: list[InputProblem] = field(default_factory=list)


def plan(
    reader: GraphReader,
    inputs: Iterable[Source | InputProblem | Duplicate],
    method: Method,
    *,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """Find out what has to be done: sources whose text or method differ from what is indexed."""
    minter = reader.minter
    sizes = {"words": str(words), "overlap": str(overlap)}
    method = replace(method, settings={**method.settings, **sizes})
    extraction = extraction_iri(minter, method)
    known = _states(reader)
    todo: dict[str, PlannedSource] = {}
    seen: dict[str, tuple[str, str, str, str]] = {}
    problems: list[InputProblem] = []
    unchanged = duplicates = 0
    for item in inputs:
        if isinstance(item, InputProblem):
            problems.append(item)
        elif isinstance(item, Duplicate):
            duplicates += 1
        else:
            iri = minter.source(item.key, item.title, item.text)
            state = (text_digest(item.text), item.title, item.language, extraction)
            if iri in seen and seen[iri] == state:
                duplicates += 1
            elif iri in seen:
                message = "is the key of two different sources: give each a key of its own"
                problems.append(InputProblem(item.key or "text", message))
            elif known.get(iri) == state:
                unchanged += 1
            else:
                documents = chunk(item, iri, minter, words=words, overlap=overlap)
                todo[iri] = PlannedSource(iri, item, tuple(documents), iri in known)
            seen.setdefault(iri, state)
    return Plan(method, tuple(todo.values()), unchanged, duplicates, tuple(problems))


def _states(reader: GraphReader) -> dict[str, tuple[str, str, str, str]]:
    return {
        source.value: (
            digest.value,
            title.value if title else "",
            language.value,
            extraction.value,
        )
        for source, digest, title, language, extraction in reader.kept("source-states")
    }


def run(
    reader: GraphReader,
    plan: Plan,
    extractor: Extractor,
    *,
    progress: Progress = silent,
) -> IndexReport:
    """Index what is planned, some sources a commit.

    A document that cannot be extracted fails its source, which becomes a problem in the report;
    an error that concerns every document (an endpoint that is down) is raised after what was
    done before it has been committed.
    """
    report = IndexReport(
        unchanged=plan.unchanged, duplicates=plan.duplicates, problems=list(plan.problems)
    )
    writer = Writer(reader, extraction_iri(reader.minter, plan.method))
    batch: list[tuple[PlannedSource, _Found]] = []
    waiting, since = 0, time.monotonic()
    advance = progress("extracting documents", len(plan.documents))
    extracted = _extracted(plan, extractor, advance)
    try:
        for planned, found in extracted:
            if isinstance(found, Exception):
                report.problems.append(InputProblem(planned.source.key or "text", str(found)))
                continue
            batch.append((planned, found))
            waiting += len(found)
            if waiting >= COMMIT_DOCUMENTS or time.monotonic() - since >= COMMIT_SECONDS:
                _commit(writer, plan.method, batch, report)
                batch, waiting, since = [], 0, time.monotonic()
    except (SaragError, KeyboardInterrupt):
        extracted.close()
        _commit(writer, plan.method, batch, report)
        writer.finish()
        raise
    _commit(writer, plan.method, batch, report)
    writer.finish()
    return report


def _extracted(
    plan: Plan, extractor: Extractor, advance: Advance
) -> Generator[tuple[PlannedSource, _Found | Exception], None, None]:
    """Sources with what was found in each of their documents, or with the error of one."""
    results = iter(extractor.extract(iter(plan.documents)))
    for planned in plan.todo:
        found: _Found = []
        failure: Exception | None = None
        for document in planned.documents:
            result = next(results)
            advance(1)
            if isinstance(result, Exception):
                failure = failure or result
            else:
                found.append((document, result))
        yield planned, failure or found


def _commit(
    writer: Writer,
    method: Method,
    batch: list[tuple[PlannedSource, _Found]],
    report: IndexReport,
) -> None:
    if not batch:
        return
    minter = writer.reader.minter
    insert = [
        quad
        for planned, found in batch
        for quad in source_quads(minter, planned.source, planned.iri, method, found)
    ]
    drop = [minter.source_graph(planned.iri) for planned, _ in batch if planned.known]
    writer.commit(drop, insert, [planned.iri for planned, _ in batch])
    for planned, found in batch:
        report.updated += planned.known
        report.added += not planned.known
        report.documents += len(found)
        report.mentions += sum(len(e.mentions) for _, e in found)
        report.relationships += sum(len(e.relations) for _, e in found)
