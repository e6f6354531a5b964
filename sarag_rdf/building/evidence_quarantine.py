"""Validation of evidence against the shapes, and the quarantine of invalid sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import DCTERMS, PROV, RDF, SARAG
from sarag_rdf.documents.format import InputProblem
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import record_of, record_quads, stored
from sarag_rdf.graph.store.shacl import (
    ValidationReport,
    Violation,
    read_shapes,
    validate,
    violations_of,
)

SourceState = tuple[str, str, str, str]
"""Identifies a version of a source: digest of its text, title, language, extraction."""


@dataclass(frozen=True, slots=True)
class QuarantinedSource:
    """A source in quarantine: its state, the time of its quarantine, and the violation count."""

    source: str = stored(DCTERMS.source, "iri")
    title: str = stored(DCTERMS.title)
    language: str = stored(DCTERMS.language)
    sha256: str = stored(SARAG.sha256)
    extraction: str = stored(PROV.wasGeneratedBy, "iri")
    when: str = stored(PROV.generatedAtTime, "dateTime")
    violations: int = stored(SARAG.violations, "integer")

    @property
    def state(self) -> SourceState:
        """The version of the source that is in quarantine."""
        return self.sha256, self.title, self.language, self.extraction


@dataclass(frozen=True, slots=True)
class QuarantinedContent:
    """The SHACL report (Turtle) and the evidence (N-Triples) of a source in quarantine."""

    report: str = stored(SARAG.report)
    content: str = stored(SARAG.content)

    @property
    def validated(self) -> str:
        """The evidence with the classes of its mentions (N-Triples), as it was validated.

        Raises `StoreError` if the content is not valid N-Triples.
        """
        return _ntriples(with_mentions(_parse(self.content, "content")))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations in the report. Raises `StoreError` if it is not valid Turtle."""
        try:
            return violations_of(self.report)
        except SyntaxError as error:
            raise _damaged("report", error) from error


def read_quarantine(reader: GraphReader) -> dict[str, QuarantinedSource]:
    """The sources in quarantine by IRI, in ascending order."""
    minter = reader.minter
    records = []
    for *terms, violations, graph in reader.select_provenance("quarantined"):
        if graph.value == minter.quarantine_graph(terms[0].value):
            values: list[Any] = [term.value if term else "" for term in terms]
            records.append(QuarantinedSource(*[*values, int(violations.value)]))
    return {record.source: record for record in sorted(records, key=lambda each: each.source)}


def read_contents(reader: GraphReader, sources: Iterable[str]) -> dict[str, QuarantinedContent]:
    """Reports and evidence of sources in quarantine. Raises `StoreError` if one is incomplete."""
    contents = {}
    for source in sorted(set(sources)):
        quads = reader.store.quads(reader.minter.quarantine_graph(source))
        contents[source] = record_of(QuarantinedContent, quads)
        if not (contents[source].report and contents[source].content):
            raise _damaged(f"record of {source}", "report or content is missing")
    return contents


def quarantine_quads(
    minter: Minter,
    source: str,
    state: SourceState,
    evidence: Iterable[Quad],
    report: ValidationReport,
    when: Literal,
) -> list[Quad]:
    """The quads of a quarantine record."""
    digest, title, language, extraction = state
    node, graph = NamedNode(minter.quarantine(source)), minter.quarantine_graph(source)
    count = len(report.violations)
    record = QuarantinedSource(source, title, language, digest, extraction, when.value, count)
    content = QuarantinedContent(report.turtle, _ntriples(quad.triple for quad in evidence))
    described = record_quads(record, node, graph, SARAG.Quarantine)
    return [*described, *record_quads(content, node, graph)]


def evidence_of(minter: Minter, source: str, content: str) -> list[Quad]:
    """The evidence in a quarantine record, as quads of the source graph.

    Raises `StoreError` if it is not valid N-Triples.
    """
    graph = NamedNode(minter.source_graph(source))
    return [
        Quad(triple.subject, triple.predicate, triple.object, graph)
        for triple in _parse(content, f"content of {source}")
    ]


def _parse(content: str, name: str) -> list[Triple]:
    try:
        return [quad.triple for quad in ox.parse(content, format=ox.RdfFormat.N_TRIPLES)]
    except SyntaxError as error:
        raise _damaged(name, error) from error


def _damaged(what: str, reason: object) -> StoreError:
    return StoreError(
        f"the {what} in quarantine is damaged ({reason}): delete it with sarag quarantine drop, "
        "and index the source again"
    )


def _ntriples(triples: Iterable[Triple]) -> str:
    return "".join(sorted({f"{triple} .\n" for triple in triples}))


SHAPES = ("shapes.ttl", "evidence-shapes.ttl")


def validate_evidence(evidence: Iterable[Quad | Triple]) -> ValidationReport:
    """Validate one source graph on its own, with the mentions that it uses."""
    return validate(read_shapes(*SHAPES), with_mentions(evidence))


def with_mentions(evidence: Iterable[Quad | Triple]) -> list[Triple]:
    """The triples of a source graph, and the class of each mention that its name uses are of.

    The class is derived into the traversed graph.
    """
    triples = [Triple(s.subject, s.predicate, s.object) for s in evidence]
    mentions = dict.fromkeys(t.object for t in triples if t.predicate == SARAG.useOf)
    triples += [Triple(m, RDF.type, SARAG.Mention) for m in mentions if isinstance(m, NamedNode)]
    return triples


def quarantine_problem(
    name: str, source: str, violations: Sequence[Violation], *, known: bool
) -> InputProblem:
    """The problem of a source in quarantine; `known` if an older version is in the graph."""
    more = f" and {len(violations) - 1} more" if len(violations) > 1 else ""
    older = "; its older version stays in the graph" if known else ""
    return InputProblem(
        name,
        f"does not conform and is in quarantine{older}: {violations[0]}{more} "
        f"(sarag quarantine show {source})",
    )
