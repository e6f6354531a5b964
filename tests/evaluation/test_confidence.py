"""``sarag evaluate confidence``: questions with and without their passages, and figures by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.answering.confidence import Calibration, read_calibration
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.types import Query
from sarag_rdf.kg import vectors
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.calibration import (
    Rated,
    fitted,
    risk_coverage,
    with_calibration,
)
from sarag_rdf.plugins.evaluation.datasets import Question
from tests.command import Sarag
from tests.evaluation.fixed import without_models
from tests.evaluation.sample import CORPUS, QUESTIONS, musique, write
from tests.evaluation.scripted import Scripted

SYSTEM = "bm25+whole+single:brief=true"


def rated(confidence: float | None, *, is_right: bool = False, has_passages: bool = True) -> Rated:
    values = None if confidence is None else (confidence, 0.5)
    text = "" if confidence is None else "Ulm"
    question = Question("q", Query("Where?"), ("Ulm",))
    return Rated(question, has_passages, text, values, confidence, is_right)


# ---------------------------------------------------------------------------- Figures


def test_figures_by_hand() -> None:
    figures = risk_coverage(
        [
            rated(0.9, is_right=True),
            rated(0.4, is_right=True),
            rated(0.6),
            rated(None),
            rated(0.3, has_passages=False),
            rated(None, has_passages=False),
        ]
    )
    assert (figures["questions"], figures["without_passages"]) == (4, 2)
    rows = {row["least"]: row for row in figures["curve"]}
    wanted = {"least": 0.0, "answered": 0.75, "right": 2 / 3, "answered_without": 0.5}
    assert rows[0.0] == pytest.approx(wanted, abs=1e-6)
    wanted = {"least": 0.5, "answered": 0.5, "right": 0.5, "answered_without": 0.0}
    assert rows[0.5] == pytest.approx(wanted)
    # of the pairs of a right and a wrong answer three of four are in order
    assert figures["auroc"] == pytest.approx(0.75)
    # wrong are 0 of the best one, 1 of two, 1 of three, 2 of four
    assert figures["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4, abs=1e-6)
    assert figures["brier"] == pytest.approx((0.01 + 0.36 + 0.36 + 0.09) / 4, abs=1e-6)


def test_figures_of_no_answers() -> None:
    figures = risk_coverage([rated(None)])
    assert figures["curve"][0] == {
        "least": 0.0, "answered": 0.0, "right": None, "answered_without": None
    }  # fmt: skip
    assert (figures["auroc"], figures["aurc"], figures["brier"]) == (None, None, None)


def test_what_is_fitted_orders_answers_as_they_are_right() -> None:
    some = [rated(0.8, is_right=True), rated(0.7, is_right=True), rated(0.2), rated(0.3)]
    model = fitted([*some, rated(0.6), rated(0.4, is_right=True)], "six answers")
    assert model.support > 1
    assert model.fitted == "six answers"
    again = with_calibration([*some, rated(None)], model)
    assert again[0].confidence == model.probability(0.8, 0.5)
    assert again[-1].confidence is None


def test_answers_that_are_all_wrong_fit_nothing() -> None:
    with pytest.raises(InputError, match="ask more questions"):
        fitted([rated(0.1), rated(0.9), rated(None)], "")


# ---------------------------------------------------------------------------- The command


def script(name: str, prompt: str) -> Mapping[str, Any]:
    """Reads the answer if it stands in a passage that holds it, and else makes one up."""
    assert name == "answer_brief"
    [answer] = [answer for _, text, answer, _ in QUESTIONS if text in prompt]
    sources = {"Danube": "Ulm lies on", "Carla Mohr": "The mayor of", "Graz": "studied law in"}
    return {"final_answer": answer if sources[answer] in prompt else "Drava"}


def evaluate(
    sarag: Sarag, tmp_path: Path, kg: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> dict[str, Any]:
    without_models(monkeypatch)
    monkeypatch.setattr(vectors, "make_llm", lambda *_: CachedLLM(Scripted(script), ":memory:"))
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", musique())
    files = ["--corpus", "corpus.json", "--questions", "questions.json", "--kg", str(kg)]
    done = sarag(
        "evaluate", "confidence", *files, "--system", SYSTEM, "--output", "out.json", *arguments
    )
    assert done.code == 0, done
    found: dict[str, Any] = json.loads((tmp_path / "out.json").read_text("utf-8"))
    found["screen"] = done.out
    return found


def test_questions_are_asked_without_their_passages_too(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = evaluate(sarag, tmp_path, sample_kg, monkeypatch, "--calibration", "mine.json")
    [each] = data["sets"]
    assert (each["questions"], each["without_passages"], each["left_out"]) == (3, 3, None)
    answers = {(row["id"], row["with_passages"]): row for row in each["answers"]}
    for id_, _, known, _ in QUESTIONS:
        given, invented = answers[id_, True], answers[id_, False]
        assert (given["answer"], given["right"]) == (known, True)
        assert (invented["answer"], invented["right"]) == ("Drava", False)
        assert given["confidence"] > invented["confidence"]
    assert each["auroc"] == 1.0
    assert each["curve"][0] == {
        "least": 0.0, "answered": 1.0, "right": 1.0, "answered_without": 1.0
    }  # fmt: skip
    assert "auroc 1.000; aurc " in data["screen"]
    assert "questions: 3; asked without their passages as well: 3" in data["screen"]
    model = read_calibration(tmp_path / "mine.json")
    assert isinstance(model, Calibration)
    assert data["calibration"]["support"] == model.support


def test_a_lucky_guess_without_passages_is_wrong(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(_: str, prompt: str) -> Mapping[str, Any]:
        [answer] = [answer for _, text, answer, _ in QUESTIONS if text in prompt]
        return {"final_answer": answer}

    monkeypatch.setattr("tests.evaluation.test_confidence.script", guess)
    [each] = evaluate(sarag, tmp_path, sample_kg, monkeypatch)["sets"]
    assert [row["right"] for row in each["answers"]] == [True, False] * 3


def test_several_sets_are_fitted_on_one_another(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "again"
    other.symlink_to(sample_kg)
    more = ["--corpus", "corpus.json", "--questions", "questions.json", "--kg", str(other)]
    data = evaluate(sarag, tmp_path, sample_kg, monkeypatch, *more)
    assert [each["set"] for each in data["sets"]] == [sample_kg.name, "again"]
    assert all(each["left_out"]["auroc"] == 1.0 for each in data["sets"])
    assert "Fitted on the other sets" in data["screen"]
