"""``sarag evaluate``: its commands by name, and what they share: options, graph, result files."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from sarag_rdf.base.errors import InputError, SaragError, UsageError
from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.cli.flags import (
    Decorator,
    embedder_option,
    facts_option,
    json_option,
    open_graph,
    together,
)
from sarag_rdf.cli.output import add_verbosity_options, echo_json, json_text, note, progress_bars

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.plugins.evaluation.questions import Corpus, Question

_MODULES: Final = {
    "retrieval": "retrieval:command",
    "sweep": "sweep:command",
    "qa": "qa:command",
    "table": "tables:command",
    "compare": "compare:command",
    "competency": "competency:command",
    "activation": "activation:command",
    "extraction": "extraction:command",
    "preferences": "preferences:command",
    "resolution": "resolution:command",
    "questions": "path_questions:command",
    "paths": "paths:command",
    "fit-paths": "paths:fit_command",
}
"""Command -> module and attribute, imported when the command is called."""
_PROBLEMS = 3
"""Problems of indexing that are printed."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module, _, attribute = _MODULES.get(cmd_name, "").partition(":")
        if not module:
            return None
        found = getattr(import_module(f"sarag_rdf.plugins.evaluation.{module}"), attribute)
        add_verbosity_options(found)
        return cast("click.Command", found)


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


def data_options(*, is_corpus_required: bool = True) -> Decorator:
    """Corpus, questions and graph."""
    corpus = "JSON file with the passages."
    if not is_corpus_required:
        corpus = f"{corpus} Without it, --kg is a graph to ask, with any contents."
    return together(
        click.option(
            "--corpus", required=is_corpus_required, type=click.Path(path_type=Path), help=corpus
        ),
        click.option(
            "--questions", required=True, type=click.Path(path_type=Path),
            help="Questions of MuSiQue, 2WikiMultiHopQA or HotpotQA, or id, question and answer.",
        ),
        click.option(
            "--kg", type=click.Path(path_type=Path),
            help="A graph of the corpus, or a new folder to index it into. Default: a temporary "
            "one.",
        ),
        click.option(
            "--extractor",
            help="spacy, llm or openie:FILE. Default: the graph's extractor; for a new graph "
            "spacy.",
        ),
        embedder_option,
        facts_option,
    )  # fmt: skip


selection_options = together(
    click.option(
        "--limit", type=click.IntRange(1), help="Use only the first LIMIT questions."
    ),
    click.option(
        "--seed", type=click.IntRange(0),
        help="Random seed of the bootstrap intervals; if given, the questions are also shuffled "
        "before --limit. Default: 0, without shuffling.",
    ),
)  # fmt: skip
"""Selection of questions."""
result_options = together(
    json_option,
    click.option(
        "--output", type=click.Path(path_type=Path),
        help="Write the JSON of all results to this file, too.",
    ),
)  # fmt: skip
"""All results as JSON."""
output_options = together(
    result_options,
    click.option(
        "--timings", type=click.Path(path_type=Path), help="Write timings to this JSON file."
    ),
)  # fmt: skip
"""Result files."""
replies_option = click.option(
    "--replies", type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the replies of models in this file (.sqlite), to resume an interrupted run.",
)  # fmt: skip


