"""``sarag evaluate retrieval`` and ``evidence``: what retrievers find, and what is shown of it.

`retrieval` reports recall, answer coverage and time; `evidence` whether the sentences that a search
shows are the right ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, Final, cast

import click

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.options import DEFAULT_LIMIT, RetrieverOptions, Spec, declared_options
from sarag_rdf.base.ports import Progress, Retriever, embed_queries
from sarag_rdf.base.types import Document, Excerpt, Retrieved
from sarag_rdf.cli.flags import Decorator, endpoint_options, together
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg.evidence import RetrievedEvidence
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import strategy
from sarag_rdf.plugins.evaluation import commands, measures, reporting
from sarag_rdf.plugins.evaluation.datasets import Corpus, Question, problem_lines
from sarag_rdf.retrieval.context import approximate_tokens
from sarag_rdf.retrieval.retriever import question_of

DEPTH = 100
"""The minimum number of documents that are retrieved to measure coverage."""
CURVE = 20
"""The minimum number of ranks that --plot shows."""
_WARM_UP = question_of("Which of these passages comes first?")


Methods = Mapping[str, RetrieverOptions]
"""The options of retrievers by the label under which their results are reported."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The result of a method for a question.

    `ranks` of the supporting passages are from 1, None if not retrieved; `figures` are in [0, 1] by
    name, such as ``R@5``, beside the number of documents ``returned``; undefined ones are absent.
    `milliseconds` is the time to retrieve the largest k documents.
    """

    ranks: tuple[int | None, ...]
    figures: Mapping[str, float]
    milliseconds: float


Outcomes = Mapping[str, Sequence[RetrievalResult]]
"""Results by the label of their method, one per question, in their order."""


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The cutoffs of recall in documents, and of coverage in tokens."""

    ks: tuple[int, ...]
    tokens: tuple[int, ...] = ()

    @property
    def limit(self) -> int:
        """The number of documents that are retrieved."""
        return max(*self.ks, DEPTH if self.tokens else 0)

    def names(self, *kinds: str) -> list[str]:
        return [f"{kind}@{k}" for kind in kinds for k in self.ks]

    @property
    def coverages(self) -> dict[str, str]:
        """The names of coverage by tokens, with headings such as ``cov@4k``."""
        return {f"coverage@{t}": f"cov@{str(t).removesuffix('000')}" + "k" * (t % 1000 == 0)
                for t in self.tokens}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Runs retrieval methods on questions about a corpus."""

    kg: KnowledgeGraph
    corpus: Corpus
    questions: Sequence[Question]
    cutoffs: Cutoffs
    progress: Progress

    def run(self, methods: Methods) -> tuple[list[float], Outcomes]:
        """The encoding time of each question in milliseconds, and the outcome of each method."""
        for options in methods.values():
            self.kg.retriever(options)  # before anything is run
        encoding = self._encoding_times()
        return encoding, {label: self._ask(label, own) for label, own in methods.items()}

    def _encoding_times(self) -> list[float]:
        """Milliseconds to embed each question, one by one and without the cache.

        Each is also embedded through the cache, so that retrieval times do not include that.
        """
        model, cached = self.kg.embedder(cached=False), self.kg.embedder()
        advance = self.progress("encoding questions", len(self.questions))
        times = []
        for number, query in enumerate([_WARM_UP, *(q.query for q in self.questions)]):
            begin = perf_counter()
            embed_queries(model, [query.text])
            times.append(1000 * (perf_counter() - begin))
            embed_queries(cached, [query.text])
            advance(min(number, 1))
        return times[1:]

    def _ask(self, label: str, options: RetrieverOptions) -> list[RetrievalResult]:
        """Run a method on every question, after a warm-up.

        It is timed for the largest k, and run again for more documents if these fill the contexts.
        """
        timed = self._retriever(options, max(self.cutoffs.ks))
        deep = self._retriever(options, self.cutoffs.limit)
        timed.retrieve(_WARM_UP)
        advance = self.progress(f"retrieving with {label}", len(self.questions))
        rankings: list[list[int | None]] = []
        times, others = [], []
        for question in self.questions:
            begin = perf_counter()
            documents = _documents(timed, question)
            times.append(1000 * (perf_counter() - begin))
            if self.cutoffs.limit > max(self.cutoffs.ks):
                documents = _documents(deep, question)
            rankings.append([self.corpus.index_of_part(d.title, d.text) for d in documents])
            covered = self._coverage(options, question, documents)
            others.append({**covered, "returned": float(len(documents))})
            advance(1)
        supporting = [self.corpus.support_of(question) for question in self.questions]
        shares = measures.figures(supporting, rankings, self.cutoffs.ks)
        ranks = map(measures.support_ranks, supporting, rankings)
        return [
            RetrievalResult(own, {**some, **other}, time)
            for own, some, other, time in zip(ranks, shares, others, times, strict=True)
        ]

    def _retriever(self, options: RetrieverOptions, limit: int) -> Retriever:
        """At most `limit` documents, unless the options have a limit already."""
        return self.kg.retriever(options if options.limit else replace(options, limit=limit))

    def _coverage(
        self, options: RetrieverOptions, question: Question, documents: list[Document]
    ) -> dict[str, float]:
        """``coverage@T`` by token budget; retrieves more documents until the largest is filled."""
        limit, budgets = self.cutoffs.limit, self.cutoffs.tokens
        if not question.has_answer or not budgets:
            return {}
        while (
            (words := measures.words_to_answer(question.answers, documents)) is None
            and len(documents) == limit
            and options.limit is None
            and measures.fits_budget(sum(map(measures.count_words, documents)), max(budgets))
        ):
            limit *= 4
            documents = _documents(self._retriever(options, limit), question)
        return {
            f"coverage@{tokens}": float(words is not None and measures.fits_budget(words, tokens))
            for tokens in budgets
        }


def _documents(retriever: Retriever, question: Question) -> list[Document]:
    return [ranked.document for ranked in retriever.retrieve(question.query).documents]


# ----------------------------------------------------------------------------------------- Report


def report(
    corpus: Corpus,
    questions: Sequence[Question],
    outcomes: Outcomes,
    cutoffs: Cutoffs,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, a result for each method, a row for each question; fractions in [0, 1] or None.

    The values contain no times, dates or paths.
    """
    figures = {method: [row.figures for row in own] for method, own in outcomes.items()}
    names = [*cutoffs.names("R", "all", "P", "nDCG"), *cutoffs.coverages]
    compared = cutoffs.names("R", "all")
    supporting = [[corpus.passages[p] for p in corpus.support_of(q)] for q in questions]
    hops = [len(passages) or None for passages in supporting]
    details = [
        {"hops": count, "supporting": [{"id": p.id, "title": p.title} for p in passages]}
        for count, passages in zip(hops, supporting, strict=True)
    ]
    rows = {method: [_row(row, cutoffs) for row in own] for method, own in outcomes.items()}
    return {
        "setting": dict(setting),
        "results": reporting.results(
            "method", figures, names, compared, {"hops": hops}, setting, ["returned"]
        ),
        "questions": reporting.by_question("method", questions, rows, details),
    }


