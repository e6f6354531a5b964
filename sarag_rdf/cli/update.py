"""``sarag update``: what changed of the documents in a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    echo_changes,
    echo_counts,
    echo_report,
    echo_usage,
    exit_code,
    indexing_options,
    reading_arguments,
    same_extractor,
    with_bars,
)
from sarag_rdf.cli.options import open_graph


@click.command(name="update", epilog="Example:  sarag update notes/vistula.md --kg kg")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@indexing_options
@click.option("--dry-run", is_flag=True, help="List what would be done; write nothing.")
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Bring in anew what changed of the files that are in the graph.

    That is so if text, title, language or extraction differ. Of a file of records new ones are
    added, changed ones replaced, and those that are gone deleted. Files that are not in the graph
    stay out of it.
    """
    arguments = reading_arguments(options)
    with open_graph(options) as kg:
        made = same_extractor(kg, options)
        if options["dry_run"]:
            plan = kg.plan_update(paths, extractor=made, **arguments)
            return echo_changes(plan, made, options)
        report = with_bars(
            lambda progress: kg.update(paths, extractor=made, progress=progress, **arguments), made
        )
        echo_report(report)
        echo_counts(kg, options)
    echo_usage(made)
    return exit_code(report, strict=options["strict"])
