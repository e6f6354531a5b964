"""Grading of answers by string match, and by a judge model if strings differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from sarag_rdf.base.fence import fence_for
from sarag_rdf.base.json_schema import boolean, object_of
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.resources import prompt_hash, render_prompt
from sarag_rdf.kg.registry import prompts_with
from sarag_rdf.plugins.evaluation.qa import QUESTION_ERRORS, SystemResult
from sarag_rdf.plugins.evaluation.questions import Question
from sarag_rdf.plugins.evaluation.runner import RowFile, StoredRecord, key_of, map_as_completed
from sarag_rdf.plugins.evaluation.scores import exact_match, matches, token_f1

FENCE = 8
SCHEMA = object_of(correct=boolean())
_FIELDS = ("said", "calls", "tokens_in", "tokens_out")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Case:
    """An answer to be judged, with the question and the known answers."""

    question: str
    known: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the judge, None without a valid reply, and its cost."""

    correct: bool | None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


def judge_prompt(case: Case) -> str:
    """The prompt, with question and answers as fenced data."""
    return render_prompt(
        "judge",
        question=case.question,
        known=[" ".join(text.split()) for text in case.known],
        answer=case.answer,
        fence=fence_for(case.question, *case.known, case.answer, length=FENCE),
    )


def judge_all(
    cases: Iterable[Case], llm: LLM, row_file: RowFile, *, threads: int, progress: Progress
) -> dict[Case, Verdict]:
    """A verdict for each distinct case; see `run_judge`."""
    judge = judge_identity(llm, "judge")
    keys = {
        case: key_of("verdict", judge, case.question, case.known, case.answer) for case in cases
    }

    def ask(case: Case) -> Reply:
        return llm.complete(judge_prompt(case), SCHEMA, name="judge", max_tokens=50)

    advance = progress("judging", count_missing(keys, row_file))
    records = run_judge(ask, keys, row_file, threads, advance)
    return {case: _verdict(record) for case, record in records.items()}


def judge_identity(llm: LLM, prompt: str) -> list[Any]:
    """Everything that a judge's reply depends on, except the input."""
    return [llm.model, llm_settings(llm), prompt_hash(prompt)]


def llm_settings(llm: LLM) -> dict[str, str]:
    """The settings that replies depend on, besides model, prompt and schema, if available."""
    settings: Mapping[str, str] = getattr(llm, "settings", {})
    return dict(settings)


def count_missing(keys: Mapping[Any, str], row_file: RowFile) -> int:
    """The number of keys without a record."""
    return sum(row_file.get(key, _FIELDS) is None for key in keys.values())


def run_judge(
    ask: Callable[[Shown], Reply],
    keys: Mapping[Shown, str],
    row_file: RowFile,
    threads: int,
    advance: Callable[[int], None],
) -> dict[Shown, StoredRecord]:
    """The replies of a judge; records in `row_file` are reused.

    A record has the reply as ``said`` (None without a valid reply, and then the ``problem``) and
    its cost. Raises errors that end a run, as `sarag_rdf.plugins.evaluation.qa.ask_all` does.
    """

    def work(shown: Shown) -> StoredRecord:
        try:
            reply = ask(shown)
        except QUESTION_ERRORS as error:
            problem = f"{type(error).__name__}: {error}"
            return {"said": None, "problem": problem, "calls": 0, "tokens_in": 0, "tokens_out": 0}
        return {
            "said": reply.data,
            "calls": reply.usage.calls + reply.usage.cached_calls,
            "tokens_in": reply.usage.tokens_in,
            "tokens_out": reply.usage.tokens_out,
        }

    records = {shown: row_file.get(key, _FIELDS) for shown, key in keys.items()}
    jobs = [shown for shown, record in records.items() if record is None]
    for shown, record in map_as_completed(work, jobs, threads):
        records[shown] = row_file.put(keys[shown], record)
        advance(1)
    return {shown: record for shown, record in records.items() if record is not None}


def _verdict(record: StoredRecord) -> Verdict:
    reply = record["said"]
    costs = (record[name] for name in _FIELDS[1:])
    return Verdict(None if reply is None else reply["correct"], *costs)


SAMPLE = 20
"""The number of matching answers that are judged as well, to measure agreement."""
ResultsBySystem = Mapping[str, Sequence[SystemResult]]
"""Rows by system, one per question, in their order."""


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


def case_of(question: Question, row: SystemResult) -> Case:
    """The case of a row."""
    return Case(question.query.text, question.answers, row.answer)


def cases_for_judge(questions: Sequence[Question], rows: ResultsBySystem) -> list[Case]:
    """Distinct answers that match no known answer, and the first `SAMPLE` that do."""
    cases: dict[bool, dict[Case, None]] = {False: {}, True: {}}
    for number, question in enumerate(questions):
        for row in (system_rows[number] for system_rows in rows.values()):
            if row.outcome == "answered":
                case = case_of(question, row)
                cases[matches(case.answer, case.known)][case] = None
    return [*cases[False], *islice(cases[True], SAMPLE)]


def grade_answers(
    questions: Sequence[Question], rows: Iterable[SystemResult], verdicts: Mapping[Case, Verdict]
) -> list[GradedAnswer]:
    """Grade the rows of a system; a match is correct, regardless of the judge's verdict."""
    return [_mark(question, row, verdicts) for question, row in zip(questions, rows, strict=True)]


def _mark(question: Question, row: SystemResult, verdicts: Mapping[Case, Verdict]) -> GradedAnswer:
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
    return GradedAnswer(
        row, exact_match(row.answer, question.answers), token_f1(row.answer, question.answers),
        matched, judged, correct, error,
    )  # fmt: skip


ANSWER_PROMPTS: Final = (
    "_evidence",
    "answer",
    "answer_brief",
    "answer_from_note",
    "augment_note",
    "choose_path",
    "closed_book",
    "compare_notes",
    "construct_division",
    "cot",
    "decompose",
    "decompose_in_words",
    "expand_question",
    "generic_cot",
    "judge_paths",
    "next_search",
    "passage_note",
    "refine_query",
    "route",
    "select_anchors",
    "select_statements",
    "self_ask",
    "self_rag",
    "self_rag_tokens",
    "sparql_cot",
    "sparql_grounded",
    "sparql_typed",
    "summarize_statements",
    "update_note",
)
"""The prompts of reasoners."""


def run_configuration(
    llm: LLM,
    *,
    graph: Mapping[str, Any],
    budget: int | None,
    tokenizer: str | None,
    version: str,
) -> dict[str, Any]:
    """The configuration of a run as JSON values, which is part of the key of every stored answer.

    `graph` identifies the graph; the other parts of the key are the system, and the question with
    its known answers.
    """
    return {
        "model": llm.model,
        "settings": llm_settings(llm),
        "prompts": prompts_with("select_statements").digest(*ANSWER_PROMPTS),
        "graph": dict(graph),
        "budget": budget,
        "tokenizer": tokenizer,
        "version": version,
    }
