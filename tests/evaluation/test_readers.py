"""Corpora and question files: every format that is read, and what is not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.plugins.evaluation.datasets import (
    Corpus,
    Passage,
    read_corpus,
    read_questions,
)
from tests.evaluation.sample import (
    CORPUS,
    PASSAGES,
    QUESTIONS,
    columns,
    hotpot,
    musique,
    sentences,
    write,
)

SAMPLE = Path(os.environ.get("SARAG_TEST_MUSIQUE", "none"))
"""A folder with corpus.json and questions_dev50.json, of MuSiQue."""


# ------------------------------------------------------------------------------ Corpus


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("list.json", CORPUS),
        ("lines.jsonl", CORPUS),
        ("lines.json", "\n".join(map(json.dumps, CORPUS))),
        ("texts.json", PASSAGES),
        ("sentences.json", {title: sentences(title) for title in PASSAGES}),
        ("ids.json", [{"id": f"p{i}", **record} for i, record in enumerate(CORPUS)]),
    ],
)
def test_formats_of_a_corpus(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / name
    if isinstance(value, str):
        path.write_text(value, "utf-8")
    else:
        write(path, value)
    corpus = read_corpus(path)
    assert {passage.title: passage.text for passage in corpus.passages} == PASSAGES
    assert (corpus.duplicates, corpus.empty, corpus.summary["file"]) == (0, 0, name)
    assert corpus.passages[2].id == ("p2" if name == "ids.json" else "2")


def test_a_corpus_of_one_record(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.jsonl", [{"title": "A", "text": "b"}]))
    assert corpus.passages == (Passage("0", "A", "b"),)
    assert read_corpus(write(tmp_path / "b.json", [{"text": "b"}])).passages[0].title == ""


def test_passages_that_stand_twice_or_have_no_text() -> None:
    same = Passage("1", "A", "one  two\n")
    corpus = Corpus([Passage("0", "A", "one two"), same, Passage("2", "A", " "), same])
    assert [passage.id for passage in corpus.passages] == ["0"]
    assert (corpus.duplicates, corpus.empty) == (2, 1)


def test_the_passage_of_a_chunk() -> None:
    corpus = Corpus(
        [
            Passage("0", "A", "one two three four"),
            Passage("1", "B", "one two"),
            Passage("2", "A", "two three"),
            Passage("3", "A", "three\x00four\ud800five"),
        ]
    )
    assert corpus.index_of_part("A", "one two") == 0
    assert corpus.index_of_part("B", "one two") == 1
    assert corpus.index_of_part("A", "two three") == 2  # is one, though part of another
    assert corpus.index_of_part("A", "three four") == 0  # the first that contains it
    assert corpus.index_of_part("A", "four\ufffdfive") == 3  # as a graph holds it
    assert corpus.index_of_part("A", "five six") is None
    assert corpus.index_of_part("C", "one two") is None
    assert corpus.index_of_part("A", "") is None
    assert corpus.index_of("A", "two\nthree") == 2
    assert corpus.index_of("A", "one two") is None


def test_a_paragraph_and_a_passage_of_which_one_lacks_a_title() -> None:
    corpus = Corpus([Passage("0", "A", "one"), Passage("1", "", "two"), Passage("2", "B", "two")])
    assert corpus.index_of("A", "two") == 1
    assert corpus.index_of("B", "two") == 2
    assert corpus.index_of("", "one") == 0
    assert corpus.index_of("", "two") == 1
    assert corpus.index_of("B", "one") is None


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"[]", "no passage"),
        (b"{}", "no passage"),
        (b'[{"title": "A", "text": " "}]', "no passage"),
        (b'[{"title": "A"}]', "record 1 is not an object with 'text'"),
        (b'["A"]', "record 1"),
        (b'[{"title": 3, "text": "a"}]', "record 1"),
        (b'[{"title": "A", "text": 3}]', "record 1"),
        (b"3", "a list of objects"),
        (b'{"A": 3}', "'A' is neither"),
        (b'{"A": [3]}', "'A' is neither"),
        (b'{"A": "b", "A": "c"}', "duplicate key 'A'"),
        (b"[{", "is not valid JSON"),
        (b'{"text": "a"}\n{"text": }\n', "line 2"),
        (b'"\xff"', "UTF-8"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_corpus_that_is_none(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "corpus.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"corpus\.json") as caught:
        read_corpus(path)
    assert word in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.json"):
        read_corpus(tmp_path / "nowhere.json")


# --------------------------------------------------------------------------- Questions


def in_strings(record: dict[str, Any]) -> dict[str, Any]:
    keys = ("context", "supporting_facts")
    return {**record, **{key: json.dumps(record[key]) for key in keys}}


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("musique.json", musique()),
        ("musique.jsonl", musique()),
        ("hotpot.json", hotpot()),
        ("hub.jsonl", list(columns("sentences"))),
        ("content.json", list(columns("content"))),
        ("strings.json", [in_strings(record) for record in hotpot()]),
    ],
)
def test_formats_of_questions(tmp_path: Path, name: str, records: Any) -> None:
    file = read_questions(write(tmp_path / name, records))
    corpus = read_corpus(write(tmp_path / "corpus.json", CORPUS))
    assert file.duplicates == 0
    titles = list(PASSAGES)
    for question, (id_, text, answer, support) in zip(file.questions, QUESTIONS, strict=True):
        assert (question.id, question.query.text) == (id_, text)
        assert question.answers[0] == answer
        positions = sorted(titles.index(title) for title in support)
        assert sorted(corpus.support_of(question)) == positions


def test_types_and_hops(tmp_path: Path) -> None:
    """Hops are sub-questions, else supporting paragraphs; a type is a text."""
    records = musique()
    records[0]["question_decomposition"] = [{"id": 1}, {"id": 2}, {"id": 3}]
    records[1] |= {"type": " comparison ", "question_decomposition": None}
    records[2]["type"] = 3
    questions = read_questions(write(tmp_path / "a.json", records)).questions
    assert [(q.hops, q.type) for q in questions] == [(3, ""), (2, "comparison"), (3, "")]
    questions = read_questions(write(tmp_path / "b.json", hotpot())).questions
    assert [(q.hops, q.type) for q in questions] == [(2, "bridge"), (2, "bridge"), (3, "bridge")]
    alone = {"id": "a", "question": "Who?", "answer": "Ada"}
    assert read_questions(write(tmp_path / "c.json", alone)).questions[0].hops is None


def test_paragraphs_as_an_object_of_lists(tmp_path: Path) -> None:
    records = musique()
    for record in records:
        rows = record["paragraphs"]
        record["paragraphs"] = {key: [row[key] for row in rows] for key in rows[0]}
    file = read_questions(write(tmp_path / "a.json", records))
    assert [len(q.supporting) for q in file.questions] == [2, 2, 3]


def test_questions_with_answers_alone(tmp_path: Path) -> None:
    records = [
        {"id": 7, "question": "Who  is it?", "answer": ["Ada", "A. Brandt"]},
        {"id": "b", "question": "Who?", "answer": "The", "answer_aliases": None},
        {"id": "c", "question": "Who?", "answer": None},
    ]
    one, two, three = read_questions(write(tmp_path / "a.jsonl", records)).questions
    assert (one.id, one.query.text, one.answers) == ("7", "Who is it?", ("Ada", "A. Brandt"))
    assert (one.has_answer, two.has_answer, three.has_answer) == (True, False, False)
    assert one.supporting == ()


def test_one_question_alone_and_an_id_twice(tmp_path: Path) -> None:
    record = {"id": "a", "question": "Who?", "answer": "Ada"}
    assert len(read_questions(write(tmp_path / "a.json", record)).questions) == 1
    other = {**record, "answer": "Bo"}
    file = read_questions(write(tmp_path / "b.json", [record, other]))
    assert [question.answers for question in file.questions] == [("Ada",)]
    assert file.duplicates == 1


def test_support_that_cannot_be_judged(tmp_path: Path) -> None:
    """A marked title whose paragraph is not shown, or not in the corpus, spoils the question."""
    record = hotpot()[0]
    record["supporting_facts"].append(["Vienna", 0])
    corpus = read_corpus(write(tmp_path / "corpus.json", CORPUS))
    [question] = read_questions(write(tmp_path / "a.json", [record])).questions
    assert question.supporting[-1] == ("Vienna", "")
    assert corpus.support_of(question) == ()


@pytest.mark.parametrize(
    ("records", "word"),
    [
        ([], "no questions"),
        ({"a": "b"}, "a list of objects with 'question'"),
        ([{"id": "a"}], "record 1 is not an object with 'question'"),
        ([{"question": "Who?"}], "question 1 has no 'id'"),
        ([{"id": "", "question": "Who?"}], "question 1 has no 'id'"),
        ([{"id": "a", "question": " "}], "question 1 (a): the question is empty"),
        ([{"id": "a", "question": None}], "question 1 (a): the question is empty"),
        ([{"id": "a", "question": "who " * 2000}], "question 1 (a)"),
        ([{"id": "a", "question": "Who?", "paragraphs": 3}], "question 1 (a) has paragraphs"),
        ([{"id": "a", "question": "Who?", "paragraphs": [{"title": "A"}]}], "question 1 (a)"),
        ([{"id": "a", "question": "Who?", "context": [["A"]]}], "question 1 (a)"),
        ([{"id": "a", "question": "Who?", "context": [["A", 3]]}], "question 1 (a)"),
        ([{"id": "a", "question": "Who?", "context": "no JSON"}], "question 1 (a)"),
        ([{"id": "a", "question": "Who?", "supporting_facts": [[["A"], 0]]}], "question 1 (a)"),
        (
            [{"id": "a", "question": "Who?", "context": {"title": ["A", "B"], "sentences": []}}],
            "question 1 (a)",
        ),
    ],
)
def test_questions_that_are_none(tmp_path: Path, records: Any, word: str) -> None:
    with pytest.raises(InputError, match=r"questions\.json") as caught:
        read_questions(write(tmp_path / "questions.json", records))
    assert word in str(caught.value)


@pytest.mark.skipif(
    not SAMPLE.is_dir(), reason="optional: SARAG_TEST_MUSIQUE names no folder of data"
)
def test_a_sample_of_musique() -> None:
    corpus = read_corpus(SAMPLE / "corpus.json")
    file = read_questions(SAMPLE / "questions_dev50.json")
    assert (len(corpus.passages), corpus.duplicates, len(file.questions)) == (1890, 0, 50)
    hops = [len(corpus.support_of(question)) for question in file.questions]
    assert {n: hops.count(n) for n in (0, 2, 3, 4)} == {0: 0, 2: 30, 3: 16, 4: 4}
    assert all(question.has_answer for question in file.questions)
