"""Graphs of others into a graph, and a graph back from its own export."""

from __future__ import annotations

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.imports import restore as restoring
from sarag_rdf.imports import run
from sarag_rdf.imports.options import ImportOptions
from sarag_rdf.imports.run import ImportReport
from sarag_rdf.imports.suggest import column_profiles, suggested_mapping
from sarag_rdf.kg.session import Session
from sarag_rdf.ontology.schema import Schema
from sarag_rdf.ports import Progress
from sarag_rdf.rdf.child_parser import MAX_SECONDS
from sarag_rdf.rdf.files import input_file


def import_graph(
    session: Session, where: str, options: ImportOptions, progress: Progress, *, embed: bool
) -> ImportReport:
    """Import a file or URL as a graph of its own; see `KnowledgeGraph.import_graph`."""
    with session.write() as reader:
        session.vectors.record_model(reader, tries=embed)
        report = run.run_import(reader, where, options, progress)
        if embed:
            session.vectors.build(reader, progress)
        return report


def suggest_mapping(session: Session, where: str, schema: Schema, prefixes: dict[str, str]) -> str:
    """A YARRRML mapping for a table; see `KnowledgeGraph.suggest_mapping`."""
    with session.read(missing_ok=True) as snapshot:
        base = snapshot.own.minter.base
    with input_file(where) as file:
        return suggested_mapping(file.name, column_profiles(file), schema, base, prefixes)


def drop_import(session: Session, name: str) -> None:
    """Drop an imported graph; raises `UsageError` if there is none of that name."""
    with session.write() as reader:
        run.forget_import(reader, name)


def restore(
    session: Session,
    where: str,
    format_: str | None,
    progress: Progress,
    *,
    embed: bool,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
) -> int:
    """Load an export into an empty graph; returns the number of quads."""
    limits = (max_expansion, max_seconds)
    base = restoring.exported_base(where, format_, *limits)
    with session.write() as reader:
        count = restoring.restore(reader.store, where, base, format_, progress, *limits)
    if embed:  # a block of its own: the base of the graph is now that of the export
        with session.write() as reader:
            session.vectors.build(reader, progress)
    return count
