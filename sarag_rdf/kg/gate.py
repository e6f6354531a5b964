"""The sources and statements in quarantine, and the gate of SHACL shapes for statements.

The gate reports violations, or puts the statements into quarantine. The shapes are validated over
the traversed graph, with the axioms of the stored ontologies, so that ``sh:class`` sees derived
classes and subclasses.

A violation is mapped to statements by its focus node, path and value; without a value, as for
``sh:maxCount``, to all statements with that subject and property. Only reported are violations that
further statements would remedy (``sh:minCount``), those of paths that are not single properties,
and those of the focus node itself.

A statement in quarantine is a decision: its relationship remains, without a property, and the
statement is not derived, until the decision is undone. Since classes may follow from a statement,
the shapes are validated again until no further statement is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import Quad

from sarag_rdf.base.errors import InputError, SaragError, UsageError, one_line
from sarag_rdf.base.files import read_bytes
from sarag_rdf.base.ports import Progress, silent
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.sandbox import EndedError
from sarag_rdf.base.vocab import RDFS, iri, iri_or_literal
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.decision_records import Decision
from sarag_rdf.building.evidence_quarantine import (
    QuarantinedContent,
    QuarantinedSource,
    evidence_of,
    quarantine_quads,
    read_contents,
    read_quarantine,
    validate_evidence,
)
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, today
from sarag_rdf.graph.parts import graph_names, ontology_triples
from sarag_rdf.graph.store.shacl import (
    ShaclEngine,
    Shapes,
    ValidationReport,
    Violation,
    parse_shapes,
    read_shapes,
    validate,
)
from sarag_rdf.kg.deciding import STATING, record_decisions
from sarag_rdf.kg.session import Session

RULE = "shapes"
"""The rule of decisions by a gate."""
_REMEDIED_BY_MORE = frozenset(
    f"{name}ConstraintComponent" for name in ("MinCount", "HasValue", "QualifiedMinCount")
)


@dataclass(frozen=True, slots=True)
class GateReport:
    """The first validation, the statements put into quarantine, and the violations that remain."""

    report: ValidationReport
    quarantined: tuple[Decision, ...] = ()
    remaining: tuple[Violation, ...] = ()


def read_shapes_files(paths: Iterable[str | Path]) -> Shapes:
    """The shapes in Turtle files, which are parsed in a child process, as one shapes graph.

    Raises `InputError`.
    """
    from sarag_rdf.graph.store.results import parse_in_sandbox

    contents = []
    for path in paths:
        try:
            triples = parse_in_sandbox(read_bytes(Path(path)), ox.RdfFormat.TURTLE)
        except (SyntaxError, ValueError, EndedError) as error:
            raise InputError(
                f"the SHACL shapes in {path} are invalid: {one_line(str(error))}; correct the file"
            ) from error
        contents.append(ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"")
    try:
        return parse_shapes(*contents)
    except SaragError as error:
        raise InputError(str(error)) from error


def validate_statements(
    reader: GraphReader, shapes: Shapes, engine: ShaclEngine | None = None
) -> ValidationReport:
    """Validate the traversed graph; errors as in `sarag_rdf.graph.store.shacl.validate`."""
    quads = reader.store.quads(reader.minter.kg_graph)
    return validate(shapes, quads, ontology_triples(reader), engine)


def violating_statements(quads: Iterable[Quad], violations: Sequence[Violation]) -> list[Decision]:
    """The decisions that put statements of a traversed graph into quarantine, in a fixed order."""
    statements: defaultdict[tuple[str, str], list[Quad]] = defaultdict(list)
    properties: set[str] = set()
    for quad in quads:
        statements[iri(quad.subject), quad.predicate.value].append(quad)
        if quad.predicate in STATING:
            properties.add(iri_or_literal(quad.object).value)
    decisions: dict[tuple[str, str, str], Decision] = {}
    for violation in violations:
        if violation.path not in properties or violation.component in _REMEDIED_BY_MORE:
            continue
        for quad in statements[violation.focus, violation.path]:
            object_ = iri_or_literal(quad.object)
            if violation.value in ("", object_.value):
                decision = Decision(
                    "quarantined", violation.focus, violation.path, str(object_), rule=RULE,
                    date=today(), note=violation.message,
                )  # fmt: skip
                decisions.setdefault(decision.statement, decision)
    return sorted(decisions.values(), key=lambda decision: decision.statement)


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
            retried = retry(reader, iris)
            if retried.admitted:
                self._session.vectors.build(reader, progress)
            return retried

    def drop(self, sources: Sequence[str] = ()) -> tuple[str, ...]:
        """Delete the records of sources (all by default); returns their IRIs."""
        with self._session.write(create=False) as reader:
            iris = _named(reader, sources)
            if iris:
                Writer(reader).release([*map(reader.minter.quarantine_graph, iris)])
            return tuple(iris)

    def apply_shapes(self, *files: str | Path, engine: ShaclEngine | None = None) -> GateReport:
        """Put the typed statements that violate the shapes in Turtle files into quarantine.

        See `sarag_rdf.kg.gate`. Raises `InputError` for files that are no shapes.
        """
        shapes = read_shapes_files(files)
        with self._session.write(create=False) as reader:
            first = report = validate_statements(reader, shapes, engine)
            quarantined: list[Decision] = []
            while violating := violating_statements(
                reader.store.quads(reader.minter.kg_graph), report.violations
            ):
                record_decisions(reader, violating)
                quarantined += violating
                report = validate_statements(reader, shapes, engine)
            return GateReport(first, tuple(quarantined), report.violations)


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
            raise UsageError(f"no source {source} is in quarantine: see sarag quarantine list")
        iris.append(iri)
    return list(dict.fromkeys(iris)) if sources else list(quarantined)


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


def validate_own(reader: GraphReader, engine: ShaclEngine | None = None) -> ValidationReport:
    """Validate the union of all graphs except imported graphs, ontologies and quarantine.

    `engine` as in `sarag_rdf.graph.store.shacl.validate`, and the same errors.
    """
    minter, excluded = reader.minter, ("imported", "ontologies", "quarantine")
    graphs = (g for g in graph_names(reader.store, minter.graphs) if g.startswith(minter.graphs))
    own = [graph for graph in graphs if minter.kind_of(graph) not in excluded]
    quads = (quad for graph in own for quad in reader.store.quads(graph))
    return validate(read_shapes("shapes.ttl"), quads, _subclass_axioms(), engine)


@cache
def _subclass_axioms() -> tuple[ox.Triple, ...]:
    """The subclasses in the ontology."""
    quads = ox.parse(path=ontology_path("sarag.ttl"), format=ox.RdfFormat.TURTLE)
    return tuple(quad.triple for quad in quads if quad.predicate == RDFS.subClassOf)
