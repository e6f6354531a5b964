"""``sarag evaluate tune`` and ``sarag evaluate table``, from files to tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.kg import vectors
from sarag_rdf.kg.registry import options_of
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.plugins.evaluation.qa import FOLDER, SystemSpec, read_table
from sarag_rdf.plugins.evaluation.tuning import read_variation, settings_of
from tests.command import Result, Sarag
from tests.evaluation.fixed import without_models
from tests.evaluation.sample import CORPUS, QUESTIONS, musique, write
from tests.evaluation.scripted import Scripted

FILES = ("--corpus", "corpus.json", "--questions", "questions.json")
PAPER_ROWS = "Naive RAG,CoT RAG,SA-RAG"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    without_models(monkeypatch)
    write(tmp_path / "corpus.json", CORPUS)
    write(tmp_path / "questions.json", musique())
    return tmp_path


def read(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


# -------------------------------------------------------------------------------- Tune


def tune(sarag: Sarag, *arguments: str, retriever: str = "sarag-paper") -> Result:
    options = ("--k", "1,3", "--retriever", retriever)
    return sarag("evaluate", "tune", *FILES, *options, *arguments)


def results(file: Path) -> Any:
    """The results of the only data set."""
    [report] = read(file)["sets"].values()
    return report["results"]


def test_each_option_is_varied_by_itself(sarag: Sarag, files: Path) -> None:
    done = tune(
        sarag, "--vary", "c=0.1,0.9", "--vary", "k=1,3", "--tokens", "1000,4000",
        "--output", "out.json", retriever="sarag-paper:c=0.1",
    )  # fmt: skip
    assert done.code == 0, done
    labels = [result["method"] for result in results(files / "out.json")]
    assert labels == ["sarag-paper:c=0.1", "sarag-paper:c=0.9", "sarag-paper:c=0.1:k=1"]
    for text in (
        "c=0.9",
        "k=3",
        "R@3",
        "cov@1k",
        "do less well on others",
    ):  # k=3 is what c=0.1 has
        assert text in done.out


def test_recall_is_that_of_evaluate_retrieval(sarag: Sarag, files: Path) -> None:
    options = ("--vary", "limit=1,3", "--tokens", "1000,4000", "--output", "a.json")
    assert tune(sarag, *options, retriever="fixed").code == 0
    done = sarag(
        "evaluate", "retrieval", *FILES, "--k", "1,3", "--tokens", "1000,4000",
        "--output", "b.json", "--methods", "fixed:limit=1,fixed:limit=3",
    )  # fmt: skip
    assert done.code == 0
    (as_given, *mine), other = results(files / "a.json"), read(files / "b.json")["results"]
    assert as_given["method"] == "fixed"
    names = ("R@1", "R@3", "coverage@1000", "returned")
    assert [[r[n] for n in names] for r in mine] == [[r[n] for n in names] for r in other]


def test_a_grid_is_drawn(sarag: Sarag, files: Path) -> None:
    options = ("--vary", "k=1,2,3", "--vary", "n=1,2", "--grid", "--plot", "a.png")
    assert tune(sarag, *options, "--output", "out.json", retriever="khop").code == 0
    assert len(results(files / "out.json")) == 7  # the given one too
    assert (files / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vary", "q=1"), "unknown option 'q' of sarag-paper: choose from k, n, c"),
        (("--vary", "c=1,2"), "c of sarag-paper must be a number in [0, 1)"),
        (("--vary", "c"), "cannot read --vary c"),
        (("--vary", "c=0.1", "--vary", "c=0.2"), "names an option twice"),
        (("--vary", "c=0.1", "--retriever", "nonsense"), "nonsense"),
        (("--vary", "c=0.1", "--vary", "k=1", "--plot", "a.png"), "two with --grid"),
        (("--vary", "spreading=walk", "--plot", "a.png"), "needs numbers for spreading"),
    ],
)
def test_what_cannot_be_varied(
    sarag: Sarag, files: Path, arguments: tuple[str, ...], message: str
) -> None:
    tune(sarag, *arguments, "--output", "out.json").fails(2, message)
    assert not {"a.png", "out.json"} & {file.name for file in files.iterdir()}


def test_no_recall_to_draw(sarag: Sarag, files: Path) -> None:
    write(files / "questions.json", [{"id": "a", "question": "Who?", "answer": "Ada"}])
    tune(sarag, "--vary", "c=0,0.1", "--plot", "a.png").fails(1, "cannot plot recall")


def test_too_many_settings() -> None:
    values = tuple(f"0.{number:02}" for number in range(30))
    with pytest.raises(Exception, match="900 settings are too many"):
        settings_of("sarag-paper", [("c", values), ("tau_a", values)], is_grid=True)
    assert read_variation(" c = 0.1, 0.1 ,0.2") == ("c", ("0.1", "0.2"))


def test_without_matplotlib_nothing_is_indexed(
    sarag: Sarag, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sarag_rdf.plugins.evaluation.commands.find_spec", lambda _: None)
    done = tune(sarag, "--vary", "c=0,0.1", "--plot", "a.png", "--kg", "kg")
    assert done.code != 0
    assert "--plot needs matplotlib: pip install 'sarag-rdf[plot]'" in done.err
    assert not {"a.png", "kg"} & {file.name for file in files.iterdir()}


def test_values_are_chosen_on_the_other_sets(sarag: Sarag, files: Path) -> None:
    """`limit` 1 loses R@3 on each set; with both sets of one question there is no other set."""
    several = ("--corpus", "corpus.json", "--questions", "others.json", "--kg", "a", "--kg", "b")
    options = ("--vary", "limit=1,3", "--output", "out.json", "--timings", "times.json")
    write(files / "others.json", musique(QUESTIONS[1:]))
    done = tune(sarag, *several, *options, retriever="fixed:limit=1")
    assert done.code == 0, done
    report = read(files / "out.json")
    assert (report["start"], report["best"]) == ("fixed:limit=1", "fixed:limit=3")
    assert [(row["set"], row["chosen"]) for row in report["left_out"]] == [
        ("a", "fixed:limit=3"),
        ("b", "fixed:limit=3"),
    ]
    for row in report["left_out"]:
        own = {each["method"]: each for each in report["sets"][row["set"]]["results"]}
        gained = own["fixed:limit=3"]["R@3"] - own["fixed:limit=1"]["R@3"]
        assert row["R@3"] == own["fixed:limit=3"]["R@3"]
        assert row["difference"]["R@3"]["difference"] == pytest.approx(gained, abs=2e-6)
        assert row["difference"]["R@1"] == {"difference": 0.0, "low": 0.0, "high": 0.0}
    assert "best over all: fixed:limit=3" in done.out
    assert read(files / "times.json").keys() == report["sets"].keys()
    write(files / "others.json", musique())
    assert tune(sarag, *several, *options, retriever="fixed:limit=1").code == 0
    assert read(files / "out.json")["left_out"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--corpus", "corpus.json"), "give each corpus its questions and its graph"),
        (("--corpus", "corpus.json", "--questions", "questions.json"), "called questions"),
    ],
)
def test_each_set_has_its_files(
    sarag: Sarag, files: Path, arguments: tuple[str, ...], message: str
) -> None:
    tune(sarag, "--vary", "c=0.1", *arguments).fails(2, message)


# ------------------------------------------------------------------------------ Tables


def script(name: str, prompt: str) -> dict[str, Any]:
    assert any(text in prompt for _, text, _, _ in QUESTIONS)
    if name == "cot":
        step = {"summary": "It is D1.", "answer_possible": True, "final_answer": "Danube"}
        return {**step, "citations": [], "follow_up": ""}
    return {"reasoning": "D1.", "sufficient": True, "final_answer": "Danube", "citations": []}


def table(sarag: Sarag, *arguments: str, name: str = "sa-rag") -> Result:
    return sarag("evaluate", "table", name, *FILES, *arguments)


def test_rows_have_the_names_of_the_paper(
    sarag: Sarag, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = Scripted(script)
    monkeypatch.setattr(vectors, "make_llm", lambda _, replies: CachedLLM(llm, replies))
    thresholds = ("--thresholds", "c=0:tau_a=0:tau_d=-1")
    run = ("--kg", "kg", "--concurrency", "1", "--replies", "replies.sqlite", *thresholds)
    done = table(sarag, "--only", PAPER_ROWS, *run, "--output", "out.json", "--markdown")
    assert done.code == 0, done
    lines = [line.split(" | ") for line in done.out.splitlines() if line.startswith("| ")]
    assert [line[0] for line in lines[2:]] == [f"| {name}" for name in PAPER_ROWS.split(",")]
    report = read(files / "out.json")
    results, published = report["results"], report["table"]
    assert [row["name"] for row in published] == PAPER_ROWS.split(",")
    assert [row["system"] for row in published] == [result["system"] for result in results]
    assert published[0]["published"]["phi4"] == {"exact_match": 0.25, "f1": 0.36, "accuracy": 0.46}
    assert [result["calls"] for result in results] == [1, 1, 1]
    exact = [line[1] for line in lines[2:]]
    assert exact == [f"{100 * result['exact_match']:.1f}" for result in results]
    assert lines[2][-2:] == ["25 36 46", "26 36 45 |"]
    assert "phi4 and gemma3: EM, F1, correct as published, on other questions" in done.out
    asked = len(llm.names)
    again = table(sarag, "--only", "hipporag 2," + PAPER_ROWS, *run)
    assert len(llm.names) == asked
    assert "HippoRAG 2: not run" in again.out


def test_a_plan_asks_no_model(sarag: Sarag, files: Path) -> None:
    done = table(sarag, "--dry-run", "--dataset", "2wiki", "--thresholds", "c=0.2")
    assert done.code == 0, done
    assert "sarag-paper:preset=2wiki:c=0.2+whole:preset=paper+cot:preset=paper" in done.out
    assert not list(files.glob("*.sqlite"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "Naive RAG,Best RAG"), "unknown row Best RAG: choose from Naive RAG"),
        (("--only", " ,"), "has an empty name"),
        (("--only", "HippoRAG 2"), "none of these rows can be run"),
        (("--thresholds", "c=2", "--dry-run"), "c of sarag-paper must be"),
        (("--dataset", "bamboogle"), "no such --dataset: bamboogle: choose from musique, 2wiki"),
        ((), "no model endpoint is named"),
    ],
)
def test_what_cannot_be_run(
    sarag: Sarag, files: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert files.is_dir()
    table(sarag, *arguments).fails(2, message)


@pytest.mark.parametrize(("name", "rows", "runnable"), [("sa-rag", 9, 8), ("kg-infused", 8, 8)])
def test_systems_of_a_table_are_valid_and_distinct(name: str, rows: int, runnable: int) -> None:
    found = read_table(name, None)
    labels = [row.system for row in found.rows if row.system]
    assert (len(found.rows), len(set(labels)), len(labels)) == (rows, runnable, runnable)
    for label in labels:
        system = SystemSpec.parse(label)
        assert options_of("retriever", system.retriever)
        assert options_of("context", system.context)
        assert options_of("reasoner", system.reasoner)
    for row in found.rows:
        assert bool(row.calls) == bool(row.system)
        assert {len(figures) for figures in row.published.values()} <= {0, len(found.measures)}


def test_the_packaged_tables() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == ["kg-infused", "sa-rag"]


def test_rows_without_published_figures(
    sarag: Sarag, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each data set of KG-Infused RAG, and the rows that the paper does not print."""

    def reply(name: str, prompt: str) -> dict[str, Any]:
        return {"final_answer": "Danube"}

    llm = Scripted(reply)
    monkeypatch.setattr(vectors, "make_llm", lambda *_: CachedLLM(llm, ":memory:"))
    rows = ("--only", "No-Retrieval", "--output", "out.json")
    done = table(sarag, *rows, "--dataset", "hotpot", name="kg-infused")
    assert done.code == 0, done
    assert "19.8 18 25.8" in done.out
    [row] = read(files / "out.json")["table"]
    assert row["published"]["Qwen2.5-7B"] == {"accuracy": 0.198, "exact_match": 0.18, "f1": 0.258}
    plan = table(sarag, "--dry-run", "--thresholds", "limit=6", name="kg-infused").out
    assert "KG-Infused RAG: dense:limit=6+kg-infused; at most 7 calls" in plan


def test_a_table_of_ones_own(sarag: Sarag, files: Path) -> None:
    path = files / "own.toml"
    path.write_text((FOLDER / "sa-rag.toml").read_text("utf-8").replace("Naive", "Simple"), "utf-8")
    assert "Simple RAG: dense:limit=5" in table(sarag, "--dry-run", name="own.toml").out
    for text, message in (("title = 3\n", "is not a table of a paper"), ("[", "is not a table")):
        path.write_text(text, "utf-8")
        table(sarag, "--dry-run", name="own.toml").fails(1, message)
    table(sarag, name="none.toml").fails(1, "none.toml")
    table(sarag, name="dotrag").fails(2, "no such table: dotrag: choose from kg-infused, sa-rag")
