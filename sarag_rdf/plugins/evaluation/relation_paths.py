"""``sarag evaluate paths`` and ``fit-paths``: relation paths on questions with known answers.

What is counted as retrieved differs between publications, and figures of different accountings
cannot be compared: **terminals** are the entities at the end of the path against the answers;
**path nodes** are all entities of its walks, and **chunk-resolved** those and all their
neighbours, as if each entity's article had been retrieved, against the topic and the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, Final

import click
import numpy as np

from sarag_rdf.base.arrays import find
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Retriever
from sarag_rdf.base.types import RelationPath
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import emit, note
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.kg.registry import GraphRetriever
from sarag_rdf.plugins.evaluation.commands import output_option
from sarag_rdf.plugins.evaluation.datasets import Question, read_questions
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.relation_paths.fitting import Example, fit_model
from sarag_rdf.plugins.relation_paths.path_model import FEATURES, GAPS
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.view import GraphView

ACCOUNTINGS: Final = ("terminals", "path nodes", "chunk-resolved")
COMPARED: Final = 20
"""Paths of a question among which the best of five that lead anywhere are looked for."""


@dataclass(frozen=True, slots=True)
class PathResult:
    """Scores of a question by accounting, and the time of the search in seconds.

    `best_of_five` is the F1 in [0, 1] of the best of the first five paths.
    """

    scores: Mapping[str, PRF]
    seconds: float
    best_of_five: float


def relation_paths(retriever: Retriever) -> PathSearch:
    """The search of a retriever; raises `UsageError` for one that has no relation paths."""
    if not (isinstance(retriever, GraphRetriever) and isinstance(retriever.strategy, Paths)):
        raise UsageError("--retriever must be paths, or paths:KEY=VALUE")
    return PathSearch(retriever.view, retriever.strategy)


def evaluate_paths(
    paths: PathSearch, questions: Sequence[Question], *, plain: bool
) -> list[PathResult]:
    """Ask all questions, if `plain` without the brackets around their topics."""
    results = []
    for question in questions:
        text = question.query.text if plain else question.marked
        begin = perf_counter()
        _, followed = paths.find(text)
        seconds = perf_counter() - begin
        scores = dict.fromkeys(ACCOUNTINGS, PRF(0.0, 0.0))
        if followed and followed[0].answers:
            scores = _scores(paths.view, question, followed[0])
        results.append(PathResult(scores, seconds, _best_of_five(paths, text, question)))
    return results


def _scores(view: GraphView, question: Question, path: RelationPath) -> dict[str, PRF]:
    between = {iri for answer in path.answers for iri in answer.nodes}
    nodes = between | {answer.iri for answer in path.answers} | {path.topic}
    topic = {path.topic_name}
    ends, expected = {answer.name for answer in path.answers}, {*question.answers} | topic
    found = (
        (ends - topic, expected - topic),
        (names_of(view, nodes), expected),
        (names_of(view, nodes | neighbours(view, nodes)), expected),
    )
    return {name: PRF.of(*sets) for name, sets in zip(ACCOUNTINGS, found, strict=True)}


def names_of(view: GraphView, iris: Iterable[str]) -> set[str]:
    return {name for name, _ in entity_labels(view.reader, iris).values()}


def neighbours(view: GraphView, iris: Iterable[str]) -> set[str]:
    """What relationships join with these entities, and they themselves if there are any."""
    entities = view.iris.entities
    rows = np.array(sorted(find(entities, iri) for iri in iris), dtype=np.int64)
    edges = view.network.incident(RELATED_TO, rows[rows >= 0])
    ends = np.unique(np.concatenate((edges.source, edges.target)))
    return {entities[row] for row in ends.tolist()}


def _best_of_five(paths: PathSearch, text: str, question: Question) -> float:
    """The F1 of the best of the first five paths that lead anywhere."""
    every = map(paths.follow, paths.ranked(paths.topics(text))[:COMPARED])
    scores = (_answer_f1(followed, question) for followed in every if followed.answers)
    return max(islice(scores, 5), default=0.0)


def _answer_f1(path: RelationPath, question: Question) -> float:
    return PRF.of({answer.name for answer in path.answers}, set(question.answers)).f1


def examples(paths: PathSearch, questions: Sequence[Question]) -> list[Example]:
    """What weights are fitted on: the first paths of each question by the present weights."""
    every = []
    for question in questions:
        rows, values, properties, gaps = [], [], [], []
        for topic in paths.topics(question.marked):
            for hops, row, own in zip(*paths.compared(topic), strict=True):
                followed = paths.follow_hops(topic, hops)
                if followed.answers:
                    rows.append(row)
                    values.append(_answer_f1(followed, question))
                    properties.append(frozenset(hop.predicate for hop in hops))
                    gaps.append(own)
        matrix, open_ = (
            np.array(some).reshape(len(rows), len(names))
            for some, names in ((rows, FEATURES), (gaps, GAPS))
        )
        every.append(Example(matrix, np.array(values), tuple(properties), open_))
    return every


# ---------------------------------------------------------------------------------------- Command

_inputs = flags.together(
    flags.kg_option,
    flags.over_option,
    flags.path_option(
        "--questions",
        "Questions with answers, as for evaluate qa; in a table, the topic may be in square "
        "brackets. May be repeated.",
        multiple=True, required=True,
    ),
    click.option(
        "--retriever", default="paths:least=0", show_default=True,
        help="The retriever paths with its options: paths:KEY=VALUE. With least=0, all paths are "
        "followed, however improbable.",
    ),
)  # fmt: skip
_embedding_and_json = flags.together(flags.embedding_options, flags.json_option)


@click.command(
    name="paths",
    epilog="Example:  sarag evaluate paths --kg kg --over movies --questions questions.tsv",
)
@_inputs
@flags.switch("--plain", "Ask without the brackets around topics.")
@_embedding_and_json
def command(**options: Any) -> None:
    """Follow the relation path of each question, and compare its end with the known answers.

    Terminals are the entities at the end of the path, against the answers. Path nodes are all
    entities of its walks, and chunk-resolved are those with all their neighbours, against the
    topic and the answers. Figures of different accountings cannot be compared.
    """
    files, plain = read_files(options["questions"]), options["plain"]
    with flags.open_graph(options) as kg:
        paths = relation_paths(kg.retriever(options["retriever"]))
        for question in chain(*files.values()):  # reads what later questions find in memory
            paths.find(question.query.text if plain else question.marked)
        results = {path: evaluate_paths(paths, own, plain=plain) for path, own in files.items()}
    rows = [row_of(path, own) for path, own in results.items()]
    data = {"retriever": options["retriever"], "plain": plain, "files": rows}
    emit(options, data, *chain(*map(_lines, rows)))


def read_files(paths: Iterable[Path]) -> dict[Path, tuple[Question, ...]]:
    """Files of questions; raises `InputError`, also for a question without an answer."""
    files = {path: read_questions(path).questions for path in paths}
    for path, questions in files.items():
        for question in questions:
            if not question.answers:
                raise InputError(f"{path}: {question.id} has no answer: add one, or remove it")
    return files


def row_of(path: Path, results: Sequence[PathResult]) -> dict[str, Any]:
    """The means over the questions of a file, in percent, and times in milliseconds."""
    median, p95 = np.percentile([1000 * result.seconds for result in results], (50, 95)).tolist()
    accountings = {}
    for name in results[0].scores:
        rows = [result.scores[name].values() for result in results]
        accountings[name] = {k: round(100 * fmean(row[k] for row in rows), 1) for k in rows[0]}
    return {
        "file": path.name,
        "questions": len(results),
        "accountings": accountings,
        "best_of_five": round(100 * fmean(result.best_of_five for result in results), 1),
        "milliseconds": {"median": round(median, 1), "p95": round(p95, 1)},
    }


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['file']}: {row['questions']} questions"
    for name, scores in row["accountings"].items():
        figures = "precision {precision:5.1f}  recall {recall:5.1f}  F1 {f1:5.1f}"
        yield f"  {name:<15} {figures.format(**scores)}"
    yield f"  best of five    F1 {row['best_of_five']:.1f} (terminals)"
    times = row["milliseconds"]
    yield f"  milliseconds    median {times['median']:.0f}, p95 {times['p95']:.0f}"


@click.command(
    name="fit-paths",
    epilog="Example:  sarag evaluate fit-paths --kg kg --over movies --questions questions.tsv "
    "--output paths.json",
)
@_inputs
@output_option("--output", "Model file.", required=True)
@click.option("--version", "version", default="own", show_default=True, help="Name of the model.")
@_embedding_and_json
def fit_command(**options: Any) -> None:
    """Fit the weights of relation paths on questions with known answers.

    The file is used with --retriever paths:model=FILE. Weights are first fitted on every other
    question, and the F1 of the questions that were left out is printed; then on all. The
    probabilities of paths are calibrated on these questions, and on what remains without each
    property of a right path.
    """
    files = read_files(options["questions"])
    data = f"{sum(map(len, files.values()))} questions of {', '.join(map(str, files))}"
    with flags.open_graph(options) as kg:
        paths = relation_paths(kg.retriever(options["retriever"], explain=False))
        every = [examples(paths, questions) for questions in files.values()]
        fit = fit_model(paths.model, every, options["version"], data)
    options["output"].write_text(fit.model.to_json() + "\n", encoding="utf-8")
    names = [*map(str, files)]
    followed = dict(zip(names, (shares._asdict() for shares in fit.offered), strict=False))
    figures = {
        "left_out": dict(zip(names, fit.left_out, strict=True)),
        "all": dict(zip(names, fit.all, strict=True)),
        "followed": followed,
        "weights": dict(fit.model.weights),
        "calibration": dict(fit.model.calibration),
    }
    text = [
        f"{name}: F1 {100 * left_out:.1f} of the questions left out, {100 * every:.1f} of all"
        for name, left_out, every in zip(names, fit.left_out, fit.all, strict=True)
    ]
    of_paths = "{}: {right:.0%} of right paths and {wrong:.0%} of wrong ones are followed"
    text += [of_paths.format(name, **shares) for name, shares in followed.items()]
    emit(options, figures, *text)
    note(f"written to {options['output']}")
