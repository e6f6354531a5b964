"""``sarag evaluate compare`` and ``preferences``: a judge model compares texts with one another.

`compare` shows it the answers of two systems in pairs, in both orders. `preferences` shows it notes
with facts in six decodings, and writes data for training a model to work facts into notes
("KG-Infused RAG: Augmenting Corpus-Based RAG with External Knowledge Graphs", section 3.6 and
appendix F).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.prompts import object_of, one_of, string
from sarag_rdf.base.types import Answer
from sarag_rdf.cli.flags import endpoint_of, endpoint_options
from sarag_rdf.cli.output import counted, progress_bars
from sarag_rdf.kg import vectors
from sarag_rdf.plugins.evaluation import commands, grading
from sarag_rdf.plugins.evaluation.datasets import DataFile
from sarag_rdf.plugins.evaluation.qa import SystemSpec
from sarag_rdf.plugins.evaluation.reporting import difference, interval, percent, table

CRITERIA: Final = ("comprehensiveness", "logic", "relevance", "coherence", "overall")
COMPARISON_SCHEMA: Final = object_of(
    **{name: one_of(("first", "second", "equal")) for name in CRITERIA}
)
_OUTCOMES: Final = ("win", "tie", "loss", "order")
_DECLINED: Final = "There is not enough information to answer."


class PresentedAnswer(NamedTuple):
    """An answer as presented to the judge."""

    reasoning: str
    answer: str


class Comparison(NamedTuple):
    """A question and two answers, in the order of presentation."""

    question: str
    first: PresentedAnswer
    second: PresentedAnswer

    @property
    def swapped(self) -> Comparison:
        return Comparison(self.question, self.second, self.first)


class Given(NamedTuple):
    """The answer of a system, with its question, and the place of its file."""

    question: str
    answer: PresentedAnswer
    has_failed: bool
    file: int


def pair_answers(
    files: Sequence[Path], ours: str, theirs: str
) -> tuple[dict[str, Comparison], dict[str, int]]:
    """Pairs of the last answers of two systems in files by ``sarag evaluate qa --output``.

    They are by question id, in the order of the files; beside them are counts of excluded
    questions, and of pairs from different files. An answer that a system declined has a uniform
    text. Raises `InputError` for another file, and for a system without answers.
    """
    answers: defaultdict[str, dict[str, Given]] = defaultdict(dict)
    for number, path in enumerate(files):
        data = DataFile(path).data
        try:
            for question in data["questions"]:
                id_, text = question["id"], question["question"]
                for system, row in question["systems"].items():
                    shown = PresentedAnswer(row["reasoning"], row["answer"] or _DECLINED)
                    given = Given(text, shown, row["outcome"] == "failed", number)
                    answers[system][id_] = given
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} has no answers: name a file that 'sarag evaluate qa --output' has written"
            ) from error
    if missing := [system for system in (ours, theirs) if system not in answers]:
        known = ", ".join(answers) or "no system"
        raise InputError(
            f"the results contain no answers of {missing[0]}: they contain answers of {known}"
        )
    one, other = answers[ours], answers[theirs]
    both = {id_: (one[id_], other[id_]) for id_ in one if id_ in other}
    whole = {id_: pair for id_, pair in both.items() if not any(g.has_failed for g in pair)}
    pairs = {id_: Comparison(a.question, a.answer, b.answer) for id_, (a, b) in whole.items()}
    return pairs, {
        "failed": len(both) - len(pairs),
        "answered_by_one_alone": len(one) + len(other) - 2 * len(both),
        "of_different_runs": sum(a.file != b.file for a, b in whole.values()),
    }


def pair_prompt(order: Comparison) -> str:
    texts = (order.question, *order.first, *order.second)
    return grading.fenced_prompt("judge_pair", *texts, **order._asdict())


def verdict(criterion: str, forth: Mapping[str, str], back: Mapping[str, str]) -> str:
    """``win`` or ``loss`` of the answer that is first in `forth`, if both orders agree.

    Else ``tie``, or ``order`` for a tie in which the same position won both times.

    >>> verdict("logic", {"logic": "first"}, {"logic": "second"})
    'win'
    >>> verdict("logic", {"logic": "first"}, {"logic": "first"})
    'order'
    """
    winners = forth[criterion], back[criterion]
    if winners == ("first", "second"):
        return "win"
    if winners == ("second", "first"):
        return "loss"
    return "order" if winners[0] == winners[1] != "equal" else "tie"


def report(
    pairs: Mapping[str, Comparison],
    counts: Mapping[str, int],
    replies: grading.Replies[Comparison],
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, rates by criterion as fractions in [0, 1], and a row for each question.

    `tie` includes `order`. Identical answers are ties; pairs without two replies are excluded, and
    counted. `setting` has `seed` and `prices`.
    """
    rows: list[dict[str, Any]] = [
        {"id": id_, "question": pair.question, **_verdicts(pair, replies)}
        for id_, pair in pairs.items()
    ]
    judged = [row for row in rows if row["overall"] is not None]
    return {
        "setting": dict(setting),
        "pairs": {
            "count": len(judged),
            "the_same": sum(pair.first == pair.second for pair in pairs.values()),
            "without_verdict": len(rows) - len(judged),
            **counts,
        },
        "results": {
            name: _rates([row[name] for row in judged], setting["seed"]) for name in CRITERIA
        },
        "judge": grading.usage_of(replies, setting["prices"]),
        "questions": rows,
    }


