"""``sarag export``: the graph as RDF."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, setting

FORMATS = ("turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml")


@click.command(name="export", epilog="Example:  sarag export --format turtle --output graph.ttl")
@kg_option
@setting("--format", "format_", default="turtle", type=click.Choice(FORMATS), help="RDF syntax.")
@setting("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
def command(output: Path | None, format_: str, **options: Any) -> int:
    """Write the graph, the same bytes for the same graph.

    turtle, ntriples, rdfxml and jsonld hold the union of all graphs; trig and nquads keep them
    apart. A file is replaced only when the whole graph has been written.
    """
    with open_graph(options) as kg:
        if output is None:
            kg.export(format_, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return 0
        part = output.with_name(f".{output.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as stream:
                kg.export(format_, stream)
            part.replace(output)
        finally:
            part.unlink(missing_ok=True)
    click.echo(f"sarag: written to {output}", err=True)
    return 0
