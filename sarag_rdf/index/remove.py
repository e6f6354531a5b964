"""Takes sources out of the graph, with all that nothing else supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.commit import Writer
from sarag_rdf.index.quarantine import read_quarantine
from sarag_rdf.ports import Progress, silent

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