def _verdicts(pair: Comparison, replies: grading.Replies[Comparison]) -> dict[str, str | None]:
    if pair.first == pair.second:
        return dict.fromkeys(CRITERIA, "tie")
    forth, back = (replies[order] for order in (pair, pair.swapped))
    if forth is None or back is None:
        return dict.fromkeys(CRITERIA)
    return {name: verdict(name, forth.data, back.data) for name in CRITERIA}


def _rates(verdicts: Sequence[str], seed: int) -> dict[str, Any]:
    if not verdicts:
        return dict.fromkeys((*_OUTCOMES, "difference"))
    counts = Counter(verdicts)
    counts["tie"] += counts["order"]
    shares = {name: round(counts[name] / len(verdicts), 6) for name in _OUTCOMES}
    pairs = [(float(value == "win"), float(value == "loss")) for value in verdicts]
    return {**shares, "difference": difference(pairs, seed)}


EXCLUDED: Final = {
    "the_same": "pairs of identical answers, which are ties and were not judged",
    "without_verdict": "pairs without a valid reply of the judge, excluded",
    "failed": "questions at which one of the systems failed, excluded",
    "answered_by_one_alone": "questions answered by one system only, excluded",
    "of_different_runs": "pairs of answers from different files",
}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: rates by criterion in percent, and excluded pairs."""
    ours, theirs = report["setting"]["systems"]
    pairs = report["pairs"]
    yield f"{ours} against {theirs}"
    yield f"Pairs: {pairs['count']}; judge: {report['setting']['model']}; figures in percent"
    yield ""
    rows = [
        [name, *(percent(rates[what]) for what in _OUTCOMES), interval(rates["difference"])]
        for name, rates in report["results"].items()
    ]
    yield from table(["criterion", *_OUTCOMES, "win less loss"], rows)
    yield ""
    yield "order: ties in which the answer in the same position won both times"
    yield from (f"{text}: {pairs[kind]}" for kind, text in EXCLUDED.items() if pairs[kind])


@click.command(
    name="compare",
    epilog="Example:  sarag evaluate compare results.json --systems sarag+single,dense+single "
    "--base-url http://localhost:8080/v1",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--systems", required=True, callback=commands.parse_names,
    help="Two systems of these files, comma-separated.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT questions.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True,
    help="Random seed of the bootstrap intervals.",
)  # fmt: skip
@commands.result_options
@commands.replies_option
@endpoint_options
def compare(files: tuple[Path, ...], **options: Any) -> None:
    """Let a judge model compare the answers of two systems, question by question.

    FILES are results of 'sarag evaluate qa --output'. Each pair is judged in both orders; a system
    wins if it is preferred in both. See docs/how-to/evaluate.md for the criteria.
    """
    labels = [SystemSpec.parse(part).label for part in options["systems"]]
    if len(set(labels)) != 2:
        raise UsageError(f"--systems {','.join(labels)}: name two systems, comma-separated")
    every, counts = pair_answers(files, *labels)
    pairs = dict(islice(every.items(), options["limit"]))
    if not pairs:
        raise InputError(f"no question was answered by both {labels[0]} and {labels[1]}")
    differing = [pair for pair in pairs.values() if pair.first != pair.second]
    orders = dict.fromkeys(order for pair in differing for order in (pair, pair.swapped))
    llm = vectors.make_llm(endpoint_of(options), options["replies"])

    def ask(order: Comparison) -> Reply:
        return llm.complete(
            pair_prompt(order), COMPARISON_SCHEMA, name="judge_pair", max_tokens=150
        )

    with commands.interruption(options["replies"]), progress_bars() as progress:
        replies = grading.ask_each(ask, [*orders], options["concurrency"], progress, "comparing")
    setting = {
        "systems": labels,
        "limit": options["limit"],
        "seed": options["seed"],
        **commands.model_setting(llm, options),
        "version": sarag_rdf.__version__,
    }
    data = report(pairs, counts, replies, setting)
    commands.show_results(options, data, lines(data))


# ------------------------------------------------------------------------------------ Preferences

DECODINGS: Final = ((0.0, 1.0), (0.3, 0.95), (0.5, 0.9), (0.7, 0.9), (0.9, 0.8), (1.0, 0.7))
"""Temperature and top-p of each result."""
AUGMENTING: Final = "augment_note"
"""The prompt whose replies are compared."""
NOTE_SCHEMA: Final = object_of(note=string(6000))
MAX_TOKENS: Final = 1024


class Input(NamedTuple):
    """What an augmenting call was given: the prompt, and the texts in it."""

    question: str
    note: str
    facts: str
    prompt: str


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


def preferences_of(
    inputs: Sequence[Input],
    decoders: Sequence[LLM],
    judge: LLM,
    *,
    threads: int,
    progress: Progress,
) -> dict[Input, dict[str, Any] | None]:
    """The preference for each input as TRL reads it, by a model for each of `DECODINGS`.

    A preference has conversations of one turn. None where no result is better or a reply was not
    valid. Raises errors that end a run.
    """

    def work(given: Input) -> dict[str, Any] | None:
        replies = [
            llm.complete(given.prompt, NOTE_SCHEMA, name=AUGMENTING, max_tokens=MAX_TOKENS)
            for llm in decoders
        ]
        notes = (" ".join(reply.data["note"].split()) for reply in replies)
        results = [note for note in dict.fromkeys(notes) if note]
        if len(results) < 2:
            return None
        number = {"type": "integer", "enum": list(range(1, len(results) + 1))}
        schema, prompt = object_of(best=number, worst=number), notes_prompt(given, results)
        choice = judge.complete(prompt, schema, name="judge_notes", max_tokens=50).data
        if choice["best"] == choice["worst"]:
            return None
        best, worst = (
            json.dumps({"note": results[choice[name] - 1]}, ensure_ascii=False)
            for name in ("best", "worst")
        )
        return {
            "prompt": [{"role": "user", "content": given.prompt}],
            "chosen": [{"role": "assistant", "content": best}],
            "rejected": [{"role": "assistant", "content": worst}],
        }

    return grading.ask_each(work, inputs, threads, progress, "comparing")


def notes_prompt(given: Input, results: Sequence[str]) -> str:
    texts = {"question": given.question, "note": given.note, "facts": given.facts}
    return grading.fenced_prompt("judge_notes", *texts.values(), *results, **texts, results=results)


@click.command(
    name="preferences",
    epilog="Example:  sarag evaluate preferences --corpus corpus.json --questions questions.json "
    "--output preferences.jsonl --replies replies.sqlite",
)
@commands.data_options()
@commands.output_option(
    "--output",
    "File for the preferences (.jsonl): prompt, chosen and rejected, as TRL reads them.",
    required=True,
)
@click.option(
    "--rounds", default="1,2", show_default=True, callback=commands.numbers(click.IntRange(1)),
    help="Numbers of rounds of kg-infused whose notes are compared.",
)  # fmt: skip
@click.option(
    "--retriever", default="dense:limit=6", show_default=True, help="Searches for passages."
)
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT questions.")
@click.option("--judge-model", help="Model at the endpoint that compares. Default: --model.")
@commands.replies_option
@endpoint_options
def preferences(**options: Any) -> None:
    """Write preferences between notes with facts, to train a model with DPO.

    The notes of kg-infused are augmented with six decodings; the model, or another one, names the
    best and the worst. Inputs without a difference are left out. examples/train_on_preferences.py
    trains a model with the file.
    """
    endpoint = endpoint_of(options)
    if endpoint is None:
        raise UsageError("preferences need a model: give --base-url, or set OPENAI_BASE_URL")
    replies = options["replies"]
    llm = vectors.make_llm(endpoint, replies)
    decoders = [
        vectors.make_llm(replace(endpoint, temperature=temperature, top_p=top_p), replies)
        for temperature, top_p in DECODINGS
    ]
    judging = replace(endpoint, model=options["judge_model"] or endpoint.model)
    judge = vectors.make_llm(judging, replies)
    interruption = commands.interruption(replies)
    with commands.open_inputs(options) as run, interruption, progress_bars() as progress:
        gather = run.kg.gather(options["retriever"])
        advance = progress("writing notes", len(run.questions) * len(options["rounds"]))
        inputs: dict[Input, None] = {}
        for rounds in options["rounds"]:
            reasoner = run.kg.reasoner(f"kg-infused:rounds={rounds}", gather, llm)
            for question in run.questions:
                with suppress(*grading.QUESTION_ERRORS):  # that question gives no note
                    inputs |= dict.fromkeys(inputs_of(reasoner.answer(question.query)))
                advance(1)
        judged = preferences_of(
            [*inputs], decoders, judge, threads=options["concurrency"], progress=progress
        )
    usable = [json.dumps(record, ensure_ascii=False) for record in judged.values() if record]
    options["output"].write_text("".join(f"{line}\n" for line in usable), encoding="utf-8")
    click.echo(
        f"{options['output']}: {counted(len(usable), 'preference')} of "
        f"{counted(len(judged), 'note')} with facts"
    )
