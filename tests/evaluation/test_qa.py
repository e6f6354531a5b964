"""``sarag evaluate qa``, from files to figures."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import (
    ContextTooLongError,
    EndpointAuthError,
    EndpointDownError,
    EndpointError,
    EndpointTimeoutError,
    RateLimitError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.base.types import Source
from sarag_rdf.kg import vectors
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.qa import SystemSpec
from sarag_rdf.plugins.evaluation.reporting import WIDTH, write_plot
from tests.command import Result, Sarag, environment, interruptible, run_sarag
from tests.evaluation.fixed import Fixed, without_models
from tests.evaluation.sample import CORPUS, QUESTIONS, musique, write
from tests.evaluation.scripted import Scripted
from tests.fault_server import data, hang, playing
from tests.sample_graph import CapitalExtractor, embeddings

TEXTS = {id_: text for id_, text, _, _ in QUESTIONS}
NEAR = "fixed:order=Ulm|Linz+single:brief=true"
FAR = "fixed:order=Graz|Carla Mohr+whole+single"
NONE = "bm25+closed-book"
SYSTEMS = f"{NEAR},{FAR},{NONE}"
PresentedAnswer = Mapping[str, Any] | BaseException


def brief(answer: str) -> PresentedAnswer:
    return {"final_answer": answer}


def reasoned(answer: str, *, sufficient: bool = True) -> PresentedAnswer:
    return {"reasoning": "D1.", "sufficient": sufficient, "final_answer": answer, "citations": []}


def known(answer: str) -> PresentedAnswer:
    return {"reasoning": "It is known.", "final_answer": answer}


SAYING: dict[tuple[str, str], PresentedAnswer] = {
    ("answer_brief", "q1"): brief("The Danube."),  # right, covered
    ("answer_brief", "q2"): brief("Carla"),  # half of the known one: matches
    ("answer_brief", "q3"): brief("Vienna"),  # wrong, not covered
    ("answer", "q1"): reasoned("", sufficient=False),
    ("answer", "q2"): reasoned("Ulm"),  # wrong, covered by a title
    ("answer", "q3"): reasoned("in Graz"),
    ("closed_book", "q1"): known("The river of Ulm"),  # the judge takes it for right
    ("closed_book", "q2"): known(""),
    ("closed_book", "q3"): TruncatedReplyError("too long"),
}


def script(name: str, prompt: str) -> PresentedAnswer:
    if name == "judge":
        return {"correct": "The river of Ulm" in prompt or "in Graz" in prompt}
    [id_] = [id_ for id_, text in TEXTS.items() if text in prompt]
    return SAYING[name, id_]


class Evaluate:
    """Runs the command over files in the working folder, with a model that is scripted."""

    def __init__(
        self, sarag: Sarag, folder: Path, kg: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.sarag, self.folder, self.kg = sarag, folder, kg
        self.llm, self.judge = Scripted(script), Scripted(script)
        monkeypatch.setattr(vectors, "make_llm", self.model)
        write(folder / "corpus.json", CORPUS)
        questions = musique()
        for question in questions:
            question["type"] = "chain" if question["id"] == "q3" else " bridge "
        write(folder / "questions.json", questions)

    def __call__(self, *arguments: str) -> Result:
        files = ["--corpus", "corpus.json", "--questions", "questions.json"]
        return self.sarag("evaluate", "qa", *files, "--concurrency", "1", *arguments)

    def json(self, *arguments: str, is_indexed: bool = True) -> dict[str, Any]:
        """The results over a graph that is indexed already, unless arguments name another."""
        if is_indexed and "--kg" not in arguments:
            arguments = (*arguments, "--kg", str(self.kg))
        done = self(*arguments, "--output", "out.json")
        assert done.code == 0, done
        found: dict[str, Any] = json.loads(self.bytes())
        return found

    def bytes(self) -> bytes:
        return (self.folder / "out.json").read_bytes()

    def model(self, endpoint: ModelEndpoint | None, replies: Path | None) -> CachedLLM:
        """The model behind a cache, as `make_llm` gives it; of another name if one is asked."""
        if endpoint is not None and endpoint.model:
            self.judge.model = endpoint.model
            return CachedLLM(self.judge, replies or ":memory:")
        return CachedLLM(self.llm, replies or ":memory:")


@pytest.fixture
def evaluate(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> Evaluate:
    without_models(monkeypatch)
    return Evaluate(sarag, tmp_path, sample_kg, monkeypatch)


# ----------------------------------------------------------------------------- Figures


def test_figures_by_hand(evaluate: Evaluate) -> None:
    prices = ("--price-in", "2", "--price-out", "5")
    data = evaluate.json("--systems", SYSTEMS, *prices)
    near, far, none = data["results"]
    assert [result["system"] for result in data["results"]] == [NEAR, FAR, NONE]
    wanted = {
        "questions": 3,
        "accuracy": 2 / 3,
        "exact_match": 1 / 3,
        "f1": (1 + 2 / 3 + 0) / 3,
        "matched": 2 / 3,
        "coverage": 2 / 3,
        "abstention": 0,
        "failed": 0,
        "errors_of_retrieval": 1 / 3,
        "errors_of_reasoning": 0,
        "calls": 1,
        "tokens_in": 100,
        "tokens_out": 10,
        "dollars": 0.00025,
        "retrievals": 1,
        # Ulm has 11 words with its title, Linz 12: 15 and 16 tokens
        "context_tokens": 31,
    }
    assert {name: near[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    wanted = {
        "accuracy": 1 / 3,
        "exact_match": 0,
        "f1": (0 + 0 + 2 / 3) / 3,
        "coverage": 2 / 3,
        "abstention": 1 / 3,
        "errors_of_retrieval": 1 / 3,  # where it declined: the Danube was not there
        "errors_of_reasoning": 1 / 3,
    }
    assert {name: far[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    wanted = {
        "accuracy": 0,
        "f1": 0,  # of an answer that stands nowhere
        "coverage": 0,
        "abstention": 1 / 3,
        "failed": 1 / 3,
        "errors_of_retrieval": 2 / 3,
        "errors_of_reasoning": 0,
        "calls": 2 / 3,
        "tokens_in": 200 / 3,
        "retrievals": 0,
        "context_tokens": 0,
    }
    assert {name: none[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    assert data["judge"] is None


def test_figures_of_groups(evaluate: Evaluate) -> None:
    near, far, none = evaluate.json("--systems", SYSTEMS)["results"]
    assert near["on_covered"]["questions"] == 2
    assert near["on_covered"]["accuracy"] == 1.0
    assert near["on_covered"]["f1"] == pytest.approx(5 / 6, abs=1e-6)
    assert (far["on_covered"]["questions"], far["on_covered"]["accuracy"]) == (2, 0.5)
    assert (none["on_covered"]["questions"], none["on_covered"]["accuracy"]) == (0, None)
    for kind, groups in (("by_hops", ("2", "3")), ("by_type", ("bridge", "chain"))):
        assert tuple(near[kind]) == groups
        many, one = (near[kind][group] for group in groups)
        assert (many["questions"], many["accuracy"], many["exact_match"]) == (2, 1.0, 0.5)
        assert (one["questions"], one["accuracy"], one["coverage"]) == (1, 0.0, 0.0)


def test_differences(evaluate: Evaluate) -> None:
    near, far, none = evaluate.json("--systems", SYSTEMS, "--baseline", FAR)["results"]
    assert far["difference"] is None
    assert near["difference"]["baseline"] == none["difference"]["baseline"] == FAR
    for measure in ("accuracy", "exact_match", "f1"):
        found = near["difference"][measure]
        assert found["difference"] == pytest.approx(near[measure] - far[measure], abs=2e-6)
        assert found["low"] <= found["difference"] <= found["high"]
    # accuracy: 1, 1, 0 less 0, 0, 1
    accuracy = near["difference"]["accuracy"]
    assert (accuracy["low"], accuracy["high"]) == (-1.0, 1.0)


def test_rows_of_questions(evaluate: Evaluate) -> None:
    data = evaluate.json("--systems", SYSTEMS)
    one, two, three = data["questions"]
    assert one["id"] == "q1"
    assert one["answers"] == ["Danube", "the Danube"]
    assert (one["type"], one["hops"], three["hops"]) == ("bridge", 2, 3)
    assert one["systems"][NEAR] == {
        "outcome": "answered",
        "answer": "The Danube.",
        "reasoning": "",
        "exact_match": 1.0,
        "f1": 1.0,
        "matched": True,
        "judged": None,
        "correct": True,
        "covered": True,
        "context_covered": True,
        "error": None,
        "problem": None,
        "calls": 1,
        "tokens_in": 100,
        "tokens_out": 10,
        "retrievals": 1,
        "context_tokens": 31,
    }
    assert one["systems"][FAR]["outcome"] == "insufficient"
    assert one["systems"][FAR]["answer"] == ""
    assert [row["systems"][FAR]["error"] for row in (one, two, three)] == [
        "retrieval",
        "reasoning",
        None,
    ]
    failed = three["systems"][NONE]
    assert (failed["outcome"], failed["error"]) == ("failed", "failed")
    assert failed["problem"] == "TruncatedReplyError"


def test_what_was_gathered_counts_where_a_call_fails(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAYING, ("answer_brief", "q2"), UnparsableReplyError("no JSON"))
    data = evaluate.json("--systems", NEAR)
    row = data["questions"][1]["systems"][NEAR]
    assert (row["outcome"], row["covered"], row["calls"]) == ("failed", True, 0)
    assert row["context_tokens"] == 31
    [result] = data["results"]
    assert (result["failed"], result["errors_of_reasoning"]) == (0.333333, 0.0)


SHORT = "fixed:order=Ulm|Linz+whole:documents=1+single:brief=true"
"""What the model is given does not have the mayor of Linz; what was retrieved has."""


def test_coverage_is_that_of_the_retriever_and_the_context_has_its_own(evaluate: Evaluate) -> None:
    """Systems of one retriever have the same questions covered, however they compress."""
    data = evaluate.json("--systems", f"{NEAR},{SHORT},{FAR},{NONE},closed-book")
    near, short, far, none, book = data["results"]
    assert near["coverage"] == short["coverage"] == 0.666667
    assert (near["context_coverage"], short["context_coverage"]) == (0.666667, 0.333333)
    assert near["on_covered"]["questions"] == short["on_covered"]["questions"] == 2
    assert far["coverage"] == far["context_coverage"] == 0.666667
    assert none["coverage"] == none["context_coverage"] == book["coverage"] == 0.0
    two = data["questions"][1]["systems"][SHORT]
    assert (two["covered"], two["context_covered"]) == (True, False)
    assert data["setting"]["full_context"] == "whole"


def test_an_error_is_one_of_reasoning_if_compression_lost_the_answer(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAYING, ("answer_brief", "q2"), brief("Vienna"))
    [result] = evaluate.json("--systems", SHORT)["results"]
    assert (result["errors_of_reasoning"], result["errors_of_retrieval"]) == (0.333333, 0.333333)


def test_a_sub_question_adds_to_the_context_and_not_to_what_is_covered(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of documents depends on the question here: Graz comes for Carla alone."""
    retrieve = Fixed.retrieve

    def by_question(fixed: Fixed, view: Any, query: Any) -> Any:
        found = retrieve(fixed, view, query)
        first = "Graz" if query.text.startswith("Where did Carla") else "Ulm"
        best = tuple(d for d in found.documents if d.document.title == first)
        return replace(found, documents=best)

    monkeypatch.setattr(Fixed, "retrieve", by_question)

    def split(name: str, prompt: str) -> PresentedAnswer:
        if name != "decompose":
            return brief("Graz") if "Graz" in prompt else brief("Vienna")
        return {"questions": ["Where did Carla study?", "Is #1 it?"]}

    evaluate.llm.script = split
    data = evaluate.json("--systems", "fixed+decompose:brief=true")
    row = data["questions"][2]["systems"]["fixed+decompose:brief=true"]
    assert (row["covered"], row["context_covered"], row["retrievals"]) == (False, True, 3)