def _row(row: RetrievalResult, cutoffs: Cutoffs) -> dict[str, Any]:
    covered = {t: row.figures.get(f"coverage@{t}") for t in cutoffs.tokens}
    return {
        "ranks": list(row.ranks),
        **{name: reporting.rounded(row.figures.get(name)) for name in cutoffs.names("R")},
        "covered": {str(t): None if share is None else bool(share) for t, share in covered.items()},
        "returned": int(row.figures["returned"]),
    }


def timings(encoding: Sequence[float], outcomes: Outcomes) -> dict[str, Any]:
    """Milliseconds per question, median and mean: for encoding, and for each retrieval without it.

    `ratio` is the median retrieval time divided by the median encoding time.
    """
    encoded = reporting.median_and_mean(encoding)
    retrieval: dict[str, Any] = {}
    for method, rows in outcomes.items():
        own = reporting.median_and_mean([row.milliseconds for row in rows])
        retrieval[method] = {**own, "ratio": round(own["median"] / max(encoded["median"], 1e-3), 3)}
    return {"encoding": encoded, "retrieval": retrieval}


def lines(report: Mapping[str, Any], times: Mapping[str, Any], cutoffs: Cutoffs) -> Iterator[str]:
    """The report as text: the main table, differences, measures by hops, times, problems."""
    setting, rows = report["setting"], report["results"]
    counts = setting["questions"]
    yield f"Questions: {counts['count']}; with recall: {counts['with_recall']}; figures in percent"
    recalls = {name: name for name in cutoffs.names("R", "all")}
    last = {f"{name}@{cutoffs.ks[-1]}": f"{name}@{cutoffs.ks[-1]}" for name in ("P", "nDCG")}
    columns = {**recalls, **last, **cutoffs.coverages}
    yield ""
    yield from reporting.block("", "method", with_times(rows, times), columns | TIMES)
    for kind in ("R", "all") if counts["with_recall"] else ():
        names = {name: name for name in cutoffs.names(kind)}
        yield from reporting.differences(f"{kind}@k, difference", "method", rows, names)
    yield from reporting.groups("method", rows, {**recalls, **cutoffs.coverages})
    yield ""
    yield (
        f"encoding a question: {times['encoding']['median']:.1f} ms (median; mean "
        f"{times['encoding']['mean']:.1f}), not included in retrieval times"
    )
    for method, own in times["retrieval"].items():
        yield (
            f"retrieval by {method}: {own['median']:.1f} ms (median; mean {own['mean']:.1f}), "
            f"{own['ratio']:.2f} times the encoding"
        )
    yield from problem_lines(setting["problems"])


