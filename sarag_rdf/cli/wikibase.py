"""Options and the call of exports for Wikibase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from sarag_rdf.knowledge_graph import KnowledgeGraph

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