def test_another_full_context(evaluate: Evaluate) -> None:
    """One that no budget cuts; replies in the file are used."""
    arguments = ("--systems", SHORT, "--replies", "replies.sqlite", "--budget", "15")
    [before] = evaluate.json(*arguments, "--full-context", "whole:documents=1")["results"]
    [after] = evaluate.json(*arguments)["results"]
    assert (before["coverage"], after["coverage"]) == (0.333333, 0.666667)
    assert len(evaluate.llm.calls) == 3
    evaluate("--full-context", "half").fails(2, "unknown context 'half'")


def test_setting(evaluate: Evaluate) -> None:
    arguments = ("--systems", f"{NEAR}, {FAR},{NEAR}", "--budget", "50", "--limit", "2")
    setting = evaluate.json(*arguments, "--seed", "1")["setting"]
    assert setting["systems"] == [NEAR, FAR]
    assert setting["baseline"] == NEAR
    assert (setting["budget"], setting["limit"], setting["seed"]) == (50, 2, 1)
    assert (setting["model"], setting["judge"]) == ("scripted", None)
    assert setting["settings"] == {"temperature": "0.0", "seed": "0"}
    assert setting["extractor"] == ["capitals"]
    assert setting["embedder"] == "hash-64"
    assert setting["questions"]["count"] == 2
    assert set(setting["problems"].values()) == {0}


