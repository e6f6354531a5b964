"""Preferences between notes with facts, from which a model learns to work facts into notes.

"KG-Infused RAG: Augmenting Corpus-Based RAG with External Knowledge Graphs", section 3.6 and
appendix F: the input of the augmenting call is answered with six decodings, a judge names the best
and the worst result, and inputs without a difference are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sarag_rdf.base.fence import fence_for
from sarag_rdf.base.json_schema import object_of, string
from sarag_rdf.base.ports import LLM, Progress
from sarag_rdf.base.resources import render_prompt
from sarag_rdf.base.types import Answer
from sarag_rdf.plugins.evaluation.judge import FENCE
from sarag_rdf.plugins.evaluation.qa import QUESTION_ERRORS
from sarag_rdf.plugins.evaluation.runner import map_as_completed

DECODINGS = ((0.0, 1.0), (0.3, 0.95), (0.5, 0.9), (0.7, 0.9), (0.9, 0.8), (1.0, 0.7))
"""Temperature and top-p of each result."""
AUGMENTING = "augment_note"
"""The prompt whose replies are compared."""
SCHEMA = object_of(note=string(6000))
MAX_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Input:
    """What an augmenting call was given: the prompt, and the texts in it."""

    question: str
    note: str
    facts: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Preference:
    """Two replies to a prompt, of which a judge found the first best and the second worst."""

    prompt: str
    chosen: str
    rejected: str

    @property
    def record(self) -> dict[str, list[dict[str, str]]]:
        """The preference as TRL reads it: conversations of one turn."""
        return {
            "prompt": [{"role": "user", "content": self.prompt}],
            "chosen": [{"role": "assistant", "content": _reply(self.chosen)}],
            "rejected": [{"role": "assistant", "content": _reply(self.rejected)}],
        }


def inputs_of(answer: Answer) -> list[Input]:
    """The inputs of all augmenting calls behind an answer."""
    inputs: list[Input] = []
    note = facts = ""
    for stage in answer.trace:
        if stage.kind == "call":
            note = stage.detail["note"] if stage.name == "passage_note" else note
            facts = stage.detail["summary"] if stage.name == "summarize_statements" else facts
            if stage.name == AUGMENTING:
                question = answer.retrieved.query.text
                inputs.append(Input(question, note, facts, stage.prompt))
    return inputs


def preferences(
    inputs: Sequence[Input],
    decoders: Sequence[LLM],
    judge: LLM,
    *,
    threads: int,
    progress: Progress,
) -> list[Preference | None]:
    """A preference for each input, None where no result is better or a reply was not valid.

    `decoders` is a model for each of `DECODINGS`. Raises errors that end a run.
    """
    by_input: dict[Input, Preference | None] = {}
    advance = progress("comparing", len(inputs))

    def compare(given: Input) -> Preference | None:
        return _preference(given, decoders, judge)

    for given, preference in map_as_completed(compare, inputs, threads):
        by_input[given] = preference
        advance(1)
    return [by_input[given] for given in inputs]


def _preference(given: Input, decoders: Sequence[LLM], judge: LLM) -> Preference | None:
    try:
        replies = [
            llm.complete(given.prompt, SCHEMA, name=AUGMENTING, max_tokens=MAX_TOKENS)
            for llm in decoders
        ]
        notes = (" ".join(reply.data["note"].split()) for reply in replies)
        results = [note for note in dict.fromkeys(notes) if note]
        if len(results) < 2:
            return None
        number = {"type": "integer", "enum": list(range(1, len(results) + 1))}
        choice = judge.complete(
            judge_prompt(given, results),
            object_of(best=number, worst=number),
            name="judge_notes",
            max_tokens=50,
        ).data
    except QUESTION_ERRORS:
        return None
    if choice["best"] == choice["worst"]:
        return None
    return Preference(given.prompt, results[choice["best"] - 1], results[choice["worst"] - 1])


def judge_prompt(given: Input, results: Sequence[str]) -> str:
    """The prompt of the judge, with all texts as fenced data."""
    texts = (given.question, given.note, given.facts, *results)
    return render_prompt(
        "judge_notes",
        question=given.question,
        note=given.note,
        facts=given.facts,
        results=results,
        fence=fence_for(*texts, length=FENCE),
    )


def _reply(note: str) -> str:
    """A reply as the prompt asks for it."""
    return json.dumps({"note": note}, ensure_ascii=False)
