"""Grading of answers: by string match, by a judge model if strings differ; and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal, TypeVar

from sarag_rdf.base.errors import (
    ContextTooLongError,
    TruncatedReplyError,
    UnparsableReplyError,
)
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.prompts import Prompts, boolean, fence_for, object_of
from sarag_rdf.base.threads import map_in_order
from sarag_rdf.base.types import Usage
from sarag_rdf.plugins.evaluation.measures import exact_match, matches, token_f1
from sarag_rdf.plugins.evaluation.questions import Question, problem_lines
from sarag_rdf.plugins.evaluation.report import (
    block,
    differences,
    group,
    groups,
    percent,
    results,
    rounded,
    spent,
)
from sarag_rdf.plugins.evaluation.report import times as median_and_mean

PROMPTS: Final = Prompts(Path(__file__).parent / "prompts")
QUESTION_ERRORS = (ContextTooLongError, TruncatedReplyError, UnparsableReplyError)
"""Errors that affect a single question; all others end the run."""
FENCE = 8
SCHEMA = object_of(correct=boolean())
SAMPLE = 20
"""The number of matching answers that are judged as well, to measure agreement."""
Shown = TypeVar("Shown")
Replies = dict[Shown, Reply | None]
"""The replies of a judge by what it was shown; None without a valid reply."""


@dataclass(frozen=True, slots=True)
class SystemResult:
    """The result of a system for a question.

    `outcome` is ``answered``, ``insufficient`` (with an empty `answer`), or ``failed``, with the
    reason in `problem`. `covered`: the full context of the retriever contains a known answer
    ("The Reasoning Bottleneck in Graph-RAG", section 4.4); `context_covered`: what the model was
    given, for the question or a sub-question, contains one. `calls` are successful model calls,
    including cached ones; `seconds` is the total time, as if nothing was cached. `notes` are
    boolean notes of the reasoner, such as ``grounding.bound``.
    """

    outcome: Literal["answered", "insufficient", "failed"]
    answer: str
    reasoning: str
    problem: str
    covered: bool
    context_covered: bool
    calls: int
    tokens_in: int
    tokens_out: int
    retrievals: int
    context_tokens: int
    seconds: float
    notes: Mapping[str, bool]


ResultsBySystem = Mapping[str, Sequence[SystemResult]]
"""Rows by system, one per question, in their order."""


@dataclass(frozen=True, slots=True)
class Case:
    """An answer to be judged, with the question and the known answers."""

    question: str
    known: tuple[str, ...]
    answer: str


def judge_prompt(case: Case) -> str:
    """The prompt, with question and answers as fenced data."""
    return PROMPTS.render(
        "judge",
        question=case.question,
        known=[" ".join(text.split()) for text in case.known],
        answer=case.answer,
        fence=fence_for(case.question, *case.known, case.answer, length=FENCE),
    )


def judge_all(
    cases: Iterable[Case], llm: LLM, *, threads: int, progress: Progress
) -> Replies[Case]:
    """A reply for each distinct case; see `ask_judge`."""

    def ask(case: Case) -> Reply:
        return llm.complete(judge_prompt(case), SCHEMA, name="judge", max_tokens=50)

    return ask_judge(ask, list(cases), threads, progress, "judging")


def ask_judge(
    ask: Callable[[Shown], Reply],
    items: Sequence[Shown],
    threads: int,
    progress: Progress,
    what: str,
) -> Replies[Shown]:
    """The reply for each item. Raises errors that end a run."""

    def work(item: Shown, _: Event) -> Reply | None:
        try:
            return ask(item)
        except QUESTION_ERRORS:
            return None

    advance = progress(what, len(items))
    replies: Replies[Shown] = {}
    for item, reply in zip(items, map_in_order(work, items, threads), strict=True):
        replies[item] = reply
        advance(1)
    return replies


def usage_of(replies: Mapping[Any, Reply | None], prices: Mapping[str, float]) -> dict[str, Any]:
    """Calls, tokens and dollars of replies, as if none was cached."""
    found = [reply.first_usage or reply.usage for reply in replies.values() if reply]
    usage = sum(found, Usage())
    dollars = spent(usage.tokens_in, usage.tokens_out, prices)
    tokens = {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    return {"calls": usage.calls + usage.cached_calls, **tokens, "dollars": dollars}


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """The scores of an answer in [0, 1]; all are 0 without an answer.

    `judged` is the judge's verdict, None without one. `error` is empty for a correct answer, else
    ``failed``, ``retrieval`` if no known answer was retrieved, or ``reasoning`` ("The Reasoning
    Bottleneck in Graph-RAG", section 5.7).
    """

    row: SystemResult
    exact: float
    f1: float
    matched: bool
    judged: bool | None
    correct: bool
    error: str


def cases_for_judge(questions: Sequence[Question], rows: ResultsBySystem) -> list[Case]:
    """Distinct answers that match no known answer, and the first `SAMPLE` that do."""
    cases: dict[bool, dict[Case, None]] = {False: {}, True: {}}
    for number, question in enumerate(questions):
        for row in (system_rows[number] for system_rows in rows.values()):
            if row.outcome == "answered":
                case = _case_of(question, row)
                cases[matches(case.answer, case.known)][case] = None
    return [*cases[False], *islice(cases[True], SAMPLE)]


def grade_answers(
    questions: Sequence[Question], rows: Iterable[SystemResult], replies: Replies[Case]
) -> list[GradedAnswer]:
    """Grade the rows of a system; a match is correct, regardless of the judge's verdict."""
    return [_mark(question, row, replies) for question, row in zip(questions, rows, strict=True)]


def _mark(question: Question, row: SystemResult, replies: Replies[Case]) -> GradedAnswer:
    is_answer = row.outcome == "answered"
    matched = is_answer and matches(row.answer, question.answers)
    reply = replies.get(_case_of(question, row)) if is_answer else None
    judged = reply.data["correct"] if reply else None
    correct = matched or judged is True
    if correct:
        error = ""
    elif row.outcome == "failed":
        error = "failed"
    else:
        error = "reasoning" if row.covered else "retrieval"
    return GradedAnswer(
        row, exact_match(row.answer, question.answers), token_f1(row.answer, question.answers),
        matched, judged, correct, error,
    )  # fmt: skip


def _case_of(question: Question, row: SystemResult) -> Case:
    return Case(question.query.text, question.answers, row.answer)


# ----------------------------------------------------------------------------------------- Report

COMPARED: Final = {"accuracy": "acc", "exact_match": "EM", "f1": "F1"}
"""Measures whose difference from the baseline is reported, with their headings."""
SHOWN: Final = {
    **COMPARED,
    "coverage": "cov",
    "context_coverage": "ctx",
    "abstention": "abst",
    "failed": "fail",
    "errors_of_retrieval": "e-retr",
    "errors_of_reasoning": "e-reas",
}
COSTS: Final = {
    "calls": "calls|.2f",
    "tokens_in": "in|.0f",
    "tokens_out": "out|.0f",
    "dollars": "US$|.6f",
    "retrievals": "searches|.2f",
    "context_tokens": "context|.0f",
}
_OF_GROUPS: Final = tuple(name for name in SHOWN if not name.startswith(("failed", "errors")))
PROBLEMS: Final = (
    *("duplicate_passages", "empty_passages", "duplicate_question_ids", "questions_without_answer"),
    *("questions_answered_yes_or_no", "documents_without_extraction", "passages_not_in_graph"),
)


def report(
    questions: Sequence[Question],
    rows: ResultsBySystem,
    verdicts: Replies[Case] | None,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, a result for each system, a row for each question; fractions in [0, 1] or None.

    `setting` has `baseline`, `seed` and `prices`. The values contain no times, dates or paths.
    `verdicts` is None without a judge.
    """
    marks = {
        label: grade_answers(questions, answers, verdicts or {}) for label, answers in rows.items()
    }
    values = {
        label: [_values(mark, setting["prices"]) for mark in own] for label, own in marks.items()
    }
    kinds: dict[str, list[Any]] = {
        "type": [q.type or None for q in questions],
        "hops": [q.hops for q in questions],
    }
    names = [*COMPARED, "matched", *(name for name in SHOWN if name not in COMPARED)]
    found = results("system", values, names, list(COMPARED), kinds, setting, list(COSTS))
    for result in found:
        label = result["system"]
        result["on_covered"] = group([row for row in values[label] if row["coverage"]], names)
        notes = [mark.row.notes for mark in marks[label]]
        every = sorted({name for own in notes for name in own})
        shares = group([{name: own.get(name, False) for name in every} for own in notes], every)
        result["notes"] = {name: shares[name] for name in every}
    return {
        "setting": dict(setting),
        "results": found,
        "judge": None if verdicts is None else _judge(verdicts, setting["prices"]),
        "questions": [
            {
                "id": question.id,
                "question": question.query.text,
                "answers": list(question.answers),
                "type": question.type or None,
                "hops": question.hops,
                "systems": {label: _row(graded[position]) for label, graded in marks.items()},
            }
            for position, question in enumerate(questions)
        ],
    }


def timings(rows: ResultsBySystem, at_a_time: int) -> dict[str, Any]:
    """Seconds per question by system, median and mean, and the number of concurrent questions."""
    seconds = {label: median_and_mean([row.seconds for row in own]) for label, own in rows.items()}
    return {"questions_at_a_time": at_a_time, "seconds": seconds}


def _values(mark: GradedAnswer, prices: Mapping[str, float]) -> dict[str, float]:
    row = mark.row
    return {
        "accuracy": float(mark.correct),
        "exact_match": mark.exact,
        "f1": mark.f1,
        "matched": float(mark.matched),
        "coverage": float(row.covered),
        "context_coverage": float(row.context_covered),
        "abstention": float(row.outcome == "insufficient"),
        "failed": float(row.outcome == "failed"),
        "errors_of_retrieval": float(mark.error == "retrieval"),
        "errors_of_reasoning": float(mark.error == "reasoning"),
        **{name: getattr(row, name) for name in COSTS if name != "dollars"},
        "dollars": (row.tokens_in * prices["in"] + row.tokens_out * prices["out"]) / 1_000_000,
    }


def _judge(replies: Replies[Case], prices: Mapping[str, float]) -> dict[str, Any]:
    """Counts of the judge's verdicts on distinct answers, and their cost."""
    by_match: dict[bool, list[bool | None]] = {False: [], True: []}
    for case, reply in replies.items():
        by_match[matches(case.answer, case.known)].append(reply.data["correct"] if reply else None)
    return {
        "unmatched": len(by_match[False]),
        "unmatched_accepted": by_match[False].count(True),
        "matched": len(by_match[True]),
        "matched_accepted": by_match[True].count(True),
        "without_verdict": [*by_match[False], *by_match[True]].count(None),
        **usage_of(replies, prices),
    }


def _row(mark: GradedAnswer) -> dict[str, Any]:
    row = mark.row
    return {
        "outcome": row.outcome,
        "answer": row.answer,
        "reasoning": row.reasoning,
        "exact_match": mark.exact,
        "f1": rounded(mark.f1),
        "matched": mark.matched,
        "judged": mark.judged,
        "correct": mark.correct,
        "covered": row.covered,
        "context_covered": row.context_covered,
        "error": mark.error or None,
        "problem": row.problem or None,
        **{name: getattr(row, name) for name in COSTS if name != "dollars"},
    }


def lines(report: Mapping[str, Any], times: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: scores, costs, differences, scores by group, the judge, problems."""
    setting, found = report["setting"], report["results"]
    count = setting["questions"]["count"]
    yield f"Questions: {count}; model: {setting['model']}; figures in percent"
    yield ""
    yield from block("", "system", found, SHOWN)
    costs = "Mean cost per question: calls, prompt and completion tokens, US dollars, searches, "
    timed = [{**r, "s": times["seconds"][r["system"]]["mean"]} for r in found]
    title = f"{costs}context\ntokens, seconds"
    yield from block(title, "system", timed, COSTS | {"s": "s|.2f"})
    if times["questions_at_a_time"] > 1:
        yield (
            f"seconds with {times['questions_at_a_time']} concurrent questions; use --concurrency "
            "1 to measure a single question"
        )
    noted = [result for result in found if result["notes"]]
    if noted:
        yield from ("", "Notes of the reasoners, in percent of the questions")
    for result in noted:
        shown = ", ".join(f"{k} {percent(v)}" for k, v in result["notes"].items())
        yield f"{result['system']}: {shown}"
    yield from differences("Difference", "system", found, COMPARED)
    covered = [{"system": r["system"], **r["on_covered"]} for r in found]
    title = "Questions whose answer was retrieved"
    yield from block(title, "system", covered, {"questions": "questions|d", **COMPARED})
    yield from groups("system", found, {name: SHOWN[name] for name in _OF_GROUPS})
    yield ""
    yield from _judge_lines(report["judge"])
    without = "questions without an answer, skipped"
    yield from problem_lines(setting["problems"], questions_without_answer=without)


def _judge_lines(judged: Mapping[str, Any] | None) -> Iterator[str]:
    if judged is None:
        yield "no judge: answers that match no known answer word for word count as wrong"
        return
    yield (
        f"the judge accepted {judged['unmatched_accepted']} of {judged['unmatched']} answers that "
        f"match no known answer, and {judged['matched_accepted']} of {judged['matched']} that do"
    )
    if judged["without_verdict"]:
        yield f"answers without a valid reply of the judge: {judged['without_verdict']}"
