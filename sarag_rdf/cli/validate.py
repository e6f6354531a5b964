"""``sarag validate``: SHACL validation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.cli.options import json_option, kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import counted, echo_json, echo_violations
from sarag_rdf.rdf.shacl.engines import ENGINES, Engine


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
@click.option("--turtle", is_flag=True, help="Print the SHACL validation report as Turtle.")
def command(*, as_json: bool, turtle: bool, engine: Engine | None, **options: Any) -> int:
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
