"""Grading of answers: by string match, by a judge model if strings differ; and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal, TypeVar

from sarag_rdf.base.errors import ContextTooLongError, TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.prompts import Prompts, boolean, fence_for, object_of
from sarag_rdf.base.types import Usage
from sarag_rdf.plugins.evaluation import reporting
from sarag_rdf.plugins.evaluation.datasets import Question, problem_lines
from sarag_rdf.plugins.evaluation.measures import exact_match, matches, token_f1
from sarag_rdf.plugins.evaluation.reporting import block, group, spent
from sarag_rdf.plugins.threads import map_in_order

PROMPTS: Final = Prompts(Path(__file__).parent / "prompts")
QUESTION_ERRORS = (ContextTooLongError, TruncatedReplyError, UnparsableReplyError)
"""Errors that affect a single question; all others end the run."""
SCHEMA = object_of(correct=boolean())
SAMPLE = 20
"""The number of matching answers that are judged as well, to measure agreement."""
Item = TypeVar("Item")
Result = TypeVar("Result")
Replies = dict[Item, Reply | None]
"""The replies of a judge by what it was shown; None without a valid reply."""


@dataclass(frozen=True, slots=True)
class SystemResult:
    """The result of a system for a question.

    `outcome` is ``answered``, ``insufficient`` (with an empty `answer`), or ``failed``, with the
    reason in `problem`. `covered`: the full context of the retriever contains a known answer
    ("The Reasoning Bottleneck in Graph-RAG", section 4.4); `context_covered`: what the model was
    given, for the question or a sub-question, contains one. `costs` are those of `COSTS` that were
    counted, including cached calls; `seconds` is the total time, as if nothing was cached. `notes`
    are boolean notes of the reasoner, such as ``grounding.bound``.
    """

    outcome: Literal["answered", "insufficient", "failed"]
    answer: str
    reasoning: str
    problem: str
    covered: bool
    context_covered: bool
    costs: Mapping[str, int]
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


def fenced_prompt(name: str, *texts: str, **values: Any) -> str:
    """A prompt in which `texts`, which are among `values`, are fenced data."""
    return PROMPTS.render(name, fence=fence_for(*texts, length=8), **values)


def judge_prompt(case: Case) -> str:
    question, answer, known = case.question, case.answer, case.known
    lines = [" ".join(text.split()) for text in known]
    texts = (question, *known, answer)
    return fenced_prompt("judge", *texts, question=question, known=lines, answer=answer)


def judge_all(
    cases: Iterable[Case], llm: LLM, *, threads: int, progress: Progress
) -> Replies[Case]:
    def ask(case: Case) -> Reply:
        return llm.complete(judge_prompt(case), SCHEMA, name="judge", max_tokens=50)

    return ask_each(ask, list(cases), threads, progress, "judging")


def ask_each(
    ask: Callable[[Item], Result],
    items: Sequence[Item],
    threads: int,
    progress: Progress,
    what: str,
) -> dict[Item, Result | None]:
    """What `ask` returns for each distinct item, None after an error of that item alone.

    Those are `QUESTION_ERRORS`; raises all others, which end a run.
    """

    def work(item: Item, _: Event) -> Result | None:
        try:
            return ask(item)
        except QUESTION_ERRORS:
            return None

    advance = progress(what, len(items))
    values: dict[Item, Result | None] = {}
    for item, value in zip(items, map_in_order(work, items, threads), strict=True):
        values[item] = value
        advance(1)
    return values


def usage_of(replies: Mapping[Any, Reply | None], prices: Mapping[str, float]) -> dict[str, Any]:
    """Calls, tokens and dollars of replies, as if none was cached."""
    usages = [reply.first_usage or reply.usage for reply in replies.values() if reply]
    usage = sum(usages, Usage())
    dollars = spent(usage.tokens_in, usage.tokens_out, prices)
    tokens = {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    return {"calls": usage.calls + usage.cached_calls, **tokens, "dollars": dollars}


def cases_for_judge(questions: Sequence[Question], rows: ResultsBySystem) -> list[Case]:
    """Distinct answers that match no known answer, and the first `SAMPLE` that do."""
    cases: dict[bool, dict[Case, None]] = {False: {}, True: {}}
    for number, question in enumerate(questions):
        for row in (system_rows[number] for system_rows in rows.values()):
            if row.outcome == "answered":
                case = _case_of(question, row)
                cases[matches(case.answer, case.known)][case] = None
    return [*cases[False], *islice(cases[True], SAMPLE)]


def grade(question: Question, row: SystemResult, replies: Replies[Case]) -> dict[str, Any]:
    """A result as it is reported; scores are in [0, 1], and 0 without an answer.

    A match is correct, regardless of the judge's verdict `judged`. `error` is None for a correct
    answer, else ``failed``, ``retrieval`` if no known answer was retrieved, or ``reasoning`` ("The
    Reasoning Bottleneck in Graph-RAG", section 5.7).
    """
    is_answer = row.outcome == "answered"
    matched = is_answer and matches(row.answer, question.answers)
    reply = replies.get(_case_of(question, row)) if is_answer else None
    judged = reply.data["correct"] if reply else None
    error = "reasoning" if row.covered else "retrieval"
    if row.outcome == "failed":
        error = "failed"
    is_correct = matched or judged is True
    return {
        "outcome": row.outcome,
        "answer": row.answer,
        "reasoning": row.reasoning,
        "exact_match": exact_match(row.answer, question.answers),
        "f1": token_f1(row.answer, question.answers),
        "matched": matched,
        "judged": judged,
        "correct": is_correct,
        "covered": row.covered,
        "context_covered": row.context_covered,
        "error": None if is_correct else error,
        "problem": row.problem or None,
        **row.costs,
    }


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


def report(
    questions: Sequence[Question],
    rows: ResultsBySystem,
    verdicts: Replies[Case] | None,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, a result for each system, a row for each question; fractions in [0, 1] or None.

    `verdicts` is None without a judge. The values contain no times, dates or paths.
    """
    graded = {
        label: [grade(q, row, verdicts or {}) for q, row in zip(questions, own, strict=True)]
        for label, own in rows.items()
    }
    prices = setting["prices"]
    values = {label: [_values(row, prices) for row in own] for label, own in graded.items()}
    details = [{"answers": [*q.answers], "type": q.type or None, "hops": q.hops} for q in questions]
    groups = {key: [detail[key] for detail in details] for key in ("type", "hops")}
    names = [*COMPARED, "matched", *(name for name in SHOWN if name not in COMPARED)]
    results = reporting.results("system", values, names, [*COMPARED], groups, setting, [*COSTS])
    for result, own, noted in zip(results, values.values(), rows.values(), strict=True):
        result["on_covered"] = group([row for row in own if row["coverage"]], names)
        every = sorted({name for row in noted for name in row.notes})
        shares = group([{**dict.fromkeys(every, 0.0), **row.notes} for row in noted], every)
        result["notes"] = {name: shares[name] for name in every}
    shown = {
        label: [{**row, "f1": reporting.rounded(row["f1"])} for row in own]
        for label, own in graded.items()
    }
    return {
        "setting": dict(setting),
        "results": results,
        "judge": None if verdicts is None else _judge(verdicts, prices),
        "questions": reporting.by_question("system", questions, shown, details),
    }


def timings(rows: ResultsBySystem, at_a_time: int) -> dict[str, Any]:
    """Seconds per question by system, median and mean, and the number of concurrent questions."""
    seconds = {
        label: reporting.median_and_mean([row.seconds for row in own])
        for label, own in rows.items()
    }
    return {"questions_at_a_time": at_a_time, "seconds": seconds}


def _values(row: Mapping[str, Any], prices: Mapping[str, float]) -> dict[str, float]:
    return {
        "accuracy": float(row["correct"]),
        "coverage": float(row["covered"]),
        "context_coverage": float(row["context_covered"]),
        "abstention": float(row["outcome"] == "insufficient"),
        "failed": float(row["outcome"] == "failed"),
        "errors_of_retrieval": float(row["error"] == "retrieval"),
        "errors_of_reasoning": float(row["error"] == "reasoning"),
        **{name: float(row[name]) for name in ("exact_match", "f1", "matched")},
        **{name: row[name] for name in COSTS if name != "dollars"},
        "dollars": spent(row["tokens_in"], row["tokens_out"], prices),
    }


def _judge(replies: Replies[Case], prices: Mapping[str, float]) -> dict[str, Any]:
    """Counts of the judge's verdicts on distinct answers, and their cost."""
    counts: Counter[str] = Counter()
    for case, reply in replies.items():
        kind = "matched" if matches(case.answer, case.known) else "unmatched"
        counts[kind] += 1
        counts[f"{kind}_accepted"] += reply is not None and reply.data["correct"]
        counts["without_verdict"] += reply is None
    names = ("unmatched", "unmatched_accepted", "matched", "matched_accepted", "without_verdict")
    return {**{name: counts[name] for name in names}, **usage_of(replies, prices)}


def lines(report: Mapping[str, Any], times: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: scores, costs, differences, scores by group, the judge, problems."""
    setting, rows = report["setting"], report["results"]
    count = setting["questions"]["count"]
    yield f"Questions: {count}; model: {setting['model']}; figures in percent"
    yield ""
    yield from block("", "system", rows, SHOWN)
    costs = "Mean cost per question: calls, prompt and completion tokens, US dollars, searches, "
    timed = [{**r, "s": times["seconds"][r["system"]]["mean"]} for r in rows]
    title = f"{costs}context\ntokens, seconds"
    yield from block(title, "system", timed, COSTS | {"s": "s|.2f"})
    if times["questions_at_a_time"] > 1:
        yield (
            f"seconds with {times['questions_at_a_time']} concurrent questions; use --concurrency "
            "1 to measure a single question"
        )
    noted = [result for result in rows if result["notes"]]
    if noted:
        yield from ("", "Notes of the reasoners, in percent of the questions")
    for result in noted:
        shown = ", ".join(f"{k} {reporting.percent(v)}" for k, v in result["notes"].items())
        yield f"{result['system']}: {shown}"
    yield from reporting.differences("Difference", "system", rows, COMPARED)
    covered = [{"system": r["system"], **r["on_covered"]} for r in rows]
    title = "Questions whose answer was retrieved"
    yield from block(title, "system", covered, {"questions": "questions|d", **COMPARED})
    yield from reporting.groups("system", rows, {name: SHOWN[name] for name in _OF_GROUPS})
    yield ""
    judged = report["judge"]
    if judged is None:
        yield "no judge: answers that match no known answer word for word count as wrong"
    else:
        yield (
            "the judge accepted {unmatched_accepted} of {unmatched} answers that match no known "
            "answer, and {matched_accepted} of {matched} that do"
        ).format(**judged)
        if judged["without_verdict"]:
            yield f"answers without a valid reply of the judge: {judged['without_verdict']}"
    yield from problem_lines(setting["problems"])
