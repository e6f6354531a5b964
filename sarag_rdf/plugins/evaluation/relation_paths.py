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
from typing import Any, Final, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, find
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
from sarag_rdf.plugins.relation_paths.path_model import FEATURES, PathModel
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.view import GraphView

ACCOUNTINGS: Final = ("terminals", "path nodes", "chunk-resolved")
COMPARED: Final = 20
"""Paths of a question among which the best of five that lead anywhere are looked for."""
_RIDGE: Final = 1e-3


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


@dataclass(frozen=True, slots=True)
class Example:
    """The features of the paths of one question that lead anywhere, the F1 and properties of each.

    In order of the scores by the weights with which the paths were found.
    """

    features: Floats
    f1: Floats
    properties: tuple[frozenset[str], ...] = ()

    @property
    def is_answered(self) -> bool:
        return bool((self.f1 > 0).any())


def examples(paths: PathSearch, questions: Sequence[Question]) -> list[Example]:
    """What weights are fitted on: the first paths of each question by the present weights."""
    every = []
    for question in questions:
        rows, values, properties = [], [], []
        for topic in paths.topics(question.marked):
            for hops, row in zip(*paths.compared(topic), strict=True):
                followed = paths.follow_hops(topic, hops)
                if followed.answers:
                    rows.append(row)
                    values.append(_answer_f1(followed, question))
                    properties.append(frozenset(hop.predicate for hop in hops))
        matrix = np.array(rows).reshape(len(rows), len(FEATURES))
        every.append(Example(matrix, np.array(values), tuple(properties)))
    return every


def fitted(some: Sequence[Example]) -> Floats:
    """Weights of `FEATURES` that give the best path of each question the highest probability.

    The softmax over the paths of a question is a conditional logit model (McFadden 1974), fitted
    with a small ridge on standardized features.
    """
    from scipy.optimize import minimize

    used = [example for example in some if example.is_answered]
    if not used:
        raise InputError(
            "no question has a path to one of its answers: check that --kg and --over name the "
            "graph of the questions"
        )
    rows = np.concatenate([e.features for e in used])
    is_best = np.concatenate([e.f1 >= e.f1.max() - 1e-9 for e in used])
    sizes = [len(e.f1) for e in used]
    starts = np.cumsum([0, *sizes[:-1]])
    scale = rows.std(axis=0)
    scale[scale == 0] = 1.0
    rows = rows / scale

    def loss(weights: Floats) -> tuple[float, Floats]:
        """The negative mean log-likelihood with its gradient."""
        scores = rows @ weights
        best = np.where(is_best, scores, -np.inf)
        every, right = (np.logaddexp.reduceat(each, starts) for each in (scores, best))
        surplus = np.exp(scores - np.repeat(every, sizes)) - np.exp(best - np.repeat(right, sizes))
        value = (every - right).mean() + _RIDGE / 2 * weights @ weights
        return float(value), surplus @ rows / len(used) + _RIDGE * weights

    optimum = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B")
    return np.asarray(optimum.x / scale)


class Shares(NamedTuple):
    """The shares of right and of wrong paths that are followed, in [0, 1]; 0 of none."""

    right: float
    wrong: float


class Offers(NamedTuple):
    """The scores of paths that would be answered with, and whether each is right."""

    scores: Floats
    is_right: NDArray[np.bool_]

    def shares(self, model: PathModel, least: float) -> Shares:
        """Of the paths that are at least that probable."""
        probable = np.array([model.probability(score) >= least for score in self.scores], bool)
        both = (probable[some] for some in (self.is_right, ~self.is_right))
        return Shares(*(float(some.mean()) if len(some) else 0.0 for some in both))