def test_questions_without_an_answer_are_left_out(evaluate: Evaluate, tmp_path: Path) -> None:
    questions = [*musique(), {"id": "q4", "question": "Who?"}, {"id": "q5", "question": "Is it?"}]
    questions[-1]["answer"] = "yes"
    evaluate.llm.script = lambda name, prompt: brief("Yes.")
    write(tmp_path / "questions.json", questions)
    data = evaluate.json("--systems", NEAR)
    assert [question["id"] for question in data["questions"]] == ["q1", "q2", "q3", "q5"]
    assert data["setting"]["problems"]["questions_without_answer"] == 1
    assert data["setting"]["problems"]["questions_answered_yes_or_no"] == 1
    assert data["results"][0]["accuracy"] == 0.25
    assert list(data["results"][0]["by_hops"]) == ["2", "3"]
    assert data["results"][0]["by_type"] == {}
    lines = evaluate("--systems", NEAR).out.splitlines()
    assert "questions without an answer, excluded from coverage and accuracy: 1" in lines
    write(tmp_path / "questions.json", questions[3:4])
    evaluate("--systems", NEAR).fails(1, "no question of questions.json has a known answer")


def test_questions_of_a_table(evaluate: Evaluate, tmp_path: Path) -> None:
    """Brackets around a topic are not part of the question."""
    rows = [
        f"{text.replace('Ada Brandt', '[Ada Brandt]')}\t{answer}|the {answer}\tchain"
        for _, text, answer, _ in QUESTIONS
    ]
    (tmp_path / "a.tsv").write_text("\n".join(["question\tanswers\tpath_type", *rows, ""]))
    [table] = evaluate.json("--systems", NEAR, "--questions", "a.tsv")["results"]
    [listed] = evaluate.json("--systems", NEAR)["results"]
    names = ("accuracy", "exact_match", "f1", "coverage", "context_tokens")
    assert [table[name] for name in names] == [listed[name] for name in names]
    assert table["by_type"]["chain"]["questions"] == len(QUESTIONS)


