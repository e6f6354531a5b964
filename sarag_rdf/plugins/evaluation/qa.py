"""``sarag evaluate qa`` and ``table``: answers of systems, and their cost.

A system has a retriever, a context and a reasoner. A `table` is that of a paper, a TOML file such
as ``published/sa-rag.toml``. It has ``rows``: a name, a system with the most ``calls`` for a
question (or the ``problem`` why there is none), and for each of the ``datasets`` the published
figures by language model, in percent.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.options import Spec
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER
from sarag_rdf.base.ports import LLM, Gather, Progress, Reply
from sarag_rdf.base.types import Context, Evidence, Query, Stage, Usage
from sarag_rdf.cli.flags import endpoint_of, endpoint_options, switch, together
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg import registry, vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import commands, grading
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.plugins.evaluation.grading import QUESTION_ERRORS, SystemResult
from sarag_rdf.plugins.evaluation.measures import contains_answer
from sarag_rdf.plugins.evaluation.reporting import cells, markdown, write_plot
from sarag_rdf.plugins.evaluation.reporting import table as text_table
from sarag_rdf.plugins.threads import map_in_order


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


class Account:
    """The model and the search of one question: usage and contexts, also if a later call fails.

    A cached reply counts as much as when it was first requested, so that the cost of a system does
    not depend on the other systems of a run; `saved` is the time in seconds that it saved.
    """

    def __init__(self, llm: LLM, gather: Gather) -> None:
        self._llm, self._gather = llm, gather
        self.model = llm.model
        self.usage, self.saved = Usage(), 0.0
        self.contexts: list[Context] = []

    def gather(self, query: Query) -> Evidence:
        evidence = self._gather(query)
        self.contexts.append(evidence.context)
        return evidence

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        self.usage += reply.first_usage or reply.usage
        self.saved += reply.first_seconds
        return reply


@dataclass(frozen=True, slots=True)
class System:
    """A reasoner with its label; `covers` says whether its retriever finds a known answer.

    That is in all that the retriever finds for the question, before any compression.
    """

    label: str
    reasoner: registry.GraphReasoner
    covers: Callable[[Question], bool]

    def answer(self, question: Question) -> SystemResult:
        """An error of this question is its outcome (`QUESTION_ERRORS`); raises all others."""
        account = Account(self.reasoner.llm, self.reasoner.gather)
        begin = perf_counter()
        text = reasoning = problem = ""
        stages: Sequence[Stage] = ()
        outcome: Literal["answered", "insufficient", "failed"] = "insufficient"
        try:
            reasoner = replace(self.reasoner, gather=account.gather, llm=account)
            answer = reasoner.answer(question.query)
        except QUESTION_ERRORS as error:
            outcome, problem = "failed", type(error).__name__
        else:
            reasoning, stages = answer.reasoning, answer.trace
            if answer.outcome == "answered":
                outcome, text = "answered", answer.text
        seconds = perf_counter() - begin + account.saved
        usage, contexts = account.usage, account.contexts
        texts = (text for context in contexts for text in context.texts)
        return SystemResult(
            outcome, text, reasoning, problem,
            covered=self.covers(question),
            context_covered=contains_answer(question.answers, texts),
            costs={
                "calls": usage.calls + usage.cached_calls,
                "tokens_in": usage.tokens_in,
                "tokens_out": usage.tokens_out,
                "retrievals": len(contexts),
                "context_tokens": sum(context.tokens for context in contexts),
            },
            seconds=seconds,
            notes={
                f"{stage.name}.{key}": value
                for stage in stages
                if stage.kind == "note"
                for key, value in stage.detail.items()
                if isinstance(value, bool)
            },
        )  # fmt: skip


def ask_all(
    systems: Sequence[System], questions: Sequence[Question], threads: int, progress: Progress
) -> dict[str, list[SystemResult]]:
    """Rows by system, one per question; all systems run on a question before the next one."""
    jobs = [(system, question) for question in questions for system in systems]
    advance = progress("answering", len(jobs))
    rows: dict[str, list[SystemResult]] = {system.label: [] for system in systems}
    results = map_in_order(lambda job, _: job[0].answer(job[1]), jobs, threads)
    for (system, _), row in zip(jobs, results, strict=True):
        rows[system.label].append(row)
        advance(1)
    return rows


def one_at_a_time(gather: Gather, lock: threading.Lock) -> Gather:
    """The same, for several threads, of which each waits for the others."""

    def gather_alone(query: Query) -> Evidence:
        with lock:
            return gather(query)

    return gather_alone


def build_systems(
    kg: KnowledgeGraph, specs: Sequence[SystemSpec], llm: LLM, options: Mapping[str, Any]
) -> list[System]:
    """The systems over a graph, with the options of the command; raises `UsageError`.

    Searches of several threads wait for one another, because graphs are not thread-safe.
    """
    lock = threading.Lock()

    def search(retriever: str, **parts: Any) -> Gather:
        return one_at_a_time(kg.gather(retriever, **parts), lock)

    @cache
    def coverage(retriever: str) -> Callable[[Question], bool]:
        full = search(retriever, context=options["full_context"])
        return cache(lambda q: contains_answer(q.answers, full(q.query).context.texts))

    built = []
    limits = {"budget": options["budget"], "tokenizer": options["tokenizer"]}
    for spec in specs:
        with commands.naming(f"system {spec.label}"):
            retriever, has_search = spec.retriever.label, spec.reasoner.name != "closed-book"
            covers = coverage(retriever) if has_search else lambda _: False
            gather = search(retriever, context=spec.context.label, **limits)
            reasoner = kg.reasoner(spec.reasoner.label, gather, llm)
            built.append(System(spec.label, reasoner, covers))
    return built


# ---------------------------------------------------------------------------------------- Command


judge_options = together(
    switch(
        "--judge", "Let a model judge answers that do not match a known answer word for word."
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
@commands.data_options(is_corpus_required=False)
@click.option(
    "--systems", default=f"{RETRIEVER}+{CONTEXT}+{REASONER}", show_default=True,
    callback=commands.parse_names,
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
@commands.selection_options
@click.option("--baseline", help="System to compare with. Default: the first one.")
@judge_options
@commands.replies_option
@commands.output_options
@commands.plot_option("Plot scores against tokens read to this .png file.")
@endpoint_options
def command(**options: Any) -> None:
    """Report the accuracy of each system, the causes of its errors, and the cost of an answer.

    The measures are defined in docs/reference/evaluation.md. With --replies an interrupted run
    can be resumed. The JSON depends only on the replies; timings are written with --timings.
    """
    systems = [parse_system(label) for label in options["systems"]]
    systems = list({system.label: system for system in systems}.values())
    labels = [system.label for system in systems]
    baseline = commands.check_baseline(options["baseline"] or labels[0], labels, "--systems")
    data, times = answer_questions(systems, baseline, options)
    if options["plot"]:
        _draw(data, options["plot"])
    commands.show_results(options, data, grading.lines(data, times))


def answer_questions(
    systems: Sequence[SystemSpec], baseline: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report and the timings of systems; timings are written as `options` say."""
    registry.options_of("context", options["full_context"])
    endpoint, replies = endpoint_of(options), options["replies"]
    llm = vectors.make_llm(endpoint, replies)
    judge = llm if options["judge"] else None
    if endpoint is not None and options["judge_model"]:
        judge = vectors.make_llm(replace(endpoint, model=options["judge_model"]), replies)
    threads = options["concurrency"]
    with commands.open_inputs(options, need_answers=True) as inputs:
        questions = inputs.questions
        built = build_systems(inputs.kg, systems, llm, options)
        with commands.interruption(replies), progress_bars() as progress:
            rows = ask_all(built, questions, threads, progress)
            verdicts = None
            if judge is not None:
                cases = grading.cases_for_judge(questions, rows)
                verdicts = grading.judge_all(cases, judge, threads=threads, progress=progress)
        setting = inputs.setting(
            options,
            systems=[system.label for system in systems],
            baseline=baseline,
            **{name: options[name] for name in ("budget", "tokenizer", "full_context")},
            judge=judge.model if judge else None,
            **commands.model_setting(llm, options),
        )  # fmt: skip
    times = grading.timings(rows, threads)
    commands.write_json(options["timings"], times)
    return grading.report(questions, rows, verdicts, setting), times


