"""``sarag evaluate activation``: the effect of the parameter c on the activation of a question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Retrieved
from sarag_rdf.cli.flags import (
    embedder_option,
    embedding_endpoint_options,
    json_option,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import echo_json, note
from sarag_rdf.plugins.evaluation.commands import check_outputs, check_plot
from sarag_rdf.plugins.evaluation.plots import write_plot

_RETRIEVERS = {"sarag": "0.5,0.9,0.99,0.999", "sarag-paper": "0.3,0.4,0.5"}
"""Retrievers with a parameter `c`, and the values that are shown by default."""
_MEAN_OF = 20
"""The number of entities over which the mean activation is taken."""


_RANKS = 40
"""The maximum number of entities in the plot."""


@click.command(
    name="activation",
    epilog='Example:  sarag evaluate activation "Who taught the founder?" --retriever sarag-paper '
    "--c 0.3,0.4,0.5 --plot activation.png",
)
@click.argument("question")
@kg_option
@click.option(
    "--retriever", type=click.Choice(list(_RETRIEVERS)), default="sarag", show_default=True,
    help="Retriever that computes the activation.",
)  # fmt: skip
@click.option(
    "--c",
    "values",
    help="Comma-separated values in [0, 1). Default: typical values of the retriever.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw a plot to this .png file.")
@embedder_option
@embedding_endpoint_options
@json_option
def command(question: str, **options: Any) -> None:
    """Show how many entities a question activates, and how strongly, for several values of c.

    c is the similarity below which a relationship passes no activation: the higher c, the fewer
    relationships pass activation on. After Figure 5 of the SA-RAG paper (arXiv 2512.15922).
    """
    name = options["retriever"]
    values = _parse_values(options["values"] or _RETRIEVERS[name])
    check_plot(options["plot"])
    check_outputs(options["plot"])
    with open_graph(options) as kg:
        runs = {c: kg.search(question, retriever=name, c=c, limit=10) for c in values}
    curves = {
        c: sorted((entity.activation for entity in retrieved.entities), reverse=True)
        for c, retrieved in runs.items()
    }
    rows = [_row(c, retrieved, curves[c]) for c, retrieved in runs.items()]
    if options["as_json"]:
        echo_json({"retriever": name, "question": question, "values": rows})
    else:
        _echo_rows(f"{name}: {question}", rows)
    if options["plot"]:
        title, points = f"{name}: {question}", _points(curves)
        axes = ("entities by rank", "activation")
        write_plot(options["plot"], title, points, *axes, is_percent=False)
        note(f"plot written to {options['plot']}")


def _points(curves: Mapping[float, list[float]]) -> dict[str, list[tuple[float, float]]]:
    """Activations by rank, up to an entity that is not activated, and `_RANKS`."""
    active = max(sum(activation > 0.0 for activation in curve) for curve in curves.values())
    last = min(_RANKS, max(10, active + 1))
    return {
        f"c = {c:g}": list(enumerate([*curve, *_RANKS * [0.0]][:last], start=1))
        for c, curve in curves.items()
    }


def _row(c: float, retrieved: Retrieved, activations: list[float]) -> dict[str, Any]:
    highest = (activations + _MEAN_OF * [0.0])[:_MEAN_OF]
    documents = [ranked.document for ranked in retrieved.documents[:3]]
    return {
        "c": c,
        "activated": sum(entity.is_activated for entity in retrieved.entities),
        "mean_activation": sum(highest) / _MEAN_OF,
        "relationships": len(retrieved.relationships),
        "documents": [document.title or document.text[:30] for document in documents],
    }


def _echo_rows(title: str, rows: list[dict[str, Any]]) -> None:
    click.echo(title)
    click.echo(f"{'c':>7} {'activated':>10} {'mean of 20':>11} {'relationships':>14}  documents")
    for row in rows:
        click.echo(
            f"{row['c']:>7g} {row['activated']:>10} {row['mean_activation']:>11.3f} "
            f"{row['relationships']:>14}  {', '.join(row['documents']) or '-'}"
        )


def _parse_values(text: str) -> list[float]:
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError:
        values = [-1.0]
    if not all(0.0 <= value < 1.0 for value in values):
        raise UsageError(f"--c '{text}' is not a list of numbers in [0, 1), such as 0.3,0.4,0.5")
    return values