def test_a_budget_is_for_all_that_do_not_say_another(evaluate: Evaluate) -> None:
    own = "fixed:order=Ulm|Linz+whole:budget=15+single:brief=true"
    results = evaluate.json("--systems", f"{NEAR},{own}", "--budget", "31")["results"]
    assert [result["context_tokens"] for result in results] == [31, 15]
    results = evaluate.json("--systems", f"{NEAR},{own}", "--budget", "30")["results"]
    assert [result["context_tokens"] for result in results] == [15, 15]


# ------------------------------------------------------------------------------- Judge


def test_the_judge_marks_what_does_not_match(evaluate: Evaluate) -> None:
    data = evaluate.json("--systems", SYSTEMS, "--judge", "--price-in", "1")
    near, far, none = data["results"]
    assert [result["accuracy"] for result in (near, far, none)] == [0.666667, 0.333333, 0.333333]
    assert none["matched"] == 0.0
    assert none["errors_of_retrieval"] == 0.333333
    # asked: Vienna, Ulm, The river of Ulm; and of the matches The Danube., Carla, in Graz
    assert evaluate.llm.names.count("judge") == 6
    assert data["judge"] == {
        "unmatched": 3,
        "unmatched_accepted": 1,
        "matched": 3,
        "matched_accepted": 1,
        "without_verdict": 0,
        "calls": 6,
        "tokens_in": 600,
        "tokens_out": 60,
        "dollars": 0.0006,
    }
    rows = {row["id"]: row["systems"] for row in data["questions"]}
    assert rows["q1"][NONE]["judged"] is True
    assert rows["q1"][NONE]["correct"] is True
    assert rows["q1"][NEAR]["judged"] is False  # of the sample
    assert rows["q1"][NEAR]["correct"] is True  # what matches is right all the same
    assert rows["q2"][NONE]["judged"] is None
    done = evaluate("--systems", SYSTEMS, "--judge")
    said = "the judge accepted 1 of 3 answers that match no known answer, and 1 of 3 that do"
    assert said in done.out.splitlines()


