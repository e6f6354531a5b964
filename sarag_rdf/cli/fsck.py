"""``sarag fsck``: check the consistency of a graph."""

from __future__ import annotations

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
from sarag_rdf.cli.output import counted, echo_json, echo_violations, progress_bars
from sarag_rdf.cli.verbosity import note

_COUNTED = ("sources", "documents", "entities", "relationships", "quads")


@click.command(name="fsck", epilog="Example:  sarag fsck --kg kg --repair")
@kg_option
@sparql_write_options
@embedder_option
@embedding_endpoint_options
@json_option
@click.option("--repair", is_flag=True, help="Rebuild derived data; evidence is never deleted.")
def command(*, as_json: bool, repair: bool, **options: Any) -> int:
    """Check the consistency of a graph: shapes, orphans, derived data, revision, caches.

    Prints each finding with its remedy. Exit code 1 if any findings remain.
    """
    with open_graph(options) as kg, progress_bars() as progress:
        report = kg.fsck(repair=repair, progress=progress)
    if as_json:
        echo_json({"in_order": report.in_order, **asdict(report)})
        return int(not report.in_order)
    for text in report.notes:
        note(f"note: {text}")
    for repair_done in report.repaired:
        click.echo(f"repaired: {repair_done}")
    echo_violations(report.findings)
    if report.findings:
        click.echo(f"{options['kg']}: inconsistent: {counted(len(report.findings), 'finding')}")
        return 1
    counts = ", ".join(f"{report.counts[name]} {name}" for name in _COUNTED)
    click.echo(f"{options['kg']}: consistent: {counts}")
    return 0
