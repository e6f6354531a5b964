"""``sarag evaluate activation``: what the parameter c does to one question's activation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.evaluation import check_outputs
from sarag_rdf.cli.options import embedder_option, embedding_endpoint_options, kg_option, open_graph
from sarag_rdf.errors import UsageError

_RETRIEVERS = {"sarag": "0.5,0.9,0.99,0.999", "sarag-paper": "0.3,0.4,0.5"}
"""Those that have a `c`, and values of it that tell something."""


@click.command(
    name="activation",
    epilog='Example:  sarag evaluate activation "Who taught the founder?" --retriever sarag-paper '
    "--c 0.3,0.4,0.5 --plot activation.png",
)
@click.argument("question")
@kg_option
@click.option(
    "--retriever", type=click.Choice(list(_RETRIEVERS)), default="sarag", show_default=True,
    help="Whose activation.",
)  # fmt: skip
@click.option(
    "--c", "values", help="Values in [0, 1), with commas between. Default: some for the retriever."
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw it: a .png file.")
@embedder_option
@embedding_endpoint_options
def command(question: str, **options: Any) -> None:
    """Show how many entities a question activates, and how much, for some values of c.

    c is where the weights of relationships begin: the higher it is, the fewer pass activation on.
    The idea is that of Figure 5 of the SA-RAG paper (arXiv 2512.15922).
    """
    name = options["retriever"]
    values = _values(options["values"] or _RETRIEVERS[name])
    if options["plot"] and options["plot"].suffix.lower() != ".png":
        raise UsageError(f"{options['plot']}: the name of a plot ends in .png")
    check_outputs(options["plot"])
    with open_graph(options) as kg:
        runs = {c: kg.search(question, retriever=name, c=c, limit=10) for c in values}
    click.echo(f"{name}: {question}")
    click.echo(f"{'c':>7} {'activated':>10} {'mean of 20':>11} {'relationships':>14}  documents")
    curves = {}
    for c, found in runs.items():
        heights = sorted((entity.activation for entity in found.entities), reverse=True)
        curves[f"c = {c:g}"] = heights
        best = (heights + 20 * [0.0])[:20]
        titles = ", ".join(d.document.title or d.document.text[:30] for d in found.documents[:3])
        click.echo(
            f"{c:>7g} {sum(e.is_activated for e in found.entities):>10} {sum(best) / 20:>11.3f} "
            f"{len(found.relationships):>14}  {titles or '-'}"
        )
    if options["plot"]:
        from sarag_rdf.evaluation.plots import write_activation_plot

        write_activation_plot(curves, f"{name}: {question}", options["plot"])
        click.echo(f"sarag: picture written to {options['plot']}", err=True)


def _values(text: str) -> list[float]:
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError:
        values = [-1.0]
    if not all(0.0 <= value < 1.0 for value in values):
        raise UsageError(f"--c '{text}' is no list of numbers in [0, 1), such as 0.3,0.4,0.5")
    return values
