"""``sarag evaluate sweep``: recall and coverage of a retriever for values of its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.evaluation import (
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


@click.command(
    name="sweep",
    epilog="Example:  sarag evaluate sweep --corpus corpus.json --questions questions.json "
    "--retriever sarag-paper --vary c=0,0.2,0.4 --plot sweep.png",
)
@data_options
@click.option(
    "--retriever", default="sarag-paper", show_default=True,
    help="The retriever, with the values of options that are not varied: NAME:KEY=VALUE.",
)  # fmt: skip
@click.option(
    "--vary", "variations", multiple=True, required=True, metavar="OPTION=VALUE,...",
    help="An option and its values. May be repeated; each option is varied separately.",
)  # fmt: skip
@click.option("--grid", is_flag=True, help="Compare all combinations of the values.")
@click.option(
    "--k", "ks", default="2,5,10", show_default=True, callback=parse_numbers,
    help="Cutoffs of recall, in documents.",
)  # fmt: skip
@click.option(
    "--tokens", default="1000,4000", show_default=True, callback=parse_numbers,
    help="Context sizes for answer coverage, in tokens.",
)  # fmt: skip
@selection_options
@output_options
@click.option(
    "--plot", type=click.Path(path_type=Path),
    help="Plot recall against the values to this .png file; with --grid, a line for each value of "
    "the second option.",
)  # fmt: skip
@endpoint_options
def command(**options: Any) -> None:
    """Report recall and answer coverage of a retriever for values of its options.

    Choose values on some questions, and report the figures of others: see
    docs/how-to/evaluate.md.
    """
    import sarag_rdf
    from sarag_rdf.kg.registry import ranking_options
    from sarag_rdf.plugins.evaluation import retrieval_report, sweep
    from sarag_rdf.plugins.evaluation.corpus import read_corpus
    from sarag_rdf.plugins.evaluation.plots import write_sweep_plot
    from sarag_rdf.plugins.evaluation.problems import count_problems, locate_support
    from sarag_rdf.plugins.evaluation.questions import read_questions
    from sarag_rdf.plugins.evaluation.retrieval import Cutoffs, evaluate
    from sarag_rdf.plugins.evaluation.statistics import ranking_measures

    ranking_measures()  # before anything is indexed
    variations = [sweep.read_variation(text) for text in options["variations"]]
    settings = sweep.settings_of(
        options["retriever"], variations, ranking_options, is_grid=options["grid"]
    )
    if options["plot"]:
        check_plot(options["plot"])
        sweep.check_curves(settings)
    check_outputs(options["output"], options["timings"], options["plot"])
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    questions = locate_support(
        select_questions(file.questions, options["limit"], options["seed"]), corpus
    )
    cutoffs = Cutoffs(options["ks"], options["tokens"])
    methods = sweep.distinct_methods(settings)
    with open_corpus_graph(options, corpus) as (kg, unextracted), progress_bars() as progress:
        problems = count_problems(corpus, file, questions, kg.documents(), unextracted)
        check_coverage(problems, corpus, options["corpus"])
        encoding, outcomes = evaluate(kg, corpus, questions, methods, cutoffs, progress)
        setting = retrieval_report.setting(
            corpus, file, questions, cutoffs,
            methods=[method.label for method in methods],
            baseline=methods[0].label,
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
        write_sweep_plot(*sweep.curves(settings, data, cutoffs), options["plot"])
        note(f"plot written to {options['plot']}")
    show_results(options, data, sweep.sweep_lines(settings, data, times, cutoffs))
