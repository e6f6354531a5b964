"""``sarag quarantine``: the sources and statements that are kept out of the graph, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.entity_commands import show_decisions
from sarag_rdf.cli.output import counted, emit, progress_bars
from sarag_rdf.cli.query_commands import listed


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
@flags.read_options
@flags.json_option
def list_(**options: Any) -> int:
    """List the sources in quarantine, with the number of violations and the date."""
    with flags.open_graph(options) as kg:
        sources = kg.quarantine.sources()
    return emit(
        options,
        sources,
        *(f"{s.source}  {counted(s.violations, 'violation')}  {s.when}" for s in sources),
        f"{len(sources)} in quarantine",
    )


@command.command(name="show", epilog="Example:  sarag quarantine show notes/a.md --turtle")
@click.argument("source")
@flags.read_options
@flags.json_option
@flags.switch("--turtle", "Print the SHACL validation report as Turtle.")
@flags.switch("--content", "Print the evidence as N-Triples, with its mentions.")
def show(source: str, *, turtle: bool, content: bool, **options: Any) -> int:
    """Show the violations of a source in quarantine."""
    if options["as_json"] + turtle + content > 1:
        raise UsageError("--json, --turtle and --content are mutually exclusive: give one")
    with flags.open_graph(options) as kg:
        record, detail = kg.quarantine.show(source)
    if turtle or content:
        click.echo(detail.report if turtle else detail.validated, nl=False)
        return 0
    line = f"{record.source}: {counted(record.violations, 'violation')}, since {record.when}"
    data = asdict(record) | {"results": detail.violations}
    return emit(options, data, *listed(detail.violations), line)


@command.command(name="retry", epilog="Example:  sarag quarantine retry notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@flags.write_options
@flags.embedding_options
@flags.json_option
def retry(sources: tuple[str, ...], **options: Any) -> int:
    """Validate sources again (default: all), and add those that now conform to the graph.

    Useful after the shapes or the program have changed. Exit code 1 if any source stays in
    quarantine.
    """
    with flags.open_graph(options) as kg, progress_bars() as progress:
        retried = kg.quarantine.retry(sources, progress=progress)
    return emit(
        options,
        retried,
        *(f"{source}: still does not conform" for source in retried.rejected),
        f"{len(retried.admitted)} added, {len(retried.rejected)} still in quarantine",
        failed=bool(retried.rejected),
    )


@command.command(name="statements", epilog="Example:  sarag quarantine statements --kg kg")
@flags.write_options
@click.option(
    "--release",
    metavar="WHAT",
    help="Derive statements again: by the IRI of a subject, a property, a decision or a run.",
)
@flags.switch("--release-all", "Derive all statements again.")
@flags.json_option
def statements(*, release: str | None, release_all: bool, **options: Any) -> int:
    """List the statements that violate shapes of your own or were rejected, and release them.

    They were put into quarantine by --on-violation quarantine or 'sarag statements', and are not
    part of the graph; their relationships are. After a change of the shapes, validate again.
    """
    if release is not None and release_all:
        raise UsageError("--release and --release-all are mutually exclusive: give one")
    with flags.open_graph(options) as kg:
        if release is None and not release_all:
            return show_decisions(kg, kg.decisions.list("statements"), options)
        released = kg.decisions.undo(release, "statements")
    data = {"released": [decision.statement for decision in released]}
    return emit(options, data, f"{counted(len(released), 'statement')} released")


@command.command(name="drop", epilog="Example:  sarag quarantine drop notes/a.md --kg kg")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@flags.switch("--all", "everything", "Drop all sources in quarantine.")
@flags.write_options
@flags.json_option
def drop(sources: tuple[str, ...], *, everything: bool, **options: Any) -> int:
    """Delete sources from quarantine; 'sarag index' then reads them again."""
    if bool(sources) == everything:
        raise UsageError("name the sources to drop, or use --all")
    with flags.open_graph(options) as kg:
        dropped = kg.quarantine.drop(sources)
    return emit(options, {"dropped": dropped}, f"{len(dropped)} dropped")