TIMES = {"returned": "docs|.1f", "ms": "ms|.1f"}


def with_times(
    results: Sequence[Mapping[str, Any]], times: Mapping[str, Any]
) -> list[dict[str, Any]]:
    return [{**r, "ms": times["retrieval"][r["method"]]["median"]} for r in results]


# ---------------------------------------------------------------------------------------- Command

methods_option = click.option(
    "--methods", default="sarag", show_default=True, callback=commands.parse_names,
    help="Comma-separated retrievers; options as NAME:KEY=VALUE:KEY=VALUE.",
)  # fmt: skip


def methods_of(labels: Sequence[str]) -> dict[str, RetrieverOptions]:
    """The options of the retrievers of `methods_option`, by label; raises `UsageError`."""
    methods = {}
    for label in labels:
        with commands.naming(f"method {label}"):
            methods[label] = ranking_options(label)
    return methods


def cutoff_options(tokens: str) -> Decorator:
    numbers = commands.numbers(click.IntRange(1))
    return together(
        click.option(
            "--k", "ks", default="2,5,10", show_default=True, callback=numbers,
            help="Cutoffs of recall, in documents.",
        ),
        click.option(
            "--tokens", default=tokens, show_default=True, callback=numbers,
            help="Context sizes for answer coverage, in tokens.",
        ),
    )  # fmt: skip


def measure(
    options: dict[str, Any], methods: Methods, baseline: str, cutoffs: Cutoffs
) -> tuple[dict[str, Any], dict[str, Any], Outcomes]:
    """Report, timings and outcomes of methods.

    Raises `InputError` for a graph of another corpus, and if there is no recall to plot.
    """
    measures.ranking_measures()  # before anything is indexed
    with commands.open_inputs(options) as inputs, progress_bars() as progress:
        corpus, questions = cast("Corpus", inputs.corpus), inputs.questions
        with_recall = sum(bool(corpus.support_of(question)) for question in questions)
        if options["plot"] and not with_recall:
            reason = "no question has supporting passages in the corpus"
            raise InputError(f"cannot plot recall: {reason}")
        evaluation = Evaluation(inputs.kg, corpus, questions, cutoffs, progress)
        encoding, outcomes = evaluation.run(methods)
        setting = inputs.setting(
            options,
            k=list(cutoffs.ks),
            tokens=list(cutoffs.tokens),
            documents_asked_for=cutoffs.limit,
            methods=[*methods],
            baseline=baseline,
        )  # fmt: skip
    setting["questions"]["with_recall"] = with_recall
    data, times = report(corpus, questions, outcomes, cutoffs, setting), timings(encoding, outcomes)
    return data, times, outcomes


