"""Marks the rows of systems: how near each answer is, whether it counts as right, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sarag_rdf.evaluate.answer_scores import exact, matches, token_f1
from sarag_rdf.evaluate.judge import Case, Verdict
from sarag_rdf.evaluate.qa import Row
from sarag_rdf.evaluate.questions import Question

SAMPLE = 20
"""Matched answers that the judge is asked about too, to see whether it agrees."""
Rows = Mapping[str, Sequence[Row]]
"""By system, one a question, in their order."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Figures of one answer in [0, 1]; what is not answered has 0 everywhere.

    `judged` is the judge's verdict, None if it was not asked or said nothing. `error` is empty
    for a right answer; else ``failed``, ``retrieval`` if no known answer stood in what the model
    was given, or ``reasoning`` ("The Reasoning Bottleneck in Graph-RAG", section 5.7).
    """

    row: Row
    exact: float
    f1: float
    matched: bool
    judged: bool | None
    correct: bool
    error: str


def case_of(question: Question, row: Row) -> Case:
    """What a judge is asked about a row."""
    return Case(question.query.text, question.answers, row.answer)


def cases_for_judge(questions: Sequence[Question], rows: Rows) -> list[Case]:
    """Distinct answers that match no known one, and the first `SAMPLE` of those that do."""
    found: dict[bool, dict[Case, None]] = {False: {}, True: {}}
    for place, question in enumerate(questions):
        for row in (of_system[place] for of_system in rows.values()):
            if row.outcome == "answered":
                case = case_of(question, row)
                found[matches(case.answer, case.known)][case] = None
    return [*found[False], *islice(found[True], SAMPLE)]


def marks_of(
    questions: Sequence[Question], rows: Iterable[Row], verdicts: Mapping[Case, Verdict]
) -> list[Mark]:
    """The marks of one system's rows; a match is right, whatever the judge says of it."""
    return [_mark(question, row, verdicts) for question, row in zip(questions, rows, strict=True)]


def _mark(question: Question, row: Row, verdicts: Mapping[Case, Verdict]) -> Mark:
    matched = row.outcome == "answered" and matches(row.answer, question.answers)
    verdict = verdicts.get(case_of(question, row)) if row.outcome == "answered" else None
    judged = verdict.correct if verdict else None
    correct = matched or judged is True
    if correct:
        error = ""
    elif row.outcome == "failed":
        error = "failed"
    else:
        error = "reasoning" if row.covered else "retrieval"
    return Mark(
        row, exact(row.answer, question.answers), token_f1(row.answer, question.answers),
        matched, judged, correct, error,
    )  # fmt: skip