def test_the_judge_is_asked_once_about_the_same_answer(evaluate: Evaluate) -> None:
    evaluate.llm.script = lambda name, prompt: (
        {"correct": False} if name == "judge" else brief("Rome")
    )
    systems = "fixed+single:brief=true,fixed:limit=1+single:brief=true"
    data = evaluate.json("--systems", systems, "--judge", "--replies", "replies.sqlite")
    assert evaluate.llm.names.count("judge") == 3
    assert data["judge"]["unmatched"] == 3
    again = evaluate.json("--systems", systems, "--judge", "--replies", "replies.sqlite")
    assert again == data
    assert evaluate.llm.names.count("judge") == 3


def test_a_verdict_that_is_none(evaluate: Evaluate) -> None:
    evaluate.llm.script = lambda name, prompt: (
        UnparsableReplyError("no JSON") if name == "judge" else brief("Rome")
    )
    data = evaluate.json("--systems", NEAR, "--judge")
    assert data["judge"]["without_verdict"] == 3
    assert data["results"][0]["accuracy"] == 0.0
    assert evaluate("--systems", NEAR, "--judge").out.splitlines()[-1] == (
        "answers without a valid reply of the judge: 3"
    )


# -------------------------------------------------------------------------- Going on


@pytest.mark.parametrize("kg", [(), ("--kg", "kg")])
@pytest.mark.parametrize("after", [0, 1, 4, 8])
def test_what_is_done_is_not_asked_again(
    evaluate: Evaluate, after: int, kg: tuple[str, ...], tmp_path: Path
) -> None:
    """Interrupted after so many replies; the last call of all fails, and is asked again."""
    arguments = ("--systems", SYSTEMS, "--replies", "replies.sqlite", *kg)
    whole = Scripted(script)

    def interrupted(name: str, prompt: str) -> PresentedAnswer:
        return KeyboardInterrupt() if len(evaluate.llm.calls) > after else script(name, prompt)

    evaluate.llm.script = interrupted
    evaluate(*arguments).fails(130, "interrupted: completed work is saved")
    evaluate.llm = whole
    data = evaluate.json(*arguments, is_indexed=False)
    assert len(whole.calls) == 9 - after
    once = evaluate.bytes()
    assert evaluate.json(*arguments, is_indexed=False) == data
    assert len(whole.calls) == 9 - after + 1
    (tmp_path / "replies.sqlite").unlink()
    evaluate.json(*arguments)
    assert evaluate.bytes() == once


def test_an_interruption_without_a_file_of_replies_loses_them(
    evaluate: Evaluate,
) -> None:
    evaluate.llm.script = lambda name, prompt: KeyboardInterrupt()
    evaluate("--systems", NEAR).fails(130, "no replies were saved: name a file with --replies")


@pytest.mark.parametrize(
    "error",
    [EndpointDownError, EndpointTimeoutError, EndpointAuthError, RateLimitError, EndpointError],
)
def test_an_endpoint_that_is_down_ends_the_run(
    evaluate: Evaluate, error: type[EndpointError]
) -> None:
    evaluate.llm.script = lambda name, prompt: (
        error("it is down") if TEXTS["q2"] in prompt else script(name, prompt)
    )
    evaluate("--systems", NEAR, "--replies", "replies.sqlite").fails(1, "it is down")
    assert len(evaluate.llm.calls) == 2
    evaluate.llm.script = script
    data = evaluate.json("--systems", NEAR, "--replies", "replies.sqlite")
    assert data["results"][0]["accuracy"] == 0.666667
    assert len(evaluate.llm.calls) == 4


