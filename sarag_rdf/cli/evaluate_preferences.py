"""``sarag evaluate preferences``: data for training a model to work facts into notes."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.cli.evaluation import (
    check_outputs,
    data_options,
    open_corpus_graph,
    parse_numbers,
    select_questions,
)
from sarag_rdf.cli.options import endpoint_of, endpoint_options
from sarag_rdf.cli.output import counted, progress_bars


@click.command(
    name="preferences",
    epilog="Example:  sarag evaluate preferences --corpus corpus.json --questions questions.json "
    "--output preferences.jsonl --replies replies.sqlite",
)
@data_options
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
@click.option(
    "--replies", type=click.Path(path_type=Path),
    help="Cache the replies of the models in this file (.sqlite), to resume an interrupted run.",
)  # fmt: skip
@endpoint_options
def command(**options: Any) -> None:
    """Write preferences between notes with facts, to train a model with DPO.

    The notes of kg-infused are augmented with six decodings; the model, or another one, names the
    best and the worst. Inputs without a difference are left out. examples/train_on_preferences.py
    trains a model with the file.
    """
    from sarag_rdf.kg import registry
    from sarag_rdf.plugins.evaluation.corpus import read_corpus
    from sarag_rdf.plugins.evaluation.preferences import DECODINGS, inputs_of, preferences
    from sarag_rdf.plugins.evaluation.qa import QUESTION_ERRORS
    from sarag_rdf.plugins.evaluation.questions import read_questions

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
