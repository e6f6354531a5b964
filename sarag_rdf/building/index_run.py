"""Indexing: new and changed sources are chunked, extracted and committed in batches.

``Source -chunk-> Document -extract-> Extraction -evidence-> quads -commit-> store``

A source is committed as a whole. After an interruption committed sources remain in the graph, and
the next run continues with the others. Evidence that does not conform to the shapes is put into
quarantine in the same commit.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field

from pyoxigraph import Quad

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.ports import CountsDiscarded, Extractor, Progress, silent
from sarag_rdf.base.types import Document, Extraction, Method
from sarag_rdf.building.commit import Writer, remove
from sarag_rdf.building.evidence_quarantine import (
    quarantine_problem,
    quarantine_quads,
    validate_evidence,
)
from sarag_rdf.building.plan import Plan, PlannedSource, state_of
from sarag_rdf.building.source_evidence import SourceGraph, extraction_iri
from sarag_rdf.documents.format import InputProblem
from sarag_rdf.extraction.names import resolve_types, unknown_types, unknown_types_warning
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now

log = logging.getLogger(__name__)

COMMIT_DOCUMENTS = 128
COMMIT_SECONDS = 15.0
"""A batch is committed after this many documents or seconds, whichever comes first."""


_Extractions = list[tuple[Document, Extraction]]


@dataclass(slots=True)
class IndexReport:
    """The result of a run: numbers of sources, and of the documents (chunks) in them.

    The `quarantined` sources are also among the `problems`. `discarded` counts the extracted items
    that are not in the graph, by reason, such as repeated relationships and names that do not occur
    in the text. `unknown_types` counts the mentions whose type is not an entity type, by label;
    they are in the graph with the nearest type.
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
    """Carry out a plan in several commits; `written` is called with the texts of each.

    A source of which a document fails becomes a problem in the report. An error that affects every
    document is raised after the completed sources have been committed. Deletions come last.
    """
    report = initial_report(plan)
    writer = Writer(reader, plan.method)
    if plan.settled:
        writer.release([reader.minter.quarantine_graph(iri) for iri in plan.settled])
    batch: list[tuple[PlannedSource, _Extractions]] = []
    pending, batch_start = 0, time.monotonic()
    advance = progress("indexing documents", len(plan.documents))
    before = _discarded(extractor)
    results = _extract(plan, extractor)
    try:
        for planned, result in results:
            if isinstance(result, Exception):
                report.problems.append(InputProblem(planned.name, str(result)))
                advance(len(planned.documents))
                continue
            batch.append((planned, result))
            pending += len(result)
            seconds = time.monotonic() - batch_start
            if pending >= COMMIT_DOCUMENTS or seconds >= COMMIT_SECONDS:
                ready, batch = batch, []  # a commit that fails is not tried again
                _commit(writer, plan.method, ready, report)
                advance(pending)
                written(_texts(ready))
                pending, batch_start = 0, time.monotonic()
    except (SaragError, KeyboardInterrupt):
        results.close()
        _commit(writer, plan.method, batch, report)
        writer.finish()
        raise
    _commit(writer, plan.method, batch, report)
    advance(pending)
    report.discarded += _discarded(extractor) - before
    report.deleted = remove(writer, tuple(plan.deletions), progress)
    writer.finish()
    if report.unknown_types:
        log.warning(unknown_types_warning(report.unknown_types))
    return report


def initial_report(plan: Plan) -> IndexReport:
    """The report of a plan before it is carried out."""
    return IndexReport(
        unchanged=plan.unchanged,
        left_out=plan.left_out,
        duplicates=plan.duplicates,
        quarantined=len(plan.quarantined),
        problems=[*plan.problems, *plan.quarantined],
    )


def _extract(
    plan: Plan, extractor: Extractor
) -> Generator[tuple[PlannedSource, _Extractions | Exception], None, None]:
    """Yield each source with the extractions of its documents, or the first error."""
    results = iter(extractor.extract(iter(plan.documents)))
    for planned in plan.todo:
        extractions: _Extractions = []
        failure: Exception | None = None
        for document in planned.documents:
            result = next(results)
            if isinstance(result, Exception):
                failure = failure or result
            else:
                extractions.append((document, result))
        yield planned, failure or extractions


def _commit(
    writer: Writer,
    method: Method,
    batch: list[tuple[PlannedSource, _Extractions]],
    report: IndexReport,
) -> None:
    """Write valid evidence into the graph, and invalid evidence into quarantine, in one step."""
    minter = writer.reader.minter
    when = now()
    written: list[PlannedSource] = []
    drop: list[str] = []
    insert: list[Quad] = []
    quarantine: list[Quad] = []
    for planned, raw in batch:
        try:
            extractions = [(document, resolve_types(result)) for document, result in raw]
            graph = SourceGraph(minter, planned.source, planned.iri, method, extractions)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            message = (
                f"its extraction cannot be written as RDF ({type(error).__name__}: {error}): names "
                "and texts must be strings without lone surrogates, confidences must be numbers"
            )
            report.problems.append(InputProblem(planned.name, message))
            continue
        quads = graph.quads
        written.append(planned)
        validation = validate_evidence(quads)
        if validation.conforms:
            insert += quads
            drop += [minter.source_graph(planned.iri)] if planned.known else []
            report.updated += planned.known
            report.added += not planned.known
            report.documents += len(raw)
            report.relationships += graph.relationships
            report.discarded += graph.discarded
            for _, extraction in raw:
                report.mentions += len(extraction.mentions)
                report.unknown_types += unknown_types(extraction)
        else:
            state = state_of(planned.source, extraction_iri(minter, planned.iri, method))
            quarantine += quarantine_quads(minter, planned.iri, state, quads, validation, when)
            report.quarantined += 1
            report.problems.append(
                quarantine_problem(
                    planned.name, planned.iri, validation.violations, known=planned.known
                )
            )
    if written:
        released = [minter.quarantine_graph(p.iri) for p in written if p.quarantined]
        iris = [planned.iri for planned in written]
        writer.commit(drop, insert, iris, released=released, quarantine=quarantine)


def _texts(batch: list[tuple[PlannedSource, _Extractions]]) -> Iterator[str]:
    """The texts of sources that will be embedded: of documents and relationships."""
    for document, extraction in (pair for _, extractions in batch for pair in extractions):
        yield document.titled_text
        yield from (relation.sentence for relation in extraction.relations)


def _discarded(extractor: Extractor) -> Counter[str]:
    """The extractor's counts of discarded items so far, if it has any."""
    return Counter(extractor.discarded if isinstance(extractor, CountsDiscarded) else {})
