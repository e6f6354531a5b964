"""``sarag mappings``: the links as an SSSOM table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph
from sarag_rdf.cli.output import open_output


@click.command(name="mappings", epilog="Example:  sarag mappings --output links.sssom.tsv")
@kg_option
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
def command(output: Path | None, **options: Any) -> int:
    """Write all links as an SSSOM table: tab-separated values with a YAML header.

    Each row has the subject and object with their labels, the predicate, the justification
    (mapping_justification) and the confidence. 'sarag link --accept' reads the table.
    """
    with open_graph(options) as kg, open_output(output) as stream:
        stream.write(kg.links.mappings().encode())
    return 0
