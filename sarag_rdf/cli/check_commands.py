"""``sarag validate``, ``fsck`` and ``quarantine``: whether a graph conforms, and what does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.entity_commands import show_decisions
from sarag_rdf.cli.output import counted, emit, note, progress_bars
from sarag_rdf.graph.store.shacl import ENGINES

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

_LISTED = 50
"""Violations that are printed."""
_COUNTED = ("sources", "documents", "entities", "relationships", "quads")


@click.command(epilog="Example:  sarag validate --kg kg")
@flags.read_options
@flags.write_options
@flags.json_option
@click.option(
    "--engine",
    "shacl_engine",
    type=click.Choice(ENGINES),
    default=None,
    show_default="shacl, or pyshacl where shacl is not installed",
    help="SHACL engine; both report the same violations.",
)
@flags.shapes_options
@flags.switch("--turtle", "Print the SHACL validation report as Turtle.")
def validate(**options: Any) -> int:
    """Validate the whole graph against its SHACL shapes; exit code 1 if it does not conform.

    With --shapes, the entities and their statements are validated against your own shapes instead.
    With --on-violation quarantine, statements that violate them are no longer derived; see
    'sarag quarantine statements'. The exit code is then 1 if other violations remain.
    """
    shapes, engine = options["shapes"], options["shacl_engine"]
    if options["on_violation"] and not shapes:
        raise UsageError("--on-violation requires --shapes")
    with flags.open_graph(options) as kg:
        if options["on_violation"] == "quarantine":
            return _apply_shapes(kg, options)
        report = kg.validate(engine, shapes=shapes)
    if options["turtle"]:
        click.echo(report.turtle, nl=False)
        return int(not report.conforms)
    data = {"conforms": report.conforms, "triples": report.triples, "violations": report.violations}
    lines = [f"conforms: {report.triples} triples, no violations"]
    if not report.conforms:
        count = counted(len(report.violations), "violation")
        lines = [*_listed(report.violations), f"does not conform: {count}"]
    return emit(options, data, *lines, failed=not report.conforms)


def _apply_shapes(kg: KnowledgeGraph, options: dict[str, Any]) -> int:
    """Put statements into quarantine; returns 1 if violations remain."""
    gate = kg.quarantine.apply_shapes(*options["shapes"], engine=options["shacl_engine"])
    data = {
        "quarantined": [decision.statement for decision in gate.quarantined],
        "violations": gate.remaining,
    }
    return emit(
        options,
        data,
        *_listed(gate.remaining),
        f"{counted(len(gate.quarantined), 'statement')} put into quarantine, "
        f"{counted(len(gate.remaining), 'violation')} left",
        failed=bool(gate.remaining),
    )


def _listed(violations: Sequence[object]) -> Iterator[str]:
    """The first violations of shapes, one per line."""
    yield from map(str, violations[:_LISTED])
    if len(violations) > _LISTED:
        yield f"... and {len(violations) - _LISTED} more (--json shows all)"


@click.command(epilog="Example:  sarag fsck --kg kg --repair")
@flags.write_options
@flags.embedding_options
@flags.json_option
@flags.switch("--repair", "Rebuild derived data; evidence is never deleted.")
@flags.switch("--deep", "First read all files of the graph, and compare their checksums.")
def fsck(**options: Any) -> int:
    """Check the consistency of a graph: shapes, orphans, derived data, revision, caches.

    Prints each finding with its remedy. Exit code 1 if any findings remain. If --deep finds that
    files are damaged, nothing else is checked or repaired.
    """
    with flags.open_graph(options) as kg, progress_bars() as progress:
        report = kg.fsck(repair=options["repair"], deep=options["deep"], progress=progress)
    if not options["as_json"]:
        for text in report.notes:
            note(f"note: {text}")
    counts = ", ".join(f"{report.counts.get(name)} {name}" for name in _COUNTED)
    state = f"inconsistent: {counted(len(report.findings), 'finding')}"
    return emit(
        options,
        {"in_order": report.in_order, **asdict(report)},
        *(f"repaired: {done}" for done in report.repaired),
        *_listed(report.findings),
        f"{options['kg']}: {state if report.findings else f'consistent: {counts}'}",
        failed=bool(report.findings),
    )


@click.group(
    short_help="manage sources that do not conform to the shapes",
    epilog="Example:  sarag quarantine list --kg kg",
)
def quarantine() -> None:
    """Manage sources whose evidence does not conform to the SHACL shapes.

    Such sources are stored in quarantine, and are not part of the graph.

    A SOURCE is an IRI, or a path below the indexed folder.
    """


@quarantine.command(name="list", epilog="Example:  sarag quarantine list --kg kg")
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


@quarantine.command(name="show", epilog="Example:  sarag quarantine show notes/a.md --turtle")
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
    return emit(options, data, *_listed(detail.violations), line)


@quarantine.command(name="retry", epilog="Example:  sarag quarantine retry notes/a.md --kg kg")
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


@quarantine.command(name="statements", epilog="Example:  sarag quarantine statements --kg kg")
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


@quarantine.command(name="drop", epilog="Example:  sarag quarantine drop notes/a.md --kg kg")
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
