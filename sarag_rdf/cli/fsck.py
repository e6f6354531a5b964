"""``sarag fsck``: whether a graph is in order."""

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
    sparql_write_options,
)
from sarag_rdf.cli.output import echo_violations


@click.command(name="fsck", epilog="Example:  sarag fsck --kg kg --repair")
@kg_option
@sparql_write_options
@embedder_option
@embedding_endpoint_options
@json_option
@click.option("--repair", is_flag=True, help="Make anew what is derived: never deletes evidence.")
def command(*, as_json: bool, repair: bool, **options: Any) -> int:
    """Check a graph: shapes, orphans, what is derived, revision, caches.

    Prints a line for each finding, with what to do about it; exit code 1 if there is any left.
    """
    with open_graph(options) as kg:
        report = kg.fsck(repair=repair)
    if as_json:
        data = {"in_order": report.in_order, **asdict(report)}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return int(not report.in_order)
    for note in report.notes:
        click.echo(f"sarag: note: {note}", err=True)
    for done in report.repaired:
        click.echo(f"repaired: {done}")
    echo_violations(report.findings)
    if report.findings:
        plural = "" if len(report.findings) == 1 else "s"
        click.echo(f"{options['kg']}: not in order: {len(report.findings)} finding{plural}")
        return 1
    counts = ", ".join(f"{report.counts[name]} {name}" for name in _COUNTED)
    click.echo(f"{options['kg']}: in order: {counts}")
    return 0


_COUNTED = ("sources", "documents", "entities", "relationships", "quads")
