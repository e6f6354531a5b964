"""``sarag evaluate compare``: a judge model compares two systems in pairs, in both orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.prompts import fence_for, object_of, one_of
from sarag_rdf.cli.flags import endpoint_of, endpoint_options
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg import registry
from sarag_rdf.plugins.evaluation.commands import (
    check_outputs,
    interruption,
    parse_names,
    replies_option,
    result_options,
    show_results,
)
from sarag_rdf.plugins.evaluation.grading import FENCE, PROMPTS, Replies, ask_judge, usage_of
from sarag_rdf.plugins.evaluation.qa import SystemSpec
from sarag_rdf.plugins.evaluation.questions import read_json
from sarag_rdf.plugins.evaluation.report import difference, interval, percent, table

CRITERIA: Final = ("comprehensiveness", "logic", "relevance", "coherence", "overall")
SCHEMA = object_of(**{name: one_of(("first", "second", "equal")) for name in CRITERIA})
_DECLINED = "There is not enough information to answer."


@dataclass(frozen=True, slots=True)
class PresentedAnswer:
    """An answer as presented to the judge."""

    reasoning: str
    answer: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question and two answers, in the order of presentation."""

    question: str
    first: PresentedAnswer
    second: PresentedAnswer

    @property
    def swapped(self) -> Comparison:
        """The comparison in the reverse order."""
        return Comparison(self.question, self.second, self.first)


@dataclass(frozen=True, slots=True)
class AnswerPairs:
    """Comparisons by question id, in the order of the files; the counts are of excluded questions.

    `differ` counts pairs of answers from different files.
    """

    pairs: Mapping[str, Comparison]
    failed: int
    unpaired: int
    differ: int


def read_answers(path: Path) -> Mapping[str, Any]:
    """Results of ``sarag evaluate qa``; raises `InputError` for another file."""
    data = read_json(path).data
    try:
        for question in data["questions"]:
            _ = question["id"], question["question"]
            for row in question["systems"].values():
                _ = row["outcome"], row["reasoning"], row["answer"]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} has no answers: name a file that 'sarag evaluate qa --output' has written"
        ) from error
    results: Mapping[str, Any] = data
    return results


def pair_answers(reports: Sequence[Mapping[str, Any]], ours: str, theirs: str) -> AnswerPairs:
    """Pairs of the last answers of two systems in results of ``sarag evaluate qa``.

    Raises `InputError` for a system without answers.
    """
    found: dict[str, dict[str, tuple[str, Mapping[str, Any], int]]] = {}
    for number, report in enumerate(reports):
        for question in report["questions"]:
            for system, row in question["systems"].items():
                answer = question["question"], row, number
                found.setdefault(system, {})[question["id"]] = answer
    for system in (ours, theirs):
        if system not in found:
            raise InputError(
                f"the results contain no answers of {system}: they contain answers of "
                f"{', '.join(found) or 'no system'}"
            )
    both = {
        id_: (found[ours][id_], found[theirs][id_]) for id_ in found[ours].keys() & found[theirs]
    }
    pairs = {
        id_: Comparison(both[id_][0][0], *(_presented(row) for _, row, _ in both[id_]))
        for id_ in found[ours]
        if id_ in both and all(row["outcome"] != "failed" for _, row, _ in both[id_])
    }
    unpaired = len(found[ours]) + len(found[theirs]) - 2 * len(both)
    differ = sum(both[id_][0][2] != both[id_][1][2] for id_ in pairs)
    return AnswerPairs(pairs, len(both) - len(pairs), unpaired, differ)


def _presented(row: Mapping[str, Any]) -> PresentedAnswer:
    """The answer of a row, with a uniform text if the system gave none."""
    return PresentedAnswer(row["reasoning"], row["answer"] or _DECLINED)


def pair_prompt(order: Comparison) -> str:
    """The prompt, in which question and answers are fenced data."""
    answers = (order.first, order.second)
    texts = [text for answer in answers for text in (answer.reasoning, answer.answer)]
    return PROMPTS.render(
        "judge_pair",
        question=order.question,
        first=order.first,
        second=order.second,
        fence=fence_for(order.question, *texts, length=FENCE),
    )


