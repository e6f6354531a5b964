"""``sarag update``: what changed of the documents in a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.indexing import (
    dry_run_option,
    follow,
    indexing_options,
    reading_arguments,
    yes_option,
)


@click.command(name="update", epilog="Example:  sarag update notes/vistula.md --kg kg")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@indexing_options
@yes_option
@dry_run_option
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Bring in anew what changed of the files that are in the graph.

    That is so if text, title, language or extraction differ. Of a file of records new ones are
    added, changed ones replaced, and those that are gone deleted. Files that are not in the graph
    stay out of it. If more than a third of the files' sources would be deleted, --yes has to
    confirm it.
    """
    arguments = {**reading_arguments(options), "yes": options["yes"]}
    return follow(
        options,
        lambda kg, extractor: kg.plan_update(paths, extractor=extractor, **arguments),
        lambda kg, **given: kg.update(paths, **given, **arguments),
    )
