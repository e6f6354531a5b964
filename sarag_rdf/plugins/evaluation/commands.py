"""``sarag evaluate``: its commands by name, and what they share: options, graph, result files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError, MissingDependencyError, SaragError, UsageError
from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.cli import flags
from sarag_rdf.cli.flags import Decorator, together
from sarag_rdf.cli.output import (
    add_verbosity_options,
    check_writable,
    emit,
    json_text,
    note,
    problem,
    progress_bars,
)

if TYPE_CHECKING:
    from sarag_rdf.base.ports import LLM
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.plugins.evaluation.datasets import Corpus, Question, QuestionFile

_MODULES: Final = {
    "retrieval": "rankings:command",
    "evidence": "rankings:evidence",
    "tune": "tuning:command",
    "qa": "qa:command",
    "confidence": "calibration:command",
    "table": "qa:table_command",
    "compare": "comparisons:compare",
    "competency": "competency:command",
    "activation": "tuning:activation",
    "extraction": "gold:extraction",
    "preferences": "comparisons:preferences",
    "resolution": "gold:resolution",
    "entities": "entities:command",
    "questions": "path_questions:command",
    "paths": "path_questions:paths_command",
    "fit-paths": "path_questions:fit_command",
}
"""Command -> module and attribute, imported when the command is called."""
PERTURBATIONS: Final = {
    "typo": "with one typing error in each name",
    "lower": "without capitals",
    "last": "with last names only",
    "plain": "without diacritics",
}
"""What can be done to questions (`datasets.perturbed`) -> how they are asked then."""
_PROBLEMS = 3
"""Problems of indexing that are printed."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module, _, attribute = _MODULES.get(cmd_name, "").partition(":")
        if not module:
            return None
        loaded = import_module(f"sarag_rdf.plugins.evaluation.{module}")
        subcommand = cast("click.Command", getattr(loaded, attribute))
        add_verbosity_options(subcommand)
        return subcommand


