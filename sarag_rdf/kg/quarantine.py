"""The sources and statements in quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sarag_rdf.derive.decisions import Decision, read_decisions
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index import retry
from sarag_rdf.index.quarantine import (
    QuarantinedContent,
    QuarantinedSource,
    read_contents,
    read_quarantine,
)
from sarag_rdf.index.retry import RetryResult
from sarag_rdf.kg.gate import GateReport, quarantine_statements, read_shapes_files
from sarag_rdf.kg.identity import undo_decisions
from sarag_rdf.kg.session import Session
from sarag_rdf.ports import Progress, silent
from sarag_rdf.rdf.shacl.engines import Engine


class Quarantine:
    """The sources whose evidence does not conform to the shapes, and statements of other shapes.

    A source is named by its IRI, or by the part of its IRI after ``BASE/source/``: the path of a
    file below the indexed folder. Raises `UsageError` for a name that is not in quarantine.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def sources(self) -> tuple[QuarantinedSource, ...]:
        """All sources in quarantine, by IRI."""
        with self._session.read() as snapshot:
            return tuple(read_quarantine(snapshot.reader).values())

    def show(self, source: str) -> tuple[QuarantinedSource, QuarantinedContent]:
        """One source, why it is in quarantine, and what was extracted from it."""
        with self._session.read() as snapshot:
            [iri] = _named(snapshot.reader, [source])
            return read_quarantine(snapshot.reader)[iri], read_contents(snapshot.reader, [iri])[iri]

    def retry(self, sources: Sequence[str] = (), *, progress: Progress = silent) -> RetryResult:
        """Validate sources again (all by default), and admit those that conform now."""
        with self._session.write(create=False) as reader:
            iris = _named(reader, sources)
            if iris:
                self._session.vectors.record_model(reader)
            retried = retry.retry(reader, iris)
            if retried.admitted:
                self._session.vectors.build(reader, progress)
            return retried

    def drop(self, sources: Sequence[str] = ()) -> tuple[str, ...]:
        """Delete the content of sources (all by default); returns their IRIs."""
        with self._session.write(create=False) as reader:
            iris = _named(reader, sources)
            retry.drop(reader, iris)
            return tuple(iris)

    def statements(self) -> list[Decision]:
        """The statements in quarantine: decisions that they are not derived."""
        with self._session.read() as snapshot:
            return [d for d in read_decisions(snapshot.own) if d.kind == "quarantined"]

    def apply_shapes(self, *files: str | Path, engine: Engine | None = None) -> GateReport:
        """Put the typed statements that violate the shapes in Turtle files into quarantine.

        See `sarag_rdf.kg.gate`. Raises `InputError` for files that are no shapes.
        """
        shapes = read_shapes_files(files)
        with self._session.write(create=False) as reader:
            return quarantine_statements(reader, shapes, engine)

    def release(self, what: str | None) -> list[Decision]:
        """Derive statements in quarantine again: by a subject, property, decision or run.

        All are given as IRIs; None stands for all statements. Raises `UsageError` if there are
        none.
        """
        with self._session.write(create=False) as reader:
            return undo_decisions(reader, what, "statements")


def _named(reader: GraphReader, sources: Sequence[str]) -> list[str]:
    """IRIs of the sources in quarantine that are named; of all without names."""
    quarantined = read_quarantine(reader)
    iris = []
    for source in sources:
        candidates = (
            source,
            reader.minter.base + "source/" + source,
            reader.minter.source(source, "", ""),
        )
        iri = next((iri for iri in candidates if iri in quarantined), None)
        if iri is None:
            raise UsageError(f"no source {source} is in quarantine: see  sarag quarantine list")
        iris.append(iri)
    return list(dict.fromkeys(iris)) if sources else list(quarantined)
