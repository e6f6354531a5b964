"""Questions written from paths of a graph: hidden ends, complete answers, and other evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sarag_rdf
from benchmarks import articles
from sarag_rdf.base.errors import InputError, UnparsableReplyError
from sarag_rdf.base.ports import Table, silent
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import read_questions
from sarag_rdf.plugins.evaluation.path_questions import (
    QuestionOptions,
    QuestionWriter,
    relation_paths,
    write_questions,
)
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.evaluation.fixed import without_models
from tests.sample_graph import SOURCES, CapitalExtractor
from tests.typed_graph import index_people

EXAMPLE = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture(scope="module")
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, over=["films"]) as graph:
        graph.import_graph(EXAMPLE, "rdf", name="films")
        yield graph


def written(kg: KnowledgeGraph, count: int = 8, *, seed: int = 0, **options: Any) -> QuestionWriter:
    others = {name: options.pop(name, None) for name in ("articles", "llm")}
    settings = QuestionOptions(count=count, seed=seed, **options)
    paths = relation_paths(kg.retriever("paths", answers=settings.answers))
    writer = QuestionWriter(paths, settings, **others)
    writer.write(silent)
    return writer


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_answers_are_complete_and_hidden(kg: KnowledgeGraph, hops: int) -> None:
    report = written(kg, 6, hops=hops)
    assert report.questions
    for question in report.questions:
        path = question.path
        assert len(path.hops) == len(question.walk) == hops
        # Independent of the query that computed the answers: the walks one by one.
        ends = walks(kg, path.topic, path.hops)
        assert {answer.iri for answer in path.answers} == ends
        assert path.topic_name in question.text
        assert not any(answer.name in question.text for answer in path.answers)
    texts = [question.text for question in report.questions]
    assert len(set(texts)) == len(texts)


def walks(kg: KnowledgeGraph, topic: str, hops: tuple[tuple[str, bool], ...]) -> set[str]:
    """The ends of all walks that use no statement twice and do not return to the topic."""
    result = kg.query("SELECT ?s ?p ?o { ?s ?p ?o FILTER(isIRI(?o)) }", over=["films"])
    assert isinstance(result, Table)
    triples = {tuple(term.value for term in row) for row in result.rows}
    found: list[tuple[str, frozenset[Any]]] = [(topic, frozenset())]
    for property_, inverse in hops:
        found = [
            (s if inverse else o, used | {(s, p, o)})
            for node, used in found
            for s, p, o in triples
            if p == property_
            and (o if inverse else s) == node
            and (s, p, o) not in used
            and (s if inverse else o) != topic
        ]
    return {node for node, _ in found}


def test_the_same_seed_gives_the_same_questions(kg: KnowledgeGraph) -> None:
    first, again, other = (written(kg, 5, seed=seed) for seed in (0, 0, 1))
    assert write_questions(first.questions) == write_questions(again.questions)
    assert write_questions(first.questions) != write_questions(other.questions)


def test_walks_are_rejected_with_reasons(kg: KnowledgeGraph) -> None:
    report = written(kg, 8, hops=2, answers=1)
    assert all(len(question.path.answers) == 1 for question in report.questions)
    assert report.rejected["many"] > 0
    every = written(kg, 100, hops=1)
    assert every.rejected["repeated"] > 0
    with pytest.raises(InputError, match=r"no question .*statement without a document"):
        written(kg, 1, hops=1, articles={})


def test_a_question_in_words(kg: KnowledgeGraph) -> None:
    texts = {question.text for question in written(kg, 100, hops=2).questions}
    assert "What are the languages of the films directed by Ines Falcato?" in texts
    assert "Who are the directors of the films starring Ruben Soldevila?" in texts


def test_names_with_brackets_and_without_capitals(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text("""
        PREFIX : <https://stars.example/>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        :m a :Planet ; rdfs:label "mercury [Sun]" ; :orbits :s ; :inside :g .
        :v a :Planet ; rdfs:label "venus (planet [x])" ; :orbits :s .
        :s a :Star ; rdfs:label "Sun" .  :g a :Galaxy ; rdfs:label "milky way [galaxy]" .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, over=["g"]) as kg:
        kg.import_graph(tmp_path / "g.ttl", "rdf", name="g")
        questions = written(kg, 20, hops=1).questions
    topics = {q.path.topic_name: [a.name for a in q.path.answers] for q in questions}
    assert topics["mercury [Sun]"] in (["Sun"], ["milky way [galaxy]"])
    assert topics["venus (planet [x])"] == ["Sun"]
    assert topics["milky way [galaxy]"] == ["mercury [Sun]"]
    assert all(q.path.topic in q.walk[0] for q in questions)