def parse_system(label: str) -> SystemSpec:
    """The system of a label; raises `UsageError` for an unknown part or invalid options."""
    system = SystemSpec.parse(label)
    with commands.naming(f"system {system.label}"):
        registry.options_of("retriever", system.retriever)
        registry.options_of("context", system.context)
        registry.options_of("reasoner", system.reasoner)
    return system


def _draw(data: Mapping[str, Any], path: Path) -> None:
    """Scores of the systems by the tokens that a question takes."""
    results = data["results"]
    score, title = ("f1", "F1") if data["judge"] is None else ("accuracy", "Accuracy")
    has_prompt_tokens = any(result["tokens_in"] for result in results)
    tokens, what = ("tokens_in", "prompt") if has_prompt_tokens else ("context_tokens", "context")
    points = {result["system"]: [(result[tokens], result[score])] for result in results}
    write_plot(path, title, points, f"{what} tokens per question", is_line=False)


# ------------------------------------------------------------------------------- Tables of papers

FOLDER: Final = Path(__file__).parent / "published"


@dataclass(frozen=True, slots=True)
class Row:
    """A system of the table, "" if this library does not have it, as `problem` says.

    `published` are fractions in [0, 1] by language model and measure.
    """

    name: str
    system: str
    calls: str
    problem: str
    published: Mapping[str, Mapping[str, float]]

    def __str__(self) -> str:
        if not self.system:
            return f"{self.name}: {self.problem}"
        return f"{self.name}: {self.system}; at most {self.calls}"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """The table of a paper for one data set; `columns` are those of `reporting.block`."""

    title: str
    full_context: str
    columns: Mapping[str, str]
    models: Sequence[str]
    measures: Sequence[str]
    rows: Sequence[Row]


