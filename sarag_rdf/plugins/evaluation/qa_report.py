"""Results of question answering as JSON values and as text tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from sarag_rdf.plugins.evaluation.corpus import Corpus
from sarag_rdf.plugins.evaluation.judge import (
    Case,
    GradedAnswer,
    ResultsBySystem,
    Verdict,
    grade_answers,
)
from sarag_rdf.plugins.evaluation.problems import problem_lines
from sarag_rdf.plugins.evaluation.questions import Question, QuestionFile
from sarag_rdf.plugins.evaluation.scores import matches
from sarag_rdf.plugins.evaluation.statistics import paired_interval
from sarag_rdf.plugins.evaluation.tables import interval, percent, table

MEASURES = ("accuracy", "exact_match", "f1")
"""Measures whose difference from the baseline is reported."""
FIGURES = (
    *MEASURES,
    *("matched", "coverage", "context_coverage", "abstention", "failed"),
    *("errors_of_retrieval", "errors_of_reasoning"),
)
"""The reported measures of a system."""
PROBLEMS = {
    "duplicate_passages": "duplicate passages, skipped",
    "empty_passages": "passages without text, skipped",
    "duplicate_question_ids": "questions with a duplicate id, skipped",
    "questions_without_answer": "questions without an answer, skipped",
    "questions_answered_yes_or_no": "questions answered yes or no, which are covered by chance",
    "documents_without_extraction": "documents missing from the file of --extractor, not indexed",
    "passages_not_in_graph": "passages missing from the graph, which no system can retrieve",
}
"""Kind of problem -> description, which is printed before the count."""
_DIGITS = 6


def setting(
    corpus: Corpus,
    file: QuestionFile,
    questions: Sequence[Question],
    problems: Mapping[str, int],
    **others: Any,
) -> dict[str, Any]:
    """The settings of an evaluation; `others` are inserted before the problems."""
    return {
        "corpus": corpus.summary,
        "questions": {"file": file.file, "sha256": file.sha256, "count": len(questions)},
        **others,
        "trouble": {kind: problems[kind] for kind in PROBLEMS},
    }


def report(
    questions: Sequence[Question],
    rows: ResultsBySystem,
    verdicts: Mapping[Case, Verdict] | None,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, a result for each system, a row for each question; fractions in [0, 1] or None.

    `setting` has `baseline`, `seed` and `prices`. The values contain no times, dates or paths.
    `verdicts` is None without a judge.
    """
    marks = {
        label: grade_answers(questions, results, verdicts or {}) for label, results in rows.items()
    }
    prices, base = setting["prices"], marks[setting["baseline"]]
    return {
        "setting": dict(setting),
        "results": [
            {
                "system": label,
                **_group(graded),
                "calls": _mean([mark.row.calls for mark in graded]),
                "tokens_in": _mean([mark.row.tokens_in for mark in graded]),
                "tokens_out": _mean([mark.row.tokens_out for mark in graded]),
                "dollars": _mean([_dollars(mark, prices) for mark in graded], 9),
                "retrievals": _mean([mark.row.retrievals for mark in graded]),
                "context_tokens": _mean([mark.row.context_tokens for mark in graded]),
                "notes": _notes(graded),
                "on_covered": _group([mark for mark in graded if mark.row.covered]),
                "difference": None
                if graded is base
                else _difference(graded, base, setting["baseline"], setting["seed"]),
                "by_type": _by([question.type or None for question in questions], graded),
                "by_hops": _by([question.hops for question in questions], graded),
            }
            for label, graded in marks.items()
        ],
        "judge": None if verdicts is None else _judge(verdicts, prices),
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
    times = {label: [row.seconds for row in answers] for label, answers in rows.items()}
    return {
        "questions_at_a_time": at_a_time,
        "seconds": {
            label: {"median": round(median(seconds), 3), "mean": round(fmean(seconds), 3)}
            for label, seconds in times.items()
        },
    }


def _figures(mark: GradedAnswer) -> dict[str, float]:
    return {
        "accuracy": float(mark.correct),
        "exact_match": mark.exact,
        "f1": mark.f1,
        "matched": float(mark.matched),
        "coverage": float(mark.row.covered),
        "context_coverage": float(mark.row.context_covered),
        "abstention": float(mark.row.outcome == "insufficient"),
        "failed": float(mark.row.outcome == "failed"),
        "errors_of_retrieval": float(mark.error == "retrieval"),
        "errors_of_reasoning": float(mark.error == "reasoning"),
    }


def _notes(marks: Sequence[GradedAnswer]) -> dict[str, float | None]:
    """The share of questions for which each note of the reasoner is true."""
    names = sorted({name for mark in marks for name in mark.row.notes})
    return {
        name: _mean([float(mark.row.notes.get(name, False)) for mark in marks]) for name in names
    }


def _group(marks: Sequence[GradedAnswer]) -> dict[str, Any]:
    """The number of questions, and the mean of each measure; None without questions."""
    every = [_figures(mark) for mark in marks]
    return {
        "questions": len(marks),
        **{name: _mean([figures[name] for figures in every]) for name in FIGURES},
    }


def _by(
    groups: Sequence[str | int | None], marks: Sequence[GradedAnswer]
) -> dict[str, dict[str, Any]]:
    by_group: dict[Any, list[GradedAnswer]] = {}
    for group, mark in zip(groups, marks, strict=True):
        if group is not None:
            by_group.setdefault(group, []).append(mark)
    return {str(group): _group(by_group[group]) for group in sorted(by_group)}


def _difference(
    ours: Sequence[GradedAnswer], base: Sequence[GradedAnswer], baseline: str, seed: int
) -> dict[str, Any]:
    differences: dict[str, Any] = {"baseline": baseline}
    for name in MEASURES:
        left, right = ([_figures(mark)[name] for mark in marks] for marks in (ours, base))
        middle, low, high = (round(v, _DIGITS) for v in paired_interval(left, right, seed))
        differences[name] = {"difference": middle, "low": low, "high": high}
    return differences


def _judge(verdicts: Mapping[Case, Verdict], prices: Mapping[str, float]) -> dict[str, Any]:
    """Counts of the judge's verdicts on distinct answers, and their cost."""
    by_match: dict[bool, list[bool | None]] = {False: [], True: []}
    for case, verdict in verdicts.items():
        by_match[matches(case.answer, case.known)].append(verdict.correct)
    tokens_in = sum(verdict.tokens_in for verdict in verdicts.values())
    tokens_out = sum(verdict.tokens_out for verdict in verdicts.values())
    return {
        "unmatched": len(by_match[False]),
        "unmatched_accepted": by_match[False].count(True),
        "matched": len(by_match[True]),
        "matched_accepted": by_match[True].count(True),
        "without_verdict": [*by_match[False], *by_match[True]].count(None),
        "calls": sum(verdict.calls for verdict in verdicts.values()),
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "dollars": round(_cost(tokens_in, tokens_out, prices), 9),
    }


def _row(mark: GradedAnswer) -> dict[str, Any]:
    row = mark.row
    return {
        "outcome": row.outcome,
        "answer": row.answer,
        "exact_match": mark.exact,
        "f1": round(mark.f1, _DIGITS),
        "matched": mark.matched,
        "judged": mark.judged,
        "correct": mark.correct,
        "covered": row.covered,
        "context_covered": row.context_covered,
        "error": mark.error or None,
        "problem": row.problem.partition(":")[0] or None,  # without what an endpoint says
        "calls": row.calls,
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "retrievals": row.retrievals,
        "context_tokens": row.context_tokens,
    }


def _dollars(mark: GradedAnswer, prices: Mapping[str, float]) -> float:
    return _cost(mark.row.tokens_in, mark.row.tokens_out, prices)


def _cost(tokens_in: int, tokens_out: int, prices: Mapping[str, float]) -> float:
    return (tokens_in * prices["in"] + tokens_out * prices["out"]) / 1_000_000


def _mean(values: Sequence[float], digits: int = _DIGITS) -> float | None:
    return round(fmean(values), digits) if values else None


HEADS = {
    "accuracy": "acc",
    "exact_match": "EM",
    "f1": "F1",
    "coverage": "cov",
    "context_coverage": "ctx",
    "abstention": "abst",
    "failed": "fail",
    "errors_of_retrieval": "e-retr",
    "errors_of_reasoning": "e-reas",
}
_SCORES = ("accuracy", "exact_match", "f1")


def lines(report: Mapping[str, Any], times: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: scores, costs, differences, scores by group, the judge, problems."""
    setting, results = report["setting"], report["results"]
    count = setting["questions"]["count"]
    yield f"Questions: {count}; model: {setting['model']}; figures in percent"
    yield ""
    yield from _scores(results, tuple(HEADS))
    yield ""
    yield (
        "Mean cost per question: calls, prompt and completion tokens, US dollars, searches, "
        "context\ntokens, seconds"
    )
    yield from _costs(results, times)
    if times["questions_at_a_time"] > 1:
        yield (
            f"seconds with {times['questions_at_a_time']} concurrent questions; use --concurrency "
            "1 to measure a single question"
        )
    noted = [result for result in results if result["notes"]]
    if noted:
        yield ""
        yield "Notes of the reasoners, in percent of the questions"
        for result in noted:
            shown = ", ".join(f"{k} {percent(v)}" for k, v in result["notes"].items())
            yield f"{result['system']}: {shown}"
    others = [result for result in results if result["difference"]]
    if others:
        yield ""
        yield f"Difference from {setting['baseline']} with 95% interval"
        rows = [
            [r["system"], *(interval(r["difference"][name]) for name in MEASURES)] for r in others
        ]
        yield from table(["system", *(HEADS[name] for name in MEASURES)], rows)
    yield ""
    yield "Questions whose answer was retrieved"
    covered = [{"system": r["system"], **r["on_covered"]} for r in results]
    yield from _scores(covered, _SCORES, counted=True)
    for kind, wording in (("by_type", "of type {}"), ("by_hops", "of {} hops")):
        for group in results[0][kind]:
            yield ""
            of_group = [{"system": r["system"], **r[kind][group]} for r in results]
            yield f"Questions {wording.format(group)}: {of_group[0]['questions']}"
            yield from _scores(of_group, (*_SCORES, "coverage", "context_coverage", "abstention"))
    yield from _judge_lines(report["judge"])
    yield from problem_lines(setting["trouble"], PROBLEMS)


def _scores(
    groups: Sequence[Mapping[str, Any]], names: Sequence[str], *, counted: bool = False
) -> Iterator[str]:
    heads = ["system", *(["questions"] if counted else []), *(HEADS[name] for name in names)]
    rows = [
        [
            group["system"],
            *([str(group["questions"])] if counted else []),
            *(percent(group[name]) for name in names),
        ]
        for group in groups
    ]
    return table(heads, rows)


def _costs(results: Sequence[Mapping[str, Any]], times: Mapping[str, Any]) -> Iterator[str]:
    heads = ["system", "calls", "in", "out", "US$", "searches", "context", "s"]
    rows = [
        [
            result["system"],
            f"{result['calls']:.2f}",
            f"{result['tokens_in']:.0f}",
            f"{result['tokens_out']:.0f}",
            f"{result['dollars']:.6f}",
            f"{result['retrievals']:.2f}",
            f"{result['context_tokens']:.0f}",
            f"{times['seconds'][result['system']]['mean']:.2f}",
        ]
        for result in results
    ]
    return table(heads, rows)


def _judge_lines(judged: Mapping[str, Any] | None) -> Iterator[str]:
    yield ""
    if judged is None:
        yield "no judge: answers that match no known answer word for word count as wrong"
        return
    yield (
        f"the judge accepted {judged['unmatched_accepted']} of {judged['unmatched']} answers that "
        f"match no known answer, and {judged['matched_accepted']} of {judged['matched']} that do"
    )
    if judged["without_verdict"]:
        yield f"answers without a valid reply of the judge: {judged['without_verdict']}"
