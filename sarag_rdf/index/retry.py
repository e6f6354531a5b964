"""Sources in quarantine, validated again: what conforms by now joins, the rest stays.

That happens when the shapes or the program changed. What was extracted is not extracted again.
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
    inspect_evidence,
    quarantine_quads,
    read_contents,
    read_quarantine,
)


@dataclass(frozen=True, slots=True)
class Retried:
    """The IRIs of the sources that joined the graph, and of those that stay in quarantine."""

    admitted: tuple[str, ...]
    kept: tuple[str, ...]


def retry(reader: GraphReader, sources: Iterable[str]) -> Retried:
    """Validate the evidence of these sources again, and let pass what conforms, in one commit."""
    minter = reader.minter
    records, contents = read_quarantine(reader), read_contents(reader, sources)
    admitted: list[str] = []
    kept: list[str] = []
    insert: list[Quad] = []
    again: list[str] = []
    held: list[Quad] = []
    for source, found in sorted(contents.items()):
        quads = evidence_of(minter, source, found.content)
        verdict = inspect_evidence(quads)
        if verdict.conforms:
            admitted.append(source)
            insert += quads
            continue
        kept.append(source)
        if verdict.violations != found.violations:
            again.append(minter.quarantine_graph(source))
            state = records[source].state
            held += quarantine_quads(minter, source, state, quads, verdict, now())
    writer = Writer(reader)
    if admitted:
        writer.commit(
            [minter.source_graph(source) for source in admitted],
            insert,
            admitted,
            released=[*again, *map(minter.quarantine_graph, admitted)],
            held=held,
        )
        writer.finish()
    elif held:
        writer.release(again, held)
    return Retried(tuple(admitted), tuple(kept))


def drop(reader: GraphReader, sources: Iterable[str]) -> None:
    """Delete the records of these sources; the next indexing reads the sources anew."""
    graphs = [reader.minter.quarantine_graph(source) for source in sources]
    if graphs:
        Writer(reader).release(graphs)
