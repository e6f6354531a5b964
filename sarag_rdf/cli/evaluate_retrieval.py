"""``sarag evaluate retrieval``: recall and answer coverage of retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.cli.evaluation import (
    check_baseline,
    check_coverage,
    check_outputs,
    check_plot,
    data_options,
    open_corpus_graph,
    output_options,
    parse_numbers,
    select_questions,
    selection_options,
    show_results,
    write_json,
)
from sarag_rdf.cli.options import endpoint_options
from sarag_rdf.cli.output import note, progress_bars

if TYPE_CHECKING:
    from sarag_rdf.plugins.evaluation.retrieval import MethodResults, RetrievalMethod

CURVE = 20
"""The minimum number of ranks that --plot shows."""


@click.command(
    name="retrieval",
    epilog="Example:  sarag evaluate retrieval --corpus corpus.json --questions questions.json "
    "--methods sarag,sarag-paper --kg kg-of-corpus --output results.json",
)
@data_options
@click.option(
    "--methods", default="sarag", show_default=True,
    help="Comma-separated retrievers; options as NAME:KEY=VALUE:KEY=VALUE.",
)  # fmt: skip
@click.option(
    "--k", "ks", default="2,5,10", show_default=True, callback=parse_numbers,
    help="Cutoffs of recall, in documents.",
)  # fmt: skip
@click.option(
    "--tokens", default="1000,4000,10000", show_default=True, callback=parse_numbers,
    help="Context sizes for answer coverage, in tokens.",
)  # fmt: skip
@selection_options
@click.option("--baseline", help="Method to compare with. Default: dense, else the first one.")
@output_options
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Plot recall against k to this .png file."
)
@endpoint_options
def command(**options: Any) -> None:
    """Report recall of supporting passages and coverage of answers for each method.

    The measures are defined in docs/reference/evaluation.md. The same input gives the same
    JSON; timings are written with --timings.
    """
    import sarag_rdf
    from sarag_rdf.plugins.evaluation import retrieval_report, tables
    from sarag_rdf.plugins.evaluation.corpus import read_corpus
    from sarag_rdf.plugins.evaluation.problems import count_problems, locate_support
    from sarag_rdf.plugins.evaluation.questions import read_questions
    from sarag_rdf.plugins.evaluation.retrieval import Cutoffs, evaluate
    from sarag_rdf.plugins.evaluation.statistics import ranking_measures

    ranking_measures()  # before anything is indexed
    methods = _methods(options["methods"])
    baseline = _baseline(options["baseline"], methods)
    check_plot(options["plot"])
    check_outputs(options["output"], options["timings"], options["plot"])
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    selected = select_questions(file.questions, options["limit"], options["seed"])
    questions = locate_support(selected, corpus)
    curve = tuple(range(1, max(CURVE, *options["ks"]) + 1)) if options["plot"] else ()
    cutoffs = Cutoffs(options["ks"], options["tokens"], curve)
    with open_corpus_graph(options, corpus) as (kg, unextracted), progress_bars() as progress:
        problems = count_problems(corpus, file, questions, kg.documents(), unextracted)
        check_coverage(problems, corpus, options["corpus"])
        encoding, outcomes = evaluate(kg, corpus, questions, methods, cutoffs, progress)
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
            trouble=problems,
        )  # fmt: skip
    data = retrieval_report.report(corpus, questions, outcomes, cutoffs, setting)
    times = retrieval_report.timings(encoding, outcomes)
    write_json(options["timings"], times)
    if options["plot"]:
        _draw(outcomes, curve, options["plot"])
    show_results(options, data, tables.lines(data, times, cutoffs))


def _methods(text: str) -> list[RetrievalMethod]:
    from sarag_rdf.kg.registry import ranking_options
    from sarag_rdf.plugins.evaluation.retrieval import RetrievalMethod

    methods = []
    for label in dict.fromkeys(part.strip() for part in text.split(",")):
        try:
            methods.append(RetrievalMethod(label, ranking_options(label)))
        except UsageError as error:
            raise UsageError(f"method {label}: {error}") from error
    return methods


def _baseline(name: str | None, methods: list[RetrievalMethod]) -> str:
    labels = [method.label for method in methods]
    default = "dense" if "dense" in labels else labels[0]
    return check_baseline(name or default, labels, "--methods")


def _draw(outcomes: list[MethodResults], curve: Sequence[int], path: Path) -> None:
    from sarag_rdf.plugins.evaluation.plots import write_recall_plot
    from sarag_rdf.plugins.evaluation.statistics import mean

    curves = {
        outcome.method: [mean([row.figures for row in outcome.rows], f"R@{k}") for k in curve]
        for outcome in outcomes
    }
    defined = {m: [v for v in values if v is not None] for m, values in curves.items()}
    if not all(defined.values()):
        raise InputError("cannot plot recall: no question has supporting passages in the corpus")
    write_recall_plot(defined, path)
    note(f"plot written to {path}")
