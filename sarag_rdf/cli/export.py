"""``sarag export``: the graph as RDF, or in the format of a plug-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.cli.exchange import given_settings, options_of
from sarag_rdf.cli.options import endpoint_options, kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import note, open_output, progress_bars


@click.command(name="export", epilog="Example:  sarag export --format turtle --output graph.ttl")
@kg_option
@sparql_options
@click.option(
    "--format",
    "format_",
    default="turtle",
    type=click.Choice(list(plugins("exporters"))),
    help="Output format.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
@options_of("exporters")
@endpoint_options
def command(output: Path | None, format_: str, **options: Any) -> int:
    """Write the graph or parts of it; the same graph always gives the same bytes.

    turtle, ntriples, rdfxml and jsonld contain the union of all graphs; trig and nquads preserve
    named graphs. --documents, --entities, --ontologies and --graph select parts; without them
    everything is written except imported graphs. wikibase, wikibase-json and quickstatements
    contain items and properties, whose numbers are stored in the graph. articles contains a text
    about each entity in JSON Lines, which sarag index reads. An existing output file is replaced
    only after everything has been written.
    """
    given = given_settings("exporters", "--format", format_, options)
    suffix = output.suffix.lower() if output else ""
    given = {**load("exporters", format_).suffixes.get(suffix, {}), **given}
    with open_graph(options) as kg, open_output(output) as stream, progress_bars() as progress:
        report = kg.export(format_, stream, progress=progress, **given)
        if report is None:
            return 0
        for line in report.notes:
            note(line)
        for line in report.problems:
            click.echo(f"sarag: {line}", err=True)
    return int(bool(report.problems))