@click.command(
    name="retrieval",
    epilog="Example:  sarag evaluate retrieval --corpus corpus.json --questions questions.json "
    "--methods sarag,sarag-paper --kg kg-of-corpus --output results.json",
)
@commands.data_options()
@methods_option
@cutoff_options("1000,4000,10000")
@commands.selection_options
@click.option("--baseline", help="Method to compare with. Default: dense, else the first one.")
@commands.output_options
@commands.plot_option("Plot recall against k to this .png file.")
@endpoint_options
def command(**options: Any) -> None:
    """Report recall of supporting passages and coverage of answers for each method.

    The measures are defined in docs/reference/evaluation.md. The same input gives the same
    JSON; timings are written with --timings.
    """
    labels = options["methods"]
    methods = methods_of(labels)
    default = "dense" if "dense" in labels else labels[0]
    baseline = commands.check_baseline(options["baseline"] or default, labels, "--methods")
    cutoffs = Cutoffs(options["ks"], options["tokens"])
    data, times, outcomes = measure(options, methods, baseline, cutoffs)
    commands.write_json(options["timings"], times)
    if options["plot"]:
        _draw(outcomes, max(CURVE, *cutoffs.ks), options["plot"])
    commands.show_results(options, data, lines(data, times, cutoffs))


def _draw(outcomes: Outcomes, last: int, path: Path) -> None:
    curves = {}
    for method, rows in outcomes.items():
        ranks = [row.ranks for row in rows if row.ranks]
        curves[method] = [
            (float(k), fmean(fmean(r is not None and r <= k for r in own) for own in ranks))
            for k in range(1, last + 1)
        ]
    reporting.write_plot(path, "Recall of supporting passages", curves, "rank")


def ranking_options(chosen: str) -> RetrieverOptions:
    """Options of a retriever that ranks documents and explains nothing unless asked to."""
    spec = Spec.parse(chosen)
    options = strategy("retriever", spec.name)
    if any(declared.name == "explain" for declared in declared_options(options)):
        spec = Spec(spec.label, spec.name, {"explain": "false", **spec.options})
    ranking = spec.read(options)
    assert isinstance(ranking, RetrieverOptions)  # noqa: S101 - all retrievers have these
    return ranking


# --------------------------------------------------------------------------------------- Evidence

SHARES: Final = {"facts": "facts", "answer": "answer", "chain": "in chain"}
SIZES: Final = {"text": "text|.0f", "evidence": "evidence|.0f", "chain_tokens": "chain|.0f"}


def evidence_of(
    corpus: Corpus, question: Question, retrieved: Retrieved, k: int = 5
) -> dict[str, float]:
    """The measures of the evidence of the first k documents; undefined ones are absent.

    facts: of the supporting passages that were found, the share whose evidence holds a supporting
    sentence, or the answer of its sub-question. answer: whether the evidence holds an answer that
    the texts hold, unless it is yes or no. chain: the same for the chain of evidence. text,
    evidence, chain_tokens: approximate sizes in tokens.
    """
    found = RetrievedEvidence(retrieved)
    chain = [excerpt for _, excerpt in found.chain]
    return measures_of(corpus, question, found.excerpts[:k], chain)


