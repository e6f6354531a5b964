"""``sarag validate``: whether a graph conforms to shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit
from sarag_rdf.graph.store.shacl import ENGINES, Violation

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

_LISTED = 50
"""Violations that are printed."""


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
        lines = [*listed(report.violations), f"does not conform: {count}"]
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
        *listed(gate.remaining),
        f"{counted(len(gate.quarantined), 'statement')} put into quarantine, "
        f"{counted(len(gate.remaining), 'violation')} left",
        failed=bool(gate.remaining),
    )


def listed(violations: Sequence[object]) -> Iterator[str]:
    """The first violations of shapes, or other findings, one per line."""
    for one in violations[:_LISTED]:
        yield f"{one} [{one.constraint}]" if isinstance(one, Violation) else str(one)
    if len(violations) > _LISTED:
        yield f"... and {len(violations) - _LISTED} more (--json shows all)"
