"""Corpora and questions, as multi-hop data sets write them, and the problems of such files.

Formats of questions: MuSiQue (Trivedi et al. 2022, arXiv 2108.00573), 2WikiMultiHopQA (Ho et al.
2020, arXiv 2011.01060), HotpotQA (Yang et al. 2018, arXiv 1809.09600); lists of objects or pairs
may also be objects of lists, or JSON in a string.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.types import Query, Source
from sarag_rdf.plugins.evaluation.measures import normalize_answer
from sarag_rdf.retrieval.retriever import question_of

# --------------------------------------------------------------------------------------------- JSON


@dataclass(frozen=True, slots=True)
class JsonFile:
    """The data of a JSON file, or the list of values of a JSON Lines file, with its SHA-256."""

    path: Path
    sha256: str
    data: Any

    def error(self, reason: str) -> InputError:
        """An error that names the file."""
        formats = "see docs/reference/evaluation.md for the formats"
        return InputError(f"{self.path}: {reason} ({formats})")

    def records(self, key: str) -> list[dict[str, Any]]:
        """The objects of a list, or a single object; raises `InputError` for one without `key`."""
        items = [self.data] if isinstance(self.data, dict) and key in self.data else self.data
        if not isinstance(items, list):
            raise self.error(f"expected a list of objects with '{key}'")
        for position, item in enumerate(items, 1):
            if not isinstance(item, dict) or key not in item:
                raise self.error(f"record {position} is not an object with '{key}'")
        return items


def read_json(path: Path) -> JsonFile:
    """Read JSON or JSON Lines; raises `InputError`."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path} is empty: name a file that contains JSON")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        data = _lines(path, text, error)
    return JsonFile(path, hashlib.sha256(content).hexdigest(), data)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; raises ValueError for duplicate keys."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key '{duplicate}' in an object")
    return values


def _lines(path: Path, text: str, whole: Exception) -> list[Any]:
    """One value per line. If the first line is not JSON, the error of the whole file is raised."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, object_pairs_hook=_object))
        except (ValueError, RecursionError) as error:
            reason = f"line {number}: {error}" if values else str(whole)
            raise InputError(f"{path} is not valid JSON ({reason}): correct it") from error
    return values


# ------------------------------------------------------------------------------------------ Corpora

_UNLIKE = re.compile(r"[\s\x00-\x1f\ufffd\ufffe\uffff\ud800-\udfff]+")
"""Characters that are ignored in comparisons: white space, and characters that XML forbids."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage; `id` is that of the file, else its position from 0."""

    id: str
    title: str
    text: str

    @property
    def source(self) -> Source:
        """The passage as a source for indexing."""
        return Source(self.text, self.title)


class Corpus:
    """Distinct passages by title and text, in the order of their file.

    White space is ignored in comparisons, because files differ in how they join sentences.
    """

    def __init__(self, passages: list[Passage], sha256: str = "", file: str = "") -> None:
        self.file = file
        self.sha256 = sha256
        distinct: dict[tuple[str, str], Passage] = {}
        filled = [passage for passage in passages if _bare(passage.text)]
        for passage in filled:
            distinct.setdefault((_bare(passage.title), _bare(passage.text)), passage)
        self.passages = tuple(distinct.values())
        self.empty = len(passages) - len(filled)
        self.duplicates = len(filled) - len(distinct)
        self._exact = {key: number for number, key in enumerate(distinct)}
        self._texts: dict[str, int] = {}
        self._parts: dict[tuple[str, str], int | None] = {}
        self._titled: dict[str, list[tuple[str, int]]] = {}
        for number, (title, text) in enumerate(distinct):
            self._texts.setdefault(text, number)
            self._titled.setdefault(title, []).append((text, number))

    @property
    def summary(self) -> dict[str, Any]:
        """The corpus in a report: file, SHA-256, and number of passages."""
        return {"file": self.file, "sha256": self.sha256, "passages": len(self.passages)}

    def index_of(self, title: str, text: str) -> int | None:
        """The position in `passages` of a title and text, or None.

        A passage without a title matches any title; an empty title matches the first passage with
        the text.
        """
        key = _bare(title), _bare(text)
        if key in self._exact:
            return self._exact[key]
        return self._exact.get(("", key[1])) if key[0] else self._texts.get(key[1])

    def index_of_part(self, title: str, text: str) -> int | None:
        """The position of the passage with this title and text, or else that contains the text.

        None for an empty text, or without such a passage.
        """
        if (title, text) not in self._parts:
            self._parts[title, text] = self._part(title, text)
        return self._parts[title, text]

    def _part(self, title: str, text: str) -> int | None:
        key = _bare(title), _bare(text)
        if key in self._exact or not key[1]:
            return self._exact.get(key)
        return next((n for whole, n in self._titled.get(key[0], ()) if key[1] in whole), None)


