"""Pairwise comparison of two systems' answers by a judge model, in both orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.fence import fence_for
from sarag_rdf.base.json_schema import object_of, one_of
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.resources import render_prompt
from sarag_rdf.plugins.evaluation.judge import FENCE, count_missing, judge_identity, run_judge
from sarag_rdf.plugins.evaluation.qa import SystemResult
from sarag_rdf.plugins.evaluation.runner import RowFile, StoredRecord, key_of
from sarag_rdf.plugins.evaluation.statistics import paired_interval
from sarag_rdf.plugins.evaluation.tables import interval, percent, table

CRITERIA: Final = ("comprehensiveness", "logic", "relevance", "coherence", "overall")
SCHEMA = object_of(**{name: one_of(("first", "second", "equal")) for name in CRITERIA})
_DIGITS = 6
_DECLINED = "There is not enough information to answer."


@dataclass(frozen=True, slots=True)
class PresentedAnswer:
    """An answer as presented to the judge."""

    reasoning: str
    answer: str

    @classmethod
    def of(cls, row: SystemResult) -> PresentedAnswer:
        """The answer of a row, with a uniform text if the system gave none."""
        return cls(row.reasoning, row.answer or _DECLINED)


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
class AnswerPair:
    """The answers of two systems to a question; `same_run`: in the same configuration."""

    id: str
    order: Comparison
    same_run: bool


@dataclass(frozen=True, slots=True)
class AnswerPairs:
    """Pairs in the order of the file; `failed` and `unpaired` count excluded questions."""

    pairs: tuple[AnswerPair, ...]
    failed: int
    unpaired: int


def pair_answers(row_file: RowFile, ours: str, theirs: str) -> AnswerPairs:
    """Pairs of the last rows of two systems; raises `InputError` for a system without rows."""
    rows: dict[str, dict[str, tuple[SystemResult, Any]]] = {}
    for record in row_file:
        row = SystemResult.of(record)
        if row is not None:
            rows.setdefault(row.system, {})[row.id] = row, record.get("run")
    for system in (ours, theirs):
        if system not in rows:
            raise InputError(
                f"the rows contain no answers of {system}: they contain answers of "
                f"{', '.join(rows) or 'no system'}"
            )
    both = [id_ for id_ in rows[ours] if id_ in rows[theirs]]
    pairs = []
    for id_ in both:
        (mine, run), (other, other_run) = rows[ours][id_], rows[theirs][id_]
        if "failed" not in (mine.outcome, other.outcome):
            order = Comparison(mine.question, PresentedAnswer.of(mine), PresentedAnswer.of(other))
            pairs.append(AnswerPair(id_, order, run == other_run))
    unpaired = len(rows[ours]) + len(rows[theirs]) - 2 * len(both)
    return AnswerPairs(tuple(pairs), len(both) - len(pairs), unpaired)


def pair_prompt(order: Comparison) -> str:
    """The prompt, in which question and answers are fenced data."""
    texts = [text for answer in (order.first, order.second) for text in _texts(answer)]
    return render_prompt(
        "judge_pair",
        question=order.question,
        first=order.first,
        second=order.second,
        fence=fence_for(order.question, *texts, length=FENCE),
    )


def compare_all(
    pairs: Iterable[AnswerPair], llm: LLM, row_file: RowFile, *, threads: int, progress: Progress
) -> dict[Comparison, StoredRecord]:
    """The replies of the judge by order of presentation; identical answers are not judged.

    See `sarag_rdf.plugins.evaluation.judge.run_judge`.
    """
    judge = judge_identity(llm, "judge_pair")
    orders = [
        order
        for pair in pairs
        if pair.order.first != pair.order.second
        for order in (pair.order, pair.order.swapped)
    ]
    keys = {
        order: key_of("pair", judge, order.question, *_texts(order.first), *_texts(order.second))
        for order in orders
    }

    def ask(order: Comparison) -> Reply:
        return llm.complete(pair_prompt(order), SCHEMA, name="judge_pair", max_tokens=150)

    advance = progress("comparing", count_missing(keys, row_file))
    return run_judge(ask, keys, row_file, threads, advance)


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
    answer_pairs: AnswerPairs,
    records: Mapping[Comparison, StoredRecord],
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, rates by criterion as fractions in [0, 1], and a row for each question.

    `tie` includes `order`. `setting` has `seed` and `prices`. Identical answers are ties; pairs
    without a valid reply in both orders are excluded and counted.
    """
    rows: list[dict[str, Any]] = [
        {"id": pair.id, "question": pair.order.question, **_verdicts(pair, records)}
        for pair in answer_pairs.pairs
    ]
    judged = [row for row in rows if row["overall"] is not None]
    prices = setting["prices"]
    tokens = {
        name: sum(record[name] for record in records.values())
        for name in ("calls", "tokens_in", "tokens_out")
    }
    dollars = (
        tokens["tokens_in"] * prices["in"] + tokens["tokens_out"] * prices["out"]
    ) / 1_000_000
    return {
        "setting": dict(setting),
        "pairs": {
            "count": len(judged),
            "the_same": sum(p.order.first == p.order.second for p in answer_pairs.pairs),
            "without_verdict": len(rows) - len(judged),
            "failed": answer_pairs.failed,
            "answered_by_one_alone": answer_pairs.unpaired,
            "of_different_runs": sum(not pair.same_run for pair in answer_pairs.pairs),
        },
        "results": {
            name: _rates([row[name] for row in judged], setting["seed"]) for name in CRITERIA
        },
        "judge": {**tokens, "dollars": round(dollars, 9)},
        "questions": rows,
    }


