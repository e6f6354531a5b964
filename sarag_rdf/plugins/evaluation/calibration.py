"""``sarag evaluate confidence``: whether the confidence of answers can be trusted, and abstention.

Each question is asked twice: as it is, and without its supporting passages, when it has no answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Final

import click
import numpy as np

from sarag_rdf.answering.confidence import Calibration, features
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER
from sarag_rdf.base.ports import LLM
from sarag_rdf.base.types import Answer, Document, Query, Retrieved
from sarag_rdf.cli.flags import endpoint_of, endpoint_options
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg import registry, vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import commands
from sarag_rdf.plugins.evaluation.datasets import Corpus, Question
from sarag_rdf.plugins.evaluation.grading import ask_each
from sarag_rdf.plugins.evaluation.measures import matches
from sarag_rdf.plugins.evaluation.qa import SystemSpec, one_at_a_time, parse_system
from sarag_rdf.plugins.evaluation.reporting import block, rounded
from sarag_rdf.retrieval.retriever import RetrieverStrategy
from sarag_rdf.retrieval.view import GraphView

LIMITS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Limits of confidence for which the answers are counted."""
_RIDGE: Final = 0.01
"""Weight of the squared weights in what is minimised, which keeps them finite."""
_STEPS: Final = 50


@dataclass(frozen=True, slots=True)
class Rated:
    """What came of a question, asked with or without its supporting passages.

    Without its passages no answer is right, not even a lucky guess. `values` are `features` of the
    answer; None if none was given, or none that was read.
    """

    question: Question
    has_passages: bool
    answer: str
    values: tuple[float, float] | None
    confidence: float | None
    is_right: bool

    @classmethod
    def of(cls, question: Question, answer: Answer | None, *, has_passages: bool) -> Rated:
        if answer is None or answer.outcome != "answered":
            return cls(question, has_passages, "", None, None, is_right=False)
        is_right = has_passages and matches(answer.text, question.answers)
        return cls(
            question, has_passages, answer.text, features(answer), answer.confidence, is_right
        )


# --------------------------------------------------------------------------------------- Questions


@dataclass(frozen=True, kw_only=True)
class WithoutPassages(RetrieverStrategy):
    """What another retriever finds, without the documents of some passages and what they state."""

    name = "without-passages"
    chosen: RetrieverStrategy
    corpus: Corpus
    absent: frozenset[int]

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        most = query.limit or self.chosen.limit
        wide = replace(self.chosen, limit=most and most + len(self.absent))
        found = wide.retrieve(view, replace(query, limit=None))
        documents = [ranked for ranked in found.documents if not self._is_absent(ranked.document)]
        gone = {link for link, document in found.sources.items() if self._is_absent(document)}
        return replace(
            found,
            documents=tuple(replace(r, rank=n) for n, r in enumerate(documents[:most], start=1)),
            relationships=tuple(k for k in found.relationships if k.relationship not in gone),
        )

    def _is_absent(self, document: Document) -> bool:
        return self.corpus.index_of_part(document.title, document.text) in self.absent


def ask_twice(
    kg: KnowledgeGraph,
    corpus: Corpus,
    spec: SystemSpec,
    llm: LLM,
    questions: Sequence[Question],
    threads: int,
) -> list[Rated]:
    """Each question with its passages, then without; those without known passages only once.

    Searches of several threads wait for one another, because graphs are not thread-safe.
    """
    lock = threading.Lock()
    retriever = registry.options_of("retriever", spec.retriever)
    supports = [frozenset(corpus.support_of(question)) for question in questions]

    def ask(job: tuple[int, bool]) -> Answer:
        place, has_passages = job
        chosen = retriever
        if not has_passages:
            chosen = WithoutPassages(chosen=retriever, corpus=corpus, absent=supports[place])
        gather = one_at_a_time(kg.gather(chosen, context=spec.context.label), lock)
        return kg.reasoner(spec.reasoner.label, gather, llm).answer(questions[place].query)

    jobs = [
        (place, has_passages)
        for place, support in enumerate(supports)
        for has_passages in ((True, False) if support else (True,))
    ]
    with progress_bars() as progress:
        answers = ask_each(ask, jobs, threads, progress, "answering")
    return [Rated.of(questions[job[0]], answers[job], has_passages=job[1]) for job in jobs]


