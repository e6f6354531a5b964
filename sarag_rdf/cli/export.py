"""``sarag export``: the graph as RDF, or in a Wikibase format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.cli.options import endpoint_options, kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import counted, note, open_output, progress_bars

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

LISTED = 10
"""Missing statements that are listed."""
WIKIBASE_FORMATS = ("wikibase", "wikibase-json", "quickstatements")
ARTICLES = "articles"
RDF_FORMATS = ("turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml")
FORMATS = (*RDF_FORMATS, *WIKIBASE_FORMATS, ARTICLES)
PARTS = ("documents", "entities", "ontologies", "graphs", "imported")
_WIKIBASE_DEFAULTS = {"namespace": "", "flavor": "full", "typed": 0, "properties": None, "over": ()}
_SYNTAXES = {".ttl": "turtle", ".turtle": "turtle"}


def wikibase_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that apply to the Wikibase formats only."""
    for decorate in reversed(
        [
            click.option(
                "--over",
                multiple=True,
                help="Wikibase formats, articles: export this imported graph ('documents' for the "
                "indexed documents). May be repeated.",
            ),
            click.option(
                "--namespace",
                default="",
                help="wikibase: IRI prefix of entity/, prop/ and so on. Default: wikibase/ below "
                "the base of the graph.",
            ),
            click.option(
                "--flavor",
                default="full",
                type=click.Choice(["full", "truthy"]),
                help="wikibase: full statements, or only their values (truthy).",
            ),
            click.option(
                "--typed",
                default=0,
                type=click.IntRange(0),
                help="Wikibase formats: create a property for each phrase that occurs in at least "
                "this many statements. Default: 0, for none.",
            ),
            click.option(
                "--properties",
                type=click.Path(path_type=Path, dir_okay=False),
                help="quickstatements: a table that maps ids of this export to ids in the target.",
            ),
        ]
    ):
        function = decorate(function)
    return function


def refuse_wikibase_options(format_: str, options: dict[str, Any]) -> None:
    """Raise `UsageError` for an option that does not apply to the format."""
    for name, default in _WIKIBASE_DEFAULTS.items():
        also = (ARTICLES,) if name == "over" else ()
        if options[name] != default and format_ not in (*WIKIBASE_FORMATS, *also):
            raise UsageError(
                f"--{name} requires --format wikibase, wikibase-json or quickstatements"
                f"{' or articles' if also else ''}"
            )
    if options["rewrite"] and format_ != ARTICLES:
        raise UsageError("--rewrite requires --format articles")


def export_wikibase(
    kg: KnowledgeGraph,
    format_: str,
    output: Path | None,
    stream: IO[bytes],
    options: dict[str, Any],
) -> None:
    """Write the graph; RDF as Turtle if the name of the output ends in .ttl, else N-Triples."""
    kg.export_wikibase(
        format_,
        stream,
        over=options["over"] or ("documents",),
        typed=options["typed"],
        namespace=options["namespace"],
        flavor=options["flavor"],
        syntax=_SYNTAXES.get(output.suffix.lower() if output else "", "ntriples"),
        table=options["properties"],
    )


def export_articles(kg: KnowledgeGraph, stream: IO[bytes], options: dict[str, Any]) -> int:
    """Write articles, and report on standard error which statements they have; the exit code."""
    with progress_bars() as progress:
        report = kg.export_articles(
            stream,
            over=options["over"] or ("documents",),
            rewrite=options["rewrite"],
            progress=progress,
        )
    if not report.articles:
        raise InputError(
            "no article was written: no named entity has a statement or a description; to write "
            "those of an imported graph, name it with --over"
        )
    note(
        f"{counted(report.articles, 'article')}; {counted(report.statements, 'statement')}, of "
        f"which {report.covered} are in an article"
    )
    if options["rewrite"]:
        note(
            f"{report.rewritten} by the model, with {report.restored} sentences that it had left "
            f"out; {report.refused} without it, as its reply could not be used"
        )
    for property_, count in sorted(report.unnamed.items()):
        note(f"left out: {count} of <{property_}>, whose objects have no name")
    if report.nameless:
        note(f"left out: {report.nameless} of subjects that have no name")
    for subject, property_, other in report.missing[:LISTED]:
        click.echo(f"sarag: not in an article: <{subject}> <{property_}> {other}", err=True)
    if report.missing:
        click.echo(
            f"sarag: {counted(len(report.missing), 'statement')} missing from the articles",
            err=True,
        )
    return 1 if report.missing else 0


@click.command(name="export", epilog="Example:  sarag export --format turtle --output graph.ttl")
@kg_option
@sparql_options
@click.option(
    "--format", "format_", default="turtle", type=click.Choice(FORMATS), help="Output format."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
@click.option("--documents", is_flag=True, help="Select the source graphs, which hold evidence.")
@click.option("--entities", is_flag=True, help="Select entities, their names, classes and links.")
@click.option("--ontologies", is_flag=True, help="Select the ontologies of the graph.")
@click.option(
    "--graph", "graphs", multiple=True, help="Select a named graph by its IRI; may be repeated."
)
@click.option("--imported", is_flag=True, help="Include imported graphs.")
@click.option("--rdf12", is_flag=True, help="Write RDF 1.2, with relationships as reifiers.")
@wikibase_options
@click.option(
    "--rewrite", is_flag=True, help="articles: let the language model of --base-url write them."
)
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
    refuse_wikibase_options(format_, options)
    parts = {name: options[name] for name in PARTS}
    if format_ not in RDF_FORMATS and (any(parts.values()) or options["rdf12"]):
        raise UsageError(
            "--documents, --entities, --ontologies, --graph, --imported and --rdf12 apply to the "
            f"RDF formats, not to {format_}: omit them, or select a part with --over"
        )
    with open_graph(options) as kg, open_output(output) as stream:
        if format_ == ARTICLES:
            return export_articles(kg, stream, options)
        if format_ in WIKIBASE_FORMATS:
            export_wikibase(kg, format_, output, stream, options)
        else:
            kg.export(format_, stream, rdf12=options["rdf12"], **parts)
    return 0
