"""``sarag evaluate qa`` and ``table``: answers of systems, and their cost.

A system has a retriever, a context and a reasoner. A `table` is that of a paper, a TOML file such
as ``published/sa-rag.toml``. It has ``rows``: a name, a system with the most ``calls`` for a
question (or the ``problem`` why there is none), and for each of the ``datasets`` the published
figures by language model, in percent.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.options import Spec
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER
from sarag_rdf.base.ports import LLM, Gather, Progress, Reasoner, Reply
from sarag_rdf.base.types import Evidence, Query, Stage, Usage
from sarag_rdf.cli.flags import endpoint_of, endpoint_options, together
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg import registry, vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import commands, grading
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.plugins.evaluation.grading import QUESTION_ERRORS, SystemResult
from sarag_rdf.plugins.evaluation.measures import contains_answer
from sarag_rdf.plugins.evaluation.reporting import cells, check_plot, markdown, write_plot
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


@dataclass(frozen=True, slots=True)
class System:
    """A reasoner with its label; model calls and retrievals are counted by a `Meter`.

    `full` gives all that its retriever finds, before any compression, and `covered` says by
    question whether that contains a known answer; systems with the same retriever share both.
    """

    label: str
    reasoner: Reasoner
    full: Gather | None
    covered: dict[str, bool]

    def covers(self, question: Question) -> bool:
        """Whether a known answer can be found; without a retriever, none can."""
        if question.id not in self.covered:
            texts = self.full(question.query).context.texts if self.full else ()
            self.covered[question.id] = contains_answer(question.answers, texts)
        return self.covered[question.id]


def ask_all(
    systems: Sequence[System],
    questions: Sequence[Question],
    meter: Meter,
    *,
    threads: int,
    progress: Progress,
) -> dict[str, list[SystemResult]]:
    """Rows by system, one per question; all systems run on a question before the next one.

    An error of one question is its outcome (`QUESTION_ERRORS`); raises those that end a run.
    """
    jobs = [(system, question) for question in questions for system in systems]
    advance = progress("answering", len(jobs))
    rows: dict[str, list[SystemResult]] = {system.label: [] for system in systems}
    results = map_in_order(lambda job, _: _ask(*job, meter), jobs, threads)
    for (system, _), row in zip(jobs, results, strict=True):
        rows[system.label].append(row)
        advance(1)
    return rows


def _ask(system: System, question: Question, meter: Meter) -> SystemResult:
    account = meter.open()
    begin = perf_counter()
    text = reasoning = problem = ""
    stages: Sequence[Stage] = ()
    outcome: Literal["answered", "insufficient", "failed"] = "insufficient"
    try:
        answer = system.reasoner.answer(question.query)
    except QUESTION_ERRORS as error:
        outcome, problem = "failed", type(error).__name__
    else:
        reasoning, stages = answer.reasoning, answer.trace
        if answer.outcome == "answered":
            outcome, text = "answered", answer.text
    seconds = perf_counter() - begin + account.saved
    contexts = [evidence.context for evidence in account.evidence]
    usage = account.usage
    return SystemResult(
        outcome, text, reasoning, problem,
        covered=system.covers(question),
        context_covered=contains_answer(
            question.answers, (text for context in contexts for text in context.texts)
        ),
        calls=usage.calls + usage.cached_calls,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        retrievals=len(contexts),
        context_tokens=sum(context.tokens for context in contexts),
        seconds=seconds,
        notes={
            f"{stage.name}.{key}": value
            for stage in stages
            if stage.kind == "note"
            for key, value in stage.detail.items()
            if isinstance(value, bool)
        },
    )  # fmt: skip


@dataclass(slots=True)
class Account:
    """The usage and evidence of a question, also if a later call fails.

    `saved` is the time in seconds that cached replies saved.
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
        self._own.account = account = Account()
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
@commands.file_option("--plot", "Plot scores against tokens read to this .png file.")
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
    commands.show_results(options, data, grading.lines(data, times))


