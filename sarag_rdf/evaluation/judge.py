"""Marks answers: by string match, and by a judge model where strings differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from sarag_rdf.evaluation.jobs import Record, RowFile, as_done, key_of
from sarag_rdf.evaluation.qa import OF_ONE_QUESTION, Row
from sarag_rdf.evaluation.questions import Question
from sarag_rdf.evaluation.scores import exact, matches, token_f1
from sarag_rdf.fence import fence_for
from sarag_rdf.ports import LLM, Progress, Reply
from sarag_rdf.resources import prompt_hash, render_prompt

FENCE = 8
SCHEMA = {
    "type": "object",
    "properties": {"correct": {"type": "boolean"}},
    "required": ["correct"],
    "additionalProperties": False,
}
_FIELDS = ("said", "calls", "tokens_in", "tokens_out")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Case:
    """An answer to be marked, with the question and the known answers."""

    question: str
    known: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge says; None if it gave no valid reply."""

    correct: bool | None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


def judge_prompt(case: Case) -> str:
    """The prompt, in which question and answers are fenced data."""
    return render_prompt(
        "judge",
        question=case.question,
        known=[" ".join(text.split()) for text in case.known],
        answer=case.answer,
        fence=fence_for(case.question, *case.known, case.answer, length=FENCE),
    )


def judge_all(
    cases: Iterable[Case], llm: LLM, kept: RowFile, *, threads: int, progress: Progress
) -> dict[Case, Verdict]:
    """A verdict for each distinct case; see `said_of` for what is asked and raised."""
    judge = identity(llm, "judge")
    keys = {
        case: key_of("verdict", judge, case.question, case.known, case.answer) for case in cases
    }

    def ask(case: Case) -> Reply:
        return llm.complete(judge_prompt(case), SCHEMA, name="judge", max_tokens=50)

    found = said_of(ask, keys, kept, threads, progress("judging", missing(keys, kept)))
    return {case: _verdict(record) for case, record in found.items()}


def identity(llm: LLM, prompt: str) -> list[Any]:
    """What a judge's reply depends on beside what it is shown."""
    return [llm.model, settings_of(llm), prompt_hash(prompt)]


def settings_of(llm: LLM) -> dict[str, str]:
    """What replies depend on beside model, prompt and schema, if the model tells it."""
    settings: Mapping[str, str] = getattr(llm, "settings", {})
    return dict(settings)


def missing(keys: Mapping[Any, str], kept: RowFile) -> int:
    """How many are not kept yet."""
    return sum(kept.get(key, _FIELDS) is None for key in keys.values())


def said_of(
    ask: Callable[[Shown], Reply],
    keys: Mapping[Shown, str],
    kept: RowFile,
    threads: int,
    advance: Callable[[int], None],
) -> dict[Shown, Record]:
    """A judge's replies; only what `kept` lacks under its key is asked for.

    A record has what was ``said`` (None without a valid reply, and then the ``problem``), and
    what it cost. Raises what ends a run, as `sarag_rdf.evaluation.qa.ask_all` does.
    """

    def work(shown: Shown) -> Record:
        try:
            reply = ask(shown)
        except OF_ONE_QUESTION as error:
            problem = f"{type(error).__name__}: {error}"
            return {"said": None, "problem": problem, "calls": 0, "tokens_in": 0, "tokens_out": 0}
        return {
            "said": reply.data,
            "calls": reply.usage.calls + reply.usage.cached_calls,
            "tokens_in": reply.usage.tokens_in,
            "tokens_out": reply.usage.tokens_out,
        }

    found = {shown: kept.get(key, _FIELDS) for shown, key in keys.items()}
    jobs = [shown for shown, record in found.items() if record is None]
    for shown, record in as_done(work, jobs, threads):
        found[shown] = kept.put(keys[shown], record)
        advance(1)
    return {shown: record for shown, record in found.items() if record is not None}


def _verdict(record: Record) -> Verdict:
    said = record["said"]
    costs = (record[name] for name in _FIELDS[1:])
    return Verdict(None if said is None else said["correct"], *costs)


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


ANSWERING: Final = (
    "_evidence",
    "answer",
    "answer_brief",
    "closed_book",
    "cot",
    "decompose",
    "generic_cot",
    "route",
    "self_ask",
    "sparql_cot",
    "sparql_grounded",
)
"""Prompts that reasoners use."""


def depends_on(
    llm: LLM,
    *,
    graph: Mapping[str, Any],
    budget: int | None,
    tokenizer: str | None,
    version: str,
) -> dict[str, Any]:
    """Plain JSON values that are part of the key of every kept answer.

    `graph` is what tells one graph from another; the rest of the key is the system, and the
    question with its known answers.
    """
    return {
        "model": llm.model,
        "settings": settings_of(llm),
        "prompts": prompt_hash(*ANSWERING),
        "graph": dict(graph),
        "budget": budget,
        "tokenizer": tokenizer,
        "version": version,
    }
