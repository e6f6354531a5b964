"""The quarantine of a graph, as a caller holds it."""

from __future__ import annotations

from collections.abc import Sequence

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index import retry
from sarag_rdf.index.quarantine import (
    QuarantinedContent,
    QuarantinedSource,
    read_contents,
    read_quarantine,
)
from sarag_rdf.index.retry import RetryResult
from sarag_rdf.kg.embedding import Embeddings
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.ports import Progress, silent


class Quarantine:
    """The sources whose evidence did not conform to the shapes.

    A source is named by its IRI, or by what its IRI has after ``BASE/source/``: the path of a file
    below the indexed folder. A name that nothing in quarantine has raises `UsageError`.
    """

    def __init__(self, location: GraphLocation, embeddings: Embeddings) -> None:
        self._location = location
        self._embeddings = embeddings

    def sources(self) -> tuple[QuarantinedSource, ...]:
        """All that is in quarantine, by IRI."""
        return tuple(read_quarantine(self._location.reader()).values())

    def show(self, source: str) -> tuple[QuarantinedSource, QuarantinedContent]:
        """One source, why it is in quarantine, and what was extracted from it."""
        reader = self._location.reader()
        [iri] = _named(reader, [source])
        return read_quarantine(reader)[iri], read_contents(reader, [iri])[iri]

    def retry(self, sources: Sequence[str] = (), *, progress: Progress = silent) -> RetryResult:
        """Validate sources again (all by default), and let those join that conform by now."""
        self._embeddings.forget()
        with self._location.changing() as reader:
            named = _named(reader, sources)
            if named:
                self._embeddings.record(reader)
            retried = retry.retry(reader, named)
            if retried.admitted:
                self._embeddings.build(select_parts(reader), progress)
            return retried

    def drop(self, sources: Sequence[str] = ()) -> tuple[str, ...]:
        """Delete what is kept of sources (all by default); returns their IRIs."""
        self._embeddings.forget()
        with self._location.changing() as reader:
            named = _named(reader, sources)
            retry.drop(reader, named)
            return tuple(named)


def _named(reader: GraphReader, sources: Sequence[str]) -> list[str]:
    """The IRIs of what is in quarantine by these names; all of it without names."""
    held = read_quarantine(reader)
    found = []
    for source in sources:
        candidates = (source, reader.minter.base + "source/" + source)
        iri = next(
            (iri for iri in (*candidates, reader.minter.source(source, "", "")) if iri in held),
            None,
        )
        if iri is None:
            raise UsageError(f"no source {source} is in quarantine: see  sarag quarantine list")
        found.append(iri)
    return list(dict.fromkeys(found)) if sources else list(held)