@pytest.mark.parametrize("error", [ContextTooLongError, TruncatedReplyError, UnparsableReplyError])
def test_an_error_of_one_question_fails_it_alone(
    evaluate: Evaluate, error: type[EndpointError]
) -> None:
    evaluate.llm.script = lambda name, prompt: (
        error("it is long") if TEXTS["q2"] in prompt else script(name, prompt)
    )
    data = evaluate.json("--systems", NEAR)
    assert [q["systems"][NEAR]["outcome"] for q in data["questions"]] == [
        "answered",
        "failed",
        "answered",
    ]


@pytest.mark.parametrize(
    ("change", "calls"),
    [
        (lambda e: ("--budget", "15"), 6),
        (lambda e: setattr(e.llm, "model", "newer"), 6),
        (lambda e: e.llm.settings.update(temperature="0.7"), 6),
        (lambda e: ("--kg", "other"), 3),
        (lambda e: write(e.folder / "questions.json", musique((*QUESTIONS[:2], _other()))), 3),
    ],
    ids=["budget", "model", "temperature", "another graph of the corpus", "another known answer"],
)
def test_what_replies_depend_on(evaluate: Evaluate, change: Any, calls: int) -> None:
    arguments = ("--systems", NEAR, "--replies", "replies.sqlite")
    evaluate.json(*arguments)
    changed = change(evaluate)
    evaluate.json(*arguments, *(changed if isinstance(changed, tuple) else ()))
    assert len(evaluate.llm.calls) == calls


def _other() -> tuple[str, str, str, list[str]]:
    """The third question with another known answer."""
    id_, text, _, support = QUESTIONS[2]
    return id_, text, "Vienna", support


def test_other_prices_and_a_judge_ask_nothing_anew(evaluate: Evaluate) -> None:
    arguments = ("--systems", NEAR, "--replies", "replies.sqlite")
    [before] = evaluate.json(*arguments)["results"]
    [after] = evaluate.json(*arguments, "--price-in", "3", "--judge")["results"]
    assert (before["dollars"], after["dollars"]) == (0.0, 0.0003)
    assert [name for name in evaluate.llm.names if name != "judge"] == 3 * ["answer_brief"]


def test_another_model_judges(evaluate: Evaluate) -> None:
    endpoint = ("--base-url", "http://127.0.0.1:9/v1")
    data = evaluate.json("--systems", SYSTEMS, "--judge-model", "large", *endpoint)
    assert data["setting"]["judge"] == "large"
    assert set(evaluate.judge.names) == {"judge"}
    assert "judge" not in evaluate.llm.names
    assert data["judge"]["calls"] == 6


def test_a_graph_without_a_corpus(evaluate: Evaluate) -> None:
    """Coverage needs none; only the passages of a corpus are not counted."""
    whole = evaluate.json("--systems", NEAR, "--kg", "kg")
    files = ("--questions", "questions.json", "--systems", NEAR, "--output", "out.json")
    done = evaluate.sarag("evaluate", "qa", *files, "--kg", "kg", "--concurrency", "1")
    assert done.code == 0, done
    data = json.loads(evaluate.bytes())
    assert (data["results"], data["setting"]["corpus"]) == (whole["results"], None)
    assert "passages_not_in_graph" not in data["setting"]["problems"]
    evaluate.sarag("evaluate", "qa", *files).fails(2, "--corpus", "--kg")


# ------------------------------------------------------------- Screen, files, threads


def test_the_same_replies_give_the_same_bytes(evaluate: Evaluate, tmp_path: Path) -> None:
    arguments = ("--systems", SYSTEMS, "--judge", "--seed", "2")
    written = []
    for threads in ("1", "4", "1"):
        evaluate.json(*arguments, "--plot", "a.png", "--concurrency", threads)
        written.append((evaluate.bytes(), (tmp_path / "a.png").read_bytes()))
    assert written[0] == written[1] == written[2]
    assert written[0][1].startswith(b"\x89PNG")
    assert str(tmp_path).encode() not in written[0][0]
    assert b"seconds" not in written[0][0]


