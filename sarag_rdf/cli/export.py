"""``sarag export``: the graph as RDF, or in the formats of Wikibase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import written_to
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

WIKIBASE_FORMATS = ("wikibase", "wikibase-json", "quickstatements")
_OPTIONS = {"namespace": "", "flavor": "full", "typed": 0, "properties": None, "over": ()}
_SUFFIXES = {".ttl": "turtle", ".turtle": "turtle"}


def wikibase_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the formats of Wikibase take."""
    for decorate in reversed(
        [
            click.option(
                "--over",
                multiple=True,
                help="Of the formats of Wikibase: export this imported graph ('documents' is what "
                "was indexed). May be given several times.",
            ),
            click.option(
                "--namespace",
                default="",
                help="Of wikibase: what entity/, prop/ and the others stand below. Default: "
                "wikibase/ under the base of the graph.",
            ),
            click.option(
                "--flavor",
                default="full",
                type=click.Choice(["full", "truthy"]),
                help="Of wikibase: statements in full, or their values alone.",
            ),
            click.option(
                "--typed",
                default=0,
                type=click.IntRange(0),
                help="Of the formats of Wikibase: a phrase that this many statements share gets a "
                "property of its own. Default: none does.",
            ),
            click.option(
                "--properties",
                type=click.Path(path_type=Path, dir_okay=False),
                help="Of quickstatements: a table of own ids and ids in the target.",
            ),
        ]
    ):
        function = decorate(function)
    return function


def refuse_wikibase_options(format_: str, options: dict[str, Any]) -> None:
    """Raise `UsageError` for an option that the format does not take."""
    for name, default in _OPTIONS.items():
        if options[name] != default and format_ not in WIKIBASE_FORMATS:
            raise UsageError(f"--{name} is for --format {', '.join(WIKIBASE_FORMATS)}")


def export_wikibase(
    kg: KnowledgeGraph,
    format_: str,
    output: Path | None,
    stream: IO[bytes],
    options: dict[str, Any],
) -> None:
    """Write the graph; RDF is Turtle if the output's name ends in .ttl, else N-Triples."""
    kg.export_wikibase(
        format_,
        stream,
        over=options["over"] or ("documents",),
        typed=options["typed"],
        namespace=options["namespace"],
        flavor=options["flavor"],
        syntax=_SUFFIXES.get(output.suffix.lower() if output else "", "ntriples"),
        table=options["properties"],
    )


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
