"""``sarag evaluate evidence``: facts and answers in the sentences that are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.types import Document, RankedDocument, Retrieved, Subgraph
from sarag_rdf.plugins.evaluation.datasets import read_corpus, read_questions
from sarag_rdf.plugins.evaluation.rankings import evidence_of
from tests.command import Sarag
from tests.evaluation.fixed import without_models
from tests.evaluation.sample import CORPUS, PASSAGES, write

QUESTION = "On which river lies the birthplace of Ada Brandt?"
IN_PARTS = {
    "id": "m",
    "question": QUESTION,
    "answer": "Danube",
    "question_decomposition": [
        {"question": "Where was she born?", "answer": "Ulm", "paragraph_support_idx": 0},
        {"question": "On which river is #1?", "answer": "Danube", "paragraph_support_idx": 1},
    ],
    "paragraphs": [
        {"idx": n, "title": t, "paragraph_text": PASSAGES[t], "is_supporting": True}
        for n, t in enumerate(("Ada Brandt", "Ulm"))
    ],
}
MARKED = {
    "_id": "h",
    "question": QUESTION,
    "answer": "yes",
    "context": [
        ["Ada Brandt", ["Ada Brandt founded Orbis.", " Ada Brandt was born in Ulm."]],
        ["Ulm", ["Ulm lies on the Danube.", " A minster stands in Ulm."]],
    ],
    "supporting_facts": [["Ada Brandt", 1], ["Ulm", 0], ["Ulm", 9]],
}


def measured(tmp_path: Path, record: dict[str, Any], **texts: str) -> dict[str, float]:
    """The measures of documents of these titles, by rank."""
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", [record])
    question = read_questions(tmp_path / "questions.json").questions[0]
    ranked = [
        RankedDocument(
            Document(f"d:{title}", "s:", title.replace("_", " "), text, 0, len(text), "en"),
            *(1.0, 0.0, 0.0, "", rank),
        )
        for rank, (title, text) in enumerate(texts.items(), start=1)
    ]
    retrieved = Retrieved(
        question.query, "fixed", {}, tuple(ranked), (), (), (), Subgraph((), {}, ())
    )
    return evidence_of(read_corpus(tmp_path / "corpus.json"), question, retrieved)


@pytest.mark.parametrize("record", [IN_PARTS, MARKED], ids=["in parts", "marked"])
def test_the_facts_of_found_passages_are_counted(tmp_path: Path, record: dict[str, Any]) -> None:
    both = measured(tmp_path, record, Ada_Brandt=PASSAGES["Ada Brandt"], Ulm=PASSAGES["Ulm"])
    assert both["facts"] == 1.0
    one = measured(tmp_path, record, Ulm=PASSAGES["Ulm"], Mur=PASSAGES["Mur"])
    assert one["facts"] == 1.0
    assert "facts" not in measured(tmp_path, record, Mur=PASSAGES["Mur"])


@pytest.mark.parametrize("number", [-1, 9, None, "0"])
def test_a_number_of_no_sentence_marks_no_fact(tmp_path: Path, number: object) -> None:
    """Some files mark passages only, with a number that says nothing."""
    record = dict(MARKED, supporting_facts=[["Ulm", number]])
    assert "facts" not in measured(tmp_path, record, Ulm=PASSAGES["Ulm"])


def test_a_fact_that_is_not_shown_does_not_count(tmp_path: Path) -> None:
    hidden = dict(IN_PARTS, question="Who founded it? Who founded Orbis?")
    row = measured(tmp_path, hidden, Ada_Brandt=PASSAGES["Ada Brandt"])
    assert row["facts"] == 0.0


def test_answers_count_if_the_texts_hold_them(tmp_path: Path) -> None:
    row = measured(tmp_path, IN_PARTS, Ada_Brandt=PASSAGES["Ada Brandt"], Ulm=PASSAGES["Ulm"])
    assert (row["answer"], row["chain"]) == (1.0, 1.0)
    assert 0 < row["chain_tokens"] <= row["evidence"] <= row["text"]
    assert "answer" not in measured(tmp_path, IN_PARTS, Mur=PASSAGES["Mur"])
    assert "answer" not in measured(tmp_path, MARKED, Ulm="Yes. " + PASSAGES["Ulm"])


def test_the_command(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", [IN_PARTS])
    files = ("--corpus", "corpus.json", "--questions", "questions.json", "--kg", str(sample_kg))
    methods = ("--methods", "fixed:order=Ada Brandt|Ulm|Mur,fixed:order=Mur|Graz")
    done = sarag("evaluate", "evidence", *files, *methods, "--output", "out.json")
    assert done.code == 0, done
    good, bad = json.loads((tmp_path / "out.json").read_text("utf-8"))["results"]
    assert (good["facts"], good["answer"], good["by_hops"]["2"]["facts"]) == (1.0, 1.0, 1.0)
    assert (bad["facts"], bad["answer"]) == (None, None)
    assert "facts" in done.out
    assert "in chain" in done.out
    wrong = sarag("evaluate", "evidence", *files, "--methods", "sarag:limits=3")
    assert (wrong.code, "limits" in wrong.err) == (2, True), wrong