def read_corpus(path: Path) -> Corpus:
    """Read ``[{title, text}]``, its JSON Lines, ``{title: text}`` or ``{title: [sentences]}``.

    Raises `InputError`, also for a corpus without texts.
    """
    file = read_json(path)
    corpus = Corpus(list(_passages(file)), file.sha256, path.name)
    if not corpus.passages:
        raise file.error("no passage with a text")
    return corpus


def joined(value: Any) -> str | None:
    """A text, or a list of sentences joined into a text; None for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(sentence, str) for sentence in value):
        return " ".join(sentence.strip() for sentence in value)
    return None


def _passages(file: JsonFile) -> Iterator[Passage]:
    if isinstance(file.data, dict) and not isinstance(file.data.get("text"), str):
        for position, (title, value) in enumerate(file.data.items()):
            text = joined(value)
            if text is None:
                raise file.error(f"'{title}' is neither a text nor a list of sentences")
            yield Passage(str(position), title, text)
        return
    for position, record in enumerate(file.records("text")):
        text = joined(record["text"])
        title = record.get("title") or ""
        if text is None or not isinstance(title, str):
            raise file.error(f"the title or text of record {position + 1} is not a string")
        yield Passage(str(record.get("id", position)), title, text)


def _bare(text: str) -> str:
    return _UNLIKE.sub("", text)


# ---------------------------------------------------------------------------------------- Questions


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

    @property
    def summary(self) -> dict[str, Any]:
        """The file in a report."""
        return {"file": self.file, "sha256": self.sha256}


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


# -------------------------------------------------------------------------- Questions about paths

_MARKED: Final = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """A question with the names of its answers; `topic` is the name that it has in brackets."""

    text: str
    topic: str
    answers: frozenset[str]

    @property
    def plain(self) -> str:
        """The question without brackets."""
        return _MARKED.sub(r"\1", self.text)


def read_path_questions(path: Path) -> list[PathQuestion]:
    """Questions of a table with the columns ``question`` and ``answers`` (separated by bars).

    Or those of a file by ``sarag evaluate questions``, whose name ends in .json: there the name of
    the topic gets brackets. Raises `InputError` for a file of another form, and for a question
    without a text or an answer.
    """
    is_json = path.suffix.lower() in (".json", ".jsonl")
    found = []
    for place, text, topic, answers in _written(path) if is_json else _tabled(path):
        mark = re.search(re.escape(topic), text, re.IGNORECASE) if topic else None
        if mark and not _MARKED.search(text):
            text = f"{text[: mark.start()]}[{mark[0]}]{text[mark.end() :]}"
        marked = _MARKED.search(text)
        if not (text.strip() and answers):
            raise InputError(f"{path}: {place} has no {'answer' if text.strip() else 'question'}")
        found.append(PathQuestion(text, topic or (marked[1] if marked else ""), answers))
    if not found:
        raise InputError(
            f"{path}: no questions: a table has the columns question and answers, separated by "
            "tabs; sarag evaluate questions  writes a .json file"
        )
    return found


def _tabled(path: Path) -> Iterator[tuple[str, str, str, frozenset[str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            for row in reader if {"question", "answers"} <= {*(reader.fieldnames or ())} else ():
                answers = frozenset(filter(str.strip, (row["answers"] or "").split("|")))
                yield f"line {reader.line_num}", (row["question"] or "").strip(), "", answers
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a table ({error})") from error


def _written(path: Path) -> Iterator[tuple[str, str, str, frozenset[str]]]:
    for number, record in enumerate(read_json(path).records("path"), 1):
        try:
            topic, text = str(record["path"]["topic_name"]), str(record["question"])
            yield f"question {number}", text, topic, frozenset(map(str, record["answer"]))
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{path}: no questions with paths: write them with  sarag evaluate questions"
            ) from error


# ---------------------------------------------------------------------------- Problems of the input


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question with relevance judgments: the positions of its supporting passages in the corpus.

    `supporting` is empty if recall is undefined, because the file marks no paragraph as supporting,
    or because the corpus lacks one of them.
    """

    question: Question
    supporting: tuple[int, ...]


