"""``sarag stats``: counts of a graph's contents."""

from __future__ import annotations

from typing import Any

import click

from sarag_rdf.cli.options import json_option, kg_option, open_graph, sparql_options
from sarag_rdf.cli.output import echo_json


@click.command(name="stats", epilog="Example:  sarag stats --kg kg --json")
@kg_option
@sparql_options
@json_option
def command(*, as_json: bool, **options: Any) -> int:
    """Print counts of the graph's contents, its base IRI and its embedding model."""
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
        echo_json(described | counts | {"imported graphs": graphs})
        return 0
    click.echo(f"{'base':24}{meta.base}")
    click.echo(f"{'embedding model':24}{meta.embedding_model}")
    for measure, count in counts.items():
        click.echo(f"{measure:24}{count:>12,}")
    for graph in imported:
        click.echo(f"{'imported graph':24}{graph.name} ({graph.kind}, {graph.state})")
    return 0