def test_screen(evaluate: Evaluate, tmp_path: Path) -> None:
    done = evaluate("--systems", SYSTEMS, "--timings", "times.json")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0] == "Questions: 3; model: scripted; figures in percent"
    heads = ["system", "acc", "EM", "F1", "cov", "ctx", "abst", "fail", "e-retr", "e-reas"]
    assert lines[2].split() == heads
    assert lines[3].split("brief=true")[1].split() == [
        *("66.7", "33.3", "55.6", "66.7", "66.7", "0.0", "0.0", "33.3", "0.0")
    ]
    for line in (
        f"Difference from {NEAR} with 95% interval",
        "Questions of type bridge: 2",
        "Questions of 3 hops: 1",
        "no judge: answers that match no known answer word for word count as wrong",
    ):
        assert line in lines
    times = json.loads((tmp_path / "times.json").read_text("utf-8"))
    assert times.keys() == {"questions_at_a_time", "seconds"}
    assert "concurrent" not in done.out
    assert (
        "seconds with 3 concurrent questions"
        in evaluate("--systems", SYSTEMS, "--concurrency", "3").out
    )
    assert times["seconds"][NEAR].keys() == {"median", "mean"}


def test_one_system_has_no_difference(evaluate: Evaluate) -> None:
    assert "Difference" not in evaluate("--systems", NEAR).out


def test_a_plot_without_tokens(evaluate: Evaluate, tmp_path: Path) -> None:
    """An endpoint that counts none: the tokens of contexts are drawn; and nothing but zeros."""
    evaluate("--systems", NONE, "--plot", "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("count", "length"), [(1, 4), (5, 40), (40, 120)])
def test_a_plot_of_few_and_of_many(tmp_path: Path, count: int, length: int) -> None:
    """Whatever their labels are, the picture is drawn, and the same each time."""
    points = {f"$_{n}".ljust(length, "x"): [(100.0 * n, n / count)] for n in range(count)}
    for name in ("a.png", "b.png"):
        write_plot(tmp_path / name, "F1", points, "tokens", is_line=False)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 10_000


# ------------------------------------------------------------------------ Wrong usage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--systems", "dense"], ["invalid system 'dense'", "RETRIEVER+REASONER"]),
        (["--systems", "a+b+c+d"], ["invalid system 'a+b+c+d'"]),
        (["--systems", "dense+"], ["invalid system 'dense+'"]),
        (["--systems", ""], ["--systems", "empty name"]),
        (["--systems", "dense+single,"], ["--systems", "empty name"]),
        (["--systems", "dense+single,+"], ["invalid system '+'"]),
        (["--systems", "other+single"], ["system other+single", "unknown retriever", "dense"]),
        (["--systems", "dense+other"], ["system dense+other", "unknown reasoner", "single"]),
        (["--systems", "dense+other+single"], ["unknown context 'other'", "whole"]),
        (["--systems", "dense:limit+single"], ["dense:limit", "NAME:KEY=VALUE"]),
        (["--systems", "dense+single:colour=red"], ["system dense+single:colour=red"]),
        (["--baseline", "dense+single"], ["--baseline dense+single", "sarag+selected+auto"]),
        (["--plot", "a.jpg"], [".png"]),
        (["--replies", "nowhere/a.sqlite"], ["nowhere/a.sqlite"]),
        (["--output", "."], ["."]),
        (["--budget", "0"], ["--budget"]),
        (["--limit", "0"], ["--limit"]),
        (["--extractor", "other"], ["unknown extractor"]),
    ],
)
def test_wrong_usage(evaluate: Evaluate, arguments: list[str], words: list[str]) -> None:
    done = evaluate(*arguments)
    done.fails(2, *words)
    assert evaluate.llm.calls == []
    if "--extractor" not in arguments:
        assert "indexing" not in done.err


@pytest.mark.parametrize(
    "system",
    [
        "dense:colour=red+single",
        "dense:limit=many+single",
        "dense+selected:colour=red+single",
    ],
)
def test_options_that_a_part_does_not_take(evaluate: Evaluate, system: str) -> None:
    evaluate("--systems", f"{NEAR},{system}").fails(2, f"system {system}: ")
    assert (evaluate.llm.calls, Fixed.asked) == ([], [])