def locate_support(questions: Iterable[Question], corpus: Corpus) -> list[JudgedQuestion]:
    """Find the supporting passages of each question."""
    return [JudgedQuestion(question, _positions(question, corpus)) for question in questions]


def _positions(question: Question, corpus: Corpus) -> tuple[int, ...]:
    positions = dict.fromkeys(corpus.index_of(*paragraph) for paragraph in question.supporting)
    known = tuple(position for position in positions if position is not None)
    return known if len(known) == len(positions) else ()


def question_problems(file: QuestionFile, questions: Sequence[Question]) -> dict[str, int]:
    """Counts of the problems of questions alone, by the keys of `PROBLEMS`."""
    answers = [set(map(normalize_answer, question.answers)) for question in questions]
    return {
        "duplicate_question_ids": file.duplicates,
        "questions_without_answer": sum(not question.has_answer for question in questions),
        "questions_answered_yes_or_no": sum(bool({"yes", "no"} & texts) for texts in answers),
    }


def count_problems(
    corpus: Corpus,
    questions: Sequence[JudgedQuestion],
    documents: Iterable[tuple[str, str]],
    unextracted: int,
) -> dict[str, int]:
    """Counts of the problems of a corpus; `documents` are (title, text) of the whole graph."""
    parts = [corpus.index_of_part(title, text) for title, text in documents]
    indexed = {part for part in parts if part is not None}
    unindexed = [q for q in questions if not indexed.issuperset(q.supporting)]
    unjudged = [q for q in questions if not q.supporting]
    unmarked = [q for q in unjudged if not q.question.supporting]
    return {
        "duplicate_passages": corpus.duplicates,
        "empty_passages": corpus.empty,
        "questions_without_support": len(unmarked),
        "questions_with_support_not_in_corpus": len(unjudged) - len(unmarked),
        "questions_with_support_not_in_graph": len(unindexed),
        "documents_without_extraction": unextracted,
        "passages_not_in_graph": len(corpus.passages) - len(indexed),
        "documents_of_no_passage": parts.count(None),
    }


PROBLEMS: Final = {
    "duplicate_passages": "duplicate passages, skipped",
    "empty_passages": "passages without text, skipped",
    "duplicate_question_ids": "questions with a duplicate id, skipped",
    "questions_without_support": "questions without supporting paragraphs, excluded from recall",
    "questions_with_support_not_in_corpus": "questions with a supporting paragraph missing from "
    "the corpus, excluded from recall",
    "questions_with_support_not_in_graph": "questions with a supporting passage missing from the "
    "graph, which counts as not retrieved",
    "questions_without_answer": "questions without an answer, excluded from coverage",
    "questions_answered_yes_or_no": "questions answered yes or no, which are covered by chance",
    "documents_without_extraction": "documents missing from the file of --extractor, not indexed",
    "passages_not_in_graph": "passages missing from the graph, which cannot be retrieved",
    "documents_of_no_passage": "documents of the graph outside of all passages, counted as misses",
}
"""Kind of problem of the input -> description, which is printed before the count."""


def problem_lines(counts: Mapping[str, int], **other: str) -> Iterator[str]:
    """A line for each kind of problem that occurs; `other` are descriptions of a command's own."""
    descriptions = {**PROBLEMS, **other}
    return (f"{descriptions[kind]}: {count}" for kind, count in counts.items() if count)
