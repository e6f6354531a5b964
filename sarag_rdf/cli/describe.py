"""``sarag describe``: the data set as VoID, DCAT and PROV see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, setting
from sarag_rdf.cli.output import written_to

SAID = ("title", "description", "license", "publisher", "homepage")


@click.command(
    name="describe",
    epilog="Example:  sarag describe --title 'Rivers' --license "
    "https://creativecommons.org/licenses/by/4.0/ --output void.ttl",
)
@kg_option
@setting("--title", help="Title of the data set.")
@setting("--description", help="What the data set is, in a sentence or two.")
@setting("--license", help="IRI of its licence.")
@setting("--publisher", help="IRI or name of who publishes it.")
@setting("--homepage", help="IRI of its home page.")
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    metavar="URL=FORMAT",
    help="A dump: its URL, or a file (then with size and checksum), and its format. May be "
    "repeated.",
)
@setting("--sparql-endpoint", default="", help="Where the data set can be queried.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
def command(output: Path | None, **options: Any) -> int:
    """Describe the data set, as Turtle: VoID, DCAT and PROV.

    Title, description, licence, publisher and home page are kept in the graph once they have been
    given; an empty text takes them away. All else is counted or read from the graph.
    """
    said = {name: options[name] for name in SAID if options[name] is not None}
    with open_graph(options) as kg:
        described = kg.describe(options["distributions"], options["sparql_endpoint"], **said)
        with written_to(output) as stream:
            stream.write(described)
    if b"dcterms:license" not in described:
        click.echo("sarag: no licence is given: name its IRI with --license", err=True)
    return 0
