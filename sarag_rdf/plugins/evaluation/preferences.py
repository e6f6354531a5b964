"""``sarag evaluate preferences``: data for training a model to work facts into notes.

"KG-Infused RAG: Augmenting Corpus-Based RAG with External Knowledge Graphs", section 3.6 and
appendix F: the input of the augmenting call is answered with six decodings, a judge names the best
and the worst result, and inputs without a difference are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import LLM, Progress
from sarag_rdf.base.prompts import fence_for, object_of, string
from sarag_rdf.base.threads import map_in_order
from sarag_rdf.base.types import Answer
from sarag_rdf.cli.flags import endpoint_of, endpoint_options
from sarag_rdf.cli.output import counted, progress_bars
from sarag_rdf.kg import registry
from sarag_rdf.plugins.evaluation.commands import (
    check_outputs,
    data_options,
    interruption,
    open_corpus_graph,
    parse_numbers,
    replies_option,
    select_questions,
)
from sarag_rdf.plugins.evaluation.grading import FENCE, PROMPTS, QUESTION_ERRORS
from sarag_rdf.plugins.evaluation.questions import read_corpus, read_questions

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
    advance = progress("comparing", len(inputs))

    def compare(given: Input, _: Event) -> Preference | None:
        return _preference(given, decoders, judge)

    found = []
    for preference in map_in_order(compare, inputs, threads):
        found.append(preference)
        advance(1)
    return found


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
    return PROMPTS.render(
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


# ---------------------------------------------------------------------------------------- Command


@click.command(
    name="preferences",
    epilog="Example:  sarag evaluate preferences --corpus corpus.json --questions questions.json "
    "--output preferences.jsonl --replies replies.sqlite",
)
@data_options()
@click.option(
    "--output", required=True, type=click.Path(path_type=Path),
    help="File for the preferences (.jsonl): prompt, chosen and rejected, as TRL reads them.",
)  # fmt: skip
@click.option(
    "--rounds", default="1,2", show_default=True, callback=parse_numbers,
    help="Numbers of rounds of kg-infused whose notes are compared.",
)  # fmt: skip
@click.option(
    "--retriever", default="dense:limit=6", show_default=True, help="Searches for passages."
)
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT questions.")
@click.option("--judge-model", help="Model at the endpoint that compares. Default: --model.")
@replies_option
@endpoint_options
def command(**options: Any) -> None:
    """Write preferences between notes with facts, to train a model with DPO.

    The notes of kg-infused are augmented with six decodings; the model, or another one, names the
    best and the worst. Inputs without a difference are left out. examples/train_on_preferences.py
    trains a model with the file.
    """
    check_outputs(options["output"], options["replies"])
    endpoint = endpoint_of(options)
    if endpoint is None:
        raise UsageError("preferences need a model: give --base-url, or set OPENAI_BASE_URL")
    corpus, file = read_corpus(options["corpus"]), read_questions(options["questions"])
    questions = select_questions(file.questions, options["limit"], None)
    if not questions:
        raise InputError(f"no questions in {options['questions']}: give a file with questions")
    replies = options["replies"]
    llm = registry.make_llm(endpoint, replies)
    decoders = [
        registry.make_llm(replace(endpoint, temperature=temperature, top_p=top_p), replies)
        for temperature, top_p in DECODINGS
    ]
    judging = replace(endpoint, model=options["judge_model"] or endpoint.model)
    judge = registry.make_llm(judging, replies)
    with (
        open_corpus_graph(options, corpus) as (kg, _),
        interruption(replies),
        progress_bars() as progress,
    ):
        gather = kg.gather(options["retriever"])
        advance = progress("writing notes", len(questions) * len(options["rounds"]))
        inputs = []
        for rounds in options["rounds"]:
            reasoner = kg.reasoner(f"kg-infused:rounds={rounds}", gather, llm)
            for question in questions:
                with suppress(*QUESTION_ERRORS):  # that question gives no note
                    inputs += inputs_of(reasoner.answer(question.query))
                advance(1)
        inputs = list(dict.fromkeys(inputs))
        judged = preferences(
            inputs, decoders, judge,
            threads=options["concurrency"], progress=progress,
        )  # fmt: skip
    usable = [preference for preference in judged if preference is not None]
    lines = [json.dumps(preference.record, ensure_ascii=False) for preference in usable]
    options["output"].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    click.echo(
        f"{options['output']}: {counted(len(usable), 'preference')} of "
        f"{counted(len(judged), 'note')} with facts"
    )
