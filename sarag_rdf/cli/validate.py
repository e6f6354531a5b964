"""``sarag validate``: SHACL validation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.options import json_option, kg_option, open_graph, shapes_options, sparql_options
from sarag_rdf.cli.output import counted, echo_gate, echo_json, echo_violations
from sarag_rdf.graph.store.shacl import ENGINES, Engine


@click.command(name="validate", epilog="Example:  sarag validate --kg kg")
@kg_option
@sparql_options
@json_option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=None,
    show_default="shacl, or pyshacl where shacl is not installed",
    help="SHACL engine; both report the same violations.",
)
@shapes_options
@click.option("--turtle", is_flag=True, help="Print the SHACL validation report as Turtle.")
def command(*, as_json: bool, turtle: bool, engine: Engine | None, **options: Any) -> int:
    """Validate the whole graph against its SHACL shapes; exit code 1 if it does not conform.

    With --shapes, the entities and their statements are validated against your own shapes instead.
    With --on-violation quarantine, statements that violate them are no longer derived; see
    'sarag quarantine statements'. The exit code is then 1 if other violations remain.
    """
    shapes, on_violation = options["shapes"], options["on_violation"]
    if on_violation and not shapes:
        raise UsageError("--on-violation requires --shapes")
    with open_graph(options) as kg:
        if on_violation == "quarantine":
            gate = kg.quarantine().apply_shapes(*shapes, engine=engine)
            echo_gate(gate, as_json=as_json)
            return int(bool(gate.remaining))
        report = kg.validate(engine, shapes=shapes)
    if turtle:
        click.echo(report.turtle, nl=False)
    elif as_json:
        violations = [asdict(v) for v in report.violations]
        echo_json(
            {"conforms": report.conforms, "triples": report.triples, "violations": violations}
        )
    elif report.conforms:
        click.echo(f"conforms: {report.triples} triples, no violations")
    else:
        echo_violations(report.violations)
        click.echo(f"does not conform: {counted(len(report.violations), 'violation')}")
    return 0 if report.conforms else 1
