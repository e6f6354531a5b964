"""What evaluations share: the graph of a corpus, lists of numbers, files that are written."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import Decorator, embedder_option, open_graph
from sarag_rdf.errors import InputError, UsageError

if TYPE_CHECKING:
    from sarag_rdf.evaluation.corpus import Corpus
    from sarag_rdf.evaluation.questions import Question
    from sarag_rdf.kg.graph import KnowledgeGraph

_PROBLEMS = 3


def _together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, shown in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


data_options = _together(
    click.option(
        "--corpus", required=True, type=click.Path(path_type=Path), help="Passages, as JSON."
    ),
    click.option(
        "--questions", required=True, type=click.Path(path_type=Path),
        help="Questions of MuSiQue, 2WikiMultiHopQA or HotpotQA, or id, question and answer.",
    ),
    click.option(
        "--kg", type=click.Path(path_type=Path),
        help="A graph of the corpus, or a new folder to index it into. Default: one for this time.",
    ),
    click.option(
        "--extractor",
        help="spacy, llm or openie:FILE. Default: spacy, or what the graph was extracted with.",
    ),
    embedder_option,
)  # fmt: skip
"""What is asked, and of which graph."""
choice_options = _together(
    click.option(
        "--limit", type=click.IntRange(1), help="Only so many questions: the first ones."
    ),
    click.option(
        "--seed", type=click.IntRange(0),
        help="Of the intervals; also shuffles the questions before --limit. Default: 0, no "
        "shuffling.",
    ),
)  # fmt: skip
"""Which questions."""
output_options = _together(
    click.option(
        "--json", "json_file", type=click.Path(path_type=Path),
        help="Write all results here, as JSON.",
    ),
    click.option(
        "--timings", type=click.Path(path_type=Path), help="Write times here, as JSON."
    ),
)  # fmt: skip
"""Where results go."""


def numbers(_: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Distinct whole numbers of at least 1, ascending, from ``2,5,10``."""
    try:
        found = sorted({int(part) for part in value.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1:
        raise click.BadParameter(
            f"'{value}' is no list of numbers of at least 1, such as 2,5,10", param=parameter
        )
    return tuple(found)


def check_outputs(*paths: Path | None) -> None:
    """Hours of work should not end in a name that nothing can be written to."""
    for path in filter(None, paths):
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise UsageError(f"{path} cannot be written: name a file in a folder that exists")


def chosen(questions: tuple[Question, ...], limit: int | None, seed: int | None) -> list[Question]:
    """The first questions; with a seed, of them in another order."""
    chosen = list(questions)
    if seed is not None:
        random.Random(seed).shuffle(chosen)  # noqa: S311 - no secret
    return chosen[:limit]


@contextmanager
def graph_of(options: dict[str, Any], corpus: Corpus) -> Iterator[tuple[KnowledgeGraph, int]]:
    """A graph of the corpus, and how many of its documents an extraction file does not know."""
    with (
        tempfile.TemporaryDirectory(prefix="sarag-") as folder,
        open_graph({**options, "kg": options["kg"] or Path(folder) / "kg"}) as kg,
    ):
        known = kg.extractors()
        kind = (options["extractor"] or "").partition(":")[0]
        if known and kind and known != {kind}:
            raise UsageError(
                f"{options['kg']} was extracted with {', '.join(sorted(known))}, not with "
                f"{kind}: leave --extractor out, or name another folder with --kg"
            )
        yield kg, 0 if known else _index(kg, corpus, options["extractor"] or "spacy")


@contextmanager
def showing_progress() -> Iterator[Callable[[str, int], Callable[[int], None]]]:
    """A Progress on standard error."""
    from sarag_rdf.cli.output import bars

    progress, end = bars()
    try:
        yield progress
    finally:
        end()


def _index(kg: KnowledgeGraph, corpus: Corpus, extractor: str) -> int:
    made = kg.extractor(extractor)
    click.echo(f"sarag: indexing with {made.method.extractor} ({made.method.model})", err=True)
    with showing_progress() as progress:
        found = kg.index(
            [passage.source for passage in corpus.passages], extractor=made, progress=progress
        )
    for problem in found.problems[:_PROBLEMS]:
        click.echo(f"sarag: {problem}", err=True)
    more = len(found.problems) - _PROBLEMS
    if more > 0:
        click.echo(f"sarag: ... and {more} more that could not be indexed", err=True)
    if not found.added:
        raise InputError(f"no passage of {corpus.file} could be indexed with {extractor}")
    return int(getattr(made, "missing_documents", 0))


def write_json(path: Path | None, data: Any) -> None:
    """Write to the file that was asked for, if one was."""
    if path is not None:
        text = json.dumps(data, ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", encoding="utf-8", errors="replace")
        click.echo(f"sarag: written to {path}", err=True)
