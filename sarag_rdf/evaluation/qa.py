"""Asks every question of every system of retriever, context and reasoner, with its cost."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from time import perf_counter
from typing import Any, Literal

from sarag_rdf.errors import (
    ContextTooLongError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.evaluation.jobs import Record, RowFile, as_done, key_of
from sarag_rdf.evaluation.questions import Question
from sarag_rdf.evaluation.scores import any_holds
from sarag_rdf.iris import sha256_hex
from sarag_rdf.options import Spec
from sarag_rdf.ports import LLM, Gather, Progress, Reasoner, Reply
from sarag_rdf.types import Answer, Evidence, Query, Usage

OF_ONE_QUESTION = (ContextTooLongError, TruncatedReplyError, UnparsableReplyError)
"""Errors that say nothing of other questions; all others end the run."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a system is made of, as ``RETRIEVER+REASONER`` or ``RETRIEVER+CONTEXT+REASONER``."""

    label: str
    retriever: Spec
    context: Spec
    reasoner: Spec

    @classmethod
    def parse(cls, text: str) -> Parts:
        """Each part is a name with options; without a context it is ``whole``.

        ``closed-book`` stands alone, as it retrieves nothing. Raises `UsageError`.

        >>> Parts.parse("dense:limit=5 + single").retriever.options
        {'limit': '5'}
        """
        parts = [Spec.parse(part) for part in text.split("+")]
        if [part.name for part in parts] == ["closed-book"]:
            return cls(parts[0].label, Spec("dense", "dense"), Spec("whole", "whole"), parts[0])
        if len(parts) not in (2, 3) or not all(part.name for part in parts):
            raise UsageError(
                f"'{text.strip()}' is no system: write RETRIEVER+REASONER or "
                "RETRIEVER+CONTEXT+REASONER, such as sarag+single"
            )
        label = "+".join(part.label for part in parts)
        context = parts[1] if len(parts) == 3 else Spec("whole", "whole")
        return cls(label, parts[0], context, parts[-1])


@dataclass(frozen=True, slots=True)
class System:
    """A way from a question to an answer, whose calls and gathering a `Meter` counts."""

    label: str
    reasoner: Reasoner


@dataclass(frozen=True, slots=True)
class Row:
    """What a system did for one question.

    `outcome` is ``answered``, ``insufficient`` (with an empty `answer`), or ``failed``, when
    `problem` says why. `covered` tells whether a known answer stands in what the model was
    given. `calls` are those that were answered, cached ones included; `seconds` is the time that
    they and all else take. `notes` are what the reasoner says of its own way: each that is true
    or false, as ``grounding.bound``.
    """

    system: str
    id: str
    question: str
    outcome: Literal["answered", "insufficient", "failed"]
    answer: str
    reasoning: str
    problem: str
    covered: bool
    calls: int
    tokens_in: int
    tokens_out: int
    retrievals: int
    context_tokens: int
    seconds: float
    notes: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Record | None) -> Row | None:
        """The row of a record of a `RowFile`; None for another kind of record."""
        if record is None or not record.keys() >= set(FIELDS):
            return None
        return cls(**{name: record[name] for name in FIELDS}, notes=record.get("notes", {}))


FIELDS = tuple(part.name for part in fields(Row) if part.name != "notes")
"""What a kept row has."""


