"""Runs retrievers on questions, and measures recall, answer coverage and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from sarag_rdf.base.options import RetrieverOptions
from sarag_rdf.base.ports import Embedder, Progress, Retriever, embed_queries
from sarag_rdf.base.types import Document
from sarag_rdf.plugins.evaluation.corpus import Corpus
from sarag_rdf.plugins.evaluation.problems import JudgedQuestion
from sarag_rdf.plugins.evaluation.questions import Question
from sarag_rdf.plugins.evaluation.scores import count_words, fits_budget, words_to_answer
from sarag_rdf.plugins.evaluation.statistics import figures, support_ranks
from sarag_rdf.retrieval.question import question_of

DEPTH = 100
"""The minimum number of documents that are retrieved."""
_WARM_UP = question_of("Which of these passages comes first?")


class RetrievalGraph(Protocol):
    """The part of `sarag_rdf.kg.graph.KnowledgeGraph` that an evaluation uses."""

    def retriever(self, retriever: RetrieverOptions, /) -> Retriever: ...

    def embedder(self, *, cached: bool = True) -> Embedder: ...


@dataclass(frozen=True, slots=True)
class RetrievalMethod:
    """The options of a retriever, and the label under which its results are reported."""

    label: str
    options: RetrieverOptions

    def limited(self, limit: int) -> RetrieverOptions:
        """The options with at most `limit` documents, unless they have a limit already."""
        return self.options if self.options.limit else replace(self.options, limit=limit)


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The result of a method for a question.

    `ranks` are those of the supporting passages, from 1, None if not retrieved. `figures` are
    measures in [0, 1] by name, such as ``R@5``, without undefined ones. `milliseconds` is the time
    to retrieve the largest k documents.
    """

    ranks: tuple[int | None, ...]
    returned: int
    figures: Mapping[str, float]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class MethodResults:
    """The rows of a method, one per question, in their order."""

    method: str
    rows: tuple[RetrievalResult, ...]


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The cutoffs of recall in documents, and of coverage in tokens.

    `curve` are further cutoffs of recall, which are computed but do not count in the time.
    """

    ks: tuple[int, ...]
    tokens: tuple[int, ...] = ()
    curve: tuple[int, ...] = ()

    @property
    def limit(self) -> int:
        """The number of documents to retrieve."""
        return max(*self.ks, *self.curve, DEPTH)


def evaluate(
    kg: RetrievalGraph,
    corpus: Corpus,
    questions: Sequence[JudgedQuestion],
    methods: Sequence[RetrievalMethod],
    cutoffs: Cutoffs,
    progress: Progress,
) -> tuple[list[float], list[MethodResults]]:
    """The encoding time of each question in milliseconds, and the outcome of each method."""
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


def _encoding_times(
    kg: RetrievalGraph, questions: Sequence[JudgedQuestion], progress: Progress
) -> list[float]:
    """Milliseconds to embed each question, one by one and without the cache.

    Each question is also embedded through the cache, so that later retrieval times do not include
    the encoding.
    """
    model, cached = kg.embedder(cached=False), kg.embedder()
    embed_queries(model, [_WARM_UP.text])
    embed_queries(cached, [_WARM_UP.text])
    advance = progress("encoding questions", len(questions))
    times = []
    for judged in questions:
        begin = perf_counter()
        embed_queries(model, [judged.question.query.text])
        times.append(1000 * (perf_counter() - begin))
        embed_queries(cached, [judged.question.query.text])
        advance(1)
    return times


def _ask(
    kg: RetrievalGraph,
    corpus: Corpus,
    questions: Sequence[JudgedQuestion],
    method: RetrievalMethod,
    retrievers: tuple[Retriever, Retriever],
    cutoffs: Cutoffs,
    progress: Progress,
) -> MethodResults:
    """Run a method on every question, after a warm-up.

    The first retriever, with the largest k as its limit, is timed; the second retrieves enough
    documents to fill the contexts.
    """
    timed, deep = retrievers
    timed.retrieve(_WARM_UP)
    advance = progress(f"retrieving with {method.label}", len(questions))
    rankings: list[list[int | None]] = []
    times, covered, returned = [], [], []
    for judged in questions:
        begin = perf_counter()
        timed.retrieve(judged.question.query)
        times.append(1000 * (perf_counter() - begin))
        ranked_documents = deep.retrieve(judged.question.query).documents
        documents = [ranked.document for ranked in ranked_documents]
        returned.append(len(documents))
        rankings.append([corpus.index_of_part(d.title, d.text) for d in documents])
        covered.append(_coverage(kg, method, judged.question, documents, cutoffs))
        advance(1)
    supporting = [judged.supporting for judged in questions]
    found_figures = figures(supporting, rankings, sorted({*cutoffs.ks, *cutoffs.curve}))
    rows = [
        RetrievalResult(support_ranks(passages, ranking), count, {**shares, **covers}, time)
        for passages, ranking, count, shares, covers, time in zip(
            supporting, rankings, returned, found_figures, covered, times, strict=True
        )
    ]
    return MethodResults(method.label, tuple(rows))


def _coverage(
    kg: RetrievalGraph,
    method: RetrievalMethod,
    question: Question,
    documents: list[Document],
    cutoffs: Cutoffs,
) -> dict[str, float]:
    """``coverage@T`` by token budget; retrieves more documents until the largest is filled."""
    if not question.has_answer or not cutoffs.tokens:
        return {}
    limit = cutoffs.limit
    words = words_to_answer(question.answers, documents)
    while (
        words is None
        and len(documents) == limit
        and method.options.limit is None
        and fits_budget(sum(map(count_words, documents)), max(cutoffs.tokens))
    ):
        limit *= 4
        deeper = kg.retriever(method.limited(limit))
        documents = [ranked.document for ranked in deeper.retrieve(question.query).documents]
        words = words_to_answer(question.answers, documents)
    return {
        f"coverage@{tokens}": float(words is not None and fits_budget(words, tokens))
        for tokens in cutoffs.tokens
    }
