"""Indexing: what is new or changed is chunked, extracted and committed, some sources at a time.

``Source -chunk-> Document -extract-> Extraction -evidence-> quads -commit-> store``

A source is wholly in or not at all. What was committed stays when the run is interrupted, and
the next run goes on with the rest. What does not conform to the shapes goes into quarantine, in the
same commit.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field

from pyoxigraph import Quad

from sarag_rdf.errors import SaragError
from sarag_rdf.extract.entity_types import resolve_types, unknown_types, unknown_types_warning
from sarag_rdf.graph.metadata import now
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.commit import Writer, remove_by
from sarag_rdf.index.evidence import SourceGraph, extraction_iri, source_graph
from sarag_rdf.index.plan import Plan, PlannedSource, state_of
from sarag_rdf.index.quarantine import held_problem, inspect_evidence, quarantine_quads
from sarag_rdf.ports import Extractor, Progress, silent
from sarag_rdf.read import InputProblem
from sarag_rdf.types import Document, Extraction, Method

log = logging.getLogger(__name__)

COMMIT_DOCUMENTS = 128
COMMIT_SECONDS = 15.0
"""A commit is made after so many documents or seconds, whichever comes first."""


_Found = list[tuple[Document, Extraction]]


@dataclass(slots=True)
class IndexReport:
    """What a run did; counts of sources, and of the documents (chunks) in them.

    The `quarantined` sources are among the problems. `discarded` counts, by reason, what was
    extracted and is not in the graph: repeated relationships, names that the text does not hold.
    `unknown_types` counts the mentions whose type is not an entity type, by their label.
    """

    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    left_out: int = 0
    duplicates: int = 0
    quarantined: int = 0
    documents: int = 0
    mentions: int = 0
    relationships: int = 0
    discarded: Counter[str] = field(default_factory=Counter)
    unknown_types: Counter[str] = field(default_factory=Counter)
    problems: list[InputProblem] = field(default_factory=list)


def run(
    reader: GraphReader,
    plan: Plan,
    extractor: Extractor,
    *,
    progress: Progress = silent,
    written: Callable[[Iterable[str]], None] = lambda texts: None,  # noqa: ARG005
) -> IndexReport:
    """Index what is planned, some sources a commit; `written` is called with the texts of each.

    A document that cannot be extracted fails its source, which becomes a problem in the report;
    an error that concerns every document (an endpoint that is down) is raised after what was
    done before it has been committed. What has to go goes last. Progress tells of documents once
    they are in the graph.
    """
    report = report_of(plan)
    writer = Writer(reader, extraction_iri(reader.minter, plan.method))
    if plan.settled:
        writer.release([reader.minter.quarantine_graph(iri) for iri in plan.settled])
    batch: list[tuple[PlannedSource, _Found]] = []
    waiting, since = 0, time.monotonic()
    advance = progress("indexing documents", len(plan.documents))
    before = _discarded(extractor)
    extracted = _extracted(plan, extractor)
    try:
        for planned, found in extracted:
            if isinstance(found, Exception):
                report.problems.append(InputProblem(planned.name, str(found)))
                advance(len(planned.documents))
                continue
            batch.append((planned, found))
            waiting += len(found)
            if waiting >= COMMIT_DOCUMENTS or time.monotonic() - since >= COMMIT_SECONDS:
                _commit(writer, plan.method, batch, report)
                advance(waiting)
                written(_texts(batch))
                batch, waiting, since = [], 0, time.monotonic()
    except (SaragError, KeyboardInterrupt):
        extracted.close()
        _commit(writer, plan.method, batch, report)
        writer.finish()
        raise
    _commit(writer, plan.method, batch, report)
    advance(waiting)
    report.discarded += _discarded(extractor) - before
    report.deleted = remove_by(writer, tuple(plan.gone), progress)
    writer.finish()
    if report.unknown_types:
        log.warning(unknown_types_warning(report.unknown_types))
    return report


def report_of(plan: Plan) -> IndexReport:
    """What a plan says before anything of it is carried out."""
    return IndexReport(
        unchanged=plan.unchanged,
        left_out=plan.left_out,
        duplicates=plan.duplicates,
        quarantined=len(plan.quarantined),
        problems=[*plan.problems, *plan.quarantined],
    )


def _extracted(
    plan: Plan, extractor: Extractor
) -> Generator[tuple[PlannedSource, _Found | Exception], None, None]:
    """Sources with what was found in each of their documents, or with the error of one."""
    results = iter(extractor.extract(iter(plan.documents)))
    for planned in plan.todo:
        found: _Found = []
        failure: Exception | None = None
        for document in planned.documents:
            result = next(results)
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
    """Write what conforms into the graph and what does not into quarantine, in one step."""
    minter = writer.reader.minter
    extraction, when = extraction_iri(minter, method), now()
    done: list[PlannedSource] = []
    drop: list[str] = []
    insert: list[Quad] = []
    held: list[Quad] = []
    for planned, given in batch:
        try:
            found = [(document, resolve_types(extraction)) for document, extraction in given]
            graph = source_graph(minter, planned.source, planned.iri, method, found)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            report.problems.append(InputProblem(planned.name, _unwritable(error)))
            continue
        quads = graph.quads
        done.append(planned)
        verdict = inspect_evidence(quads)
        if verdict.conforms:
            insert += quads
            drop += [minter.source_graph(planned.iri)] if planned.known else []
            _count(report, planned, given, graph)
        else:
            state = state_of(planned.source, extraction)
            held += quarantine_quads(minter, planned.iri, state, quads, verdict, when)
            report.quarantined += 1
            report.problems.append(
                held_problem(planned.name, planned.iri, verdict.violations, known=planned.known)
            )
    if done:
        released = [minter.quarantine_graph(planned.iri) for planned in done if planned.held]
        iris = [planned.iri for planned in done]
        writer.commit(drop, insert, iris, released=released, held=held)


def _texts(batch: list[tuple[PlannedSource, _Found]]) -> Iterator[str]:
    """What will be embedded of sources: documents, descriptions, relationships."""
    for document, extraction in (pair for _, found in batch for pair in found):
        yield document.titled_text
        for mention in extraction.mentions:
            yield from mention.descriptions or (mention.name,)
        yield from (relation.sentence for relation in extraction.relations)


def _unwritable(error: Exception) -> str:
    return (
        f"its extraction cannot be written as RDF ({type(error).__name__}: {error}): names and "
        "texts must be strings without lone surrogates, confidences numbers"
    )


def _discarded(extractor: Extractor) -> Counter[str]:
    """What the extractor has discarded so far, if it counts that."""
    return Counter(getattr(extractor, "discarded", {}))


def _count(report: IndexReport, planned: PlannedSource, found: _Found, graph: SourceGraph) -> None:
    report.updated += planned.known
    report.added += not planned.known
    report.documents += len(found)
    report.mentions += sum(len(e.mentions) for _, e in found)
    report.relationships += graph.relationships
    report.discarded += graph.discarded
    for _, extraction in found:
        report.unknown_types += unknown_types(extraction)
