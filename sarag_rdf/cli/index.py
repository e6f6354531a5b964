"""``sarag index``: documents in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    base_option,
    echo_counts,
    echo_discarded,
    echo_estimate,
    echo_problems,
    echo_usage,
    extractor_of,
    in_quarantine,
    indexing_options,
    reading_arguments,
    with_bars,
)
from sarag_rdf.cli.options import open_graph, setting
from sarag_rdf.errors import UsageError


@click.command(
    name="index",
    short_help="index documents into a knowledge graph",
    epilog="Example:  sarag index docs/ notes.md --kg kg",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@indexing_options
@base_option
@setting("--stdin-format", default="txt", help="Of '-': txt, md, html, json, jsonl, csv, tsv.")
@click.option("--dry-run", is_flag=True, help="Tell chunks, calls and tokens; write nothing.")
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Index files, folders, or standard input (-) into a knowledge graph.

    Reads .txt, .md, .html, .json, .jsonl, .csv and .tsv; PDF, DOCX and the like with
    pip install 'sarag-rdf[documents]'. What is in the graph already is left alone; a source
    whose text changed is replaced. A file that cannot be read costs one line, never the rest.
    """
    missing = [str(path) for path in paths if str(path) != "-" and not path.exists()]
    if missing:
        raise UsageError(f"there is no {', '.join(missing)}")
    arguments = {**reading_arguments(options), "stdin_format": options["stdin_format"]}
    with open_graph(options, base=options["base"]) as kg:
        made = extractor_of(kg, options)
        if options["dry_run"]:
            return _dry_run(kg.plan(paths, extractor=made, **arguments), made, options)
        report = with_bars(
            lambda progress: kg.index(paths, extractor=made, progress=progress, **arguments), made
        )
        echo_problems(report.problems)
        nothing = not (report.added or report.updated or report.unchanged)
        if nothing and not report.problems:
            named = ", ".join(map(str, paths))
            echo_problems([f"{named}: no document found: name a folder that holds some"])
        click.echo(
            f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
            f"{report.duplicates} duplicates, {len(report.problems)} not indexed"
            f"{in_quarantine(report.quarantined)}"
        )
        echo_discarded(report.discarded)
        echo_counts(kg, options)
    echo_usage(made)
    return int(nothing or (options["strict"] and bool(report.problems)))


def _dry_run(plan: Any, extractor: Any, options: dict[str, Any]) -> int:
    echo_problems((*plan.problems, *plan.quarantined))
    click.echo(
        f"would index {len(plan.todo)} sources as {len(plan.documents)} documents; "
        f"{plan.unchanged} unchanged, {plan.duplicates} duplicates, "
        f"{len(plan.problems)} not readable{in_quarantine(len(plan.quarantined))}"
    )
    if not echo_estimate(plan, extractor, options):
        click.echo("0 calls, 0 tokens: this extractor asks no model endpoint")
    return 0
