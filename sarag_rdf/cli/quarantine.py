"""``sarag quarantine``: the sources that do not conform."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    json_option,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import echo_violations
from sarag_rdf.errors import UsageError


@click.group(
    name="quarantine",
    short_help="see to sources that did not conform",
    epilog="Example:  sarag quarantine list --kg kg",
)
def command() -> None:
    """Sources whose evidence did not conform to the SHACL shapes, and so was kept out.

    A SOURCE is its IRI, or its path below the indexed folder.
    """


@command.command(name="list", epilog="Example:  sarag quarantine list --kg kg")
@kg_option
@json_option
def list_(*, as_json: bool, **options: Any) -> int:
    """List the sources in quarantine, with the number of violations and since when."""
    with open_graph(options) as kg:
        sources = kg.quarantine().sources()
    if as_json:
        _print_json([asdict(source) for source in sources])
        return 0
    for source in sources:
        plural = "" if source.violations == 1 else "s"
        click.echo(f"{source.source}  {source.violations} violation{plural}  {source.when}")
    click.echo(f"{len(sources)} in quarantine")
    return 0


@command.command(name="show", epilog="Example:  sarag quarantine show notes/a.md --turtle")
@click.argument("source")
@kg_option
@json_option
@click.option("--turtle", is_flag=True, help="Print the SHACL validation report as Turtle.")
@click.option("--content", is_flag=True, help="Print the evidence as N-Triples.")
def show(source: str, *, as_json: bool, turtle: bool, content: bool, **options: Any) -> int:
    """Say what is wrong with a source in quarantine."""
    if as_json + turtle + content > 1:
        raise UsageError("--json, --turtle and --content exclude each other: give one")
    with open_graph(options) as kg:
        record, kept = kg.quarantine().show(source)
    if turtle or content:
        click.echo(kept.report if turtle else kept.content, nl=False)
    elif as_json:
        results = [asdict(violation) for violation in kept.violations]
        _print_json(asdict(record) | {"results": results})
    else:
        echo_violations(kept.violations)
        click.echo(f"{record.source}: {record.violations} violations, since {record.when}")
    return 0


@command.command(name="retry", epilog="Example:  sarag quarantine retry notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@kg_option
@embedder_option
@embedding_endpoint_options
@json_option
def retry(sources: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Validate again, all without SOURCE; what conforms by now joins the graph.

    Worth while when the shapes or the program changed. Exit code 1 if any stays in quarantine.
    """
    from sarag_rdf.cli.output import bars

    with open_graph(options) as kg:
        progress, end = bars()
        try:
            retried = kg.quarantine().retry(sources, progress=progress)
        finally:
            end()
    if as_json:
        _print_json(asdict(retried))
    else:
        for source in retried.rejected:
            click.echo(f"{source}: still does not conform")
        click.echo(
            f"{len(retried.admitted)} joined the graph, {len(retried.rejected)} in quarantine"
        )
    return int(bool(retried.rejected))


@command.command(name="drop", epilog="Example:  sarag quarantine drop notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--all", "everything", is_flag=True, help="Drop all that is in quarantine.")
@kg_option
@json_option
def drop(sources: tuple[str, ...], *, everything: bool, as_json: bool, **options: Any) -> int:
    """Delete what is kept of sources; `sarag index` then reads them anew."""
    if bool(sources) == everything:
        raise UsageError("name the sources to drop, or give --all")
    with open_graph(options) as kg:
        dropped = kg.quarantine().drop(sources)
    if as_json:
        _print_json({"dropped": list(dropped)})
    else:
        click.echo(f"{len(dropped)} dropped")
    return 0


def _print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))
