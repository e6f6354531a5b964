"""``sarag describe``: a description of the dataset in VoID, DCAT and PROV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, setting
from sarag_rdf.cli.output import open_output
from sarag_rdf.cli.verbosity import note

STORED = ("title", "description", "license", "publisher", "homepage")


@click.command(
    name="describe",
    epilog="Example:  sarag describe --title 'Rivers' --license "
    "https://creativecommons.org/licenses/by/4.0/ --output void.ttl",
)
@kg_option
@setting("--title", harmless=True, help="Title of the dataset.")
@setting("--description", harmless=True, help="Description of the dataset, in a sentence or two.")
@setting("--license", harmless=True, help="IRI of the licence.")
@setting("--publisher", harmless=True, help="IRI or name of the publisher.")
@setting("--homepage", harmless=True, help="IRI of the home page.")
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    metavar="URL=FORMAT",
    help="A dump: its URL, or a file (which adds size and checksum), and its format. May be "
    "repeated.",
)
@setting(
    "--sparql-endpoint", harmless=True, default="", help="URL of a SPARQL endpoint for the dataset."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
def command(output: Path | None, **options: Any) -> int:
    """Describe the dataset in VoID, DCAT and PROV, as Turtle.

    Title, description, licence, publisher and home page are stored in the graph; an empty string
    removes them. The rest is computed from the graph.
    """
    stored = {name: options[name] for name in STORED if options[name] is not None}
    with open_graph(options) as kg:
        description = kg.describe(options["distributions"], options["sparql_endpoint"], **stored)
        with open_output(output) as stream:
            stream.write(description)
    if b"dcterms:license" not in description:
        note("the dataset has no licence: set its IRI with --license")
    return 0
