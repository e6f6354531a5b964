"""Asks retrievers all questions, and keeps what they found and how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from sarag_rdf.evaluation.corpus import Corpus
from sarag_rdf.evaluation.problems import Judged
from sarag_rdf.evaluation.questions import Question
from sarag_rdf.evaluation.scores import fits, words_of, words_to_answer
from sarag_rdf.evaluation.statistics import figures, ranks_of
from sarag_rdf.options import RetrieverOptions
from sarag_rdf.ports import Embedder, Progress, Retriever
from sarag_rdf.retrieve.question import question_of
from sarag_rdf.types import Document

DEPTH = 100
"""Documents that a method is asked for at least."""
_WARM_UP = question_of("Which of these passages comes first?")

"""Called with what begins and how many there are; returns what is called as they get done."""


class Graph(Protocol):
    """What an evaluation needs of `sarag_rdf.kg.graph.KnowledgeGraph`."""

    def retriever(self, retriever: RetrieverOptions, /) -> Retriever: ...

    def embedder(self, *, cached: bool = True) -> Embedder: ...


@dataclass(frozen=True, slots=True)
class Method:
    """The options of a retriever, and the label under which its results are reported."""

    label: str
    options: RetrieverOptions

    def limited(self, limit: int) -> RetrieverOptions:
        """The options with at most `limit` documents, unless they have a limit already."""
        return self.options if self.options.limit else replace(self.options, limit=limit)


@dataclass(frozen=True, slots=True)
class Row:
    """What a method did for one question.

    `ranks` are those of the supporting passages, from 1, None where not returned. `figures` are
    fractions by name, such as ``R@5``; what cannot be told is absent. `milliseconds` is the
    retrieval of the largest k alone.
    """

    ranks: tuple[int | None, ...]
    returned: int
    figures: Mapping[str, float]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of a method, one a question, in their order."""

    method: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Numbers of documents that recall is told at, and token budgets that coverage is told at."""

    ks: tuple[int, ...]
    tokens: tuple[int, ...] = ()

    @property
    def limit(self) -> int:
        """How many documents a method is asked for."""
        return max(*self.ks, DEPTH)


def evaluate(
    kg: Graph,
    corpus: Corpus,
    questions: Sequence[Judged],
    methods: Sequence[Method],
    cutoffs: Cutoffs,
    progress: Progress,
) -> tuple[list[float], list[Outcome]]:
    """Milliseconds to encode each question, and the outcome of each method."""
    retrievers = [
        (
            kg.retriever(method.limited(max(cutoffs.ks))),
            kg.retriever(method.limited(cutoffs.limit)),
        )
        for method in methods
    ]
    encoding = _encoding_times(kg, questions, progress)
    return encoding, [
        _ask(kg, corpus, questions, method, pair, cutoffs, progress)
        for method, pair in zip(methods, retrievers, strict=True)
    ]


def _encoding_times(kg: Graph, questions: Sequence[Judged], progress: Progress) -> list[float]:
    """Milliseconds to embed each question, alone and without the cache.

    Each is then embedded through the cache too, so that no time of a retrieval after this
    contains any encoding.
    """
    model, cached = kg.embedder(cached=False), kg.embedder()
    model.embed([_WARM_UP.text])
    cached.embed([_WARM_UP.text])
    advance = progress("encoding questions", len(questions))
    times = []
    for judged in questions:
        begin = perf_counter()
        model.embed([judged.question.query.text])
        times.append(1000 * (perf_counter() - begin))
        cached.embed([judged.question.query.text])
        advance(1)
    return times


def _ask(
    kg: Graph,
    corpus: Corpus,
    questions: Sequence[Judged],
    method: Method,
    retrievers: tuple[Retriever, Retriever],
    cutoffs: Cutoffs,
    progress: Progress,
) -> Outcome:
    """Ask one method every question, after one that does not count.

    The time is that of the first retriever, which is asked for the largest k as a user would;
    the second gives the documents, deep enough to fill contexts.
    """
    timed, deep = retrievers
    timed.retrieve(_WARM_UP)
    advance = progress(f"asking {method.label}", len(questions))
    rankings: list[list[int | None]] = []
    times, covered, returned = [], [], []
    for judged in questions:
        begin = perf_counter()
        timed.retrieve(judged.question.query)
        times.append(1000 * (perf_counter() - begin))
        found = deep.retrieve(judged.question.query).documents
        documents = [ranked.document for ranked in found]
        returned.append(len(documents))
        rankings.append([corpus.number_of_part(d.title, d.text) for d in documents])
        covered.append(_coverage(kg, method, judged.question, documents, cutoffs))
        advance(1)
    supporting = [judged.supporting for judged in questions]
    found_figures = figures(supporting, rankings, cutoffs.ks)
    rows = [
        Row(ranks_of(passages, ranking), count, {**found, **covers}, time)
        for passages, ranking, count, found, covers, time in zip(
            supporting, rankings, returned, found_figures, covered, times, strict=True
        )
    ]
    return Outcome(method.label, tuple(rows))


def _coverage(
    kg: Graph, method: Method, question: Question, documents: list[Document], cutoffs: Cutoffs
) -> dict[str, float]:
    """``coverage@T`` by token budget; asks for more documents while the largest is not filled."""
    if not question.has_answer or not cutoffs.tokens:
        return {}
    limit = cutoffs.limit
    words = words_to_answer(question.answers, documents)
    while (
        words is None
        and len(documents) == limit
        and method.options.limit is None
        and fits(sum(map(words_of, documents)), max(cutoffs.tokens))
    ):
        limit *= 4
        deeper = kg.retriever(method.limited(limit))
        documents = [ranked.document for ranked in deeper.retrieve(question.query).documents]
        words = words_to_answer(question.answers, documents)
    return {
        f"coverage@{tokens}": float(words is not None and fits(words, tokens))
        for tokens in cutoffs.tokens
    }
