"""``sarag validate``: SHACL validation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import click

from sarag_rdf.cli.options import json_option, kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import counted, echo_json, echo_violations


@click.command(name="validate", epilog="Example:  sarag validate --kg kg")
@kg_option
@sparql_options
@json_option
@click.option(
    "--engine",
    type=click.Choice(["sarag", "pyshacl"]),
    default="sarag",
    show_default=True,
    help="SHACL engine; both give the same report.",
)
@click.option("--turtle", is_flag=True, help="Print the SHACL validation report as Turtle.")
def command(
    *, as_json: bool, turtle: bool, engine: Literal["sarag", "pyshacl"], **options: Any
) -> int:
    """Validate the whole graph against its SHACL shapes; exit code 1 if it does not conform."""
    with open_graph(options) as kg:
        report = kg.validate(engine)
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
