"""``sarag export``: the graph as RDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.files import written_to
from sarag_rdf.cli.options import kg_option, open_graph, sparql_options
from sarag_rdf.cli.wikibase import (
    WIKIBASE_FORMATS,
    export_wikibase,
    refuse_wikibase_options,
    wikibase_options,
)
from sarag_rdf.errors import UsageError

FORMATS = ("turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml", *WIKIBASE_FORMATS)
PARTS = ("documents", "entities", "graphs", "imported")


@click.command(name="export", epilog="Example:  sarag export --format turtle --output graph.ttl")
@kg_option
@sparql_options
@click.option(
    "--format", "format_", default="turtle", type=click.Choice(FORMATS), help="RDF syntax."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
@click.option("--documents", is_flag=True, help="The evidence: what each source says.")
@click.option("--entities", is_flag=True, help="Entities, their names, classes and links.")
@click.option("--graph", "graphs", multiple=True, help="IRI of a named graph; may be repeated.")
@click.option("--imported", is_flag=True, help="Imported graphs, too.")
@click.option("--rdf12", is_flag=True, help="RDF 1.2: relationships are reifiers of links.")
@wikibase_options
def command(output: Path | None, format_: str, **options: Any) -> int:
    """Write the graph or parts of it, the same bytes for the same graph.

    turtle, ntriples, rdfxml and jsonld hold the union of all graphs; trig and nquads keep them
    apart. --documents, --entities and --graph choose parts; without them all is written but what
    was imported. wikibase, wikibase-json and quickstatements hold items and properties, whose
    numbers are kept in the graph. A file is replaced only when everything has been written.
    """
    refuse_wikibase_options(format_, options)
    parts = {name: options[name] for name in PARTS}
    if format_ in WIKIBASE_FORMATS and (any(parts.values()) or options["rdf12"]):
        raise UsageError(
            "--documents, --entities, --graph, --imported and --rdf12 belong to the formats of "
            f"RDF, not to {format_}: leave them out, or choose the part with --over"
        )
    with open_graph(options) as kg, written_to(output) as stream:
        if format_ in WIKIBASE_FORMATS:
            export_wikibase(kg, format_, output, stream, options)
        else:
            kg.export(format_, stream, rdf12=options["rdf12"], **parts)
    return 0