def compare_all(
    pairs: Sequence[Comparison], llm: LLM, *, threads: int, progress: Progress
) -> Replies[Comparison]:
    """The replies of the judge by order of presentation; identical answers are not judged."""
    orders = [o for pair in pairs if pair.first != pair.second for o in (pair, pair.swapped)]

    def ask(order: Comparison) -> Reply:
        return llm.complete(pair_prompt(order), SCHEMA, name="judge_pair", max_tokens=150)

    return ask_judge(ask, list(dict.fromkeys(orders)), threads, progress, "comparing")


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
    found: AnswerPairs, replies: Replies[Comparison], setting: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings, rates by criterion as fractions in [0, 1], and a row for each question.

    `tie` includes `order`. `setting` has `seed` and `prices`. Identical answers are ties; pairs
    without a valid reply in both orders are excluded and counted.
    """
    rows: list[dict[str, Any]] = [
        {"id": id_, "question": pair.question, **_verdicts(pair, replies)}
        for id_, pair in found.pairs.items()
    ]
    judged = [row for row in rows if row["overall"] is not None]
    return {
        "setting": dict(setting),
        "pairs": {
            "count": len(judged),
            "the_same": sum(pair.first == pair.second for pair in found.pairs.values()),
            "without_verdict": len(rows) - len(judged),
            "failed": found.failed,
            "answered_by_one_alone": found.unpaired,
            "of_different_runs": found.differ,
        },
        "results": {
            name: _rates([row[name] for row in judged], setting["seed"]) for name in CRITERIA
        },
        "judge": usage_of(replies, setting["prices"]),
        "questions": rows,
    }


def _verdicts(pair: Comparison, replies: Replies[Comparison]) -> dict[str, str | None]:
    if pair.first == pair.second:
        return dict.fromkeys(CRITERIA, "tie")
    forth, back = (replies[order] for order in (pair, pair.swapped))
    if forth is None or back is None:
        return dict.fromkeys(CRITERIA)
    return {name: verdict(name, forth.data, back.data) for name in CRITERIA}


def _rates(verdicts: Sequence[str], seed: int) -> dict[str, Any]:
    if not verdicts:
        return dict.fromkeys(("win", "tie", "loss", "order", "difference"))
    shares = {
        name: round(fmean(value in also for value in verdicts), 6)
        for name, also in (
            ("win", ("win",)), ("tie", ("tie", "order")), ("loss", ("loss",)), ("order", ("order",))
        )
    }  # fmt: skip
    pairs = [(float(value == "win"), float(value == "loss")) for value in verdicts]
    return {**shares, "difference": difference(pairs, seed)}


DESCRIPTIONS = {
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
    shown = ("win", "tie", "loss", "order")
    rows = [
        [name, *(percent(rates[what]) for what in shown), interval(rates["difference"])]
        for name, rates in report["results"].items()
    ]
    yield from table(["criterion", *shown, "win less loss"], rows)
    yield ""
    yield "order: ties in which the answer in the same position won both times"
    yield from (f"{text}: {pairs[kind]}" for kind, text in DESCRIPTIONS.items() if pairs[kind])


# ---------------------------------------------------------------------------------------- Command


@click.command(
    name="compare",
    epilog="Example:  sarag evaluate compare results.json --systems sarag+single,dense+single "
    "--base-url http://localhost:8080/v1",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--systems", required=True, callback=parse_names,
    help="Two systems of these files, comma-separated.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT questions.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True,
    help="Random seed of the bootstrap intervals.",
)  # fmt: skip
@result_options
@replies_option
@endpoint_options
def command(files: tuple[Path, ...], **options: Any) -> None:
    """Let a judge model compare the answers of two systems, question by question.

    FILES are results of 'sarag evaluate qa --output'. Each pair is judged in both orders; a system
    wins if it is preferred in both. See docs/how-to/evaluate.md for the criteria.
    """
    labels = [SystemSpec.parse(part).label for part in options["systems"]]
    if len(set(labels)) != 2:
        raise UsageError(f"--systems {','.join(labels)}: name two systems, comma-separated")
    check_outputs(options["output"], options["replies"])
    found = pair_answers([read_answers(file) for file in files], *labels)
    pairs = dict(list(found.pairs.items())[: options["limit"]])
    if not pairs:
        raise InputError(f"no question was answered by both {labels[0]} and {labels[1]}")
    llm = registry.make_llm(endpoint_of(options), options["replies"])
    with interruption(options["replies"]), progress_bars() as progress:
        replies = compare_all(
            list(pairs.values()), llm, threads=options["concurrency"], progress=progress
        )
    setting = {
        "systems": labels,
        "limit": options["limit"],
        "seed": options["seed"],
        "model": llm.model,
        "settings": dict(getattr(llm, "settings", {})),
        "prices": {"in": options["price_in"], "out": options["price_out"]},
        "version": sarag_rdf.__version__,
    }
    found = AnswerPairs(pairs, found.failed, found.unpaired, found.differ)
    data = report(found, replies, setting)
    show_results(options, data, lines(data))
