"""``sarag evaluate qa``: answers of systems of retriever, context and reasoner, and their cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any, Literal

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.options import Spec
from sarag_rdf.base.ports import LLM, Gather, Progress, Reasoner, Reply
from sarag_rdf.base.threads import map_in_order
from sarag_rdf.base.types import Answer, Evidence, Query, Usage
from sarag_rdf.cli.flags import endpoint_of, endpoint_options, together
from sarag_rdf.cli.output import note, progress_bars
from sarag_rdf.kg import registry
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import grading
from sarag_rdf.plugins.evaluation.commands import (
    check_baseline,
    check_coverage,
    check_outputs,
    check_plot,
    data_options,
    interruption,
    open_corpus_graph,
    output_options,
    parse_names,
    replies_option,
    select_questions,
    selection_options,
    show_results,
    write_json,
)
from sarag_rdf.plugins.evaluation.grading import QUESTION_ERRORS, SystemResult
from sarag_rdf.plugins.evaluation.measures import contains_answer
from sarag_rdf.plugins.evaluation.plots import write_plot
from sarag_rdf.plugins.evaluation.questions import (
    Question,
    count_problems,
    locate_support,
    question_problems,
    read_corpus,
    read_questions,
)


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """The parts of a system: ``RETRIEVER+REASONER`` or ``RETRIEVER+CONTEXT+REASONER``."""

    label: str
    retriever: Spec
    context: Spec
    reasoner: Spec

    @classmethod
    def parse(cls, text: str) -> SystemSpec:
        """Parse parts, each a name with options; the default context is ``whole``.

        ``closed-book`` is used without a retriever. Raises `UsageError`.

        >>> SystemSpec.parse("dense:limit=5 + single").retriever.options
        {'limit': '5'}
        """
        parts = [Spec.parse(part) for part in text.split("+")]
        if [part.name for part in parts] == ["closed-book"]:
            return cls(parts[0].label, Spec("dense", "dense"), Spec("whole", "whole"), parts[0])
        if len(parts) not in (2, 3) or not all(part.name for part in parts):
            raise UsageError(
                f"invalid system '{text.strip()}': write RETRIEVER+REASONER or "
                "RETRIEVER+CONTEXT+REASONER, such as sarag+single"
            )
        label = "+".join(part.label for part in parts)
        context = parts[1] if len(parts) == 3 else Spec("whole", "whole")
        return cls(label, parts[0], context, parts[-1])


@dataclass(frozen=True, slots=True)
class FullContext:
    """What a retriever finds for a question before any compression, which coverage is judged on.

    `label` names the retriever and the uncompressed context: systems with the same one are judged
    on the same texts. `gather` is not metered.
    """

    label: str
    gather: Gather


@dataclass(frozen=True, slots=True)
class System:
    """A reasoner with its label; model calls and retrievals are counted by a `Meter`.

    `full` is None for a system that does not retrieve: it covers no question.
    """

    label: str
    reasoner: Reasoner
    full: FullContext | None = None


def ask_all(
    systems: Sequence[System],
    questions: Sequence[Question],
    meter: Meter,
    *,
    threads: int,
    progress: Progress,
) -> dict[str, list[SystemResult]]:
    """Rows by system, one per question, in their order.

    All systems run on a question before the next one. Whether a question is covered is judged once
    for each full context. Raises errors that end a run.
    """
    coverage = Coverage()
    jobs = [(system, question) for question in questions for system in systems]
    advance = progress("answering", len(jobs))
    rows: dict[str, list[SystemResult]] = {system.label: [] for system in systems}

    def work(job: tuple[System, Question], _: Event) -> SystemResult:
        return _ask(*job, meter, coverage)

    for (system, _), row in zip(jobs, map_in_order(work, jobs, threads), strict=True):
        rows[system.label].append(row)
        advance(1)
    return rows


class Coverage:
    """Whether full contexts contain a known answer, judged once for a question and a context."""

    def __init__(self) -> None:
        self._judged: dict[tuple[str, str], bool] = {}

    def judge(self, system: System, question: Question) -> bool:
        """False for a system that does not retrieve."""
        if system.full is None:
            return False
        key = system.full.label, question.id
        if key not in self._judged:
            context = system.full.gather(question.query).context
            self._judged[key] = contains_answer(question.answers, context.texts)
        return self._judged[key]


def _ask(system: System, question: Question, meter: Meter, coverage: Coverage) -> SystemResult:
    account = meter.open()
    begin = perf_counter()
    text = reasoning = problem = ""
    notes: dict[str, bool] = {}
    outcome: Literal["answered", "insufficient", "failed"] = "insufficient"
    try:
        answer = system.reasoner.answer(question.query)
    except QUESTION_ERRORS as error:
        outcome, problem = "failed", type(error).__name__
    else:
        reasoning = answer.reasoning
        notes = _notes(answer)
        if answer.outcome == "answered":
            outcome, text = "answered", answer.text
    seconds = perf_counter() - begin + account.saved
    contexts = [evidence.context for evidence in account.evidence]
    usage = account.usage
    return SystemResult(
        outcome, text, reasoning, problem,
        covered=coverage.judge(system, question),
        context_covered=contains_answer(
            question.answers, (text for context in contexts for text in context.texts)
        ),
        calls=usage.calls + usage.cached_calls,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        retrievals=len(contexts),
        context_tokens=sum(context.tokens for context in contexts),
        seconds=seconds,
        notes=notes,
    )  # fmt: skip


def _notes(answer: Answer) -> dict[str, bool]:
    return {
        f"{stage.name}.{key}": value
        for stage in answer.trace
        if stage.kind == "note"
        for key, value in stage.detail.items()
        if isinstance(value, bool)
    }


@dataclass(slots=True)
class Account:
    """The model usage and evidence of a question, also if a later call fails.

    `saved` is the time in seconds that was saved by cached replies.
    """

    usage: Usage = field(default_factory=Usage)
    saved: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)


class Meter:
    """An `LLM` that records usage and evidence in the `Account` of the current thread.

    A cached reply counts as much as when it was first requested, so that the cost of a system does
    not depend on the other systems of a run.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._own = threading.local()
        self._gathering = threading.Lock()

    @property
    def model(self) -> str:
        return self._llm.model

    def open(self) -> Account:
        """Open a new account for the current thread."""
        account = Account()
        self._own.account = account
        return account

    def gathering(self, gather: Gather, *, is_metered: bool = True) -> Gather:
        """The `Gather` with recording, serialized because graphs are not thread-safe."""

        def gathered(query: Query) -> Evidence:
            with self._gathering:
                evidence = gather(query)
            if is_metered:
                self._own.account.evidence.append(evidence)
            return evidence

        return gathered

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        account: Account = self._own.account
        account.usage += reply.first_usage or reply.usage
        account.saved += reply.first_seconds
        return reply


