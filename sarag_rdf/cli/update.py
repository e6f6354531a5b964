"""``sarag update``: re-index documents that have changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    dry_run_option,
    indexing_options,
    reading_arguments,
    run_changes,
    yes_option,
)


@click.command(name="update", epilog="Example:  sarag update notes/vistula.md --kg kg")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@indexing_options
@yes_option
@dry_run_option
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Re-index files of the graph that have changed.

    A source has changed if its text, title, language or extraction method differs. In a file of
    records, new records are added, changed ones replaced and missing ones deleted. Files that are
    not in the graph are skipped. Deleting more than a third of the files' sources requires --yes.
    """
    arguments = {**reading_arguments(options), "yes": options["yes"]}
    return run_changes(
        options,
        lambda kg, extractor: kg.plan_update(paths, extractor=extractor, **arguments),
        lambda kg, **keywords: kg.update(paths, **keywords, **arguments),
    )
