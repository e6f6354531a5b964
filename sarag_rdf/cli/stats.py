"""``sarag stats``: counts."""

from __future__ import annotations

import json
from typing import Any

import click

from sarag_rdf.cli.options import json_option, kg_option, open_graph, sparql_options


@click.command(name="stats", epilog="Example:  sarag stats --kg kg --json")
@kg_option
@sparql_options
@json_option
def command(*, as_json: bool, **options: Any) -> int:
    """Count what the graph holds."""
    with open_graph(options) as kg:
        meta = kg.meta()
        counts = kg.stats()
        imported = kg.imports()
    if as_json:
        described = {
            "base": meta.base,
            "revision": meta.revision,
            "embedding_model": meta.embedding_model,
        }
        graphs = {i.name: {"kind": i.kind, "graph": i.graph, "state": i.state} for i in imported}
        click.echo(json.dumps(described | counts | {"imported graphs": graphs}, indent=2))
        return 0
    click.echo(f"{'base':24}{meta.base}")
    click.echo(f"{'embedding model':24}{meta.embedding_model}")
    for measure, count in counts.items():
        click.echo(f"{measure:24}{count:>12,}")
    for graph in imported:
        click.echo(f"{'imported graph':24}{graph.name} ({graph.kind}, {graph.state})")
    return 0