def parse_numbers(_: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Click callback: distinct integers of at least 1, ascending, from ``2,5,10``."""
    try:
        numbers = sorted({int(part) for part in value.split(",")})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise click.BadParameter(
            f"'{value}' is not a list of integers of at least 1, such as 2,5,10", param=parameter
        )
    return tuple(numbers)


def parse_names(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Click callback: distinct names in their order, from ``sarag,dense``; none without a value."""
    names = tuple(dict.fromkeys(part.strip() for part in value.split(","))) if value else ()
    if not all(names) or value == "":
        raise click.BadParameter(f"'{value}' has an empty name", param=parameter)
    return names


def check_outputs(*paths: Path | None) -> None:
    """Raise `UsageError` now for a file that could not be written at the end of a long run."""
    for path in filter(None, paths):
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise UsageError(f"cannot write {path}: name a file in an existing folder")


def check_plot(path: Path | None) -> None:
    """Before anything is run: raise `UsageError` for a plot whose name does not end in .png.

    Raises `MissingDependencyError` without matplotlib.
    """
    if path is None:
        return
    from sarag_rdf.plugins.evaluation.plots import check_matplotlib

    check_matplotlib()
    if path.suffix.lower() != ".png":
        raise UsageError(f"unsupported plot format: {path}: use a name that ends in .png")


def check_baseline(baseline: str, labels: Sequence[str], option: str) -> str:
    """The baseline; raises `UsageError` if it is not among the labels of `option`."""
    if baseline not in labels:
        raise UsageError(
            f"--baseline {baseline} is not in {option}: choose from {', '.join(labels)}"
        )
    return baseline


def select_questions(
    questions: tuple[Question, ...], limit: int | None, seed: int | None
) -> list[Question]:
    """The first `limit` questions, shuffled before if a seed is given."""
    selected = list(questions)
    if seed is not None:
        random.Random(seed).shuffle(selected)  # noqa: S311 - not for cryptography
    return selected[:limit]


@contextmanager
def open_corpus_graph(
    options: Mapping[str, Any], corpus: Corpus | None
) -> Iterator[tuple[KnowledgeGraph, int]]:
    """A graph of the corpus, and the number of documents missing from an extraction file.

    Without a corpus it is the graph of --kg as it is. Raises `UsageError` without either, and for
    a graph by another extractor.
    """
    if corpus is None and not options["kg"]:
        raise UsageError("name the corpus with --corpus, or a graph with --kg")
    with (
        ScratchFolder("evaluate") as scratch,
        open_graph({**options, "kg": options["kg"] or scratch.path / "kg"}) as kg,
    ):
        known = kg.extractors()
        kind = (options["extractor"] or "").partition(":")[0]
        if known and kind and known != {kind}:
            raise UsageError(
                f"{options['kg']} was extracted with {', '.join(sorted(known))}, not with "
                f"{kind}: omit --extractor, or name another folder with --kg"
            )
        missing = 0
        if corpus is not None and not known:
            missing = _index(kg, corpus, options["extractor"] or "spacy")
        yield kg, missing


def check_coverage(problems: dict[str, int], corpus: Corpus, file: Path) -> None:
    """Raise `InputError` if the graph contains no passage of the corpus."""
    if problems["passages_not_in_graph"] == len(corpus.passages):
        raise InputError(
            f"the graph contains no passage of {file}: name a graph of this corpus, or omit --kg"
        )


def _index(kg: KnowledgeGraph, corpus: Corpus, name: str) -> int:
    extractor = kg.extractor(name)
    note(f"indexing with {extractor.method.extractor} ({extractor.method.model})")
    with progress_bars() as progress:
        sources = [passage.source for passage in corpus.passages]
        report = kg.index(sources, extractor=extractor, progress=progress)
    for problem in report.problems[:_PROBLEMS]:
        click.echo(f"sarag: {problem}", err=True)
    more = len(report.problems) - _PROBLEMS
    if more > 0:
        click.echo(f"sarag: ... and {more} more that could not be indexed", err=True)
    if not report.added:
        raise InputError(f"no passage of {corpus.file} could be indexed with {name}")
    return int(getattr(extractor, "missing_documents", 0))


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
    """Write a JSON file, if a path is given."""
    if path is not None:
        path.write_text(f"{json_text(data)}\n", encoding="utf-8", errors="replace")
        note(f"written to {path}")


def show_results(options: Mapping[str, Any], data: Any, lines: Iterable[str]) -> None:
    """Print results as JSON, or else as `lines`, and write them as `result_options` say."""
    write_json(options["output"], data)
    if options["as_json"]:
        echo_json(data)
        return
    for line in lines:
        click.echo(line)