def answer_questions(
    systems: Sequence[SystemSpec], baseline: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report and the timings of systems; timings and plot are written as `options` say."""
    registry.options_of("context", options["full_context"])
    check_plot(options["plot"])
    commands.check_outputs(*(options[name] for name in ("replies", "output", "timings", "plot")))
    endpoint, replies = endpoint_of(dict(options)), options["replies"]
    llm = vectors.make_llm(endpoint, replies)
    judge = llm if options["judge"] else None
    if endpoint is not None and options["judge_model"]:
        judge = vectors.make_llm(replace(endpoint, model=options["judge_model"]), replies)
    threads = options["concurrency"]
    with commands.open_inputs(options, need_answers=True) as inputs:
        questions, meter = inputs.questions, Meter(llm)
        built = _build_systems(inputs.kg, systems, meter, options)
        with commands.interruption(replies), progress_bars() as progress:
            rows = ask_all(built, questions, meter, threads=threads, progress=progress)
            verdicts = None
            if judge is not None:
                cases = grading.cases_for_judge(questions, rows)
                verdicts = grading.judge_all(cases, judge, threads=threads, progress=progress)
        setting = inputs.setting(
            options, grading.PROBLEMS,
            systems=[system.label for system in systems],
            baseline=baseline,
            **{name: options[name] for name in ("budget", "tokenizer", "full_context")},
            judge=judge.model if judge else None,
            model=llm.model,
            settings=dict(getattr(llm, "settings", {})),
            prices={"in": options["price_in"], "out": options["price_out"]},
        )  # fmt: skip
    data = grading.report(questions, rows, verdicts, setting)
    times = grading.timings(rows, threads)
    commands.write_json(options["timings"], times)
    if options["plot"]:
        _draw(data, options["plot"])
    return data, times


def parse_system(label: str) -> SystemSpec:
    """The system of a label; raises `UsageError` for an unknown part or invalid options."""
    system = SystemSpec.parse(label)
    with commands.naming(f"system {system.label}"):
        registry.options_of("retriever", system.retriever)
        registry.options_of("context", system.context)
        registry.options_of("reasoner", system.reasoner)
    return system


def _build_systems(
    kg: KnowledgeGraph, systems: Sequence[SystemSpec], meter: Meter, options: Mapping[str, Any]
) -> list[System]:
    built = []
    covered: dict[str, dict[str, bool]] = {}
    limits = {"budget": options["budget"], "tokenizer": options["tokenizer"]}
    for system in systems:
        with commands.naming(f"system {system.label}"):
            retriever, full = system.retriever.label, None
            if system.reasoner.name != "closed-book":
                full = kg.gather(retriever, context=options["full_context"])
                full = meter.gathering(full, is_metered=False)
            gather = meter.gathering(kg.gather(retriever, context=system.context.label, **limits))
            reasoner = kg.reasoner(system.reasoner.label, gather, meter)
            of_retriever = covered.setdefault(retriever if full else "", {})
            built.append(System(system.label, reasoner, full, of_retriever))
    return built


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

    `published` are figures in percent by language model, in the order of the table's measures.
    """

    name: str
    system: str
    calls: str
    problem: str
    published: Mapping[str, tuple[float, ...]]

    def __str__(self) -> str:
        if not self.system:
            return f"{self.name}: {self.problem}"
        return f"{self.name}: {self.system}; at most {self.calls}"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """The table of a paper for one data set; `columns` are those of `sarag_rdf…report.block`."""

    title: str
    full_context: str
    columns: Mapping[str, str]
    models: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[Row, ...]

    def only(self, names: Sequence[str]) -> PublishedTable:
        """The table with the rows of these names; raises `UsageError` for an unknown one."""
        known = {row.name.lower(): row for row in self.rows}
        if unknown := [name for name in names if name.lower() not in known]:
            choice = ", ".join(row.name for row in self.rows)
            raise UsageError(f"--only: unknown row {', '.join(unknown)}: choose from {choice}")
        chosen = {name.lower() for name in names} or known.keys()
        return replace(self, rows=tuple(row for key, row in known.items() if key in chosen))

    def published(self) -> list[dict[str, Any]]:
        """For a JSON report: name, system or null, and fractions in [0, 1] by model and measure."""

        def fractions(own: Sequence[float]) -> dict[str, float]:
            return {m: round(f / 100, 6) for m, f in zip(self.measures, own, strict=False)}

        return [
            {
                "name": row.name,
                "system": row.system or None,
                "published": {model: fractions(own) for model, own in row.published.items()},
            }
            for row in self.rows
        ]


def read_table(name: str, dataset: str | None, further: str = "") -> PublishedTable:
    """A packaged table by its name, or one in a file; by default for its first data set.

    `further` are options of the table's own retriever. Raises `UsageError` for an unknown table or
    data set, and `InputError` for a file of another form.
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
        return PublishedTable(
            content["title"],
            content["full_context"],
            content["columns"],
            tuple(content["models"]),
            tuple(content["published"]),
            tuple(_row(row, content, chosen, options) for row in content["rows"]),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, StopIteration) as error:
        example = f"{FOLDER / 'sa-rag.toml'} is an example"
        raise InputError(f"{path} is not a table of a paper ({error}): {example}") from error


def _row(row: Mapping[str, Any], content: Mapping[str, Any], dataset: str, options: str) -> Row:
    system = str(row.get("system", ""))
    name, plus, rest = system.partition("+")
    if options and name == content["retriever"]:
        system = f"{name}:{options}{plus}{rest}"
    figures = (tuple(map(float, values)) for values in row.get(dataset, ()))
    published = dict(zip(content["models"], figures, strict=False))
    return Row(row["name"], system, row.get("calls", ""), row.get("problem", ""), published)


def table_lines(
    paper: PublishedTable, report: Mapping[str, Any], *, as_markdown: bool
) -> Iterator[str]:
    """The table as text or Markdown: figures measured, then those published, in percent."""
    results = {result["system"]: result for result in report["results"]}
    heads = ["row", *(head.partition("|")[0] for head in paper.columns.values()), *paper.models]

    def texts(row: Row) -> Iterator[str]:
        yield row.name
        yield from cells(results.get(row.system, {}), paper.columns)
        published = (row.published.get(model, ()) for model in paper.models)
        yield from (" ".join(f"{f:g}" for f in figures) or "-" for figures in published)

    rows = [[*texts(row)] for row in paper.rows]
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
@click.option("--dry-run", is_flag=True, help="List the systems; do not ask the model.")
@commands.selection_options
@judge_options
@commands.replies_option
@commands.output_options
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@endpoint_options
def table_command(name: str, **options: Any) -> None:
    """Answer questions with each system of a paper's table.

    TABLE is sa-rag, kg-infused, or a .toml file. The rows are systems of 'evaluate qa' with the
    options of the paper; its figures are printed beside those measured.
    """
    paper = read_table(name, options["dataset"], options["thresholds"]).only(options["only"])
    systems = [parse_system(row.system) for row in paper.rows if row.system]
    if options["dry_run"]:
        for row in paper.rows:
            click.echo(str(row))
        return
    if not systems:
        raise UsageError("none of these rows can be run: name others with --only")
    fixed = {"budget": None, "tokenizer": None, "plot": None, "full_context": paper.full_context}
    report, _ = answer_questions(systems, systems[0].label, {**options, **fixed})
    lines = table_lines(paper, report, as_markdown=options["markdown"])
    commands.show_results(options, {**report, "table": paper.published()}, lines)
