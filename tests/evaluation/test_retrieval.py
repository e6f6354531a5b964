"""``sarag evaluate retrieval``, from files to figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.options import Spec
from sarag_rdf.base.ports import Matrix
from sarag_rdf.kg import vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.session import Session
from sarag_rdf.plugins.evaluation import rankings
from sarag_rdf.plugins.evaluation.measures import count_words, words_to_answer
from sarag_rdf.plugins.evaluation.reporting import WIDTH, write_plot
from sarag_rdf.retrieval.sarag import Sarag as SaragRetriever
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Result, Sarag
from tests.evaluation.fixed import Fixed, without_models
from tests.evaluation.sample import CORPUS, PASSAGES, QUESTIONS, is_sample, musique, write
from tests.sample_graph import files_of
from tests.test_docs import skip_without_models


class Evaluate:
    """Runs the command over files in the working folder."""

    def __init__(self, sarag: Sarag, folder: Path, kg: Path | None = None) -> None:
        self.sarag, self.folder, self.kg = sarag, folder, kg
        write(folder / "corpus.json", CORPUS)
        write(folder / "questions.json", musique())

    def __call__(self, *arguments: str, questions: str = "questions.json") -> Result:
        files = ["--corpus", "corpus.json", "--questions", questions]
        return self.sarag("evaluate", "retrieval", *files, *arguments)

    def json(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """The results, of the sample corpus over a graph that is indexed already."""
        named = {"--kg", "--extractor"} & {*arguments}
        if self.kg and not named and is_sample(self.folder / "corpus.json"):
            arguments = (*arguments, "--kg", str(self.kg))
        done = self(*arguments, "--output", "out.json", **options)
        assert done.code == 0, done
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text("utf-8"))
        return found


@pytest.fixture
def evaluate(
    sarag: Sarag, tmp_path: Path, sample_kg: Path, monkeypatch: pytest.MonkeyPatch
) -> Evaluate:
    """The command without a model: hashed words, capital letters, and the retriever ``fixed``."""
    without_models(monkeypatch)
    return Evaluate(sarag, tmp_path, sample_kg)


# ----------------------------------------------------------------------------- Figures


def test_figures_by_hand(evaluate: Evaluate) -> None:
    """q1 needs Ada Brandt and Ulm, q2 Orbis and Linz, q3 these and Carla Mohr."""
    order = "Ulm|Orbis|Linz|Chess|Ada Brandt|Mur|Danube|Carla Mohr|Graz"
    data = evaluate.json("--methods", f"fixed:order={order}", "--k", "1,3,5", "--tokens", "20,40")
    [result] = data["results"]
    assert result["method"] == f"fixed:order={order}"
    wanted = {
        "R@1": (1 / 2 + 0 + 0) / 3,
        "R@3": (1 / 2 + 1 + 2 / 3) / 3,
        "R@5": (1 + 1 + 2 / 3) / 3,
        "all@1": 0,
        "all@3": 1 / 3,
        "all@5": 2 / 3,
        "P@1": 1 / 3,
        "P@3": (1 / 3 + 2 / 3 + 2 / 3) / 3,
        "P@5": (2 / 5 + 2 / 5 + 2 / 5) / 3,
        # Ulm has 11 words, Orbis 11, Linz 12: 15 words fit 20 tokens, 30 fit 40.
        "coverage@20": 1 / 3,
        "coverage@40": 1 / 3,
        "returned": 9,
    }
    assert {name: result[name] for name in wanted} == {
        name: round(value, 6) for name, value in wanted.items()
    }
    assert result["difference"] is None
    assert {hops: row["questions"] for hops, row in result["by_hops"].items()} == {"2": 2, "3": 1}
    assert (result["by_hops"]["2"]["R@1"], result["by_hops"]["3"]["R@3"]) == (0.25, 0.666667)
    rows = {row["id"]: row for row in data["questions"]}
    assert rows["q1"]["hops"] == 2
    assert rows["q1"]["supporting"] == [
        {"id": "0", "title": "Ada Brandt"},
        {"id": "2", "title": "Ulm"},
    ]
    assert rows["q3"]["methods"][result["method"]] == {
        "ranks": [2, 3, 8],
        "R@1": 0.0,
        "R@3": 0.666667,
        "R@5": 0.666667,
        "covered": {"20": False, "40": False},
        "returned": 9,
    }


def test_setting(evaluate: Evaluate) -> None:
    data = evaluate.json("--methods", "fixed,sarag", "--baseline", "sarag", "--seed", "3")
    setting = data["setting"]
    assert setting["corpus"]["file"] == "corpus.json"
    assert setting["corpus"]["passages"] == len(PASSAGES)
    assert len(setting["corpus"]["sha256"]) == len(setting["questions"]["sha256"]) == 64
    assert (setting["questions"]["count"], setting["questions"]["with_recall"]) == (3, 3)
    assert (setting["k"], setting["tokens"]) == ([2, 5, 10], [1000, 4000, 10000])
    assert (setting["extractor"], setting["embedder"]) == (["capitals"], "hash-64")
    assert (setting["baseline"], setting["seed"], setting["shuffled"]) == ("sarag", 3, True)
    assert setting["documents_asked_for"] == 100
    assert set(setting["problems"].values()) == {0}
    fixed, sarag = data["results"]
    assert sarag["difference"] is None
    difference = fixed["difference"]
    assert difference["baseline"] == "sarag"
    assert difference.keys() == {
        "baseline",
        *(f"{m}@{k}" for m in ("R", "all") for k in (2, 5, 10)),
    }
    for name, found in difference.items():
        if name != "baseline":
            assert found["difference"] == pytest.approx(fixed[name] - sarag[name], abs=2e-6)
            assert found["low"] <= found["difference"] <= found["high"]


def test_the_same_input_gives_the_same_bytes(evaluate: Evaluate, tmp_path: Path) -> None:
    arguments = ["--methods", "sarag,sarag:gain=0,fixed", "--seed", "1", "--kg", "kg"]
    written = []
    for number in range(2):
        done = evaluate(*arguments, "--output", "a.json", "--plot", "a.png")
        assert done.code == 0
        assert ("sarag: indexing with" in done.err) == (number == 0)
        written.append([(tmp_path / name).read_bytes() for name in ("a.json", "a.png")])
    assert written[0] == written[1]
    assert evaluate(*arguments[:-2], "--output", "out.json").code == 0
    assert (tmp_path / "out.json").read_bytes() == written[0][0]
    assert str(tmp_path).encode() not in written[0][0]
    assert evaluate(*arguments, "--json").out.encode() == written[0][0]


def test_with_spacy(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_models()
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    data = Evaluate(sarag, tmp_path).json()
    assert data["setting"]["extractor"] == ["spacy"]
    assert data["results"][0]["R@10"] == 1.0


def test_screen(evaluate: Evaluate, tmp_path: Path) -> None:
    done = evaluate("--methods", "fixed,sarag,fixed:order=Mur", "--timings", "times.json")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0] == "Questions: 3; with recall: 3; figures in percent"
    heads = lines[2].split()
    assert heads[:7] == ["method", "R@2", "R@5", "R@10", "all@2", "all@5", "all@10"]
    assert heads[7:12] == ["P@10", "nDCG@10", "cov@1k", "cov@4k", "cov@10k"]
    # times of four digits, on a busy machine, are set below the other columns
    assert [line for line in lines if line.startswith("method") and line.split()[-1] == "ms"]
    assert lines[3].split()[0] == "fixed"
    assert lines[5].split()[:3] == ["fixed:order=Mur", "0.0", "0.0"]
    for line in ("R@k, difference from fixed with 95% interval", "Questions of 3 hops: 1"):
        assert line in lines
    times = json.loads((tmp_path / "times.json").read_text("utf-8"))
    assert times.keys() == {"encoding", "retrieval"}
    assert times["retrieval"].keys() == {"fixed", "sarag", "fixed:order=Mur"}
    assert times["retrieval"]["sarag"].keys() == {"median", "mean", "ratio"}


def test_many_columns_are_set_below_each_other(evaluate: Evaluate) -> None:
    lines = evaluate("--k", ",".join(map(str, range(1, 30)))).out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.startswith("method") for line in lines) > 6


def test_questions_chosen(evaluate: Evaluate) -> None:
    def ids(*arguments: str) -> list[str]:
        return [row["id"] for row in evaluate.json("--methods", "fixed", *arguments)["questions"]]

    assert ids() == ["q1", "q2", "q3"]
    assert ids("--limit", "2") == ["q1", "q2"]
    orders = {tuple(ids("--seed", str(seed), "--limit", "2")) for seed in range(4)}
    assert len(orders) > 1
    assert orders == {tuple(ids("--seed", str(seed), "--limit", "2")) for seed in range(4)}
    assert ids("--seed", "0") != ids()  # 0 is a seed as any other


def test_the_default_baseline(evaluate: Evaluate) -> None:
    assert evaluate.json("--methods", "fixed,dense")["setting"]["baseline"] == "dense"
    assert evaluate.json("--methods", "sarag,fixed")["setting"]["baseline"] == "sarag"


# ------------------------------------------------------------------- Retrieval and time


def test_encoding_is_timed_apart(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question alone; once for the time, once into the cache; never while retrieving."""
    embedded: list[Sequence[str]] = []
    embed = HashEmbedder.embed

    def counting(self: HashEmbedder, texts: Sequence[str]) -> Matrix:
        embedded.append(list(texts))
        return embed(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed", counting)
    evaluate.json("--methods", "sarag,fixed", "--kg", "own")
    asked = [texts for texts in embedded if texts[0].endswith("?")]
    assert all(len(texts) == 1 for texts in asked)
    assert len(asked) == 2 * (len(QUESTIONS) + 1)


def test_a_method_is_asked_once_to_warm_up(evaluate: Evaluate) -> None:
    asked = [question for _, question, _, _ in QUESTIONS]
    evaluate.json("--methods", "fixed", "--k", "120")
    assert [text for text, _ in Fixed.asked][1:] == asked
    assert {limit for _, limit in Fixed.asked} == {120}


def test_the_time_is_that_of_the_largest_k(evaluate: Evaluate) -> None:
    evaluate.json("--methods", "fixed", "--k", "2,7")
    assert [limit for _, limit in Fixed.asked[1:]] == len(QUESTIONS) * [7, 100]


def test_more_is_asked_for_while_the_largest_context_is_not_full(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for coverage: what is returned, and its ranks, are those of the first time."""
    monkeypatch.setattr(rankings, "DEPTH", 10)
    passages = [{"title": f"T{n}", "text": f"Word number {n}."} for n in range(45)]
    write(tmp_path / "corpus.json", passages)
    question = {"id": "a", "question": "Which number is it?", "answer": "number 44"}
    support = [{"title": "T44", "paragraph_text": "Word number 44.", "is_supporting": True}]
    write(tmp_path / "questions.json", [{**question, "paragraphs": support}])
    order = "|".join(f"T{n}" for n in range(45))
    tokens = ("--k", "5", "--tokens", "200,240")
    data = evaluate.json("--methods", f"fixed:order={order}", *tokens)
    assert [limit for _, limit in Fixed.asked] == [5, 5, 10, 40, 160]
    [result] = data["results"]
    assert (result["coverage@200"], result["coverage@240"]) == (0.0, 1.0)
    assert (result["returned"], result["R@5"]) == (10, 0.0)
    Fixed.asked.clear()
    data = evaluate.json("--methods", f"fixed:order={order}:limit=7", *tokens)
    assert {limit for _, limit in Fixed.asked} == {7}
    assert data["results"][0]["coverage@240"] == 0.0


def test_chunks_of_one_passage(evaluate: Evaluate, tmp_path: Path) -> None:
    """The rank of a passage is that of its best chunk, and chunks belong to their passage."""
    text = " ".join(400 * ["Linz is near Wels."])
    write(tmp_path / "corpus.json", [*CORPUS, {"title": "Linz", "text": text}])
    data = evaluate.json("--kg", "kg")
    with KnowledgeGraph(Session("kg", embedder=HashEmbedder())) as kg:
        assert kg.stats()["documents"] > kg.stats()["sources"] == 10
    assert data["setting"]["problems"]["documents_of_no_passage"] == 0
    assert data["setting"]["problems"]["passages_not_in_graph"] == 0


def test_options_of_a_method() -> None:
    spec = Spec.parse(" sarag:n=1:decay=0.5 ")
    assert (spec.label, spec.name) == ("sarag:n=1:decay=0.5", "sarag")
    assert spec.read(SaragRetriever) == SaragRetriever(n=1, decay=0.5)
    assert rankings.ranking_options(spec.label) == SaragRetriever(n=1, decay=0.5, explain=False)
    assert rankings.ranking_options("sarag:explain=true") == SaragRetriever()


def test_coverage_agrees_with_the_words_of_the_documents(evaluate: Evaluate) -> None:
    evaluate("--kg", "kg")
    with KnowledgeGraph(Session("kg", embedder=HashEmbedder())) as kg:
        documents = [found.document for found in kg.search("the Danube", limit=9).documents]
    place = next(i for i, d in enumerate(documents) if "Danube" in d.titled_text)
    assert words_to_answer(["danube"], documents) == sum(map(count_words, documents[: place + 1]))


# ----------------------------------------------------------------------------- The plot


def test_plot(tmp_path: Path) -> None:
    labels = [*(f"method {n}" for n in range(8)), "$x_1$"]
    curves = {label: [(float(k), 0.1 + 0.04 * k) for k in range(20)] for label in labels}
    write_plot(tmp_path / "a.png", "Recall", curves, "rank")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


# ----------------------------------------------------------------------------- Trouble


def trouble(data: dict[str, Any]) -> dict[str, int]:
    return {kind: count for kind, count in data["setting"]["problems"].items() if count}


def test_questions_with_answers_alone(evaluate: Evaluate, tmp_path: Path) -> None:
    keys = ("id", "question", "answer")
    records = [{key: record[key] for key in keys} for record in musique()]
    write(tmp_path / "few.jsonl", records)
    data = evaluate.json("--methods", "fixed,sarag", questions="few.jsonl")
    result = data["results"][1]
    assert (result["R@5"], result["all@5"], result["P@5"]) == (None, None, None)
    assert (result["coverage@1000"], result["by_hops"]) == (1.0, {})
    assert result["difference"]["R@5"] is None
    row = data["questions"][0]
    assert (row["hops"], row["supporting"]) == (None, [])
    assert row["methods"]["sarag"]["R@5"] is None
    assert row["methods"]["sarag"]["covered"]["1000"] is True
    assert trouble(data) == {"questions_without_support": 3}
    lines = evaluate(questions="few.jsonl").out.splitlines()
    assert lines[3].split()[1:8] == ["-"] * 7
    evaluate("--plot", "a.png", questions="few.jsonl").fails(1, "cannot plot recall")


def test_trouble_is_counted_and_told(evaluate: Evaluate, tmp_path: Path) -> None:
    records = musique()
    records.append({**records[0], "question": "Another?"})
    records.append({**records[0], "id": "elsewhere", "paragraphs": [
        {"title": "Vienna", "paragraph_text": "Not there.", "is_supporting": True}
    ]})  # fmt: skip
    records.append({**records[0], "id": "unmarked", "paragraphs": [], "answer": "Yes"})
    records.append({**records[0], "id": "unanswered", "answer": "", "answer_aliases": []})
    write(tmp_path / "questions.json", records)
    write(tmp_path / "corpus.json", [*CORPUS, CORPUS[0], {"title": "Void", "text": ""}])
    data = evaluate.json()
    assert trouble(data) == {
        "duplicate_passages": 1,
        "empty_passages": 1,
        "duplicate_question_ids": 1,
        "questions_without_support": 1,
        "questions_with_support_not_in_corpus": 1,
        "questions_without_answer": 1,
        "questions_answered_yes_or_no": 1,
    }
    assert data["setting"]["questions"]["with_recall"] == 4
    assert [row["id"] for row in data["questions"]] == [
        *("q1", "q2", "q3", "elsewhere", "unmarked", "unanswered")
    ]
    out = evaluate().out
    assert "paragraph missing from the corpus, excluded from recall: 1\n" in out
    assert "duplicate passages, skipped: 1\n" in out


def test_a_graph_of_other_things(evaluate: Evaluate, tmp_path: Path) -> None:
    """It is taken as it is, and what it lacks, and holds beside, is counted."""
    some = [*CORPUS[:5], {"title": "Vienna", "text": "Vienna lies on the Danube."}]
    write(tmp_path / "corpus.json", some)
    assert evaluate("--kg", "kg").code == 0
    before = files_of(tmp_path / "kg" / "store")
    write(tmp_path / "corpus.json", CORPUS)
    records = musique([*QUESTIONS, ("q4", "Where does the Mur rise?", "Salzburg", ["Mur"])])
    write(tmp_path / "questions.json", records)
    data = evaluate.json("--kg", "kg", "--extractor", "capitals")
    assert trouble(data) == {
        "questions_with_support_not_in_graph": 1,
        "passages_not_in_graph": 4,
        "documents_of_no_passage": 1,
    }
    assert data["questions"][3]["methods"]["sarag"]["ranks"] == [None]
    assert files_of(tmp_path / "kg" / "store").keys() == before.keys()
    evaluate("--kg", "kg", "--extractor", "llm").fails(2, "was extracted with capitals", "llm")
    write(tmp_path / "corpus.json", CORPUS[5:])
    evaluate("--kg", "kg").fails(1, "the graph contains no passage of corpus.json")


def test_passages_without_titles_are_in_the_graph(evaluate: Evaluate, tmp_path: Path) -> None:
    """Each once, though they have a topic of two names; what is wrong is told of nothing else."""
    texts = [
        "Gdansk is a port. Gdańsk lies on the Baltic.",
        "Ulm is a city. A minster stands there.",
    ]
    write(tmp_path / "corpus.json", [{"text": text} for text in texts])
    write(
        tmp_path / "questions.json", [{"id": "q", "question": "Where is Ulm?", "answer": "there"}]
    )
    assert trouble(evaluate.json("--kg", "kg")) == {"questions_without_support": 1}
    with sarag_rdf.open(tmp_path / "kg", endpoint=None) as kg:
        assert sorted(kg.documents()) == [("", text) for text in texts]


def test_an_extraction_file(evaluate: Evaluate, tmp_path: Path) -> None:
    docs = [
        {"passage": f"{title}\n{text}", "extracted_entities": [title], "extracted_triples": []}
        for title, text in list(PASSAGES.items())[:6]
    ]
    write(tmp_path / "openie.json", {"docs": docs})
    done = evaluate("--extractor", "openie:openie.json", "--output", "out.json")
    assert done.code == 0
    assert done.err.count("sarag: corpus.json") + done.err.count("no extraction for") == 3
    data = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert data["setting"]["extractor"] == ["openie"]
    assert trouble(data) == {"documents_without_extraction": 3, "passages_not_in_graph": 3}
    write(tmp_path / "openie.json", {"docs": [{**docs[0], "passage": "Not here."}]})
    other = evaluate("--extractor", "openie:openie.json")
    assert other.code == 1
    assert "no passage of corpus.json could be indexed" in other.err.splitlines()[-1]
    write(tmp_path / "openie.json", {"docs": 3})
    assert evaluate("--extractor", "openie:openie.json").code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "0"], ["--k", "0 is not in the range"]),
        (["--k", "2,many"], ["--k"]),
        (["--k", ""], ["--k"]),
        (["--tokens", "-1"], ["--tokens"]),
        (["--limit", "0"], ["--limit"]),
        (["--seed", "-1"], ["--seed"]),
        (["--methods", "other"], ["unknown retriever 'other'", "sarag", "fixed"]),
        (["--methods", "sarag,"], ["--methods", "empty name"]),
        (["--methods", "sarag:gain"], ["'sarag:gain'", "NAME:KEY=VALUE"]),
        (
            ["--methods", "sarag:gain=-1"],
            ["method sarag:gain=-1", "gain of sarag must be a number between"],
        ),
        (["--baseline", "dense"], ["--baseline dense", "sarag"]),
        (["--output", "nowhere/a.json"], ["nowhere/a.json"]),
        (["--plot", "."], ["."]),
        (["--plot", "a.jpg"], [".png"]),
        (["--extractor", "other"], ["unknown extractor"]),
        (["--extractor", "llm"], ["--base-url"]),
    ],
)
def test_wrong_usage(evaluate: Evaluate, arguments: list[str], words: list[str]) -> None:
    evaluate(*arguments).fails(2, *words)


@pytest.mark.parametrize("label", ["sarag:colour=red", "sarag:gain=red"])
def test_options_that_a_method_does_not_take(evaluate: Evaluate, label: str) -> None:
    done = evaluate("--methods", f"fixed,{label}")
    assert done.code == 2
    assert [line.startswith(f"sarag: method {label}: ") for line in done.complaints] == [True]
    assert Fixed.asked == []


def test_files_are_needed(sarag: Sarag) -> None:
    sarag("evaluate", "retrieval").fails(2, "--corpus")
    sarag("evaluate", "other").fails(2, "other")
    assert "retrieval" in sarag("evaluate").out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("corpus.json", "", ["corpus.json is empty"]),
        ("corpus.json", "[{", ["corpus.json is not valid JSON"]),
        ("corpus.json", "[]", ["corpus.json", "no passage"]),
        ("questions.json", "[]", ["questions.json", "no question"]),
        ("questions.json", '{"a": 3}', ["questions.json", "'question'"]),
        ("questions.json", '[{"question": "Who?"}]', ["question 1", "'id'"]),
    ],
)
def test_files_that_cannot_be_used(
    evaluate: Evaluate, tmp_path: Path, name: str, content: str, words: list[str]
) -> None:
    (tmp_path / name).write_text(content)
    evaluate().fails(1, *words)
    (tmp_path / name).unlink()
    evaluate().fails(1, name, "cannot read")


def test_settings_reach_the_command(evaluate: Evaluate, tmp_path: Path) -> None:
    """Those of models do; the graph of other commands, and their limit, do not."""
    (tmp_path / "sarag.toml").write_text('kg = "mine"\nlimit = 1\nprice-in = "much"')
    evaluate().fails(2, "sarag.toml, line 3: price-in")
    (tmp_path / "sarag.toml").write_text('kg = "mine"\nlimit = 1\n')
    assert len(evaluate.json()["questions"]) == 3
    assert not (tmp_path / "mine").exists()
