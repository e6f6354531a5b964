"""``sarag delete``: delete documents."""

from __future__ import annotations

from typing import Any

import click

from sarag_rdf.base.errors import one_line
from sarag_rdf.cli.indexing import echo_counts, graph_counts
from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    json_option,
    kg_option,
    open_graph,
    sparql_write_options,
)


@click.command(name="delete", epilog="Example:  sarag delete polish/vistula.md notes/ --kg kg")
@click.argument("sources", nargs=-1, required=True)
@kg_option
@sparql_write_options
@embedder_option
@embedding_endpoint_options
@json_option
@click.option("--dry-run", is_flag=True, help="List the sources without deleting them.")
def command(sources: tuple[str, ...], *, dry_run: bool, as_json: bool, **options: Any) -> int:
    """Delete sources from the graph, and everything that no other source supports.

    A SOURCE is an IRI, or a path below the indexed folder. The path of a file of records selects
    all of its records, and a path that ends in / everything below it. The files are not touched.
    """
    from sarag_rdf.cli.output import echo_json, progress_bars

    with open_graph(options) as kg:
        if dry_run:
            names = kg.plan_delete(sources)
            if as_json:
                echo_json({"delete": list(names)})
                return 0
            for name in names:
                click.echo(f"delete  {one_line(name)}")
            click.echo(f"would be {len(names)} deleted")
            return 0
        with progress_bars() as progress:
            names = kg.delete(sources, progress=progress)
        if as_json:
            echo_json({"deleted": list(names), "graph": graph_counts(kg)})
            return 0
        click.echo(f"{len(names)} deleted")
        echo_counts(kg, options)
    return 0