def test_documents_support_the_statements_of_a_walk(tmp_path: Path) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, tmp_path)
        report = written(kg, 10, hops=1)
        with pytest.raises(InputError, match="--hops"):
            written(kg, 1, hops=4)
    supporting = {question.composed: question.supporting for question in report.questions}
    document = ("", "Emil Sand was born in Linz. Emil Sand taught Ilse Brandt.")
    assert supporting["What is the birth place of Emil Sand?"] == (document,)
    assert supporting["Who is the teacher of Ilse Brandt?"] == (document,)
    # Linz and Emil are asked about in the other direction, and Ilse was born, too.
    assert len(supporting) == 5


def test_statements_without_a_property_have_documents(tmp_path: Path) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        [question] = written(kg, 1, hops=2).questions
    assert len(question.supporting) in (1, 2)


def test_a_model_rewrites_and_is_checked(kg: KnowledgeGraph) -> None:
    composed = written(kg, 4, hops=2).questions
    first, second = composed[0].path, composed[1].path
    good = f"Tell me: what is linked to {first.topic_name}?"
    llm = QueuedLLM([
        {"question": good},
        {"question": f"Is it {second.answers[0].name} for {second.topic_name}?"},
        {"question": "Which one is it?"},
        UnparsableReplyError("no JSON"),
    ])  # fmt: skip
    report = written(kg, 4, hops=2, llm=llm)
    assert [q.text for q in report.questions] == [good, *(q.text for q in composed[1:])]
    assert [q.text != q.composed for q in report.questions] == [True, False, False, False]
    assert report.refused == 3
    assert report.questions[0].composed in llm.prompts[0]


def test_other_evaluations_read_them(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    with sarag_rdf.open("kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")
    over = ["--kg", "kg", "--over", "films"]
    assert sarag("export", "--format", "articles", "-o", "films.jsonl", *over).code == 0
    arguments = ["--articles", "films.jsonl", "--count", "6", "--hops", "2", *over]
    done = sarag("evaluate", "questions", "-o", "questions.json", *arguments)
    assert done.out.startswith("6 questions of 6\n")
    file = read_questions(tmp_path / "questions.json")
    assert [len(question.supporting) > 0 for question in file.questions] == [True] * 6

    done = sarag("evaluate", "paths", "--questions", "questions.json", *over)
    assert "questions.json: 6 questions" in done.out
    assert "chunk-resolved" in done.out
    assert all(f"[{question.topic}]" in question.marked for question in file.questions)
    assert all(question.answers for question in file.questions)

    assert sarag("index", "films.jsonl", "--kg", "articles").code == 0
    files = ["--corpus", "films.jsonl", "--questions", "questions.json"]
    arguments = ["--methods", "bm25", "--kg", "articles", "--output", "out.json"]
    assert sarag("evaluate", "retrieval", *files, *arguments).code == 0
    [result] = json.loads(Path("out.json").read_text("utf-8"))["results"]
    assert result["method"] == "bm25"
    assert result["R@10"] == 1.0

    arguments = ["search", "--questions", "questions.json", *over, "--retriever", "bm25:limit=2"]
    found = CliRunner().invoke(articles.main, [*arguments, "--articles", "articles"])
    assert found.output.startswith('questions.json: {"article topics": {"precision": ')
    assert '"chunk-resolved"' in found.output
    wrong = CliRunner().invoke(articles.main, [*arguments, "--articles", "kg"])
    assert isinstance(wrong.exception, InputError)
    assert sarag("evaluate", "questions", "-o", "q.json", "--articles", "films.jsonl",
                 "--corpus", "c.json", *over).code == 2  # fmt: skip
