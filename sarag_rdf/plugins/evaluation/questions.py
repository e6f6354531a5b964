"""Questions with answers and supporting paragraphs, in the formats of multi-hop datasets.

Formats: MuSiQue (Trivedi et al. 2022, arXiv 2108.00573), 2WikiMultiHopQA (Ho et al. 2020, arXiv
2011.01060), HotpotQA (Yang et al. 2018, arXiv 1809.09600); lists of objects or pairs may also be
objects of lists, or JSON in a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.evaluation.corpus import JsonFile, joined, read_json
from sarag_rdf.plugins.evaluation.scores import normalize_answer
from sarag_rdf.retrieval.question import question_of


@dataclass(frozen=True, slots=True)
class Question:
    """A question with gold answers, and (title, text) of its supporting paragraphs.

    The text of a paragraph is empty if the file marks a title without containing the paragraph.
    `type` is the type of question in the file; `hops` is the number of sub-questions, else of
    supporting paragraphs.
    """

    id: str
    query: Query
    answers: tuple[str, ...] = ()
    supporting: tuple[tuple[str, str], ...] = ()
    type: str = ""
    hops: int | None = None

    @property
    def has_answer(self) -> bool:
        """Whether any answer is not empty after normalization."""
        return any(map(normalize_answer, self.answers))


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """Questions in the order of their file, the first of each id; others are `duplicates`."""

    questions: tuple[Question, ...]
    duplicates: int
    sha256: str
    file: str


def read_questions(path: Path) -> QuestionFile:
    """Read a question file; raises `InputError` for another format, or without questions."""
    file = read_json(path)
    records = file.records("question")
    if not records:
        raise file.error("no questions")
    by_id: dict[str, Question] = {}
    for number, record in enumerate(records, 1):
        question = _question(file, number, record)
        by_id.setdefault(question.id, question)
    questions = tuple(by_id.values())
    return QuestionFile(questions, len(records) - len(questions), file.sha256, path.name)


def _question(file: JsonFile, position: int, record: dict[str, Any]) -> Question:
    id_ = record.get("id", record.get("_id"))
    if not isinstance(id_, str | int) or id_ == "":
        raise file.error(f"question {position} has no 'id' or '_id'")
    text = record["question"]
    try:
        query = question_of(text if isinstance(text, str) else "")
    except UsageError as error:
        raise InputError(f"{file.path}: question {position} ({id_}): {error}") from error
    try:
        supporting = tuple(dict.fromkeys(_supporting(record)))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise file.error(f"question {position} ({id_}) has paragraphs of another shape") from error
    answers = [*_texts(record.get("answer")), *_texts(record.get("answer_aliases"))]
    kind = record.get("type")
    parts = record.get("question_decomposition")
    hops = len(parts) if isinstance(parts, list) else 0
    return Question(
        str(id_), query, tuple(dict.fromkeys(answers)), supporting,
        type=kind.strip() if isinstance(kind, str) else "",
        hops=hops or len(supporting) or None,
    )  # fmt: skip


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]


def _supporting(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    columns = ("title", "paragraph_text", "is_supporting")
    for title, text, mark in _rows(record, "paragraphs", columns):
        if mark:
            yield _paragraph(title or "", text)
    context: dict[str, str] = {}
    for title, sentences in _rows(record, "context", ("title", "sentences")):
        context.setdefault(*_paragraph(title, sentences))
    for (title,) in _rows(record, "supporting_facts", ("title",)):
        yield _paragraph(title, context.get(title, ""))


def _paragraph(title: Any, text: Any) -> tuple[str, str]:
    whole = joined(text)
    if not isinstance(title, str) or whole is None:
        raise TypeError(title, text)
    return title, whole


def _rows(record: dict[str, Any], key: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The rows of a list of objects or of plain rows, or of an object of lists."""
    value = record.get(key)
    if isinstance(value, str):
        value = json.loads(value)
    if isinstance(value, dict):
        yield from zip(*(_cell(value, column) for column in columns), strict=True)
        return
    for row in value or ():
        if isinstance(row, dict):
            yield tuple(_cell(row, column) for column in columns)
        else:
            yield tuple(row[position] for position in range(len(columns)))


def _cell(row: dict[str, Any], column: str) -> Any:
    """A cell; in one file of 2WikiMultiHopQA, the sentences are in "content"."""
    return row["content"] if column == "sentences" and "content" in row else row[column]
