"""Validation of quarantined sources again, after a change of the shapes or the program.

Sources that now conform are added to the graph, without a new extraction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import Quad

from sarag_rdf.graph.metadata import now
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.commit import Writer
from sarag_rdf.index.quarantine import (
    evidence_of,
    quarantine_quads,
    read_contents,
    read_quarantine,
    validate_evidence,
)


@dataclass(frozen=True, slots=True)
class RetryResult:
    """IRIs of the sources added to the graph, and of those that remain in quarantine."""

    admitted: tuple[str, ...]
    rejected: tuple[str, ...]


def retry(reader: GraphReader, sources: Iterable[str]) -> RetryResult:
    """Validate the evidence of these sources again, and add what conforms, in one commit."""
    minter = reader.minter
    records, contents = read_quarantine(reader), read_contents(reader, sources)
    admitted: list[str] = []
    rejected: list[str] = []
    insert: list[Quad] = []
    replaced: list[str] = []
    quarantine: list[Quad] = []
    for source, stored in sorted(contents.items()):
        quads = evidence_of(minter, source, stored.content)
        validation = validate_evidence(quads)
        if validation.conforms:
            admitted.append(source)
            insert += quads
            continue
        rejected.append(source)
        if validation.violations != stored.violations:
            replaced.append(minter.quarantine_graph(source))
            state = records[source].state
            quarantine += quarantine_quads(minter, source, state, quads, validation, now())
    writer = Writer(reader)
    if admitted:
        writer.commit(
            [minter.source_graph(source) for source in admitted],
            insert,
            admitted,
            released=[*replaced, *map(minter.quarantine_graph, admitted)],
            quarantine=quarantine,
        )
        writer.finish()
    elif quarantine:
        writer.release(replaced, quarantine)
    return RetryResult(tuple(admitted), tuple(rejected))


def drop(reader: GraphReader, sources: Iterable[str]) -> None:
    """Delete the quarantine records of these sources, so that they are indexed again."""
    graphs = [reader.minter.quarantine_graph(source) for source in sources]
    if graphs:
        Writer(reader).release(graphs)
