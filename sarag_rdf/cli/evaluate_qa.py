"""``sarag evaluate qa``: how well systems of retriever, context and reasoner answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.evaluation import (
    check_outputs,
    choice_options,
    chosen,
    data_options,
    graph_of,
    output_options,
    showing_progress,
    write_json,
)
from sarag_rdf.cli.options import endpoint_of, endpoint_options
from sarag_rdf.errors import InputError, SaragError, UsageError

if TYPE_CHECKING:
    from sarag_rdf.evaluation.corpus import Corpus
    from sarag_rdf.evaluation.qa import Meter, Parts, System
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.ports import LLM


@click.command(
    name="qa",
    epilog="Example:  sarag evaluate qa --corpus corpus.json --questions questions.json "
    "--systems dense+single,sarag+single --rows answers.jsonl --json results.json",
)
@data_options
@click.option(
    "--systems", default="sarag+single", show_default=True,
    help="RETRIEVER+REASONER or RETRIEVER+CONTEXT+REASONER, with commas between; options of a "
    "part as NAME:KEY=VALUE:KEY=VALUE.",
)  # fmt: skip
@click.option("--budget", type=click.IntRange(1), help="Tokens of a context at most, as for ask.")
@click.option("--tokenizer", help="Counts the tokens of contexts, as for ask.")
@choice_options
@click.option("--baseline", help="System to compare with. Default: the first one.")
@click.option(
    "--judge", is_flag=True,
    help="Let the model mark the answers that match no known one word for word.",
)  # fmt: skip
@click.option(
    "--rows", type=click.Path(path_type=Path),
    help="Keep each answer here as it comes (.jsonl); what is there already is not asked again.",
)  # fmt: skip
@output_options
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw scores against tokens read: a .png file."
)
@endpoint_options
def command(**options: Any) -> None:
    """Tell how many questions each system answers right, why not, and what an answer costs.

    See docs/reference/evaluation.md for what the figures mean. With --rows a run that was
    interrupted goes on where it was. The same replies give the same JSON; times are printed, and
    written with --timings.
    """
    import sarag_rdf
    from sarag_rdf.evaluation import qa_report
    from sarag_rdf.evaluation.corpus import read_corpus
    from sarag_rdf.evaluation.jobs import RowFile
    from sarag_rdf.evaluation.judge import cases_for_judge, judge_all, settings_of
    from sarag_rdf.evaluation.problems import judged, troubles
    from sarag_rdf.evaluation.qa import Meter, ask_all
    from sarag_rdf.evaluation.questions import read_questions
    from sarag_rdf.kg import registry

    systems = _systems(options["systems"])
    baseline = _baseline(options["baseline"], systems)
    if options["plot"] and options["plot"].suffix.lower() != ".png":
        raise UsageError(f"{options['plot']}: the name of a plot ends in .png")
    check_outputs(options["rows"], options["json_file"], options["timings"], options["plot"])
    llm = registry.make_llm(endpoint_of(options), None)
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    asked = chosen(file.questions, options["limit"], options["seed"])
    questions = [question for question in asked if question.has_answer]
    if not questions:
        raise InputError(f"no question of {options['questions']} has an answer to compare with")
    with (
        RowFile(options["rows"]) as kept,
        graph_of(options, corpus) as (kg, unextracted),
        _kept_or_lost(options["rows"]),
    ):
        trouble = troubles(corpus, file, judged(asked, corpus), kg.documents(), unextracted)
        if trouble["passages_not_in_graph"] == len(corpus.passages):
            raise InputError(
                f"no passage of {options['corpus']} is in the graph: name the graph of this "
                "corpus, or leave --kg out"
            )
        meter = Meter(llm)
        made = [_system(kg, parts, meter, options) for parts in systems]
        depends = _depends(kg, llm, corpus, options)
        with showing_progress() as progress:
            threads = options["concurrency"]
            rows = ask_all(
                made, questions, meter, kept, depends, threads=threads, progress=progress
            )
            verdicts = None
            if options["judge"]:
                cases = cases_for_judge(questions, rows)
                verdicts = judge_all(cases, llm, kept, threads=threads, progress=progress)
        setting = qa_report.setting(
            corpus, file, questions, trouble,
            systems=[parts.label for parts in systems],
            baseline=baseline,
            limit=options["limit"],
            shuffled=options["seed"] is not None,
            seed=options["seed"] or 0,
            budget=options["budget"],
            tokenizer=options["tokenizer"],
            extractor=sorted(kg.extractors()),
            embedder=kg.meta().embedding_model,
            model=llm.model,
            settings=settings_of(llm),
            judge=options["judge"],
            prices={"in": options["price_in"], "out": options["price_out"]},
            version=sarag_rdf.__version__,
        )  # fmt: skip
    data = qa_report.report(questions, rows, verdicts, setting)
    times = qa_report.timings(rows, options["concurrency"])
    write_json(options["json_file"], data)
    write_json(options["timings"], times)
    if options["plot"]:
        _draw(data, options["plot"])
    for line in qa_report.lines(data, times):
        click.echo(line)


def _systems(text: str) -> list[Parts]:
    """The systems, each once, all of whose parts have names that are known."""
    from sarag_rdf.evaluation.qa import Parts
    from sarag_rdf.kg.registry import options_of

    systems = {}
    for label in text.split(","):
        parts = Parts.parse(label)
        with _named(parts):
            options_of("retriever", parts.retriever)
            options_of("context", parts.context)
            options_of("reasoner", parts.reasoner)
        systems[parts.label] = parts
    return list(systems.values())


def _baseline(wanted: str | None, systems: list[Parts]) -> str:
    labels = [parts.label for parts in systems]
    if wanted is None:
        return labels[0]
    if wanted not in labels:
        raise UsageError(f"--baseline {wanted} is not among --systems: choose {', '.join(labels)}")
    return wanted


@contextmanager
def _named(parts: Parts) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise UsageError(f"system {parts.label}: {error}") from error


def _system(kg: KnowledgeGraph, parts: Parts, meter: Meter, options: Mapping[str, Any]) -> System:
    from sarag_rdf.evaluation.qa import System

    with _named(parts):
        gather = kg.gather(
            parts.retriever.label,
            context=parts.context.label,
            budget=options["budget"],
            tokenizer=options["tokenizer"],
        )
        counted = meter.gathering(gather)
        return System(parts.label, kg.reasoner(parts.reasoner.label, counted, meter))


def _depends(
    kg: KnowledgeGraph, llm: LLM, corpus: Corpus, options: Mapping[str, Any]
) -> dict[str, Any]:
    """A graph in a folder is known by its revision, another one by what it was made from."""
    import sarag_rdf
    from sarag_rdf.evaluation.judge import depends_on

    meta = kg.meta()
    graph: dict[str, Any] = {"embedder": meta.embedding_model}
    if options["kg"]:
        graph["revision"] = meta.revision
    else:
        graph |= {"corpus": corpus.sha256, "extractor": options["extractor"], "stats": kg.stats()}
    return depends_on(
        llm,
        graph=graph,
        budget=options["budget"],
        tokenizer=options["tokenizer"],
        version=sarag_rdf.__version__,
    )


@contextmanager
def _kept_or_lost(rows: Path | None) -> Iterator[None]:
    """Ctrl-C without --rows keeps nothing, and the line that is printed says so."""
    try:
        yield
    except KeyboardInterrupt as error:
        if rows is not None:
            raise
        lost = SaragError("interrupted: nothing is kept without --rows FILE.jsonl")
        lost.exit_code = 130
        raise lost from error


def _draw(data: Mapping[str, Any], path: Path) -> None:
    from sarag_rdf.evaluation.plots import write_answer_plot

    results = data["results"]
    judged = data["judge"] is not None
    counted = any(result["tokens_in"] for result in results)
    read = "tokens_in" if counted else "context_tokens"
    write_answer_plot(
        {
            result["system"]: (result[read], result["accuracy" if judged else "f1"])
            for result in results
        },
        "Accuracy" if judged else "F1",
        "tokens that the model reads a question" if counted else "tokens of context a question",
        path,
    )
    click.echo(f"sarag: picture written to {path}", err=True)
