"""``sarag evaluate qa``: answers of systems of retriever, context and reasoner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import InputError, SaragError, UsageError
from sarag_rdf.cli.evaluation import (
    check_baseline,
    check_coverage,
    check_outputs,
    check_plot,
    data_options,
    open_corpus_graph,
    output_options,
    select_questions,
    selection_options,
    show_results,
    write_json,
)
from sarag_rdf.cli.options import endpoint_of, endpoint_options
from sarag_rdf.cli.output import note, progress_bars

if TYPE_CHECKING:
    from sarag_rdf.base.ports import LLM
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.plugins.evaluation.corpus import Corpus
    from sarag_rdf.plugins.evaluation.qa import Meter, System, SystemSpec


@click.command(
    name="qa",
    epilog="Example:  sarag evaluate qa --corpus corpus.json --questions questions.json "
    "--systems dense+single,sarag+single --rows answers.jsonl --output results.json",
)
@data_options
@click.option(
    "--systems", default="sarag+single", show_default=True,
    help="Comma-separated systems, RETRIEVER+REASONER or RETRIEVER+CONTEXT+REASONER; options of a "
    "part as NAME:KEY=VALUE:KEY=VALUE.",
)  # fmt: skip
@click.option("--budget", type=click.IntRange(1), help="Token budget of a context, as for ask.")
@click.option("--tokenizer", help="Tokenizer that counts the tokens of contexts, as for ask.")
@click.option(
    "--full-context", default="whole", show_default=True,
    help="Context without compression, NAME or NAME:KEY=VALUE: a question is covered if that of "
    "the system's retriever contains the answer. No budget applies to it.",
)  # fmt: skip
@selection_options
@click.option("--baseline", help="System to compare with. Default: the first one.")
@click.option(
    "--judge", is_flag=True,
    help="Let the model judge answers that do not match a known answer word for word.",
)  # fmt: skip
@click.option(
    "--rows", type=click.Path(path_type=Path),
    help="Append each answer to this .jsonl file; answers already in it are reused.",
)  # fmt: skip
@output_options
@click.option(
    "--plot", type=click.Path(path_type=Path),
    help="Plot scores against tokens read to this .png file.",
)  # fmt: skip
@endpoint_options
def command(**options: Any) -> None:
    """Report the accuracy of each system, the causes of its errors, and the cost of an answer.

    The measures are defined in docs/reference/evaluation.md. With --rows an interrupted run can
    be resumed. The JSON depends only on the replies; timings are written with --timings.
    """
    from sarag_rdf.plugins.evaluation import qa_report

    systems = _systems(options["systems"])
    labels = [system.label for system in systems]
    baseline = check_baseline(options["baseline"] or labels[0], labels, "--systems")
    data, times = answer_questions(systems, baseline, options)
    show_results(options, data, qa_report.lines(data, times))


def answer_questions(
    systems: Sequence[SystemSpec], baseline: str, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report and the timings of systems; timings and plot are written as `options` say."""
    import sarag_rdf
    from sarag_rdf.kg import registry
    from sarag_rdf.plugins.evaluation import qa_report
    from sarag_rdf.plugins.evaluation.corpus import read_corpus
    from sarag_rdf.plugins.evaluation.judge import cases_for_judge, judge_all, llm_settings
    from sarag_rdf.plugins.evaluation.problems import count_problems, locate_support
    from sarag_rdf.plugins.evaluation.qa import Meter, ask_all
    from sarag_rdf.plugins.evaluation.questions import read_questions
    from sarag_rdf.plugins.evaluation.runner import RowFile

    registry.options_of("context", options["full_context"])
    check_plot(options["plot"])
    check_outputs(options["rows"], options["output"], options["timings"], options["plot"])
    llm = registry.make_llm(endpoint_of(options), None)
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    selected = select_questions(file.questions, options["limit"], options["seed"])
    questions = [question for question in selected if question.has_answer]
    if not questions:
        raise InputError(f"no question of {options['questions']} has a known answer")
    with (
        RowFile(options["rows"]) as row_file,
        open_corpus_graph(options, corpus) as (kg, unextracted),
        _interruption_message(options["rows"]),
    ):
        judged = locate_support(selected, corpus)
        problems = count_problems(corpus, file, judged, kg.documents(), unextracted)
        check_coverage(problems, corpus, options["corpus"])
        meter = Meter(llm)
        built = [_build_system(kg, system, meter, options) for system in systems]
        configuration = _configuration(kg, llm, corpus, options)
        with progress_bars() as progress:
            threads = options["concurrency"]
            rows = ask_all(
                built, questions, meter, row_file, configuration,
                threads=threads, progress=progress,
            )  # fmt: skip
            verdicts = None
            if options["judge"]:
                cases = cases_for_judge(questions, rows)
                verdicts = judge_all(cases, llm, row_file, threads=threads, progress=progress)
        setting = qa_report.setting(
            corpus, file, questions, problems,
            systems=[system.label for system in systems],
            baseline=baseline,
            limit=options["limit"],
            shuffled=options["seed"] is not None,
            seed=options["seed"] or 0,
            budget=options["budget"],
            tokenizer=options["tokenizer"],
            full_context=options["full_context"],
            extractor=sorted(kg.extractors()),
            embedder=kg.meta().embedding_model,
            model=llm.model,
            settings=llm_settings(llm),
            judge=options["judge"],
            prices={"in": options["price_in"], "out": options["price_out"]},
            version=sarag_rdf.__version__,
        )  # fmt: skip
    data = qa_report.report(questions, rows, verdicts, setting)
    times = qa_report.timings(rows, options["concurrency"])
    write_json(options["timings"], times)
    if options["plot"]:
        _draw(data, options["plot"])
    return data, times