# ------------------------------------------------------------------------------------------ Figures


def risk_coverage(rated: Sequence[Rated]) -> dict[str, Any]:
    """How answers fare by their confidence.

    `curve` has for each limit the share of the questions with passages that are answered with at
    least that confidence, the share of these answers that are right, and the share of the questions
    without passages that are answered. `auroc` is the probability that a right answer has more
    confidence than a wrong one; `aurc` is the mean share of wrong ones among the most confident
    answers, over all numbers of answers; both are over the answers to questions of both kinds.
    """
    with_passages = [each for each in rated if each.has_passages]
    without = [each for each in rated if not each.has_passages]

    def answered(some: Sequence[Rated], least: float) -> list[Rated]:
        return [each for each in some if each.answer and (each.confidence or 0.0) >= least]

    curve = []
    for least in LIMITS:
        given, invented = answered(with_passages, least), answered(without, least)
        curve.append(
            {
                "least": least,
                "answered": _share(len(given), len(with_passages)),
                "right": _share(sum(each.is_right for each in given), len(given)),
                "answered_without": _share(len(invented), len(without)),
            }
        )
    every = [(each.confidence or 0.0, each.is_right) for each in answered(rated, 0.0)]
    right, wrong = ([c for c, is_right in every if is_right is one] for one in (True, False))
    order = sorted(every, key=lambda pair: -pair[0])
    risks = [1 - sum(r for _, r in order[:n]) / n for n in range(1, len(order) + 1)]
    pairs = [(one > other) + (one == other) / 2 for one in right for other in wrong]
    return {
        "questions": len(with_passages),
        "without_passages": len(without),
        "curve": curve,
        "auroc": rounded(fmean(pairs)) if pairs else None,
        "aurc": rounded(fmean(risks)) if risks else None,
        "brier": rounded(fmean((c - r) ** 2 for c, r in every)) if every else None,
    }


def _share(count: int, of: int) -> float | None:
    return rounded(count / of) if of else None


def fitted(rated: Sequence[Rated], what: str) -> Calibration:
    """The calibration under which it is most likely that just these answers are right.

    Logistic regression by Newton's method, with a ridge of `_RIDGE` on the weights. Raises
    `InputError` if all of the answers are right, or all are wrong.
    """
    read = [each for each in rated if each.values]
    if len({each.is_right for each in read}) < 2:
        raise InputError("all answers are right, or all are wrong: ask more questions")
    x = np.array([(1.0, *each.values) for each in read if each.values])
    y = np.array([each.is_right for each in read], dtype=np.float64)
    ridge = _RIDGE * np.diag([0.0, *[1.0] * (x.shape[1] - 1)])
    weights = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (p - y) / len(y) + ridge @ weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x / len(y) + ridge
        weights -= np.linalg.solve(hessian, gradient)
    intercept, of_support, of_coverage = (round(float(weight), 4) for weight in weights)
    return Calibration(intercept, of_support, of_coverage, what)


def with_calibration(rated: Sequence[Rated], calibration: Calibration) -> list[Rated]:
    """The same answers with the confidence that another calibration gives them."""
    return [
        replace(each, confidence=calibration.probability(*each.values)) if each.values else each
        for each in rated
    ]


# ----------------------------------------------------------------------------------------- Command


@dataclass(frozen=True, slots=True)
class RatedSet:
    """The answers to the questions of one data set, and what its inputs are."""

    name: str
    setting: Mapping[str, Any]
    rated: Sequence[Rated]


