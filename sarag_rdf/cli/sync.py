"""``sarag sync``: make a graph match a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    base_option,
    dry_run_option,
    indexing_options,
    reading_arguments,
    run_changes,
    yes_option,
)


@click.command(name="sync", epilog="Example:  sarag sync docs/ --kg kg --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@indexing_options
@base_option
@yes_option
@dry_run_option
def command(folder: Path, **options: Any) -> int:
    """Make the sources in the graph match a folder: add, update and delete them.

    This affects all sources that have a path; with --root, those whose paths lie below the folder.
    A file that exists but cannot be read keeps its previous version. Deleting more than a third of
    the sources requires --yes.
    """
    arguments = {**reading_arguments(options), "yes": options["yes"]}
    return run_changes(
        options,
        lambda kg, extractor: kg.plan_sync(folder, extractor=extractor, **arguments),
        lambda kg, **keywords: kg.sync(folder, **keywords, **arguments),
        base=options["base"],
    )