def offers(some: Iterable[Example], weights: Floats) -> Offers:
    """The best path of each question; and the best without each property of the right path.

    The latter stand for the questions that a graph has no path for: they are wrong. A path is right
    if its F1 is more than 1/2.
    """
    scores, right = [], []
    for example in (example for example in some if len(example.f1)):
        own = example.features @ weights
        scores.append(own.max())
        right.append(example.f1[own.argmax()] > 1 / 2)
        best = int(example.f1.argmax())
        for property_ in example.properties[best] if example.f1[best] > 1 / 2 else ():
            others = [at for at, used in enumerate(example.properties) if property_ not in used]
            if others:
                scores.append(own[others].max())
                right.append(False)
    return Offers(np.array(scores), np.array(right, bool))


def calibrated(model: PathModel, offered: Offers) -> PathModel:
    """The model with the probability by a score, if right and wrong paths were equally many.

    Logistic regression on one variable with Platt's targets, which keep it finite where scores
    separate the two.
    """
    from scipy.optimize import minimize

    scores, is_right = offered
    sizes = np.array([(~is_right).sum(), is_right.sum()])
    if not sizes.all():
        return model.calibrated(0.0, 0.0)
    target = np.where(is_right, (sizes[1] + 1) / (sizes[1] + 2), 1 / (sizes[0] + 2))
    share = 1 / (2 * sizes[is_right.astype(int)])
    centre, scale = scores.mean(), scores.std() or 1.0
    rows = np.column_stack(((scores - centre) / scale, np.ones(len(scores))))

    def loss(line: Floats) -> tuple[float, Floats]:
        """The cross entropy with its gradient."""
        logits = rows @ line
        surplus = share * (1 / (1 + np.exp(-logits)) - target)
        return float(share @ (np.logaddexp(0.0, logits) - target * logits)), surplus @ rows

    slope, intercept = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x
    return model.calibrated(slope / scale, intercept - slope * centre / scale)


def mean_f1(some: Sequence[Example], weights: Floats) -> float:
    """The mean F1 of the path that the weights choose; 0 for a question without one."""
    return fmean(
        float(e.f1[int(np.argmax(e.features @ weights))]) if len(e.f1) else 0.0 for e in some
    )


class Fit(NamedTuple):
    """A fitted model, and the mean F1 of each file of questions.

    `left_out` are by weights fitted on the other half of the questions, `all` by the model.
    `offered` are the shares of right and wrong paths of each file that are followed, which are at
    least as probable as the option says, by a calibration on the other files.
    """

    model: PathModel
    left_out: tuple[float, ...]
    all: tuple[float, ...]
    offered: tuple[Shares, ...]


def fit_paths(
    paths: PathSearch,
    files: Sequence[Sequence[Question]],
    version: str,
    data: str,
) -> Fit:
    """Fit weights on all questions, and on each half, to report the F1 of the other half.

    Raises `InputError` if no question of a half has a path to one of its answers.
    """
    every = [examples(paths, questions) for questions in files]
    weights = fitted([*chain(*every)])
    halves = [[e for some in every for e in some[own::2]] for own in (0, 1)]
    if not all(any(e.is_answered for e in half) for half in halves):
        raise InputError(
            "too few questions have a path to one of their answers: every other question is left "
            "out in turn, and those that remain have none; give more questions"
        )
    weights_of_other = [fitted(half) for half in reversed(halves)]
    left_out = []
    for some in every:
        own = [(some[at::2], weights_of_other[at]) for at in (1, 0)]
        left_out.append(sum(mean_f1(e, w) * len(e) for e, w in own if e) / len(some))
    model = paths.model.with_weights(weights.tolist(), version, data)
    model = calibrated(model, offers(chain(*every), model.vector))
    return Fit(
        model,
        tuple(left_out),
        tuple(mean_f1(some, weights) for some in every),
        tuple(offered_of(model, every, Paths().least)) if len(every) > 1 else (),
    )


def offered_of(
    model: PathModel, files: Sequence[Sequence[Example]], least: float
) -> Iterator[Shares]:
    """The shares of each file by a calibration on the others."""
    for own in files:
        others = chain(*(some for some in files if some is not own))
        fitted_on_others = calibrated(model, offers(others, model.vector))
        yield offers(own, model.vector).shares(fitted_on_others, least)


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
        fit = fit_paths(paths, [*files.values()], options["version"], data)
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