def _systems(text: str) -> list[SystemSpec]:
    """The distinct systems; raises `UsageError` for an unknown part or invalid options."""
    systems = map(parse_system, text.split(","))
    return list({system.label: system for system in systems}.values())


def parse_system(label: str) -> SystemSpec:
    """The system of a label; raises `UsageError` for an unknown part or invalid options."""
    from sarag_rdf.kg.registry import options_of
    from sarag_rdf.plugins.evaluation.qa import SystemSpec

    system = SystemSpec.parse(label)
    with _name_in_errors(system):
        options_of("retriever", system.retriever)
        options_of("context", system.context)
        options_of("reasoner", system.reasoner)
    return system


@contextmanager
def _name_in_errors(system: SystemSpec) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise UsageError(f"system {system.label}: {error}") from error


def _build_system(
    kg: KnowledgeGraph, system: SystemSpec, meter: Meter, options: Mapping[str, Any]
) -> System:
    from sarag_rdf.plugins.evaluation.qa import FullContext, System

    with _name_in_errors(system):
        gather = kg.gather(
            system.retriever.label,
            context=system.context.label,
            budget=options["budget"],
            tokenizer=options["tokenizer"],
        )
        metered = meter.gathering(gather)
        full = None
        if system.reasoner.name != "closed-book":
            uncompressed = kg.gather(system.retriever.label, context=options["full_context"])
            label = f"{system.retriever.label}+{options['full_context']}"
            full = FullContext(label, meter.unmetered(uncompressed))
        return System(system.label, kg.reasoner(system.reasoner.label, metered, meter), full)


def _configuration(
    kg: KnowledgeGraph, llm: LLM, corpus: Corpus, options: Mapping[str, Any]
) -> dict[str, Any]:
    """A graph in a folder is identified by its revision, a temporary one by its inputs."""
    import sarag_rdf
    from sarag_rdf.plugins.evaluation.judge import run_configuration

    meta = kg.meta()
    graph: dict[str, Any] = {"embedder": meta.embedding_model}
    if options["kg"]:
        graph["revision"] = meta.revision
    else:
        graph |= {"corpus": corpus.sha256, "extractor": options["extractor"], "stats": kg.stats()}
    if options["facts"]:
        graph["facts"] = options["facts"]
    return run_configuration(
        llm,
        graph=graph,
        budget=options["budget"],
        tokenizer=options["tokenizer"],
        version=sarag_rdf.__version__,
    )


@contextmanager
def _interruption_message(rows: Path | None) -> Iterator[None]:
    """Without --rows, an interruption is reported as a loss of all answers."""
    try:
        yield
    except KeyboardInterrupt as error:
        if rows is not None:
            raise
        loss = SaragError("interrupted: no answers were saved: use --rows FILE.jsonl to save them")
        loss.exit_code = 130
        raise loss from error


def _draw(data: Mapping[str, Any], path: Path) -> None:
    from sarag_rdf.plugins.evaluation.plots import write_answer_plot

    results = data["results"]
    is_judged = data["judge"] is not None
    has_prompt_tokens = any(result["tokens_in"] for result in results)
    tokens = "tokens_in" if has_prompt_tokens else "context_tokens"
    write_answer_plot(
        {
            result["system"]: (result[tokens], result["accuracy" if is_judged else "f1"])
            for result in results
        },
        "Accuracy" if is_judged else "F1",
        "prompt tokens per question" if has_prompt_tokens else "context tokens per question",
        path,
    )
    note(f"plot written to {path}")
