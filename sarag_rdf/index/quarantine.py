"""Validation of each source's evidence against the shapes, and the quarantine of what fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.errors import StoreError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Term
from sarag_rdf.rdf.shacl.data import Data
from sarag_rdf.rdf.shacl.report import ValidationReport, Violation, violations_of
from sarag_rdf.rdf.shacl.shapes import read_shapes, validate
from sarag_rdf.read import InputProblem
from sarag_rdf.vocab import DCTERMS, PROV, RDF, SARAG, XSD

State = tuple[str, str, str, str]
"""What tells versions of a source apart: digest, title, language, extraction."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A source in quarantine: the state it was read in, since when, and how much is wrong."""

    source: str
    title: str
    language: str
    sha256: str
    extraction: str
    when: str
    violations: int

    @property
    def state(self) -> State:
        """To compare with that of the source as it is now."""
        return self.sha256, self.title, self.language, self.extraction


@dataclass(frozen=True, slots=True)
class QuarantinedContent:
    """Why a source is in quarantine (a SHACL report as Turtle), and its evidence as N-Triples."""

    report: str
    content: str

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What the report says. Raises `StoreError` for one that is no Turtle."""
        try:
            return violations_of(self.report)
        except SyntaxError as error:
            raise _damaged("report", error) from error


def read_quarantine(reader: GraphReader) -> dict[str, Quarantined]:
    """The sources in quarantine by IRI, in order."""
    found = {
        source.value: Quarantined(
            source.value,
            title.value if title else "",
            language.value,
            digest.value,
            extraction.value,
            when.value,
            int(violations.value),
        )
        for source, digest, title, language, extraction, when, violations, g in (
            reader.select_provenance("quarantined")
        )
        if g.value == reader.minter.quarantine_graph(source.value)
    }
    return dict(sorted(found.items()))


def read_contents(reader: GraphReader, sources: Iterable[str]) -> dict[str, QuarantinedContent]:
    """What is kept of the given sources. Raises `StoreError` if that is not all there."""
    wanted = set(sources)
    found = {
        source.value: QuarantinedContent(report.value, content.value)
        for source, report, content, g in reader.select_provenance_for(
            "quarantine-contents", wanted
        )
        if g.value == reader.minter.quarantine_graph(source.value)
    }
    for source in sorted(wanted - found.keys()):
        raise _damaged(f"record of {source}", "report or content is missing")
    return found


def quarantine_quads(
    minter: Minter,
    source: str,
    state: State,
    evidence: Iterable[Quad],
    report: ValidationReport,
    when: Literal,
) -> list[Quad]:
    """The graph of a record."""
    digest, title, language, extraction = state
    node, graph = NamedNode(minter.quarantine(source)), NamedNode(minter.quarantine_graph(source))
    count = Literal(str(len(report.violations)), datatype=XSD.integer)
    pairs: list[tuple[NamedNode, Term]] = [
        (RDF.type, SARAG.Quarantine),
        (DCTERMS.source, NamedNode(source)),
        (DCTERMS.language, Literal(language)),
        (SARAG.sha256, Literal(digest)),
        (PROV.wasGeneratedBy, NamedNode(extraction)),
        (PROV.generatedAtTime, when),
        (SARAG.violations, count),
        (SARAG.report, Literal(report.turtle)),
        (SARAG.content, Literal(_ntriples(evidence))),
    ]
    if title:
        pairs.append((DCTERMS.title, Literal(title, language=language)))
    return [Quad(node, predicate, value, graph) for predicate, value in pairs]


def evidence_of(minter: Minter, source: str, content: str) -> list[Quad]:
    """The evidence that a record holds, as quads of the source's graph.

    Raises `StoreError` for what is no N-Triples.
    """
    graph = NamedNode(minter.source_graph(source))
    try:
        return [
            Quad(found.subject, found.predicate, found.object, graph)
            for found in ox.parse(content, format=ox.RdfFormat.N_TRIPLES)
        ]
    except SyntaxError as error:
        raise _damaged(f"content of {source}", error) from error


def _damaged(what: str, reason: object) -> StoreError:
    return StoreError(
        f"the {what} in quarantine is damaged ({reason}): delete it with sarag quarantine drop, "
        "and index the source again"
    )


def _ntriples(evidence: Iterable[Quad]) -> str:
    return "".join(sorted({f"{quad.triple} .\n" for quad in evidence}))


SHAPES = ("shapes.ttl", "evidence-shapes.ttl")


def inspect_evidence(evidence: Iterable[Quad | Triple]) -> ValidationReport:
    """Validate one source's graph by itself."""
    return validate(read_shapes(*SHAPES), Data(evidence))


def held_problem(
    name: str, source: str, violations: Sequence[Violation], *, known: bool
) -> InputProblem:
    """The line that tells of a source in quarantine.

    `known` if an older version of it is in the graph.
    """
    more = f" and {len(violations) - 1} more" if len(violations) > 1 else ""
    stays = "; its older version stays in the graph" if known else ""
    return InputProblem(
        name,
        f"does not conform and is in quarantine{stays}: {violations[0]}{more} "
        f"(sarag quarantine show {source})",
    )
