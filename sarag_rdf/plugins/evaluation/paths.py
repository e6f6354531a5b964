"""Relation paths on questions with known answers: three accountings, times, and fitted weights.

What is counted as retrieved differs between publications, and figures of different accountings
cannot be compared: **terminals** are the entities at the end of the path against the answers;
**path nodes** are all entities of its walks, and **chunk-resolved** those and all their
neighbours, as if each entity's article had been retrieved, against the topic and the answers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import find
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Retriever
from sarag_rdf.base.types import RelationPath
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.kg.registry import GraphRetriever
from sarag_rdf.plugins.evaluation.corpus import read_json
from sarag_rdf.retrieval.network.kinds import RELATED_TO
from sarag_rdf.retrieval.path_model import FEATURES, PathModel
from sarag_rdf.retrieval.paths import Paths, PathSearch
from sarag_rdf.retrieval.question import question_of
from sarag_rdf.retrieval.view import GraphView

ACCOUNTINGS: Final = ("terminals", "path nodes", "chunk-resolved")
ARTICLE_ACCOUNTINGS: Final = ("article topics", "chunk-resolved")
"""What counts as retrieved by articles: what they are about, and that with what they mention."""
COMPARED: Final = 20
"""Paths of a question that are followed to fit weights."""
_STEPS: Final = 3000
_RATE: Final = 0.05
_RIDGE: Final = 1e-3
_MARKED: Final = re.compile(r"\[([^\[\]]+)\]")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """A question with the names of its answers; `topic` is the name that it has in brackets."""

    text: str
    topic: str
    answers: frozenset[str]

    @property
    def plain(self) -> str:
        """The question without brackets."""
        return _MARKED.sub(r"\1", self.text)


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 of one set of names."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class PathResult:
    """One question: scores in the order of the accountings, its path in words, and seconds.

    `best_of_five` is None without paths.
    """

    question: str
    scores: tuple[Score, ...]
    best_of_five: float | None
    path: str
    seconds: float


def read_questions(path: Path) -> list[PathQuestion]:
    """Questions of a table with the columns ``question`` and ``answers`` (separated by bars).

    Or those of a file by ``sarag evaluate questions``, whose name ends in .json. Raises
    `InputError` for a file of another form, and for a question without a text or an answer.
    """
    if path.suffix.lower() in (".json", ".jsonl"):
        return _written_questions(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a table ({error})") from error
    if not rows or not {"question", "answers"} <= rows[0][1].keys():
        raise InputError(
            f"{path}: no questions: a table has the columns question and answers, separated by tabs"
        )
    questions = []
    for line, row in rows:
        text = (row["question"] or "").strip()
        answers = frozenset(filter(str.strip, (row["answers"] or "").split("|")))
        if not (text and answers):
            raise InputError(f"{path}: line {line} has no {'answer' if text else 'question'}")
        marked = _MARKED.search(text)
        questions.append(PathQuestion(text, marked[1] if marked else "", answers))
    return questions


def _written_questions(path: Path) -> list[PathQuestion]:
    """Questions with paths; the name of the topic gets brackets."""
    questions: list[PathQuestion] = []
    for record in read_json(path).records("path"):
        try:
            topic, text = str(record["path"]["topic_name"]), str(record["question"])
            answers = frozenset(map(str, record["answer"]))
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{path}: no questions with paths: write them with  sarag evaluate questions"
            ) from error
        place = re.search(re.escape(topic), text, re.IGNORECASE)
        if place and not _MARKED.search(text):
            text = f"{text[: place.start()]}[{place[0]}]{text[place.end() :]}"
        if not (text.strip() and answers):
            raise InputError(
                f"{path}: question {len(questions) + 1} has no {'answer' if text else 'text'}"
            )
        questions.append(PathQuestion(text, topic, answers))
    if not questions:
        raise InputError(f"{path}: no questions: write them with  sarag evaluate questions")
    return questions


def relation_paths(retriever: Retriever) -> PathSearch:
    """The search of a retriever; raises `UsageError` for one that has no relation paths."""
    if not (isinstance(retriever, GraphRetriever) and isinstance(retriever.strategy, Paths)):
        raise UsageError("--retriever must be paths, or paths:KEY=VALUE")
    return PathSearch(retriever.view, retriever.strategy)


def score(retrieved: Collection[str], relevant: Collection[str]) -> Score:
    """Precision, recall and F1 of a set; all 0 if nothing was found."""
    common = len(set(retrieved) & set(relevant))
    if not common:
        return Score(0.0, 0.0, 0.0)
    precision, recall = common / len(retrieved), common / len(relevant)
    return Score(precision, recall, 2 * precision * recall / (precision + recall))


def evaluate_paths(
    paths: PathSearch, view: GraphView, questions: Sequence[PathQuestion], *, plain: bool
) -> list[PathResult]:
    """Ask all questions, if `plain` without the brackets around their topics."""
    results = []
    for question in questions:
        text = question.plain if plain else question.text
        begin = perf_counter()
        _, followed = paths.find(text)
        seconds = perf_counter() - begin
        best = followed[0] if followed and followed[0].answers else None
        results.append(
            PathResult(
                text,
                _scores(view, question, best),
                _best_of_five(paths, text, question.answers),
                best.text if best else "",
                seconds,
            )
        )
    return results


def _scores(
    view: GraphView, question: PathQuestion, path: RelationPath | None
) -> tuple[Score, ...]:
    if path is None:
        return tuple(Score(0.0, 0.0, 0.0) for _ in ACCOUNTINGS)
    names = {answer.name for answer in path.answers}
    between = {iri for answer in path.answers for iri in answer.nodes}
    nodes = between | {answer.iri for answer in path.answers} | {path.topic}
    expected = question.answers | {path.topic_name}
    return (
        score(names - {path.topic_name}, question.answers - {path.topic_name}),
        score(_names(view, nodes), expected),
        score(_names(view, nodes | _neighbours(view, nodes)), expected),
    )


def _names(view: GraphView, iris: Iterable[str]) -> set[str]:
    return {name for name, _ in entity_labels(view.reader, iris).values()}


def _neighbours(view: GraphView, iris: Iterable[str]) -> set[str]:
    entities = view.iris.entities
    rows = np.array(sorted(find(entities, iri) for iri in iris), dtype=np.int64)
    edges = view.network.incident(RELATED_TO, rows[rows >= 0])
    ends = np.unique(np.concatenate((edges.source, edges.target)))
    return {entities[row] for row in ends.tolist()}


def evaluate_articles(
    retriever: Retriever, view: GraphView, questions: Sequence[PathQuestion]
) -> list[PathResult]:
    """Search articles about the entities of `view` for all questions, without their brackets.

    Both accountings are against the topic of a question and its answers. Article topics are the
    entities that the documents found are about; chunk-resolved adds the neighbours of each that
    its document names (DotRAG, section A.4). Raises `InputError` if no document is an article
    about an entity of the graph.
    """
    results, is_article = [], False
    for question in questions:
        begin = perf_counter()
        documents = retriever.retrieve(question_of(question.plain)).documents
        seconds = perf_counter() - begin
        topics: set[str] = set()
        mentioned: set[str] = set()
        for ranked in documents:
            topic = _topic_of(ranked.document.source_iri)
            if find(view.iris.entities, topic) >= 0:
                topics.add(topic)
                mentioned |= _mentioned(view, topic, ranked.document.titled_text)
        is_article |= bool(topics)
        names = _names(view, topics)
        expected = question.answers | ({question.topic} if question.topic else set())
        scores = score(names, expected), score(names | mentioned, expected)
        results.append(PathResult(question.plain, scores, None, "", seconds))
    if questions and not is_article:
        raise InputError(
            "no document is an article about an entity of the graph: index a file by  sarag export "
            "--format articles  of the same graph, and name its graph with --articles"
        )
    return results


def _topic_of(source: str) -> str:
    """What an article is about: the identifier of its record, in the IRI of its source."""
    return unquote(source.partition("/source/")[2].partition("#")[2])


def _mentioned(view: GraphView, topic: str, text: str) -> set[str]:
    """The names of the neighbours of an entity that occur in a text."""
    plain = " ".join(text.split()).casefold()
    names = _names(view, _neighbours(view, [topic]) - {topic})
    return {name for name in names if " ".join(name.split()).casefold() in plain}


def _best_of_five(paths: PathSearch, text: str, answers: frozenset[str]) -> float:
    """The F1 of the best of the first five paths that lead anywhere."""
    scores: list[float] = []
    for ranked in paths.ranked(paths.topics(text))[:COMPARED]:
        followed = paths.follow(ranked)
        if followed.answers:
            scores.append(score({a.name for a in followed.answers}, answers).f1)
        if len(scores) == 5:
            break
    return max(scores, default=0.0)


@dataclass(frozen=True, slots=True)
class Example:
    """The features of the paths of one question that lead anywhere, and the F1 of each."""

    features: Floats
    f1: Floats

    @property
    def is_answered(self) -> bool:
        """Whether a path leads to one of the answers."""
        return bool((self.f1 > 0).any())


def examples(paths: PathSearch, questions: Sequence[PathQuestion]) -> list[Example]:
    """What weights are fitted on: the first paths of each question by the present weights."""
    rows_of_questions = []
    for question in questions:
        rows, values = [], []
        for topic in paths.topics(question.text):
            candidates, features = paths.compared(topic)
            order = np.argsort(-(features @ paths.model.vector), kind="stable")
            for at in order[: 2 * COMPARED].tolist():
                followed = paths.follow_hops(topic, candidates[at])
                if followed.answers:
                    rows.append(features[at])
                    names = {answer.name for answer in followed.answers}
                    values.append(score(names, question.answers).f1)
        size = len(rows)
        rows_of_questions.append(
            Example(np.array(rows).reshape(size, len(FEATURES)), np.array(values))
        )
    return rows_of_questions


def fitted(some: Sequence[Example]) -> Floats:
    """Weights of `FEATURES` that give the best path of each question the highest probability.

    The softmax over the paths of a question is a conditional logit model (McFadden 1974), fitted
    by gradient ascent with a small ridge on standardized features.
    """
    used = [example for example in some if example.is_answered]
    if not used:
        raise InputError(
            "no question has a path to one of its answers: check that --kg and --over name the "
            "graph of the questions"
        )
    rows = np.concatenate([e.features for e in used])
    scale = rows.std(axis=0)
    scale[scale == 0] = 1.0
    most = max(len(e.f1) for e in used)
    features = np.zeros((len(used), most, len(FEATURES)))
    is_path = np.zeros((len(used), most), dtype=bool)
    is_best = np.zeros((len(used), most))
    for at, example in enumerate(used):
        size = len(example.f1)
        features[at, :size] = example.features / scale
        is_path[at, :size] = True
        is_best[at, :size] = example.f1 >= example.f1.max() - 1e-9
    weights, first, second = (np.zeros(len(FEATURES)) for _ in range(3))
    for step in range(1, _STEPS + 1):
        scores = np.where(is_path, features @ weights, -np.inf)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        best = chances * is_best
        best /= np.maximum(best.sum(axis=1, keepdims=True), 1e-12)
        slope = np.einsum("qp,qpf->f", best - chances, features) / len(used) - _RIDGE * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        weights += _RATE * (first / (1 - 0.9**step)) / (
            np.sqrt(second / (1 - 0.999**step)) + 1e-8
        )  # fmt: skip
    unscaled: Floats = weights / scale
    return unscaled


def mean_f1(some: Sequence[Example], weights: Floats) -> float:
    """The mean F1 of the path that the weights choose; 0 for a question without one."""
    return mean(
        float(e.f1[int(np.argmax(e.features @ weights))]) if len(e.f1) else 0.0 for e in some
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model, and the mean F1 of each file of questions.

    `left_out` are those of each half of the questions by weights fitted on the other half; `all`
    those by the model, which was fitted on all of them.
    """

    model: PathModel
    left_out: tuple[float, ...]
    all: tuple[float, ...]


def fit_paths(
    paths: PathSearch, files: Sequence[Sequence[PathQuestion]], version: str, data: str
) -> Fit:
    """Fit weights on all questions; first on each half, to report the other.

    Raises `InputError` if no question of a half has a path to one of its answers.
    """
    every = [examples(paths, questions) for questions in files]
    weights = fitted([e for some in every for e in some])
    if not all(any(e.is_answered for some in every for e in some[own::2]) for own in (0, 1)):
        raise InputError(
            "too few questions have a path to one of their answers: every other question is left "
            "out in turn, and those that remain have none; give more questions"
        )
    sums = [0.0] * len(every)
    for own, other in ((0, 1), (1, 0)):
        half = fitted([e for some in every for e in some[own::2]])
        for at, some in enumerate(every):
            if some[other::2]:
                sums[at] += mean_f1(some[other::2], half) * len(some[other::2])
    left_out = tuple(total / len(some) for total, some in zip(sums, every, strict=True))
    return Fit(
        paths.model.with_weights(weights.tolist(), version, data),
        left_out,
        tuple(mean_f1(some, weights) for some in every),
    )