# ---------------------------------------------------------------------------------------- Command


judge_options = together(
    click.option(
        "--judge", is_flag=True,
        help="Let a model judge answers that do not match a known answer word for word.",
    ),
    click.option(
        "--judge-model",
        help="Model at the endpoint that judges; implies --judge. Default: --model, which then "
        "judges its own answers.",
    ),
)  # fmt: skip


@click.command(
    name="qa",
    epilog="Example:  sarag evaluate qa --corpus corpus.json --questions questions.json "
    "--systems dense+single,sarag+single --replies replies.sqlite --output results.json",
)
@data_options(is_corpus_required=False)
@click.option(
    "--systems", default="sarag+single", show_default=True, callback=parse_names,
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
@judge_options
@replies_option
@output_options
@click.option(
    "--plot", type=click.Path(path_type=Path),
    help="Plot scores against tokens read to this .png file.",
)  # fmt: skip
@endpoint_options
def command(**options: Any) -> None:
    """Report the accuracy of each system, the causes of its errors, and the cost of an answer.

    The measures are defined in docs/reference/evaluation.md. With --replies an interrupted run
    can be resumed. The JSON depends only on the replies; timings are written with --timings.
    """
    systems = [parse_system(label) for label in options["systems"]]
    systems = list({system.label: system for system in systems}.values())
    labels = [system.label for system in systems]
    baseline = check_baseline(options["baseline"] or labels[0], labels, "--systems")
    data, times = answer_questions(systems, baseline, options)
    show_results(options, data, grading.lines(data, times))


def answer_questions(
    systems: Sequence[SystemSpec], baseline: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report and the timings of systems; timings and plot are written as `options` say."""
    registry.options_of("context", options["full_context"])
    check_plot(options["plot"])
    check_outputs(options["replies"], options["output"], options["timings"], options["plot"])
    llm, judge = _models(options)
    corpus = read_corpus(options["corpus"]) if options["corpus"] else None
    file = read_questions(options["questions"])
    selected = select_questions(file.questions, options["limit"], options["seed"])
    questions = [question for question in selected if question.has_answer]
    if not questions:
        raise InputError(f"no question of {options['questions']} has a known answer")
    with open_corpus_graph(options, corpus) as (kg, unextracted):
        problems = question_problems(file, selected)
        if corpus is not None:
            judged = locate_support(selected, corpus)
            problems |= count_problems(corpus, judged, kg.documents(), unextracted)
            check_coverage(problems, corpus, options["corpus"])
        meter = Meter(llm)
        built = [_build_system(kg, system, meter, options) for system in systems]
        with interruption(options["replies"]), progress_bars() as progress:
            threads = options["concurrency"]
            rows = ask_all(built, questions, meter, threads=threads, progress=progress)
            verdicts = None
            if judge is not None:
                cases = grading.cases_for_judge(questions, rows)
                verdicts = grading.judge_all(cases, judge, threads=threads, progress=progress)
        setting = {
            "corpus": corpus.summary if corpus else None,
            "questions": {**file.summary, "count": len(questions)},
            "systems": [system.label for system in systems],
            "baseline": baseline,
            "shuffled": options["seed"] is not None,
            "seed": options["seed"] or 0,
            **{n: options[n] for n in ("limit", "budget", "tokenizer", "full_context")},
            "judge": judge.model if judge else None,
            "extractor": sorted(kg.extractors()),
            "embedder": kg.meta().embedding_model,
            "model": llm.model,
            "settings": dict(getattr(llm, "settings", {})),
            "prices": {"in": options["price_in"], "out": options["price_out"]},
            "version": sarag_rdf.__version__,
            "problems": {kind: problems[kind] for kind in grading.PROBLEMS if kind in problems},
        }
    data = grading.report(questions, rows, verdicts, setting)
    times = grading.timings(rows, options["concurrency"])
    write_json(options["timings"], times)
    if options["plot"]:
        _draw(data, options["plot"])
    return data, times


def _models(options: Mapping[str, Any]) -> tuple[LLM, LLM | None]:
    """The model that answers, and the one that judges, if --judge or --judge-model is given."""
    endpoint, replies = endpoint_of(dict(options)), options["replies"]
    llm = registry.make_llm(endpoint, replies)
    if endpoint is not None and options["judge_model"]:
        return llm, registry.make_llm(replace(endpoint, model=options["judge_model"]), replies)
    return llm, llm if options["judge"] else None


def parse_system(label: str) -> SystemSpec:
    """The system of a label; raises `UsageError` for an unknown part or invalid options."""
    system = SystemSpec.parse(label)
    with _name_in_errors(system):
        registry.options_of("retriever", system.retriever)
        registry.options_of("context", system.context)
        registry.options_of("reasoner", system.reasoner)
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
            full = FullContext(label, meter.gathering(uncompressed, is_metered=False))
        return System(system.label, kg.reasoner(system.reasoner.label, metered, meter), full)


def _draw(data: Mapping[str, Any], path: Path) -> None:
    """Scores of the systems by the tokens that a question takes."""
    results = data["results"]
    score, title = ("f1", "F1") if data["judge"] is None else ("accuracy", "Accuracy")
    has_prompt_tokens = any(result["tokens_in"] for result in results)
    tokens, what = ("tokens_in", "prompt") if has_prompt_tokens else ("context_tokens", "context")
    points = {result["system"]: [(result[tokens], result[score])] for result in results}
    write_plot(path, title, points, f"{what} tokens per question", is_line=False)
    note(f"plot written to {path}")
