"""``sarag mappings``: what is linked where, as an SSSOM table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph
from sarag_rdf.cli.output import written_to


@click.command(name="mappings", epilog="Example:  sarag mappings --output links.sssom.tsv")
@kg_option
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
def command(output: Path | None, **options: Any) -> int:
    """Write all links as an SSSOM table: tab-separated values under a header in YAML.

    Each row has the two ends with their names, what the link says, how it came about
    (mapping_justification) and how sure it is (confidence). 'sarag link --accept' reads it.
    """
    with open_graph(options) as kg, written_to(output) as stream:
        stream.write(kg.links.mappings().encode())
    return 0
