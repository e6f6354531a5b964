"""``sarag sync``: a graph that matches a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    base_option,
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


@click.command(name="sync", epilog="Example:  sarag sync docs/ --kg kg --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@indexing_options
@base_option
@click.option("--delete-all", is_flag=True, help="Delete even all that there is.")
@click.option("--dry-run", is_flag=True, help="List what would be done; write nothing.")
def command(folder: Path, **options: Any) -> int:
    """Make the sources that come from a folder match it: add, update, delete.

    These are all sources in the graph that have a path; with --root, those whose paths lie below
    the folder's. What is there and cannot be read keeps its older version.
    """
    arguments = {**reading_arguments(options), "delete_all": options["delete_all"]}
    with open_graph(options, base=options["base"]) as kg:
        made = same_extractor(kg, options)
        if options["dry_run"]:
            plan = kg.plan_sync(folder, extractor=made, **arguments)
            return echo_changes(plan, made, options)
        report = with_bars(
            lambda progress: kg.sync(folder, extractor=made, progress=progress, **arguments), made
        )
        echo_report(report)
        echo_counts(kg, options)
    echo_usage(made)
    return exit_code(report, strict=options["strict"])
