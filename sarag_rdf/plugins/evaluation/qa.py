"""Runs systems of retriever, context and reasoner on questions, and measures their cost."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from time import perf_counter
from typing import Any, Literal

from sarag_rdf.base.errors import (
    ContextTooLongError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.options import Spec
from sarag_rdf.base.ports import LLM, Gather, Progress, Reasoner, Reply
from sarag_rdf.base.types import Answer, Evidence, Query, Usage
from sarag_rdf.plugins.evaluation.questions import Question
from sarag_rdf.plugins.evaluation.runner import RowFile, StoredRecord, key_of, map_as_completed
from sarag_rdf.plugins.evaluation.scores import contains_answer

QUESTION_ERRORS = (ContextTooLongError, TruncatedReplyError, UnparsableReplyError)
"""Errors that affect a single question; all others end the run."""


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """The parts of a system: ``RETRIEVER+REASONER`` or ``RETRIEVER+CONTEXT+REASONER``."""

    label: str
    retriever: Spec
    context: Spec
    reasoner: Spec

    @classmethod
    def parse(cls, text: str) -> SystemSpec:
        """Parse parts, each a name with options; the default context is ``whole``.

        ``closed-book`` is used without a retriever. Raises `UsageError`.

        >>> SystemSpec.parse("dense:limit=5 + single").retriever.options
        {'limit': '5'}
        """
        parts = [Spec.parse(part) for part in text.split("+")]
        if [part.name for part in parts] == ["closed-book"]:
            return cls(parts[0].label, Spec("dense", "dense"), Spec("whole", "whole"), parts[0])
        if len(parts) not in (2, 3) or not all(part.name for part in parts):
            raise UsageError(
                f"invalid system '{text.strip()}': write RETRIEVER+REASONER or "
                "RETRIEVER+CONTEXT+REASONER, such as sarag+single"
            )
        label = "+".join(part.label for part in parts)
        context = parts[1] if len(parts) == 3 else Spec("whole", "whole")
        return cls(label, parts[0], context, parts[-1])


@dataclass(frozen=True, slots=True)
class FullContext:
    """What a retriever finds for a question before any compression, which coverage is judged on.

    `label` names the retriever and the uncompressed context: systems with the same one are judged
    on the same texts. `gather` is not metered.
    """

    label: str
    gather: Gather


@dataclass(frozen=True, slots=True)
class System:
    """A reasoner with its label; model calls and retrievals are counted by a `Meter`.

    `full` is None for a system that does not retrieve: it covers no question.
    """

    label: str
    reasoner: Reasoner
    full: FullContext | None = None


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
    context_covered: bool = False
    notes: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, record: StoredRecord | None) -> SystemResult | None:
        """The row in a record of a `RowFile`; None for another kind of record.

        `covered` of a row without `context_covered`, as earlier versions stored it, is about what
        the model was given.
        """
        if record is None or not record.keys() >= set(FIELDS):
            return None
        return cls(
            **{name: record[name] for name in FIELDS},
            context_covered=bool(record.get("context_covered", record["covered"])),
            notes=record.get("notes", {}),
        )


FIELDS = tuple(
    part.name
    for part in fields(SystemResult)
    if part.default is MISSING and part.default_factory is MISSING
)
"""The required fields of a stored row."""
_JUDGED_ON = "full_context"
"""Key of a stored row: the label of the full context that `covered` was judged on."""


def ask_all(
    systems: Sequence[System],
    questions: Sequence[Question],
    meter: Meter,
    row_file: RowFile,
    configuration: Mapping[str, Any],
    *,
    threads: int,
    progress: Progress,
) -> dict[str, list[SystemResult]]:
    """Rows by system, one per question, in their order; rows in `row_file` are reused.

    All systems run on a question before the next one. `configuration` is everything else that
    answers depend on. Whether a question is covered is judged once for each full context, and
    again for a stored row that was judged on another one. Raises errors that end a run, after
    storing the completed rows.
    """
    coverage = Coverage()
    keys = {
        (system.label, question.id): key_of(
            "answer", configuration, system.label, _identity(question)
        )
        for question in questions
        for system in systems
    }
    results: dict[tuple[str, str], SystemResult | None] = {}
    for question in questions:
        for system in systems:
            record = row_file.get(keys[system.label, question.id], FIELDS)
            stored = SystemResult.of(record)
            if record and stored and record.get(_JUDGED_ON) != _label(system):
                stored = replace(stored, covered=coverage.judge(system, question))
            results[system.label, question.id] = stored
    jobs = [
        (system, question)
        for question in questions
        for system in systems
        if results[system.label, question.id] is None
    ]

    def work(job: tuple[System, Question]) -> SystemResult:
        return _ask(*job, meter, coverage)

    run = key_of(configuration)
    reused = len(keys) - len(jobs)
    advance = progress(f"answering ({reused} reused)" if reused else "answering", len(jobs))
    for (system, question), row in map_as_completed(work, jobs, threads):
        pair = system.label, question.id
        row_file.put(keys[pair], {**asdict(row), "run": run, _JUDGED_ON: _label(system)})
        results[pair] = row
        advance(1)
    rows = {pair: row for pair, row in results.items() if row is not None}
    return {
        system.label: [rows[system.label, question.id] for question in questions]
        for system in systems
    }


def _identity(question: Question) -> list[Any]:
    return [question.id, question.query.text, list(question.answers)]


def _label(system: System) -> str | None:
    return system.full.label if system.full else None


class Coverage:
    """Whether full contexts contain a known answer, judged once for a question and a context."""

    def __init__(self) -> None:
        self._judged: dict[tuple[str, str], bool] = {}

    def judge(self, system: System, question: Question) -> bool:
        """False for a system that does not retrieve."""
        if system.full is None:
            return False
        key = system.full.label, question.id
        if key not in self._judged:
            context = system.full.gather(question.query).context
            self._judged[key] = contains_answer(question.answers, context.texts)
        return self._judged[key]


def _ask(system: System, question: Question, meter: Meter, coverage: Coverage) -> SystemResult:
    account = meter.open()
    begin = perf_counter()
    text = reasoning = problem = ""
    notes: dict[str, bool] = {}
    outcome: Literal["answered", "insufficient", "failed"] = "insufficient"
    try:
        answer = system.reasoner.answer(question.query)
    except QUESTION_ERRORS as error:
        outcome, problem = "failed", f"{type(error).__name__}: {error}"
    else:
        reasoning = answer.reasoning
        notes = _notes(answer)
        if answer.outcome == "answered":
            outcome, text = "answered", answer.text
    seconds = perf_counter() - begin + account.saved
    contexts = [evidence.context for evidence in account.evidence]
    usage = account.usage
    return SystemResult(
        system.label, question.id, question.query.text, outcome, text, reasoning, problem,
        covered=coverage.judge(system, question),
        context_covered=contains_answer(
            question.answers, (text for context in contexts for text in context.texts)
        ),
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
    """The model usage and evidence of a question, also if a later call fails.

    `saved` is the time in seconds that was saved by cached replies.
    """

    usage: Usage = field(default_factory=Usage)
    saved: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)


class Meter:
    """An `LLM` that records usage and evidence in the `Account` of the current thread.

    A cached reply counts as much as when it was first requested, so that the cost of a system does
    not depend on the other systems of a run.
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
        """Open a new account for the current thread."""
        account = Account()
        self._own.account = account
        return account

    def gathering(self, gather: Gather) -> Gather:
        """The `Gather` with recording, serialized because graphs are not thread-safe."""

        def gathered(query: Query) -> Evidence:
            with self._gathering:
                evidence = gather(query)
            self._own.account.evidence.append(evidence)
            return evidence

        return gathered

    def unmetered(self, gather: Gather) -> Gather:
        """The `Gather` without recording, serialized with the others."""

        def gathered(query: Query) -> Evidence:
            with self._gathering:
                return gather(query)

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