def measures_of(
    corpus: Corpus, question: Question, evidence: Sequence[Excerpt], chain: Sequence[Excerpt]
) -> dict[str, float]:
    """The same for an excerpt of each document, by rank, and a chain of some of them."""
    texts = [Excerpt.whole(excerpt.document) for excerpt in evidence]
    row = {
        name: float(sum(approximate_tokens(excerpt.text) for excerpt in excerpts))
        for name, excerpts in (("text", texts), ("evidence", evidence), ("chain_tokens", chain))
    }
    shown = {
        corpus.index_of_part(excerpt.document.title, excerpt.document.text): excerpt
        for excerpt in reversed(evidence)
    }
    pairs = [
        (shown[passage], fact)
        for fact in question.facts
        if (passage := corpus.index_of(fact.title, fact.text)) in shown and passage is not None
    ]
    if pairs:
        row["facts"] = sum(_holds(excerpt, fact.texts) for excerpt, fact in pairs) / len(pairs)
    answers = [a for a in question.answers if measures.normalize_answer(a) not in ("", "yes", "no")]
    if any(_holds(text, answers) for text in texts):
        row["answer"] = float(any(_holds(excerpt, answers) for excerpt in evidence))
        row["chain"] = float(any(_holds(excerpt, answers) for excerpt in chain))
    return row


def _holds(excerpt: Excerpt, texts: Sequence[str]) -> bool:
    """Whether an excerpt, or a sentence of it, matches one of the texts."""
    parts = [excerpt.document.text[slice(*span)] for span in excerpt.spans]
    return any(measures.matches(part, texts) for part in (*parts, " ".join(parts)))


@click.command(
    name="evidence",
    epilog="Example:  sarag evaluate evidence --corpus corpus.json --questions questions.json "
    "--kg kg-of-corpus",
)
@commands.data_options()
@methods_option
@click.option(
    "--k", default=5, show_default=True, type=click.IntRange(1),
    help="Number of documents whose evidence is measured.",
)  # fmt: skip
@commands.selection_options
@click.option("--baseline", help="Method to compare with. Default: the first one.")
@commands.result_options
@endpoint_options
def evidence(**options: Any) -> None:
    """Report how often the sentences shown of each document hold the facts and the answer.

    The questions are those of MuSiQue, whose sub-questions have answers, or of HotpotQA, which
    marks supporting sentences. The measures are defined in docs/reference/evaluation.md.
    """
    k, limit = options["k"], max(options["k"], DEFAULT_LIMIT)  # evidence depends on all documents
    methods = methods_of(options["methods"])
    default = options["methods"][0]
    baseline = commands.check_baseline(options["baseline"] or default, [*methods], "--methods")
    measured: dict[str, list[dict[str, float]]] = {label: [] for label in methods}
    with commands.open_inputs(options) as inputs, progress_bars() as progress:
        corpus, questions = cast("Corpus", inputs.corpus), inputs.questions
        for label, own in methods.items():
            retriever = inputs.kg.retriever(own if own.limit else replace(own, limit=limit))
            advance = progress(f"retrieving with {label}", len(questions))
            for question in questions:
                found = retriever.retrieve(question.query)
                measured[label].append(evidence_of(corpus, question, found, k))
                advance(1)
        setting = inputs.setting(options, k=k, methods=[*methods], baseline=baseline)
    groups = {"hops": [question.hops for question in questions]}
    names = [*SHARES, *SIZES]
    data = {
        "setting": setting,
        "results": reporting.results("method", measured, names, [*SHARES], groups, setting),
        "questions": reporting.by_question("method", questions, measured),
    }
    commands.show_results(options, data, evidence_lines(data))


def evidence_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: the main table, differences, measures by hops, problems."""
    setting, results = report["setting"], report["results"]
    yield (
        f"Questions: {setting['questions']['count']}; of the first {setting['k']} documents; "
        "figures in percent, sizes in tokens"
    )
    yield ""
    yield from reporting.block("", "method", results, {**SHARES, **SIZES})
    yield from reporting.differences("difference", "method", results, SHARES)
    yield from reporting.groups("method", results, SHARES)
    yield from problem_lines(setting["problems"])