def report(sets: Sequence[RatedSet], calibration: Calibration | None) -> dict[str, Any]:
    """Figures of each set with its confidence, and with one that is fitted on the other sets.

    `calibration` is that fitted on all of them.
    """
    results = []
    for each in sets:
        others = [answer for other in sets if other is not each for answer in other.rated]
        left_out = None
        if {other.is_right for other in others if other.values} == {True, False}:
            left_out = risk_coverage(with_calibration(each.rated, fitted(others, "the others")))
        results.append(
            {
                "set": each.name,
                **risk_coverage(each.rated),
                "left_out": left_out,
                "setting": each.setting,
                "answers": [
                    {
                        "id": one.question.id,
                        "with_passages": one.has_passages,
                        "answer": one.answer,
                        "right": one.is_right,
                        "confidence": rounded(one.confidence),
                    }
                    for one in each.rated
                ],
            }
        )
    return {"sets": results, "calibration": calibration and asdict(calibration)}


_COLUMNS: Final = {
    "answered": "answered",
    "right": "right",
    "answered_without": "without passages",
}


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The curve of each set, as its answers have confidence, and as fitted on the other sets."""
    for each in data["sets"]:
        yield (
            f"{each['set']}: questions: {each['questions']}; asked without their passages as well: "
            f"{each['without_passages']}; figures in percent"
        )
        for title, result in (("", each), ("Fitted on the other sets", each["left_out"])):
            if result:
                rows = [{**row, "least": f"{row['least']:.1f}"} for row in result["curve"]]
                yield from block(title, "least", rows, _COLUMNS)
                figures = [(name, result[name]) for name in ("auroc", "aurc", "brier")]
                shown = [f"{name} {value:.3f}" for name, value in figures if value is not None]
                yield "; ".join(shown) or "no answer"
        yield ""
    yield "answered: questions that are answered with at least this confidence; right: of these"
    yield "without passages: those that are answered though nothing was left to answer them from"


@click.command(
    name="confidence",
    epilog="Example:  sarag evaluate confidence --corpus corpus.json --questions questions.json "
    "--kg kg --replies replies.sqlite",
)
@commands.data_options(multiple=True)
@click.option(
    "--system", default=f"{RETRIEVER}+{CONTEXT}+{REASONER}", show_default=True,
    help="RETRIEVER+REASONER or RETRIEVER+CONTEXT+REASONER, as for qa.",
)  # fmt: skip
@commands.output_option("--calibration", "Write a calibration fitted on all sets to this file.")
@commands.selection_options
@commands.replies_option
@commands.result_options
@endpoint_options
def command(**options: Any) -> None:
    """Report how right answers are by their confidence, and how many are made up.

    Each question is asked as it is, and without its supporting passages, when nothing answers it.
    --corpus, --questions and --kg may be repeated, once for each data set: a confidence that is
    fitted on all sets but one is then reported on the one left out, too. The measures are defined
    in docs/reference/evaluation.md.
    """
    spec = parse_system(options["system"])
    llm = vectors.make_llm(endpoint_of(options), options["replies"])
    sets = []
    for name, own in commands.data_sets(options).items():
        with commands.open_inputs(own, need_answers=True) as inputs:
            assert inputs.corpus is not None  # noqa: S101 - the option is required
            with commands.interruption(options["replies"]):
                rated = ask_twice(
                    inputs.kg, inputs.corpus, spec, llm, inputs.questions, options["concurrency"]
                )
            setting = inputs.setting(own, system=spec.label, **commands.model_setting(llm, options))
        sets.append(RatedSet(name, setting, rated))
    calibration = None
    if options["calibration"]:
        names = ", ".join(each.name for each in sets)
        calibration = fitted([answer for each in sets for answer in each.rated], names)
        commands.write_json(options["calibration"], asdict(calibration))
    data = report(sets, calibration)
    commands.show_results(options, data, lines(data))
