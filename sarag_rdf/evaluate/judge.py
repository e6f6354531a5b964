"""Lets a model mark answers that do not match word for word.

After "The Reasoning Bottleneck in Graph-RAG", section 4.4: words first, a judge for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sarag_rdf.evaluate.qa import OF_ONE_QUESTION, Progress
from sarag_rdf.evaluate.row_file import Record, RowFile, key_of
from sarag_rdf.evaluate.threads import as_done
from sarag_rdf.fence import fence_for
from sarag_rdf.ports import LLM
from sarag_rdf.resources import prompt_hash, render_prompt

FENCE = 8
SCHEMA = {
    "type": "object",
    "properties": {"correct": {"type": "boolean"}},
    "required": ["correct"],
    "additionalProperties": False,
}


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
    calls: int
    tokens_in: int
    tokens_out: int


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
    """A verdict for each distinct case; only what `kept` lacks is asked for.

    Raises what ends a run, as `sarag_rdf.evaluate.qa.ask_all` does.
    """
    judge = [llm.model, settings_of(llm), prompt_hash("judge")]
    keys = {
        case: key_of("verdict", judge, case.question, case.known, case.answer) for case in cases
    }

    def work(case: Case) -> Record:
        try:
            reply = llm.complete(judge_prompt(case), SCHEMA, name="judge", max_tokens=50)
        except OF_ONE_QUESTION as error:
            problem = f"{type(error).__name__}: {error}"
            return {
                "correct": None,
                "problem": problem,
                "calls": 0,
                "tokens_in": 0,
                "tokens_out": 0,
            }
        usage = reply.usage
        return {
            "correct": reply.data["correct"],
            "calls": usage.calls + usage.cached_calls,
            "tokens_in": usage.tokens_in,
            "tokens_out": usage.tokens_out,
        }

    jobs = [case for case, key in keys.items() if key not in kept]
    advance = progress("judging", len(jobs))
    for case, record in as_done(work, jobs, threads):
        kept.put(keys[case], {"answer_judged": case.answer, **record})
        advance(1)
    return {case: _verdict(kept.get(key) or {}) for case, key in keys.items()}


def settings_of(llm: LLM) -> dict[str, str]:
    """What replies depend on beside model, prompt and schema, if the model tells it."""
    settings: Mapping[str, str] = getattr(llm, "settings", {})
    return dict(settings)


def _verdict(record: Mapping[str, Any]) -> Verdict:
    names = ("correct", "calls", "tokens_in", "tokens_out")
    return Verdict(*(record[name] for name in names))
