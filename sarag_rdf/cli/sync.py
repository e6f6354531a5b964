"""``sarag sync``: a graph that matches a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    base_option,
    dry_run_option,
    follow,
    indexing_options,
    reading_arguments,
    yes_option,
)


@click.command(name="sync", epilog="Example:  sarag sync docs/ --kg kg --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@indexing_options
@base_option
@yes_option
@dry_run_option
def command(folder: Path, **options: Any) -> int:
    """Make the sources that come from a folder match it: add, update, delete.

    These are all sources in the graph that have a path; with --root, those whose paths lie below
    the folder's. What is there and cannot be read keeps its older version. If more than a third of
    them would be deleted, --yes has to confirm it.
    """
    arguments = {**reading_arguments(options), "yes": options["yes"]}
    return follow(
        options,
        lambda kg, extractor: kg.plan_sync(folder, extractor=extractor, **arguments),
        lambda kg, **given: kg.sync(folder, **given, **arguments),
        base=options["base"],
    )