def test_an_endpoint_is_needed(sarag: Sarag, tmp_path: Path) -> None:
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", musique())
    files = ("--corpus", "corpus.json", "--questions", "questions.json")
    sarag("evaluate", "qa", *files).fails(2, "no model endpoint is named")


def test_files_that_cannot_be_used(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "questions.json").write_text("[]")
    evaluate().fails(1, "questions.json", "no question")
    (tmp_path / "corpus.json").write_text("[]")
    evaluate().fails(1, "corpus.json", "no passage")


def test_the_graph_of_another_corpus(evaluate: Evaluate, tmp_path: Path) -> None:
    evaluate.json("--systems", NEAR, "--kg", "kg")
    write(tmp_path / "corpus.json", [{"title": "A", "text": "b"}])
    evaluate("--systems", NEAR, "--kg", "kg").fails(1, "contains no passage of corpus.json")


# --------------------------------------------------------------------------- For real


def chat(left: list[None]) -> Callable[[BaseHTTPRequestHandler], None]:
    """An endpoint that embeds, and takes an item of `left` for each answer; then it hangs."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.endswith("/embeddings"):
            embeddings(handler)
        elif not left:
            hang(handler)
        else:
            left.pop()
            data({"final_answer": "Danube"})(handler)

    return act


def stored(replies: Path) -> int:
    """The number of replies in the file so far."""
    if not replies.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{replies}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM kept").fetchone()[0])
    except sqlite3.OperationalError:  # it has just been created
        return 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_interrupt_ends_the_program_though_the_endpoint_hangs(tmp_path: Path) -> None:
    """In a process of its own; and the same command goes on with the rest."""
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", musique())
    replies = tmp_path / "replies.sqlite"
    left = [None, None]
    with playing(chat(left)) as server:
        endpoint = ModelEndpoint(server.base_url)
        with sarag_rdf.open(tmp_path / "kg", embedder="openai:hash", endpoint=endpoint) as kg:
            sources = [Source(record["text"], record["title"]) for record in CORPUS]
            kg.index(sources, extractor=CapitalExtractor())
        arguments = (
            *("evaluate", "qa", "--corpus", "corpus.json", "--questions", "questions.json"),
            *("--kg", "kg", "--systems", "bm25+single:brief=true", "--replies", replies.name),
            *("--base-url", server.base_url, "--model", "m", "--embedder", "openai:hash"),
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "sarag_rdf", *arguments],
            cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=interruptible,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + 120
            while stored(replies) < 2:
                assert time.monotonic() < deadline
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
        Result(process.returncode, out, err).fails(130, "completed work is saved")
        assert out == ""
        before = [body for body in server.bodies if "messages" in body]
        left.append(None)
        done = run_sarag(*arguments, cwd=tmp_path)
        assert done.code == 0, done
        [again] = [body for body in server.bodies if "messages" in body][len(before) :]
        assert again in before
    assert done.out.startswith("Questions: 3; model: m;")


@pytest.mark.llm
def test_with_a_real_server(
    sarag: Sarag, tmp_path: Path, llm_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", musique())
    arguments = (
        *("evaluate", "qa", "--corpus", "corpus.json", "--questions", "questions.json"),
        *("--systems", "fixed:order=Ulm+single:brief=true", "--limit", "1", "--judge"),
        *("--base-url", llm_server, "--replies", "replies.sqlite", "--output", "out.json"),
    )
    assert sarag(*arguments).code == 0
    data = json.loads((tmp_path / "out.json").read_text("utf-8"))
    [result] = data["results"]
    assert data["setting"]["model"] == "smollm2"
    assert (result["questions"], result["coverage"], result["calls"]) == (1, 1.0, 1)
    assert result["tokens_in"] > 100
    assert 0 < result["tokens_out"] <= 160
    first = (tmp_path / "out.json").read_bytes()
    assert sarag(*arguments).code == 0
    assert (tmp_path / "out.json").read_bytes() == first


def test_a_system_that_retrieves_nothing_is_named_alone() -> None:
    parts = SystemSpec.parse("closed-book:max_tokens=99")
    assert (parts.label, parts.reasoner.options) == (
        "closed-book:max_tokens=99",
        {"max_tokens": "99"},
    )
    with pytest.raises(UsageError, match="invalid system"):
        SystemSpec.parse("single")
