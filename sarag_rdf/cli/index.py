"""``sarag index``: index documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.indexing import (
    base_option,
    echo_counts,
    echo_discarded,
    echo_plan,
    echo_problems,
    echo_report_json,
    echo_usage,
    extractor_for_index,
    indexing_options,
    indexing_progress,
    quarantine_hint,
    reading_arguments,
)
from sarag_rdf.cli.ontology import echo_added
from sarag_rdf.cli.options import open_graph, setting, shapes_options
from sarag_rdf.cli.output import counted
from sarag_rdf.cli.verbosity import note

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(
    name="index",
    short_help="index documents into a knowledge graph",
    epilog="Example:  sarag index docs/ notes.md --kg kg",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@indexing_options
@base_option
@setting(
    "--ontology",
    "ontologies",
    multiple=True,
    metavar="FILE|URL",
    help="Add an ontology, as 'sarag ontology add' does, and extract its classes and properties. "
    "May be repeated.",
)
@shapes_options
@setting(
    "--stdin-format",
    harmless=True,
    default="txt",
    help="Format of standard input: txt, md, html, json, jsonl, csv or tsv.",
)
@click.option(
    "--dry-run", is_flag=True, help="Count documents and estimate model calls; write nothing."
)
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Index files, folders, or standard input (-) into a knowledge graph.

    Reads .txt, .md, .html, .json, .jsonl, .csv and .tsv; PDF, DOCX and the like with
    pip install 'sarag-rdf[documents]'. Unchanged sources are skipped; a source whose text changed
    is replaced. A file that cannot be read is reported, and the others are indexed.
    """
    if options["on_violation"] and not options["shapes"]:
        raise UsageError("--on-violation requires --shapes")
    missing = [str(path) for path in paths if str(path) != "-" and not path.exists()]
    if missing:
        raise UsageError(f"no such file or folder: {', '.join(missing)}")
    arguments = {**reading_arguments(options), "stdin_format": options["stdin_format"]}
    with open_graph(options, base=options["base"]) as kg:
        if options["dry_run"]:
            schema = kg.ontologies.schema_with(*options["ontologies"])
            extractor = extractor_for_index(kg, options, schema=schema)
            echo_plan(kg.plan(paths, extractor=extractor, **arguments), extractor, options)
            return 0
        _add_ontologies(kg, options)
        extractor = extractor_for_index(kg, options)
        with indexing_progress(extractor) as progress:
            report = kg.index(paths, extractor=extractor, progress=progress, **arguments)
        echo_problems(report.problems)
        is_empty = not (report.added or report.updated or report.unchanged)
        if is_empty and not report.problems:
            names = ", ".join(map(str, paths))
            echo_problems([f"no documents in {names}: name a folder that contains some"])
        if options["as_json"]:
            echo_report_json(report, kg, extractor)
        else:
            click.echo(
                f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
                f"{report.duplicates} duplicates, {len(report.problems)} not indexed"
                f"{quarantine_hint(report.quarantined)}"
            )
            echo_discarded(report.discarded)
            echo_counts(kg, options)
            echo_usage(extractor)
        if options["shapes"] and not is_empty:
            _check_shapes(kg, options)
    return int(is_empty or (options["strict"] and bool(report.problems)))


def _check_shapes(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """Validate the statements of the graph; problems go to standard error."""
    files = options["shapes"]
    if options["on_violation"] == "quarantine":
        gate = kg.quarantine().apply_shapes(*files)
        violations, count = gate.remaining, len(gate.quarantined)
        if count:
            note(f"{counted(count, 'statement')} put into quarantine: sarag quarantine statements")
    else:
        violations = kg.validate(shapes=files).violations
    if violations:
        note(
            f"{counted(len(violations), 'violation')} of the shapes, such as {violations[0]}: "
            f"sarag validate --shapes {files[0]}  lists them"
        )


def _add_ontologies(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """Add the ontologies of --ontology; with --json, only their problems are printed."""
    limits = {name: options[name] for name in ("max_expansion", "max_seconds")}
    for file in options["ontologies"]:
        report = kg.ontologies.add(file, **limits)
        if not (report.already and not report.findings):
            echo_added(report, file, only_problems=options["as_json"])
        if report.sources and not report.already:
            note(
                f"{counted(report.sources, 'source')} indexed with another schema: those that are "
                "indexed now are extracted again, the others by sarag update"
            )
