"""``sarag delete``: documents out."""

from __future__ import annotations

from typing import Any

import click

from sarag_rdf.cli.indexing import echo_counts
from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    kg_option,
    open_graph,
    sparql_write_options,
)
from sarag_rdf.errors import one_line


@click.command(name="delete", epilog="Example:  sarag delete polish/vistula.md notes/ --kg kg")
@click.argument("sources", nargs=-1, required=True)
@kg_option
@sparql_write_options
@embedder_option
@embedding_endpoint_options
@click.option("--dry-run", is_flag=True, help="List what would be deleted; write nothing.")
def command(sources: tuple[str, ...], *, dry_run: bool, **options: Any) -> int:
    """Delete sources, with all that nothing else in the graph supports.

    A SOURCE is its IRI, or its path below the indexed folder. The path of a file of records stands
    for them all, and a path that ends in / for all that lies below. The files are not touched.
    """
    from sarag_rdf.cli.output import bars

    with open_graph(options) as kg:
        if dry_run:
            gone = kg.plan_delete(sources)
            for name in gone:
                click.echo(f"delete  {one_line(name)}")
            click.echo(f"would be {len(gone)} deleted")
            return 0
        progress, end = bars()
        try:
            gone = kg.delete(sources, progress=progress)
        finally:
            end()
        click.echo(f"{len(gone)} deleted")
        echo_counts(kg, options)
    return 0
