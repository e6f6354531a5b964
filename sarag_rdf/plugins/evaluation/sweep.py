"""``sarag evaluate sweep`` and ``activation``: a retriever under several values of its options.

`sweep` reports recall and coverage of many questions, `activation` the entities that one question
activates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import RetrieverOptions, Spec
from sarag_rdf.base.types import Retrieved
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import emit
from sarag_rdf.kg.registry import ranking_options
from sarag_rdf.plugins.evaluation import commands, retrieval
from sarag_rdf.plugins.evaluation.reporting import block, check_plot, write_plot
from sarag_rdf.plugins.evaluation.retrieval import Cutoffs

MOST_SETTINGS: Final = 500
"""Settings of one sweep."""


Setting = tuple[Mapping[str, str], str]
"""The values of the varied options, as written, and the label of the retriever that has them."""


def read_variation(text: str) -> tuple[str, tuple[str, ...]]:
    """An option and its distinct values, from ``tau_a=0.2,0.5``; raises `UsageError`."""
    name, equals, values = text.partition("=")
    several = tuple(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not (name.strip() and equals and several):
        raise UsageError(f"cannot read --vary {text}: write OPTION=VALUE,VALUE, such as c=0.2,0.4")
    return name.strip(), several


def settings_of(
    retriever: str, variations: Sequence[tuple[str, Sequence[str]]], *, is_grid: bool
) -> tuple[list[Setting], retrieval.Methods]:
    """The settings to compare, of a grid or with each option varied by itself, and their methods.

    Equal options share one method, under the label of the first. Raises `UsageError` for options
    that the retriever does not have, values out of range, and more than `MOST_SETTINGS`.
    """
    names = [name for name, _ in variations]
    if len(set(names)) < len(names):
        raise UsageError("--vary names an option twice: give all of its values in one --vary")
    every = [[(name, value) for value in values] for name, values in variations]
    groups = [every] if is_grid else [[option] for option in every]
    chosen = [dict(pairs) for group in groups for pairs in product(*group)]
    if len(chosen) > MOST_SETTINGS:
        raise UsageError(f"{len(chosen)} settings are too many: vary at most {MOST_SETTINGS}")
    spec = Spec.parse(retriever)
    labels: dict[RetrieverOptions, str] = {}
    settings: list[Setting] = []
    for values in chosen:
        label = ":".join([spec.name, *map("=".join, {**spec.options, **values}.items())])
        settings.append((values, labels.setdefault(ranking_options(label), label)))
    return settings, {label: options for options, label in labels.items()}


def check_curves(settings: Sequence[Setting]) -> None:
    """Raise `UsageError` for settings that `curves` cannot draw, before anything is run."""
    names = list(settings[0][0])
    if len({tuple(values) for values, _ in settings}) > 1 or len(names) > 2:
        raise UsageError("--plot needs one --vary, or two with --grid")
    for values, _ in settings:
        try:
            float(values[names[0]])
        except ValueError as error:
            raise UsageError(f"--plot needs numbers for {names[0]}") from error


def curves(
    settings: Sequence[Setting], results: Mapping[str, Mapping[str, Any]], cutoffs: Cutoffs
) -> tuple[str, dict[str, list[tuple[float, float]]]]:
    """The varied option, and lines of (value, measure in [0, 1]) to draw.

    One option has a line for each cutoff, two the recall at the middle one by values of the second.
    """
    first, *second = settings[0][0]
    recalls = cutoffs.names("R")
    middle = recalls[len(recalls) // 2]
    lines: dict[str, list[tuple[float, float]]] = {}
    for values, method in settings:
        drawn = {f"{name}={values[name]}": middle for name in second}
        for label, name in (drawn or {name: name for name in recalls}).items():
            value = results[method][name]
            if value is not None:
                lines.setdefault(label, []).append((float(values[first]), value))
    title = f"{first} ({middle})" if second else first
    return title, {label: sorted(points) for label, points in lines.items()}


def lines(
    settings: Sequence[Setting],
    results: Mapping[str, Mapping[str, Any]],
    counts: Mapping[str, int],
    cutoffs: Cutoffs,
) -> Iterator[str]:
    """A line for each setting: its values, recall, coverage, documents and milliseconds."""
    yield f"Questions: {counts['count']}; with recall: {counts['with_recall']}; figures in percent"
    yield ""
    rows = [
        {**results[method], "setting": " ".join(map("=".join, values.items()))}
        for values, method in settings
    ]
    recalls = {name: name for name in cutoffs.names("R")}
    yield from block("", "setting", rows, {**recalls, **cutoffs.coverages, **retrieval.TIMES})
    yield ""
    yield "the best of several settings on these questions will do less well on others"


@click.command(
    name="sweep",
    epilog="Example:  sarag evaluate sweep --corpus corpus.json --questions questions.json "
    "--retriever sarag-paper --vary c=0,0.2,0.4 --plot sweep.png",
)
@commands.data_options()
@click.option(
    "--retriever", default="sarag-paper", show_default=True,
    help="The retriever, with the values of options that are not varied: NAME:KEY=VALUE.",
)  # fmt: skip
@click.option(
    "--vary", "variations", multiple=True, required=True, metavar="OPTION=VALUE,...",
    help="An option and its values. May be repeated; each option is varied separately.",
)  # fmt: skip
@click.option("--grid", is_flag=True, help="Compare all combinations of the values.")
@retrieval.cutoff_options("1000,4000")
@commands.selection_options
@commands.output_options
@commands.file_option(
    "--plot",
    "Plot recall against the values to this .png file; with --grid, a line for each value of the "
    "second option.",
)
@flags.endpoint_options
def command(**options: Any) -> None:
    """Report recall and answer coverage of a retriever for values of its options.

    Choose values on some questions, and report the figures of others: see
    docs/how-to/evaluate.md.
    """
    variations = [read_variation(text) for text in options["variations"]]
    settings, methods = settings_of(options["retriever"], variations, is_grid=options["grid"])
    if options["plot"]:
        check_curves(settings)
    cutoffs = Cutoffs(options["ks"], options["tokens"])
    data, times, _ = retrieval.measure(options, methods, next(iter(methods)), cutoffs)
    results = {r["method"]: r for r in retrieval.with_times(data["results"], times)}
    if options["plot"]:
        option, drawn = curves(settings, results, cutoffs)
        write_plot(options["plot"], "Recall of supporting passages", drawn, option)
    counts = data["setting"]["questions"]
    commands.show_results(options, data, lines(settings, results, counts, cutoffs))


# ------------------------------------------------------------------------ Activation of a question

_RETRIEVERS: Final = {"sarag": "0.5,0.9,0.99,0.999", "sarag-paper": "0.3,0.4,0.5"}
"""Retrievers with a parameter `c`, and the values that are shown by default."""
_MEAN_OF: Final = 20
"""The number of entities over which the mean activation is taken."""
_RANKS: Final = 40
"""The maximum number of entities in the plot."""


@click.command(
    name="activation",
    epilog='Example:  sarag evaluate activation "Who taught the founder?" --retriever sarag-paper '
    "--c 0.3,0.4,0.5 --plot activation.png",
)
@click.argument("question")
@flags.kg_option
@click.option(
    "--retriever", type=click.Choice(list(_RETRIEVERS)), default="sarag", show_default=True,
    help="Retriever that computes the activation.",
)  # fmt: skip
@click.option(
    "--c",
    "values",
    help="Comma-separated values in [0, 1). Default: typical values of the retriever.",
)
@commands.file_option("--plot", "Draw a plot to this .png file.")
@flags.embedder_option
@flags.embedding_endpoint_options
@flags.json_option
def activation(question: str, **options: Any) -> None:
    """Show how many entities a question activates, and how strongly, for several values of c.

    c is the similarity below which a relationship passes no activation: the higher c, the fewer
    relationships pass activation on. After Figure 5 of the SA-RAG paper (arXiv 2512.15922).
    """
    name = options["retriever"]
    values = _parse_values(options["values"] or _RETRIEVERS[name])
    check_plot(options["plot"])
    commands.check_outputs(options["plot"])
    with flags.open_graph(options) as kg:
        runs = {c: kg.search(question, retriever=name, c=c, limit=10) for c in values}
    curves = {
        c: sorted((entity.activation for entity in retrieved.entities), reverse=True)
        for c, retrieved in runs.items()
    }
    rows = [_row(c, retrieved, curves[c]) for c, retrieved in runs.items()]
    title = f"{name}: {question}"
    heads = f"{'c':>7} {'activated':>10} {'mean of 20':>11} {'relationships':>14}  documents"
    lines = (
        f"{row['c']:>7g} {row['activated']:>10} {row['mean_activation']:>11.3f} "
        f"{row['relationships']:>14}  {', '.join(row['documents']) or '-'}"
        for row in rows
    )
    data = {"retriever": name, "question": question, "values": rows}
    emit(options, data, title, heads, *lines)
    if options["plot"]:  # up to an entity that is not activated
        active = max(sum(value > 0.0 for value in curve) for curve in curves.values())
        last = min(_RANKS, max(10, active + 1))
        points = {
            f"c = {c:g}": list(enumerate([*curve, *_RANKS * [0.0]][:last], start=1))
            for c, curve in curves.items()
        }
        axes = ("entities by rank", "activation")
        write_plot(options["plot"], title, points, *axes, is_percent=False)


def _row(c: float, retrieved: Retrieved, activations: list[float]) -> dict[str, Any]:
    documents = [ranked.document for ranked in retrieved.documents[:3]]
    return {
        "c": c,
        "activated": sum(entity.is_activated for entity in retrieved.entities),
        "mean_activation": sum(activations[:_MEAN_OF]) / _MEAN_OF,
        "relationships": len(retrieved.relationships),
        "documents": [document.title or document.text[:30] for document in documents],
    }


def _parse_values(text: str) -> list[float]:
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError:
        values = [-1.0]
    if not all(0.0 <= value < 1.0 for value in values):
        raise UsageError(f"--c '{text}' is not a list of numbers in [0, 1), such as 0.3,0.4,0.5")
    return values
