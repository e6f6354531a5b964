"""Lets a model mark answers that do not match word for word.

After "The Reasoning Bottleneck in Graph-RAG", section 4.4: words first, a judge for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sarag_rdf.evaluate.qa import OF_ONE_QUESTION
from sarag_rdf.evaluate.row_file import Record, RowFile, key_of
from sarag_rdf.evaluate.threads import as_done
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
    what it cost. Raises what ends a run, as `sarag_rdf.evaluate.qa.ask_all` does.
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
