"""``sarag quarantine``: sources that do not conform to the shapes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.merge import show_decisions
from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    json_option,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import counted, echo_json, echo_violations, progress_bars


@click.group(
    name="quarantine",
    short_help="manage sources that do not conform to the shapes",
    epilog="Example:  sarag quarantine list --kg kg",
)
def command() -> None:
    """Manage sources whose evidence does not conform to the SHACL shapes.

    Such sources are stored in quarantine, and are not part of the graph.

    A SOURCE is an IRI, or a path below the indexed folder.
    """


@command.command(name="list", epilog="Example:  sarag quarantine list --kg kg")
@kg_option
@json_option
def list_(*, as_json: bool, **options: Any) -> int:
    """List the sources in quarantine, with the number of violations and the date."""
    with open_graph(options) as kg:
        sources = kg.quarantine().sources()
    if as_json:
        echo_json([asdict(source) for source in sources])
        return 0
    for source in sources:
        violations = counted(source.violations, "violation")
        click.echo(f"{source.source}  {violations}  {source.when}")
    click.echo(f"{len(sources)} in quarantine")
    return 0


@command.command(name="show", epilog="Example:  sarag quarantine show notes/a.md --turtle")
@click.argument("source")
@kg_option
@json_option
@click.option("--turtle", is_flag=True, help="Print the SHACL validation report as Turtle.")
@click.option("--content", is_flag=True, help="Print the evidence as N-Triples, with its mentions.")
def show(source: str, *, as_json: bool, turtle: bool, content: bool, **options: Any) -> int:
    """Show the violations of a source in quarantine."""
    if as_json + turtle + content > 1:
        raise UsageError("--json, --turtle and --content are mutually exclusive: give one")
    with open_graph(options) as kg:
        record, detail = kg.quarantine().show(source)
    if turtle or content:
        click.echo(detail.report if turtle else detail.validated, nl=False)
    elif as_json:
        results = [asdict(violation) for violation in detail.violations]
        echo_json(asdict(record) | {"results": results})
    else:
        echo_violations(detail.violations)
        violations = counted(record.violations, "violation")
        click.echo(f"{record.source}: {violations}, since {record.when}")
    return 0


@command.command(name="retry", epilog="Example:  sarag quarantine retry notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@kg_option
@embedder_option
@embedding_endpoint_options
@json_option
def retry(sources: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Validate sources again (default: all), and add those that now conform to the graph.

    Useful after the shapes or the program have changed. Exit code 1 if any source stays in
    quarantine.
    """
    with open_graph(options) as kg, progress_bars() as progress:
        retried = kg.quarantine().retry(sources, progress=progress)
    if as_json:
        echo_json(asdict(retried))
    else:
        for source in retried.rejected:
            click.echo(f"{source}: still does not conform")
        click.echo(f"{len(retried.admitted)} added, {len(retried.rejected)} still in quarantine")
    return int(bool(retried.rejected))


@command.command(name="statements", epilog="Example:  sarag quarantine statements --kg kg")
@kg_option
@click.option(
    "--release",
    metavar="WHAT",
    help="Derive statements again: by the IRI of a subject, a property, a decision or a run.",
)
@click.option("--release-all", is_flag=True, help="Derive all statements again.")
@json_option
def statements(*, release: str | None, release_all: bool, as_json: bool, **options: Any) -> int:
    """List the statements that violate shapes of your own, and release them.

    They were put into quarantine by --on-violation quarantine, and are not part of the graph; their
    relationships are. After a change of the shapes, release the statements and validate again.
    """
    if release is not None and release_all:
        raise UsageError("--release and --release-all are mutually exclusive: give one")
    with open_graph(options) as kg:
        quarantine = kg.quarantine()
        if release is None and not release_all:
            show_decisions(kg, quarantine.statements(), {"as_json": as_json})
            return 0
        released = quarantine.release(release)
    if as_json:
        echo_json({"released": [decision.statement for decision in released]})
    else:
        click.echo(f"{counted(len(released), 'statement')} released")
    return 0


@command.command(name="drop", epilog="Example:  sarag quarantine drop notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--all", "everything", is_flag=True, help="Drop all sources in quarantine.")
@kg_option
@json_option
def drop(sources: tuple[str, ...], *, everything: bool, as_json: bool, **options: Any) -> int:
    """Delete sources from quarantine; 'sarag index' then reads them again."""
    if bool(sources) == everything:
        raise UsageError("name the sources to drop, or use --all")
    with open_graph(options) as kg:
        dropped = kg.quarantine().drop(sources)
    if as_json:
        echo_json({"dropped": list(dropped)})
    else:
        click.echo(f"{len(dropped)} dropped")
    return 0
