"""``sarag evaluate retrieval``: how well the retrievers find evidence that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.evaluation import (
    check_outputs,
    choice_options,
    chosen,
    data_options,
    graph_of,
    numbers,
    output_options,
    showing_progress,
    write_json,
)
from sarag_rdf.cli.options import endpoint_options
from sarag_rdf.errors import InputError, UsageError

if TYPE_CHECKING:
    from sarag_rdf.evaluation.retrieval import Method, Outcome

CURVE = 20
"""Documents up to which --plot draws at least."""


@click.command(
    name="retrieval",
    epilog="Example:  sarag evaluate retrieval --corpus corpus.json --questions questions.json "
    "--methods sarag,sarag-paper --kg kg-of-corpus --json results.json",
)
@data_options
@click.option(
    "--methods", default="sarag", show_default=True,
    help="Retrievers, with commas between; options of one as NAME:KEY=VALUE:KEY=VALUE.",
)  # fmt: skip
@click.option(
    "--k", "ks", default="2,5,10", show_default=True, callback=numbers,
    help="Numbers of documents to tell recall at.",
)  # fmt: skip
@click.option(
    "--tokens", default="1000,4000,10000", show_default=True, callback=numbers,
    help="Sizes of contexts to tell the coverage of answers at.",
)  # fmt: skip
@choice_options
@click.option("--baseline", help="Method to compare with. Default: dense, else the first one.")
@output_options
@click.option("--plot", type=click.Path(path_type=Path), help="Draw recall against k: a .png file.")
@endpoint_options
def command(**options: Any) -> None:
    """Tell how many supporting passages each method finds, and how many answers it covers.

    See docs/evaluation.md for what the figures mean. The same input gives the same JSON; times
    are printed, and written with --timings.
    """
    import sarag_rdf
    from sarag_rdf.evaluation import retrieval_report, tables
    from sarag_rdf.evaluation.corpus import read_corpus
    from sarag_rdf.evaluation.problems import judged, troubles
    from sarag_rdf.evaluation.questions import read_questions
    from sarag_rdf.evaluation.retrieval import Cutoffs, evaluate
    from sarag_rdf.evaluation.statistics import ranking_measures

    ranking_measures()  # before anything is indexed
    methods = _methods(options["methods"])
    baseline = _baseline(options["baseline"], methods)
    if options["plot"] and options["plot"].suffix.lower() != ".png":
        raise UsageError(f"{options['plot']}: the name of a plot ends in .png")
    check_outputs(options["json_file"], options["timings"], options["plot"])
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    questions = judged(chosen(file.questions, options["limit"], options["seed"]), corpus)
    cutoffs = Cutoffs(options["ks"], options["tokens"])
    curve = range(1, max(CURVE, *cutoffs.ks) + 1) if options["plot"] else ()
    asked = Cutoffs(tuple(sorted({*cutoffs.ks, *curve})), cutoffs.tokens)
    with graph_of(options, corpus) as (kg, unextracted), showing_progress() as progress:
        trouble = troubles(corpus, file, questions, kg.documents(), unextracted)
        if trouble["passages_not_in_graph"] == len(corpus.passages):
            raise InputError(
                f"no passage of {options['corpus']} is in the graph: name the graph of this "
                "corpus, or leave --kg out"
            )
        encoding, outcomes = evaluate(kg, corpus, questions, methods, asked, progress)
        setting = retrieval_report.setting(
            corpus, file, questions, cutoffs,
            methods=[method.label for method in methods],
            baseline=baseline,
            limit=options["limit"],
            shuffled=options["seed"] is not None,
            seed=options["seed"] or 0,
            extractor=sorted(kg.extractors()),
            embedder=kg.meta().embedding_model,
            version=sarag_rdf.__version__,
            trouble=trouble,
        )  # fmt: skip
    data = retrieval_report.report(corpus, questions, outcomes, cutoffs, setting)
    times = retrieval_report.timings(encoding, outcomes)
    write_json(options["json_file"], data)
    write_json(options["timings"], times)
    if options["plot"]:
        _draw(outcomes, curve, options["plot"])
    for line in tables.lines(data, times, cutoffs):
        click.echo(line)


def _methods(text: str) -> list[Method]:
    from sarag_rdf.evaluation.retrieval import Method
    from sarag_rdf.kg.registry import ranking_options

    methods = []
    for label in dict.fromkeys(part.strip() for part in text.split(",")):
        try:
            methods.append(Method(label, ranking_options(label)))
        except UsageError as error:
            raise UsageError(f"method {label}: {error}") from error
    return methods


def _baseline(wanted: str | None, methods: list[Method]) -> str:
    labels = [method.label for method in methods]
    if wanted is None:
        return "dense" if "dense" in labels else labels[0]
    if wanted not in labels:
        raise UsageError(f"--baseline {wanted} is not among --methods: choose {', '.join(labels)}")
    return wanted


def _draw(outcomes: list[Outcome], curve: range | tuple[()], path: Path) -> None:
    from sarag_rdf.evaluation.plots import write_recall_plot
    from sarag_rdf.evaluation.statistics import mean

    curves = {
        outcome.method: [mean([row.figures for row in outcome.rows], f"R@{k}") for k in curve]
        for outcome in outcomes
    }
    known = {m: [v for v in values if v is not None] for m, values in curves.items()}
    if not all(known.values()):
        raise InputError("there is no recall to draw: no question marks passages of the corpus")
    write_recall_plot(known, path)
    click.echo(f"sarag: picture written to {path}", err=True)