def _verdicts(
    pair: AnswerPair, records: Mapping[Comparison, StoredRecord]
) -> dict[str, str | None]:
    if pair.order.first == pair.order.second:
        return dict.fromkeys(CRITERIA, "tie")
    forth, back = (records[order]["said"] for order in (pair.order, pair.order.swapped))
    if forth is None or back is None:
        return dict.fromkeys(CRITERIA)
    return {name: verdict(name, forth, back) for name in CRITERIA}


def _rates(verdicts: Sequence[str], seed: int) -> dict[str, Any]:
    if not verdicts:
        return dict.fromkeys(("win", "tie", "loss", "order", "difference"))
    shares = {
        name: round(fmean(value == name for value in verdicts), _DIGITS)
        for name in ("win", "tie", "loss", "order")
    }
    wins, losses = ([float(value == name) for value in verdicts] for name in ("win", "loss"))
    middle, low, high = (round(v, _DIGITS) for v in paired_interval(wins, losses, seed))
    return {
        **shares,
        "tie": round(shares["tie"] + shares["order"], _DIGITS),
        "difference": {"difference": middle, "low": low, "high": high},
    }


def _texts(answer: PresentedAnswer) -> tuple[str, str]:
    return answer.reasoning, answer.answer


DESCRIPTIONS = {
    "the_same": "pairs of identical answers, which are ties and were not judged",
    "without_verdict": "pairs without a valid reply of the judge, excluded",
    "failed": "questions at which one of the systems failed, excluded",
    "answered_by_one_alone": "questions answered by one system only, excluded",
    "of_different_runs": "pairs of answers from runs with different configurations",
}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: rates by criterion in percent, and excluded pairs."""
    ours, theirs = report["setting"]["systems"]
    pairs = report["pairs"]
    yield f"{ours} against {theirs}"
    yield f"Pairs: {pairs['count']}; judge: {report['setting']['model']}; figures in percent"
    yield ""
    rows = [
        [
            name,
            *(percent(preference[what]) for what in ("win", "tie", "loss", "order")),
            interval(preference["difference"]),
        ]
        for name, preference in report["results"].items()
    ]
    yield from table(["criterion", "win", "tie", "loss", "order", "win less loss"], rows)
    yield ""
    yield "order: ties in which the answer in the same position won both times"
    yield from (f"{text}: {pairs[kind]}" for kind, text in DESCRIPTIONS.items() if pairs[kind])
