"""Pairwise comparison of two systems' answers by a judge model, in both orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sarag_rdf.errors import InputError
from sarag_rdf.evaluation.jobs import Record, RowFile, key_of
from sarag_rdf.evaluation.judge import FENCE, identity, missing, said_of
from sarag_rdf.evaluation.qa import Row
from sarag_rdf.evaluation.statistics import paired_interval
from sarag_rdf.evaluation.tables import interval, percent, table
from sarag_rdf.fence import fence_for
from sarag_rdf.ports import LLM, Progress, Reply
from sarag_rdf.resources import render_prompt

CRITERIA: Final = ("comprehensiveness", "logic", "relevance", "coherence", "overall")
SCHEMA = {
    "type": "object",
    "properties": {
        name: {"type": "string", "enum": ["first", "second", "equal"]} for name in CRITERIA
    },
    "required": list(CRITERIA),
    "additionalProperties": False,
}
_DIGITS = 6
_DECLINED = "There is not enough information to answer."


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as a judge sees it."""

    reasoning: str
    answer: str

    @classmethod
    def of(cls, row: Row) -> Said:
        """What a row says; one that declines says so in words that are the same for all."""
        return cls(row.reasoning, row.answer or _DECLINED)


@dataclass(frozen=True, slots=True)
class Order:
    """A question, and two answers in the order in which they are shown."""

    question: str
    first: Said
    second: Said

    @property
    def swapped(self) -> Order:
        """The same in the other order."""
        return Order(self.question, self.second, self.first)


@dataclass(frozen=True, slots=True)
class Pair:
    """What two systems said to one question, ours first; `same_run` if asked under one setting."""

    id: str
    order: Order
    same_run: bool


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs in the order of the file; `failed` and `unpaired` count questions left out."""

    pairs: tuple[Pair, ...]
    failed: int
    unpaired: int


def pairs_of(kept: RowFile, ours: str, theirs: str) -> Pairs:
    """Pairs of the last rows of two systems; raises `InputError` for a system without any."""
    found: dict[str, dict[str, tuple[Row, Any]]] = {}
    for record in kept:
        row = Row.of(record)
        if row is not None:
            found.setdefault(row.system, {})[row.id] = row, record.get("run")
    for system in (ours, theirs):
        if system not in found:
            raise InputError(
                f"there is no answer of {system} among the rows: there are answers of "
                f"{', '.join(found) or 'no system'}"
            )
    both = [id_ for id_ in found[ours] if id_ in found[theirs]]
    pairs = []
    for id_ in both:
        (mine, run), (other, other_run) = found[ours][id_], found[theirs][id_]
        if "failed" not in (mine.outcome, other.outcome):
            order = Order(mine.question, Said.of(mine), Said.of(other))
            pairs.append(Pair(id_, order, run == other_run))
    unpaired = len(found[ours]) + len(found[theirs]) - 2 * len(both)
    return Pairs(tuple(pairs), len(both) - len(pairs), unpaired)


def pair_prompt(order: Order) -> str:
    """The prompt, in which question and answers are fenced data."""
    texts = [text for said in (order.first, order.second) for text in (said.reasoning, said.answer)]
    return render_prompt(
        "judge_pair",
        question=order.question,
        first=order.first,
        second=order.second,
        fence=fence_for(order.question, *texts, length=FENCE),
    )


def compare_all(
    pairs: Iterable[Pair], llm: LLM, kept: RowFile, *, threads: int, progress: Progress
) -> dict[Order, Record]:
    """What the judge says of each order; answers that are the same are not asked about.

    See `sarag_rdf.evaluation.judge.said_of`.
    """
    judge = identity(llm, "judge_pair")
    orders = [
        order
        for pair in pairs
        if pair.order.first != pair.order.second
        for order in (pair.order, pair.order.swapped)
    ]
    keys = {
        order: key_of("pair", judge, order.question, *_told(order.first), *_told(order.second))
        for order in orders
    }

    def ask(order: Order) -> Reply:
        return llm.complete(pair_prompt(order), SCHEMA, name="judge_pair", max_tokens=150)

    return said_of(ask, keys, kept, threads, progress("comparing", missing(keys, kept)))


def verdict(criterion: str, forth: Mapping[str, str], back: Mapping[str, str]) -> str:
    """``win`` or ``loss`` of the one that comes first in `forth`, if both orders say so.

    Else ``tie``; or ``order``, a tie in which the same place won twice.

    >>> verdict("logic", {"logic": "first"}, {"logic": "second"})
    'win'
    >>> verdict("logic", {"logic": "first"}, {"logic": "first"})
    'order'
    """
    said = forth[criterion], back[criterion]
    if said == ("first", "second"):
        return "win"
    if said == ("second", "first"):
        return "loss"
    return "order" if said[0] == said[1] != "equal" else "tie"


def report(
    found: Pairs, records: Mapping[Order, Record], setting: Mapping[str, Any]
) -> dict[str, Any]:
    """Setting, rates by criterion as fractions from 0 to 1, a row for each question.

    `tie` includes `order`. `setting` names `seed` and `prices`. Answers that are the same are
    ties; pairs of which the judge gave no valid reply in either order are left out, and counted.
    """
    rows: list[dict[str, Any]] = [
        {"id": pair.id, "question": pair.order.question, **_verdicts(pair, records)}
        for pair in found.pairs
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
            "the_same": sum(p.order.first == p.order.second for p in found.pairs),
            "without_verdict": len(rows) - len(judged),
            "failed": found.failed,
            "answered_by_one_alone": found.unpaired,
            "of_different_runs": sum(not pair.same_run for pair in found.pairs),
        },
        "results": {
            name: _rates([row[name] for row in judged], setting["seed"]) for name in CRITERIA
        },
        "judge": {**tokens, "dollars": round(dollars, 9)},
        "questions": rows,
    }


def _verdicts(pair: Pair, records: Mapping[Order, Record]) -> dict[str, str | None]:
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
        name: round(fmean(said == name for said in verdicts), _DIGITS)
        for name in ("win", "tie", "loss", "order")
    }
    wins, losses = ([float(said == name) for said in verdicts] for name in ("win", "loss"))
    middle, low, high = (round(v, _DIGITS) for v in paired_interval(wins, losses, seed))
    return {
        **shares,
        "tie": round(shares["tie"] + shares["order"], _DIGITS),
        "difference": {"difference": middle, "low": low, "high": high},
    }


def _told(said: Said) -> tuple[str, str]:
    return said.reasoning, said.answer


SAYING = {
    "the_same": "pairs that are the same word for word, ties without being asked about",
    "without_verdict": "pairs of which the judge said nothing valid, left out",
    "failed": "questions at which one of the two failed, left out",
    "answered_by_one_alone": "answers of one system alone, left out",
    "of_different_runs": "pairs whose answers were given under different settings",
}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Rates by criterion in percent, what the order decided, what was left out."""
    ours, theirs = report["setting"]["systems"]
    pairs = report["pairs"]
    yield f"{ours} against {theirs}"
    yield f"Pairs: {pairs['count']}; judge: {report['setting']['model']}; figures in percent"
    yield ""
    rows = [
        [
            name,
            *(percent(found[what]) for what in ("win", "tie", "loss", "order")),
            interval(found["difference"]),
        ]
        for name, found in report["results"].items()
    ]
    yield from table(["criterion", "win", "tie", "loss", "order", "win less loss"], rows)
    yield ""
    yield "order: ties in which the answer shown in the same place won both times"
    yield from (f"{said}: {pairs[what]}" for what, said in SAYING.items() if pairs[what])
