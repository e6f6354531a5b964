"""``sarag evaluate compare``: both orders, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import EndpointDownError, UnparsableReplyError
from sarag_rdf.kg import vectors
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.comparisons import CRITERIA
from tests.command import Result, Sarag
from tests.evaluation.scripted import Scripted

OURS, THEIRS = "sarag+single", "dense:limit=5+closed-book"


def row(system: str, id_: str, answer: str, **changes: Any) -> dict[str, Any]:
    """As ``evaluate qa`` keeps it."""
    return {
        "system": system,
        "id": id_,
        "question": f"What is {id_}?",
        "outcome": "answered" if answer else "insufficient",
        "answer": answer,
        "reasoning": f"{system} says {answer}.",
        "problem": "",
        "covered": True,
        "calls": 1,
        "tokens_in": 1,
        "tokens_out": 1,
        "retrievals": 1,
        "context_tokens": 1,
        "seconds": 0.1,
        "run": "one",
        **changes,
    }


ROWS = [
    row(OURS, "q1", "ours"),
    row(THEIRS, "q1", "theirs"),
    row(OURS, "q2", "ours"),
    row(THEIRS, "q2", "better"),
    row(OURS, "q3", "ours"),
    row(THEIRS, "q3", ""),
    row(OURS, "q4", "same", reasoning="x"),
    row(THEIRS, "q4", "same", reasoning="x", run="two"),
    row(OURS, "q5", "ours"),
    row(THEIRS, "q5", "", outcome="failed"),
    row(OURS, "q6", "ours"),
]


def script(name: str, prompt: str) -> dict[str, str]:
    """Answers that say "better" are; else ours is better, but in coherence always the first."""
    assert name == "judge_pair"
    first, _, second = prompt.partition("=== second")
    first = first.partition("=== first")[2]
    winner = next(
        name
        for name, word in (
            ("first", "better" in first),
            ("second", "better" in second),
            ("first", "Answer: ours" in first),
            ("second", True),
        )
        if word
    )
    return {**dict.fromkeys(CRITERIA, winner), "relevance": "equal", "coherence": "first"}


class Compare:
    """Runs the command over files of results, with a judge that is scripted."""

    def __init__(self, sarag: Sarag, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sarag, self.folder = sarag, folder
        self.llm, self.files = Scripted(script), tuple[str, ...]()
        monkeypatch.setattr(vectors, "make_llm", self.model)
        self.keep(*(row for row in ROWS if row["run"] == "one"))
        self.keep(*(row for row in ROWS if row["run"] == "two"), file="more.json")

    def model(self, endpoint: object, replies: Path | None) -> CachedLLM:
        return CachedLLM(self.llm, replies or self.folder / "replies.sqlite")

    def keep(self, *rows: dict[str, Any], file: str = "answers.json") -> None:
        """Write results of ``evaluate qa`` with these rows."""
        questions: dict[str, dict[str, Any]] = {}
        for row in rows:
            asked = {"id": row["id"], "question": row["question"], "systems": {}}
            question = questions.setdefault(row["id"], asked)
            question["systems"][row["system"]] = row
        (self.folder / file).write_text(json.dumps({"questions": [*questions.values()]}))
        self.files = tuple(dict.fromkeys((*self.files, file)))

    def __call__(self, *arguments: str, systems: str = f"{OURS},{THEIRS}") -> Result:
        options = (*self.files, "--systems", systems, "--concurrency", "1")
        return self.sarag("evaluate", "compare", *options, *arguments)

    def json(self, *arguments: str, **options: str) -> dict[str, Any]:
        done = self(*arguments, "--output", "out.json", **options)
        assert done.code == 0, done
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text("utf-8"))
        return found


@pytest.fixture
def compare(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    return Compare(sarag, tmp_path, monkeypatch)


def test_rates_by_hand(compare: Compare) -> None:
    """q1 and q3 are ours, q2 theirs, q4 the same; q5 failed, and q6 has one answer."""
    data = compare.json("--price-in", "1")
    overall = data["results"]["overall"]
    assert (overall["win"], overall["loss"]) == (0.5, 0.25)
    assert (overall["tie"], overall["order"]) == (0.25, 0.0)
    assert overall["difference"]["difference"] == 0.25
    assert overall["difference"]["low"] <= 0.25 <= overall["difference"]["high"]
    for name in ("comprehensiveness", "logic"):
        assert data["results"][name] == overall
    for name, by_order in (("relevance", 0.0), ("coherence", 0.75)):
        found = data["results"][name]
        rates = (found["win"], found["tie"], found["loss"], found["order"])
        assert rates == (0.0, 1.0, 0.0, by_order)
    assert data["pairs"] == {
        "count": 4,
        "the_same": 1,
        "without_verdict": 0,
        "failed": 1,
        "answered_by_one_alone": 1,
        "of_different_runs": 1,
    }
    assert [(q["id"], q["overall"], q["coherence"]) for q in data["questions"]] == [
        ("q1", "win", "order"),
        ("q2", "loss", "order"),
        ("q3", "win", "order"),
        ("q4", "tie", "tie"),
    ]
    assert data["judge"] == {"calls": 6, "tokens_in": 600, "tokens_out": 60, "dollars": 0.0006}
    assert len(compare.llm.calls) == 6
    assert data["setting"]["systems"] == [OURS, THEIRS]


def test_the_other_way_round(compare: Compare) -> None:
    one = compare.json()
    calls = len(compare.llm.calls)
    other = compare.json(systems=f"{THEIRS},{OURS}")
    assert len(compare.llm.calls) == calls  # both orders are known by now
    for name, found in one["results"].items():
        turned = other["results"][name]
        assert (found["win"], found["loss"]) == (turned["loss"], turned["win"])
        assert (found["tie"], found["order"]) == (turned["tie"], turned["order"])


def test_screen(compare: Compare) -> None:
    lines = compare().out.splitlines()
    assert lines[:2] == [
        f"{OURS} against {THEIRS}",
        "Pairs: 4; judge: scripted; figures in percent",
    ]
    assert lines[3].split() == ["criterion", "win", "tie", "loss", "order", "win", "less", "loss"]
    assert lines[8].split()[:5] == ["overall", "50.0", "25.0", "25.0", "0.0"]
    assert "questions at which one of the systems failed, excluded: 1" in lines


def test_an_answer_that_declines_says_so_to_the_judge(compare: Compare) -> None:
    compare()
    [first, *_] = [prompt for _, prompt in compare.llm.calls if "What is q3?" in prompt]
    assert "Answer: There is not enough information to answer." in first


def test_it_goes_on_where_it_was(compare: Compare, tmp_path: Path) -> None:
    said = Scripted(script)

    def interrupted(name: str, prompt: str) -> Any:
        return KeyboardInterrupt() if len(compare.llm.calls) > 4 else script(name, prompt)

    compare.llm.script = interrupted
    compare("--replies", "replies.sqlite").fails(130, "completed work is saved")
    compare.llm.script = lambda name, prompt: EndpointDownError("it is down")
    compare().fails(1, "it is down")
    compare.llm = said
    data = compare.json()
    assert len(said.calls) == 2
    first = (tmp_path / "out.json").read_bytes()
    assert compare.json() == data
    assert (tmp_path / "out.json").read_bytes() == first
    assert len(said.calls) == 2


def test_a_pair_without_a_verdict_is_left_out(compare: Compare) -> None:
    compare.llm.script = lambda name, prompt: (
        UnparsableReplyError("no JSON") if "What is q1?" in prompt else script(name, prompt)
    )
    data = compare.json()
    assert (data["pairs"]["count"], data["pairs"]["without_verdict"]) == (3, 1)
    assert data["results"]["overall"]["win"] == 0.333333
    assert data["questions"][0]["overall"] is None
    compare.llm.script = lambda name, prompt: UnparsableReplyError("no JSON")
    compare.llm.model = "other"
    assert compare("--limit", "3").code == 0
    assert compare.json("--limit", "3")["results"]["overall"]["win"] is None


def test_the_last_answer_counts(compare: Compare) -> None:
    rows = row(OURS, "q2", "better and better"), row(THEIRS, "q2", "worse")
    compare.keep(*rows, file="last.json")
    assert compare.json()["results"]["overall"]["win"] == 0.75


def test_limit(compare: Compare) -> None:
    assert [q["id"] for q in compare.json("--limit", "2")["questions"]] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("code", "systems", "words"),
    [
        (2, OURS, ["name two systems"]),
        (2, f"{OURS},{OURS}", ["name two systems"]),
        (2, f"{OURS},{THEIRS},a+b", ["name two systems"]),
        (2, f"{OURS},other", ["invalid system 'other'"]),
        (1, f"{OURS},ppr+cot", ["no answers of ppr+cot", OURS, THEIRS]),
    ],
)
def test_wrong_systems(compare: Compare, code: int, systems: str, words: list[str]) -> None:
    compare(systems=systems).fails(code, *words)
    assert compare.llm.calls == []


def test_wrong_files(compare: Compare, tmp_path: Path) -> None:
    compare("--output", "nowhere/a.json").fails(2, "nowhere/a.json")
    path = tmp_path / "answers.json"
    for text in ('[{"id": 1}]', '{"questions": [{"id": "q1", "systems": {}}]}', '{"questions": 3}'):
        path.write_text(text)
        compare().fails(1, "answers.json has no answers: name a file")
    path.write_text("hello\n")
    compare().fails(1, "answers.json is not valid JSON")
    compare.keep()
    compare().fails(1, f"no answers of {OURS}")
    path.unlink()
    compare().fails(1, "cannot read answers.json")


def test_no_pair(compare: Compare, tmp_path: Path) -> None:
    compare.files = ()
    compare.keep(row(OURS, "q1", "a"), row(THEIRS, "q2", "b"))
    compare().fails(1, "no question was answered by both")