def read_table(
    name: str, dataset: str | None, further: str = "", only: Sequence[str] = ()
) -> PublishedTable:
    """A packaged table by its name, or one in a file; by default for its first data set.

    `further` are options of the table's own retriever, `only` the names of the rows that are
    wanted. Raises `UsageError` for an unknown table, data set or row, and `InputError` for a file
    of another form.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.toml")))
        raise UsageError(f"no such table: {name}: choose from {known}, or name a .toml file")
    try:
        content = tomllib.loads(read_text(path))
        datasets = content["datasets"]
        chosen = dataset or next(iter(datasets))
        if chosen not in datasets:
            raise UsageError(f"no such --dataset: {chosen}: choose from {', '.join(datasets)}")
        options = ":".join(filter(None, (datasets[chosen], further.strip(":"))))
        rows = [_row(row, content, chosen, options) for row in content["rows"]]
        same = {key: content[key] for key in ("title", "full_context", "columns", "models")}
        table = PublishedTable(**same, measures=content["published"], rows=rows)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, StopIteration) as error:
        example = f"{FOLDER / 'sa-rag.toml'} is an example"
        raise InputError(f"{path} is not a table of a paper ({error}): {example}") from error
    wanted = {name.lower(): name for name in only}
    if unknown := [wanted[key] for key in wanted.keys() - {row.name.lower() for row in rows}]:
        choice = ", ".join(row.name for row in rows)
        raise UsageError(f"--only: unknown row {', '.join(unknown)}: choose from {choice}")
    return replace(table, rows=[row for row in rows if not only or row.name.lower() in wanted])


def _row(row: Mapping[str, Any], content: Mapping[str, Any], dataset: str, options: str) -> Row:
    system = str(row.get("system", ""))
    name, plus, rest = system.partition("+")
    if options and name == content["retriever"]:
        system = f"{name}:{options}{plus}{rest}"
    published = {
        model: dict(zip(content["published"], (round(f / 100, 6) for f in figures), strict=False))
        for model, figures in zip(content["models"], row.get(dataset, ()), strict=False)
    }
    return Row(row["name"], system, row.get("calls", ""), row.get("problem", ""), published)


def table_lines(
    paper: PublishedTable, report: Mapping[str, Any], *, as_markdown: bool
) -> Iterator[str]:
    """The table as text or Markdown: figures measured, then those published, in percent."""
    results = {result["system"]: result for result in report["results"]}
    heads = ["row", *(head.partition("|")[0] for head in paper.columns.values()), *paper.models]
    published = [
        [" ".join(f"{100 * f:g}" for f in row.published.get(m, {}).values()) for m in paper.models]
        for row in paper.rows
    ]
    rows = [
        [row.name, *cells(results.get(row.system, {}), paper.columns), *(f or "-" for f in figures)]
        for row, figures in zip(paper.rows, published, strict=True)
    ]
    setting = report["setting"]
    yield (
        f"{paper.title}: {setting['questions']['count']} questions; model: {setting['model']}; "
        f"embedder: {setting['embedder']}; in percent"
    )
    yield ""
    yield from markdown(heads, rows) if as_markdown else text_table(heads, rows)
    yield ""
    measures = ", ".join(paper.columns[name] for name in paper.measures)
    yield f"{' and '.join(paper.models)}: {measures} as published, on other questions"
    if report["judge"] is None:
        yield f"{paper.columns['accuracy']}: the answer matches a known one word for word"
    yield from (str(row) for row in paper.rows if not row.system)


@click.command(
    name="table",
    epilog="Example:  sarag evaluate table sa-rag --corpus corpus.json --questions questions.json "
    "--kg kg-of-corpus --limit 25 --replies replies.sqlite --base-url http://127.0.0.1:8080/v1",
)
@click.argument("name", metavar="TABLE")
@commands.data_options(is_corpus_required=False)
@click.option(
    "--dataset",
    help="The data set, for presets and published figures. Default: the first of the table.",
)
@click.option(
    "--only", metavar="ROW,...", callback=commands.parse_names,
    help="Rows to run, by name, such as 'Naive RAG,SA-RAG'.",
)  # fmt: skip
@click.option(
    "--thresholds", metavar="KEY=VALUE:...", default="",
    help="Further options of the table's own retriever, such as c=0.2:tau_d=0.25 for an embedder "
    "whose cosines are low.",
)  # fmt: skip
@switch("--dry-run", "List the systems; do not ask the model.")
@commands.selection_options
@judge_options
@commands.replies_option
@commands.output_options
@switch("--markdown", "Print the table as Markdown.")
@endpoint_options
def table_command(name: str, **options: Any) -> None:
    """Answer questions with each system of a paper's table.

    TABLE is sa-rag, kg-infused, or a .toml file. The rows are systems of 'evaluate qa' with the
    options of the paper; its figures are printed beside those measured.
    """
    paper = read_table(name, options["dataset"], options["thresholds"], options["only"])
    systems = [parse_system(row.system) for row in paper.rows if row.system]
    if options["dry_run"]:
        for row in paper.rows:
            click.echo(str(row))
        return
    if not systems:
        raise UsageError("none of these rows can be run: name others with --only")
    fixed = {"budget": None, "tokenizer": None, "full_context": paper.full_context}
    report, _ = answer_questions(systems, systems[0].label, {**options, **fixed})
    published = [
        {"name": row.name, "system": row.system or None, "published": row.published}
        for row in paper.rows
    ]
    lines = table_lines(paper, report, as_markdown=options["markdown"])
    commands.show_results(options, {**report, "table": published}, lines)