def ask_all(
    systems: Sequence[System],
    questions: Sequence[Question],
    meter: Meter,
    kept: RowFile,
    depends: Mapping[str, Any],
    *,
    threads: int,
    progress: Progress,
) -> dict[str, list[Row]]:
    """Rows by system, one a question, in their order; only what `kept` lacks is asked for.

    All systems are asked one question before the next. `depends` says what answers depend on
    beside system and question. Raises what ends a run; what was done by then is kept.
    """
    keys = {
        (system.label, question.id): key_of("answer", depends, system.label, _told(question))
        for question in questions
        for system in systems
    }
    found = {pair: Row.of(kept.get(key, FIELDS)) for pair, key in keys.items()}
    jobs = [
        (system, question)
        for question in questions
        for system in systems
        if found[system.label, question.id] is None
    ]

    def work(job: tuple[System, Question]) -> Row:
        return _ask(*job, meter)

    run = key_of(depends)
    before = len(keys) - len(jobs)
    advance = progress(f"asking ({before} kept)" if before else "asking", len(jobs))
    for (system, question), row in as_done(work, jobs, threads):
        pair = system.label, question.id
        kept.put(keys[pair], {**asdict(row), "run": run})
        found[pair] = row
        advance(1)
    rows = {pair: row for pair, row in found.items() if row is not None}
    return {
        system.label: [rows[system.label, question.id] for question in questions]
        for system in systems
    }


def _told(question: Question) -> list[Any]:
    return [question.id, question.query.text, list(question.answers)]


def _ask(system: System, question: Question, meter: Meter) -> Row:
    account = meter.open()
    begin = perf_counter()
    text = reasoning = problem = ""
    notes: dict[str, bool] = {}
    outcome: Literal["answered", "insufficient", "failed"] = "insufficient"
    try:
        answer = system.reasoner.answer(question.query)
    except OF_ONE_QUESTION as error:
        outcome, problem = "failed", f"{type(error).__name__}: {error}"
    else:
        reasoning = answer.reasoning
        notes = _notes(answer)
        if answer.outcome == "answered":
            outcome, text = "answered", answer.text
    seconds = perf_counter() - begin + account.saved
    contexts = [evidence.context for evidence in account.evidence]
    usage = account.usage
    return Row(
        system.label, question.id, question.query.text, outcome, text, reasoning, problem,
        covered=any_holds(question.answers, (t for context in contexts for t in context.texts)),
        calls=usage.calls + usage.cached_calls,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        retrievals=len(contexts),
        context_tokens=sum(context.tokens for context in contexts),
        seconds=round(seconds, 3),
        notes=notes,
    )  # fmt: skip


def _notes(answer: Answer) -> dict[str, bool]:
    return {
        f"{stage.name}.{key}": value
        for stage in answer.trace
        if stage.kind == "note"
        for key, value in stage.detail.items()
        if isinstance(value, bool)
    }


@dataclass(slots=True)
class Account:
    """Of one question: replies that came, also if a later call fails, and all that was gathered.

    `saved` are the seconds that replies from a cache would have taken.
    """

    usage: Usage = field(default_factory=Usage)
    saved: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)


class Meter:
    """An `LLM` that puts replies, and what `gathering` gathers, to the account of its thread.

    A reply that comes from a cache counts as the same reply did when it was asked for, so that
    the figures of a system do not depend on which others are asked beside it.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._own = threading.local()
        self._known: dict[str, tuple[Usage, float]] = {}
        self._lock, self._gathering = threading.Lock(), threading.Lock()

    @property
    def model(self) -> str:
        return self._llm.model

    def open(self) -> Account:
        """A new account, for all that this thread does from now on."""
        account = Account()
        self._own.account = account
        return account

    def gathering(self, gather: Gather) -> Gather:
        """The same `Gather`, for one thread at a time, as graphs and their caches are read."""

        def gathered(query: Query) -> Evidence:
            with self._gathering:
                evidence = gather(query)
            self._own.account.evidence.append(evidence)
            return evidence

        return gathered

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        begin = perf_counter()
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        seconds = perf_counter() - begin
        key = sha256_hex(name, prompt, json.dumps(schema), str(max_tokens))
        with self._lock:
            if reply.usage.calls:
                self._known[key] = reply.usage, seconds
            usage, took = self._known.get(key, (reply.usage, seconds))
        account: Account = self._own.account
        account.usage += usage
        account.saved += took - seconds
        return Reply(reply.data, usage)
