"""``sarag evaluate tune`` and ``activation``: a retriever under several values of its options.

`tune` reports recall and coverage of the questions of one or more data sets, and how well values
that are chosen on some sets do on another; `activation` reports the entities that one question
activates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any, Final

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import RetrieverOptions, Spec
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import emit
from sarag_rdf.plugins.evaluation import commands, rankings
from sarag_rdf.plugins.evaluation.rankings import Cutoffs
from sarag_rdf.plugins.evaluation.reporting import (
    block,
    difference,
    interval,
    percent,
    table,
    write_plot,
)

MOST_SETTINGS: Final = 500
"""Settings that are compared at once."""


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
) -> tuple[list[Setting], rankings.Methods]:
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
        settings.append((values, labels.setdefault(rankings.ranking_options(label), label)))
    return settings, {label: options for options, label in labels.items()}


def curves(
    settings: Sequence[Setting], recalls: Sequence[str]
) -> tuple[str, dict[str, list[tuple[float, str, str]]]]:
    """The varied option, and lines of (value, method, measure) to draw.

    One option has a line for each cutoff, two the recall at the middle one by values of the second.
    Raises `UsageError` for more options, options that are varied separately, and other values than
    numbers.
    """
    first, *second = settings[0][0]
    if len(second) > 1 or any([*values] != [first, *second] for values, _ in settings):
        raise UsageError("--plot needs one --vary, or two with --grid")
    middle = recalls[len(recalls) // 2]
    lines: defaultdict[str, list[tuple[float, str, str]]] = defaultdict(list)
    for values, method in settings:
        drawn = {f"{name}={values[name]}": middle for name in second}
        for label, measure in (drawn or {name: name for name in recalls}).items():
            try:
                lines[label].append((float(values[first]), method, measure))
            except ValueError as error:
                raise UsageError(f"--plot needs numbers for {first}") from error
    title = f"{first} ({middle})" if second else first
    return title, {label: sorted(points) for label, points in lines.items()}


# ----------------------------------------------------------------------------- Several data sets


@dataclass(frozen=True, slots=True)
class DataSet:
    """The results of all methods on the questions of one data set, with their times by method.

    `name` is that of its graph or of its questions. Sets of equal `questions` (SHA-256 of their
    file) are left out together.
    """

    name: str
    report: Mapping[str, Any]
    results: Mapping[str, Mapping[str, Any]]

    @property
    def questions(self) -> str:
        return str(self.report["setting"]["questions"]["sha256"])

    def recalls(self, method: str, name: str) -> list[float]:
        """The recall of each question that has supporting passages."""
        rows = [row["methods"][method][name] for row in self.report["questions"]]
        return [value for value in rows if value is not None]


def quality(sets: Sequence[DataSet], method: str, names: Sequence[str]) -> float:
    """What is maximised: recall in [0, 1], a mean over the cutoffs, and over the sets."""
    return fmean(each.results[method][name] or 0.0 for each in sets for name in names)


def best_of(sets: Sequence[DataSet], methods: Sequence[str], names: Sequence[str]) -> str:
    """The method of the highest quality on some sets, of equals the first."""
    return max(methods, key=lambda method: round(quality(sets, method, names), 9))


def left_out(
    sets: Sequence[DataSet], methods: Sequence[str], names: Sequence[str], seed: int
) -> Iterator[dict[str, Any]]:
    """For each set the method that is best on the others, and its recall on this one.

    The difference is that from the first method, with its 95% interval. A set has no row if all
    others have the same questions.
    """
    for each in sets:
        others = [other for other in sets if other.questions != each.questions]
        if others:
            chosen = best_of(others, methods, names)
            both = {
                name: zip(*(each.recalls(m, name) for m in (chosen, methods[0])), strict=True)
                for name in names
            }
            yield {
                "set": each.name,
                "chosen": chosen,
                **{name: each.results[chosen][name] for name in names},
                "difference": {name: difference(pairs, seed) for name, pairs in both.items()},
            }


def lines(
    sets: Sequence[DataSet],
    settings: Sequence[Setting],
    tuned: Mapping[str, Any],
    cutoffs: Cutoffs,
) -> Iterator[str]:
    """For each set a line for each setting: its values, recall, coverage, documents, milliseconds.

    Then what was chosen on the other sets, and the best over all.
    """
    recalls = cutoffs.names("R")
    columns = {name: name for name in recalls} | cutoffs.coverages | rankings.TIMES
    for each in sets:
        counts = each.report["setting"]["questions"]
        yield (
            f"{each.name}: questions: {counts['count']}; with recall: {counts['with_recall']}; "
            "figures in percent"
        )
        rows = [{**each.results[method], "setting": _shown(values)} for values, method in settings]
        yield from block("", "setting", rows, columns)
        yield ""
    if tuned["left_out"]:
        yield f"Chosen on the other sets, with the difference from {tuned['start']}"
        yield ""
        chosen = [
            [row["set"], row["chosen"]]
            + [f"{percent(row[n])} {interval(row['difference'][n])}" for n in recalls]
            for row in tuned["left_out"]
        ]
        yield from table(["set", "chosen", *recalls], chosen)
        yield ""
    yield f"best over all: {tuned['best']} ({percent(tuned['quality'])}, mean of recall)"
    yield "the best of several settings on these questions will do less well on others"


def _shown(values: Mapping[str, str]) -> str:
    return " ".join(map("=".join, values.items())) or "as given"


@click.command(
    name="tune",
    epilog="Example:  sarag evaluate tune --corpus a.json --questions qa.json --kg kg-a "
    "--corpus b.json --questions qb.json --kg kg-b --retriever sarag:explain=false "
    "--vary c=0.95,0.98 --vary gain=0.3,0.4,0.5 --grid",
)
@commands.data_options(multiple=True)
@click.option(
    "--retriever", default="sarag:explain=false", show_default=True,
    help="The retriever, with the values of options that are not varied: NAME:KEY=VALUE.",
)  # fmt: skip
@click.option(
    "--vary", "variations", multiple=True, required=True, metavar="OPTION=VALUE,...",
    help="An option and its values. May be repeated; each option is varied separately.",
)  # fmt: skip
@flags.switch("--grid", "Compare all combinations of the values.")
@rankings.cutoff_options("")
@commands.selection_options
@commands.output_options
@commands.plot_option(
    "Plot recall against the values to this .png file; with --grid, a line for each value of the "
    "second option.",
)
@flags.endpoint_options
def command(**options: Any) -> None:
    """Report recall and answer coverage of a retriever for values of its options.

    --corpus, --questions and --kg may be repeated, once for each data set. Then the values that are
    best on all sets but one are reported on the one left out, for each set in turn: see
    docs/how-to/evaluate.md.
    """
    variations = [read_variation(text) for text in options["variations"]]
    retriever: str = options["retriever"]
    settings, methods = settings_of(retriever, variations, is_grid=options["grid"])
    given = rankings.ranking_options(retriever)
    start = next((label for label, own in methods.items() if own == given), retriever)
    methods = {start: given, **methods}
    cutoffs = Cutoffs(options["ks"], options["tokens"])
    recalls, labels = cutoffs.names("R"), [*methods]
    option, drawn = curves(settings, recalls) if options["plot"] else ("", {})
    sets, times = [], {}
    for name, own in commands.data_sets(options).items():
        data, times[name], _ = rankings.measure(own, methods, start, cutoffs)
        results = {r["method"]: r for r in rankings.with_times(data["results"], times[name])}
        sets.append(DataSet(name, data, results))
    commands.write_json(options["timings"], times)
    best = best_of(sets, labels, recalls)
    tuned = {
        "start": start,
        "left_out": [*left_out(sets, labels, recalls, options["seed"] or 0)],
        "best": best,
        "quality": round(quality(sets, best, recalls), 6),
    }
    if options["plot"]:
        points = {
            label: [(value, quality(sets, method, [name])) for value, method, name in line]
            for label, line in drawn.items()
        }
        write_plot(options["plot"], "Recall of supporting passages", points, option)
    shown = settings if start in {label for _, label in settings} else [({}, start), *settings]
    report = {"sets": {each.name: each.report for each in sets}, **tuned}
    commands.show_results(options, report, lines(sets, shown, tuned, cutoffs))


# ------------------------------------------------------------------------ Activation of a question

_RETRIEVERS: Final = {
    "sarag": (0.5, 0.9, 0.99, 0.999),
    "sarag-paper": (0.3, 0.4, 0.5),
}
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
    "--c", "values", default="",
    callback=commands.numbers(click.FloatRange(0.0, 1.0, max_open=True)),
    help="Comma-separated values in [0, 1). Default: typical values of the retriever.",
)  # fmt: skip
@commands.plot_option("Draw a plot to this .png file.")
@flags.embedder_option
@flags.embedding_endpoint_options
@flags.json_option
def activation(question: str, **options: Any) -> None:
    """Show how many entities a question activates, and how strongly, for several values of c.

    c is the similarity below which a relationship passes no activation: the higher c, the fewer
    relationships pass activation on. After Figure 5 of the SA-RAG paper (arXiv 2512.15922).
    """
    name = options["retriever"]
    values = options["values"] or _RETRIEVERS[name]
    with flags.open_graph(options) as kg:
        runs = {c: kg.search(question, retriever=name, c=c, limit=10) for c in values}
    curves = {
        c: sorted((entity.activation for entity in retrieved.entities), reverse=True)
        for c, retrieved in runs.items()
    }
    rows: list[dict[str, Any]] = []
    for c, retrieved in runs.items():
        documents = [ranked.document for ranked in retrieved.documents[:3]]
        rows.append(
            {
                "c": c,
                "activated": sum(entity.is_activated for entity in retrieved.entities),
                "mean_activation": sum(curves[c][:_MEAN_OF]) / _MEAN_OF,
                "relationships": len(retrieved.relationships),
                "documents": [document.title or document.text[:30] for document in documents],
            }
        )
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
