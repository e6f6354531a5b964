"""``sarag export``: the graph as RDF."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, sparql_options
from sarag_rdf.cli.wikibase import (
    WIKIBASE_FORMATS,
    export_wikibase,
    refuse_wikibase_options,
    wikibase_options,
)

if TYPE_CHECKING:
    from sarag_rdf.knowledge_graph import KnowledgeGraph

FORMATS = ("turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml", *WIKIBASE_FORMATS)


@click.command(name="export", epilog="Example:  sarag export --format turtle --output graph.ttl")
@kg_option
@sparql_options
@click.option(
    "--format", "format_", default="turtle", type=click.Choice(FORMATS), help="RDF syntax."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Default: standard output.")
@wikibase_options
def command(output: Path | None, format_: str, **options: Any) -> int:
    """Write the graph, the same bytes for the same graph.

    turtle, ntriples, rdfxml and jsonld hold the union of all graphs; trig and nquads keep them
    apart. wikibase, wikibase-json and quickstatements hold items and properties, whose numbers are
    kept in the graph. A file is replaced only when the whole graph has been written.
    """
    refuse_wikibase_options(format_, options)
    with open_graph(options) as kg:
        if output is None:
            _write(kg, format_, output, sys.stdout.buffer, options)
            sys.stdout.buffer.flush()
            return 0
        with _replacing(output) as stream:
            _write(kg, format_, output, stream, options)
    click.echo(f"sarag: written to {output}", err=True)
    return 0


def _write(
    kg: KnowledgeGraph,
    format_: str,
    output: Path | None,
    stream: IO[bytes],
    options: dict[str, Any],
) -> None:
    if format_ in WIKIBASE_FORMATS:
        export_wikibase(kg, format_, output, stream, options)
    else:
        kg.export(format_, stream)


@contextmanager
def _replacing(output: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at the end; a pipe or device is written itself."""
    if output.exists() and not output.is_file():
        with output.open("wb") as stream:
            yield stream
        return
    target = output.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(output)
        raise
