"""The harness of `benchmarks/peers`: a peer in a process of its own, failures, and the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import environments, exchange, summary
from benchmarks.peers.exchange import Passage, Question
from benchmarks.peers.words import Words
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder
from sarag_rdf.plugins.evaluation import datasets
from sarag_rdf.retrieval.retriever import question_of
from tests.command import ROOT

pytestmark = pytest.mark.guide

TOPICS = ("a lighthouse", "a violin", "a glacier", "a beehive", "a printing press",
          "a harbour crane", "a sundial", "a bakery", "an observatory", "a tram")  # fmt: skip
PASSAGES = [
    Passage(number, f"Place {number}", f"Visitors come to see {topic} here.")
    for number, topic in enumerate(TOPICS)
]
QUESTIONS = [Question("Where is the violin?", []), Question("Which place has bees?", [])]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    given.mkdir()
    exchange.write(given / "passages.jsonl", PASSAGES)
    exchange.write(given / "questions.jsonl", QUESTIONS)
    return tmp_path


def test_a_peer_ranks_by_the_vectors_of_our_model(output: Path) -> None:
    environments.run(environments.PEERS["vectors"], output, output / "environments", 300)
    result = json.loads((output / "vectors" / exchange.RESULT).read_text("utf-8"))
    model = SentenceTransformerEmbedder()
    vectors = model.embed([passage.full for passage in PASSAGES])
    asked = model.embed([question.text for question in QUESTIONS])
    expected = np.argsort(-(asked @ vectors.T), axis=1, kind="stable").tolist()
    assert result["rankings"] == expected
    assert [ranking[0] for ranking in result["rankings"]] == [1, 3]
    assert result["packages"] == {"numpy": np.__version__}
    assert len(result["milliseconds"]) == 2 and result["index_seconds"] > 0


def test_a_peer_that_fails_leaves_the_reason(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = environments.Peer("nobody", environments.TEXT)
    environments.run(peer, output, output / "environments", 300)
    result = json.loads((output / "nobody" / exchange.RESULT).read_text("utf-8"))
    assert "No module named benchmarks.peers.run_nobody" in result["problem"]
    assert result["problem"] in capsys.readouterr().err


def test_figures_and_table(tmp_path: Path) -> None:
    results: dict[str, dict[str, Any]] = {
        "sarag": {"rankings": [[1, 2, 3], [4]], "index_seconds": None},
        "vectors": {"rankings": [[1, 0, 5, 6, 7, 2], [4]], "index_seconds": 2.4},
        "linearrag": {"problem": "pip cannot install it"},
    }
    for name, result in results.items():
        (tmp_path / name).mkdir()
        whole = {"packages": {name: "1.0"}, "milliseconds": [1.0, 3.0], **result}
        (tmp_path / name / exchange.RESULT).write_text(json.dumps(whole), "utf-8")
    corpus = datasets.Corpus([datasets.Passage(p.title, p.title, p.text) for p in PASSAGES])
    supporting = [(PASSAGES[1], PASSAGES[2]), (PASSAGES[4],)]
    questions = [
        datasets.Question(
            str(number),
            question_of(QUESTIONS[number].text),
            supporting=tuple((passage.title, passage.text) for passage in passages),
        )
        for number, passages in enumerate(supporting)
    ]
    summary.write(tmp_path, corpus, questions)
    rows = summary.read(tmp_path / summary.FILE)["peers"]
    assert (rows["sarag"]["R@2"], rows["sarag"]["all@5"]) == (1, 1)
    assert (rows["vectors"]["R@2"], rows["vectors"]["R@5"]) == (0.75, 0.75)
    assert (rows["vectors"]["R@10"], rows["vectors"]["all@5"]) == (1, 0.5)
    assert rows["vectors"]["difference"]["R@5"] == [-0.25, -0.5, 0]
    lines = summary.table(summary.read(tmp_path / summary.FILE)).splitlines()
    assert lines[2].startswith("| `sarag` (sarag 1.0) | text |  | 2.0 | 100.0 |")
    assert "| -25.0 [-50.0, +0.0] |" in lines[3]
    assert lines[4:] == ["", "- `linearrag` did not run: pip cannot install it"]


def test_words_are_decoded_without_loss() -> None:
    words, text = Words(), "Ada  Holt,\nborn in Ulm (1880)."
    assert words.decode_batch(words.encode_batch([text, text]))[1] == text


def test_the_page_has_the_tables_of_the_results() -> None:
    page = (ROOT / "benchmarks" / "peers.md").read_text("utf-8")
    paths = sorted((ROOT / "benchmarks" / "peers" / "results").glob("*.json"))
    assert paths
    for path in paths:
        figures = summary.read(path)
        assert summary.table(figures) in page, f"copy the table of {path.name} again"
        assert f"Measured on {figures['date']}" in page