@click.group(
    name="evaluate",
    cls=_LazyGroup,
    invoke_without_command=True,
    epilog="Example:  sarag evaluate retrieval --corpus corpus.json --questions questions.json",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Evaluate retrieval, answers, extraction and the graph itself on data with known results."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


# ---------------------------------------------------------------------------------------- Options


_QUESTIONS: Final = (
    "Questions of MuSiQue, 2WikiMultiHopQA or HotpotQA; id, question and answer; or a "
    "tab-separated table with the columns question and answers (separated by |)."
)
_GRAPH: Final = "A graph of the corpus, or a new folder to index it into. Default: a temporary one."


def output_option(
    flag: str, *names: str, check: Callable[[Path | None], None] = check_writable, **attributes: Any
) -> Decorator:
    """An option for a file to write, with its help as the last of `names`.

    The command ends with `UsageError` at once if the file could not be written after a long run.
    """

    def checked(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
        check(path)
        return path

    return flags.path_option(flag, *names, callback=checked, **attributes)


def plot_option(text: str) -> Decorator:
    """``--plot``; raises `UsageError` for another format, `MissingDependencyError`."""

    def check(path: Path | None) -> None:
        if path is not None and find_spec("matplotlib") is None:
            raise MissingDependencyError("--plot needs matplotlib: pip install 'sarag-rdf[plot]'")
        check_writable(path, ".png")

    return output_option("--plot", text, check=check)


def data_options(*, is_corpus_required: bool = True, multiple: bool = False) -> Decorator:
    """Options for a corpus, its questions and its graph; `multiple` data sets repeat them."""
    corpus = "JSON file with the passages."
    if not is_corpus_required:
        corpus = f"{corpus} Without it, --kg is a graph to ask, with any contents."
    return together(
        flags.path_option("--corpus", corpus, required=is_corpus_required, multiple=multiple),
        flags.path_option("--questions", _QUESTIONS, required=True, multiple=multiple),
        flags.path_option("--kg", _GRAPH, multiple=multiple),
        click.option(
            "--extractor",
            help="spacy, llm or openie:FILE. Default: the graph's extractor; for a new graph "
            "spacy.",
        ),
        flags.embedder_option,
        flags.facts_option,
    )  # fmt: skip


def data_sets(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of each data set, by its name; raises `UsageError`."""
    corpora, files, graphs = (options[name] for name in ("corpus", "questions", "kg"))
    if len(files) != len(corpora) or len(graphs) not in (0, len(corpora)):
        raise UsageError(
            f"{len(corpora)} --corpus, {len(files)} --questions, {len(graphs)} --kg: give each "
            "corpus its questions and its graph, in the same order"
        )
    sets = {}
    paths: Sequence[Path | None] = graphs or [None] * len(corpora)
    for corpus, questions, kg in zip(corpora, files, paths, strict=True):
        name = kg.name if kg else questions.stem
        if name in sets:
            raise UsageError(f"two data sets are called {name}: give their graphs different names")
        sets[name] = {**options, "corpus": corpus, "questions": questions, "kg": kg}
    return sets


selection_options = together(
    click.option(
        "--limit", type=click.IntRange(1), help="Use only the first LIMIT questions."
    ),
    click.option(
        "--seed", type=click.IntRange(0),
        help="Random seed of the bootstrap intervals; if given, the questions are also shuffled "
        "before --limit. Default: 0, without shuffling.",
    ),
    click.option(
        "--perturb", type=click.Choice([*PERTURBATIONS]),
        help="Ask the questions as people type them: "
        f"{', '.join([*PERTURBATIONS.values()][:-1])}, or {[*PERTURBATIONS.values()][-1]}.",
    ),
)  # fmt: skip
"""Selection of questions, and what is done to them."""
result_options = together(
    flags.json_option, output_option("--output", "Write the JSON of all results to this file, too.")
)
"""All results as JSON."""
output_options = together(
    result_options, output_option("--timings", "Write timings to this JSON file.")
)
"""Result files."""
replies_option = output_option(
    "--replies", "Keep the replies of models in this file (.sqlite), to resume an interrupted run."
)


def numbers(each: Any) -> Callable[..., tuple[Any, ...]]:
    """Click callback: distinct numbers of a click type, ascending, from ``2,5,10``.

    Without a value, if the option has no default, there are none of them.
    """

    def parse(context: click.Context, parameter: click.Parameter, value: str) -> tuple[Any, ...]:
        if not value and not parameter.default:
            return ()
        return tuple(sorted({each.convert(x, parameter, context) for x in value.split(",")}))

    return parse


def parse_names(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Click callback: distinct names in their order, from ``sarag,dense``; none without a value."""
    names = tuple(dict.fromkeys(part.strip() for part in value.split(","))) if value else ()
    if not all(names) or value == "":
        raise click.BadParameter(f"'{value}' has an empty name", param=parameter)
    return names


def check_baseline(baseline: str, labels: Sequence[str], option: str) -> str:
    """The baseline; raises `UsageError` if it is not among the labels of `option`."""
    if baseline not in labels:
        raise UsageError(
            f"--baseline {baseline} is not in {option}: choose from {', '.join(labels)}"
        )
    return baseline


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Errors of usage in this block begin with what they are about."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from error


@dataclass(frozen=True)
class Inputs:
    """The graph of a corpus, questions selected from a file, and counts of problems of both."""

    kg: KnowledgeGraph
    corpus: Corpus | None
    file: QuestionFile
    questions: list[Question]
    problems: Mapping[str, int]

    def setting(self, options: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """What a report says of its inputs."""
        return {
            "corpus": self.corpus.summary if self.corpus else None,
            "questions": {**self.file.summary, "count": len(self.questions)},
            **more,
            "limit": options["limit"],
            "shuffled": options["seed"] is not None,
            "seed": options["seed"] or 0,
            "perturbed": options.get("perturb"),
            "extractor": sorted(self.kg.extractors()),
            "embedder": self.kg.meta().embedding_model,
            "version": sarag_rdf.__version__,
            "problems": self.problems,
        }


@contextmanager
def open_inputs(options: Mapping[str, Any], *, need_answers: bool = False) -> Iterator[Inputs]:
    """The first --limit questions, shuffled before if --seed is given, and a graph of the corpus.

    Without a corpus the graph is that of --kg. With `need_answers`, questions without one are left
    out. Raises `InputError` for files that cannot be used, and for the graph of another corpus;
    `UsageError` without a corpus and a graph, and for a graph by another extractor.
    """
    from sarag_rdf.plugins.evaluation import datasets

    corpus = datasets.read_corpus(options["corpus"]) if options["corpus"] else None
    file = datasets.read_questions(options["questions"])
    selected = list(file.questions)
    if options.get("seed") is not None:
        random.Random(options["seed"]).shuffle(selected)  # noqa: S311 - not for cryptography
    selected = selected[: options["limit"]]
    questions = [q for q in selected if q.has_answer or not need_answers]
    if not questions:
        raise InputError(f"no question of {options['questions']} has a known answer")
    if corpus is None and not options["kg"]:
        raise UsageError("name the corpus with --corpus, or a graph with --kg")
    with (
        ScratchFolder("evaluate") as scratch,
        flags.open_graph({**options, "kg": options["kg"] or scratch.path / "kg"}) as kg,
    ):
        unextracted = _index(kg, corpus, options)
        of_graph = (corpus, kg.documents(), unextracted) if corpus is not None else ()
        problems = datasets.count_problems(file, selected, *of_graph, of_support=not need_answers)
        if corpus is not None and problems["passages_not_in_graph"] == len(corpus.passages):
            raise InputError(
                f"the graph contains no passage of {options['corpus']}: name a graph of this "
                "corpus, or omit --kg"
            )
        if kind := options.get("perturb"):
            from sarag_rdf.plugins.evaluation.datasets import perturbed

            with kg.session.read() as snapshot:
                questions = perturbed(questions, kind, snapshot.view, options["seed"] or 0)
        yield Inputs(kg, corpus, file, questions, problems)


def _index(kg: KnowledgeGraph, corpus: Corpus | None, options: Mapping[str, Any]) -> int:
    """Index a corpus into an empty graph; the number of documents missing from an extraction."""
    known, name = kg.extractors(), options["extractor"] or ""
    kind = name.partition(":")[0]
    if known and kind and known != {kind}:
        raise UsageError(
            f"{options['kg']} was extracted with {', '.join(sorted(known))}, not with "
            f"{kind}: omit --extractor, or name another folder with --kg"
        )
    if corpus is None or known:
        return 0
    extractor = kg.extractor(name or "spacy")
    note(f"indexing with {extractor.method.extractor} ({extractor.method.model})")
    with progress_bars() as progress:
        sources = [passage.source for passage in corpus.passages]
        report = kg.index(sources, extractor=extractor, progress=progress)
    for line in report.problems[:_PROBLEMS]:
        problem(line)
    more = len(report.problems) - _PROBLEMS
    if more > 0:
        problem(f"... and {more} more that could not be indexed")
    if not report.added:
        file = corpus.summary["file"]
        raise InputError(f"no passage of {file} could be indexed with {name or 'spacy'}")
    return int(getattr(extractor, "missing_documents", 0))


def model_setting(llm: LLM, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of a model: its name, its settings, and the prices of a million tokens."""
    return {
        "model": llm.model,
        "settings": dict(getattr(llm, "settings", {})),
        "prices": {"in": options["price_in"], "out": options["price_out"]},
    }


@contextmanager
def interruption(replies: Path | None) -> Iterator[None]:
    """Without --replies, an interruption is reported as a loss of all replies."""
    try:
        yield
    except KeyboardInterrupt as error:
        if replies is not None:
            raise
        loss = SaragError("interrupted: no replies were saved: name a file with --replies")
        loss.exit_code = 130
        raise loss from error


def write_json(path: Path | None, data: Any) -> None:
    if path is not None:
        path.write_text(f"{json_text(data)}\n", encoding="utf-8", errors="replace")
        note(f"written to {path}")


def show_results(options: Mapping[str, Any], data: Any, lines: Iterable[str]) -> None:
    """Print results as JSON, or else as `lines`, and write them as `result_options` say."""
    write_json(options["output"], data)
    emit(options, data, *lines)
