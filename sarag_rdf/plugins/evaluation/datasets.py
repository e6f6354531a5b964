"""Corpora and questions, as multi-hop data sets write them, and the problems of such files.

Formats of questions: MuSiQue (Trivedi et al. 2022, arXiv 2108.00573), 2WikiMultiHopQA (Ho et al.
2020, arXiv 2011.01060), HotpotQA (Yang et al. 2018, arXiv 1809.09600); lists of objects or pairs
may also be objects of lists, or JSON in a string. And tab-separated tables, as for MetaQA.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import string
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Final

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.types import VALUE_TYPES, Query, Source
from sarag_rdf.plugins.evaluation.measures import normalize_answer
from sarag_rdf.retrieval.retriever import question_of
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

# --------------------------------------------------------------------------------------------- JSON


class DataFile:
    """A text file of any size with its SHA-256; raises `InputError` if it cannot be read."""

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
            self.text = content.decode("utf-8-sig")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8: save it as UTF-8") from error
        if not self.text.strip():
            raise InputError(f"{path} is empty: name a file with contents")
        self.path = path
        self.sha256 = hashlib.sha256(content).hexdigest()

    @cached_property
    def data(self) -> Any:
        """The data of a JSON file, or the list of values of a JSON Lines file.

        Raises `InputError`; of a file whose first line is not JSON, for the whole.
        """
        try:
            return json.loads(self.text, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            reason = str(error)
        values: list[Any] = []
        for number, line in enumerate(self.text.split("\n"), 1):
            try:
                values += [json.loads(line, object_pairs_hook=_object)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                reason = f"line {number}: {error}" if values else reason
                message = f"{self.path} is not valid JSON ({reason}): correct it"
                raise InputError(message) from error
        return values

    @property
    def is_json(self) -> bool:
        return self.path.suffix.lower() in (".json", ".jsonl") or self.text.lstrip()[0] in "[{"

    @property
    def summary(self) -> dict[str, Any]:
        return {"file": self.path.name, "sha256": self.sha256}

    def error(self, reason: str) -> InputError:
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; raises ValueError for duplicate keys."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key '{duplicate}' in an object")
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
        return Source(self.text, self.title)


class Corpus:
    """Distinct passages by title and text, in the order of their file.

    White space is ignored in comparisons, because files differ in how they join sentences.
    """

    def __init__(self, passages: list[Passage], file: Mapping[str, Any] | None = None) -> None:
        """`file` is the summary of their file for a report."""
        self.file = file or {}
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
        return {**self.file, "passages": len(self.passages)}

    def index_of(self, title: str, text: str) -> int | None:
        """The position of a passage, or None; one without a title matches any title.

        An empty title matches the first passage with the text.
        """
        key = _bare(title), _bare(text)
        if key in self._exact:
            return self._exact[key]
        return self._exact.get(("", key[1])) if key[0] else self._texts.get(key[1])

    def support_of(self, question: Question) -> tuple[int, ...]:
        """The positions of the supporting passages, in the order of the question.

        Empty where recall is undefined: none is marked, or the corpus lacks one of them.
        """
        positions = dict.fromkeys(self.index_of(*paragraph) for paragraph in question.supporting)
        known = tuple(position for position in positions if position is not None)
        return known if len(known) == len(positions) else ()

    def index_of_part(self, title: str, text: str) -> int | None:
        """The position of the passage with this title that equals or contains the text, or None.

        None also for an empty text.
        """
        if (title, text) not in self._parts:
            key = _bare(title), _bare(text)
            titled = self._titled.get(key[0], ()) if key[1] else ()
            containing = (number for whole, number in titled if key[1] in whole)
            self._parts[title, text] = self._exact.get(key, next(containing, None))
        return self._parts[title, text]


def read_corpus(path: Path) -> Corpus:
    """Read ``[{title, text}]``, its JSON Lines, ``{title: text}`` or ``{title: [sentences]}``.

    Raises `InputError`, also for a corpus without texts.
    """
    file = DataFile(path)
    corpus = Corpus(list(_passages(file)), file.summary)
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


def _passages(file: DataFile) -> Iterator[Passage]:
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
class Fact:
    """What a question needs of a supporting paragraph, its title and text: one of `texts`.

    That is a supporting sentence (HotpotQA), or the answer of a sub-question (MuSiQue), if any.
    """

    title: str
    text: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with gold answers, and (title, text) of its supporting paragraphs.

    The text of a paragraph is empty if the file marks a title without containing the paragraph.
    `facts` are what it needs of them, as far as the file tells.
    `type` is the type of question in the file; `hops` is the number of sub-questions, else of
    supporting paragraphs. `topic` is the name of the entity that the question starts from, if the
    file tells; `marked` is the question with this name in square brackets.
    """

    id: str
    query: Query
    answers: tuple[str, ...] = ()
    supporting: tuple[tuple[str, str], ...] = ()
    facts: tuple[Fact, ...] = ()
    type: str = ""
    hops: int | None = None
    topic: str = ""
    marked: str = ""

    @property
    def has_answer(self) -> bool:
        """Whether any answer is not empty after normalization."""
        return any(map(normalize_answer, self.answers))


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """Questions in the order of their file, the first of each id; others are `duplicates`."""

    questions: tuple[Question, ...]
    duplicates: int
    summary: Mapping[str, Any]


def read_questions(path: Path) -> QuestionFile:
    """Read JSON or a table; raises `InputError` for another format, or without questions."""
    file = DataFile(path)
    if file.is_json:
        records = enumerate(file.records("question"), 1)
        questions = [_question(file, number, record) for number, record in records]
    else:
        questions = list(_table_questions(file))
    if not questions:
        raise file.error("no questions")
    by_id: dict[str, Question] = {}
    for question in questions:
        by_id.setdefault(question.id, question)
    return QuestionFile(tuple(by_id.values()), len(questions) - len(by_id), file.summary)


def _table_questions(file: DataFile) -> Iterator[Question]:
    """The questions of a table; answers are separated by bars, topics may be in square brackets."""
    table = csv.DictReader(io.StringIO(file.text), delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        rows = list(table)
    except csv.Error as error:
        raise file.error(f"cannot be read as a table: {error}") from error
    if not {"question", "answers"} <= {*(table.fieldnames or ())}:
        raise file.error("a table has the columns question and answers, separated by tabs")
    for number, row in enumerate(rows, 1):
        marked = row["question"] or ""
        topic = MARKED.search(marked)
        record = {
            "id": row.get("id") or f"row {number}",
            "question": MARKED.sub(r"\1", marked),
            "answer": (row["answers"] or "").split("|"),
            "type": row.get("type") or row.get("path_type"),
        }
        question = _question(file, number, record)
        yield replace(question, topic=topic[1] if topic else "", marked=marked)


def _question(file: DataFile, position: int, record: dict[str, Any]) -> Question:
    id_ = record.get("id", record.get("_id"))
    if not isinstance(id_, str | int) or id_ == "":
        raise file.error(f"question {position} has no 'id' or '_id'")
    text = record["question"]
    try:
        query = question_of(text if isinstance(text, str) else "")
    except UsageError as error:
        raise InputError(f"{file.path}: question {position} ({id_}): {error}") from error
    try:
        facts = tuple(_facts(record))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise file.error(f"question {position} ({id_}) has paragraphs of another shape") from error
    supporting = tuple(dict.fromkeys((fact.title, fact.text) for fact in facts))
    values = (record.get(key) for key in ("answer", "answer_aliases"))
    every = chain.from_iterable(v if isinstance(v, list) else [v] for v in values)
    answers = [text for text in every if isinstance(text, str) and text.strip()]
    kind, parts, path = (record.get(key) for key in ("type", "question_decomposition", "path"))
    hops = len(parts) if isinstance(parts, list) else 0
    topic = str(path.get("topic_name", "")) if isinstance(path, dict) else ""
    return Question(
        str(id_), query, tuple(dict.fromkeys(answers)), supporting,
        facts=tuple(fact for fact in facts if fact.texts),
        type=kind.strip() if isinstance(kind, str) else "",
        hops=hops or len(supporting) or None,
        topic=topic,
        marked=_with_brackets(query.text, topic),
    )  # fmt: skip


def _with_brackets(text: str, topic: str) -> str:
    """A question with its topic in square brackets, unless it has brackets already."""
    place = re.search(re.escape(topic), text, re.IGNORECASE) if topic else None
    if place is None or MARKED.search(text):
        return text
    return f"{text[: place.start()]}[{place[0]}]{text[place.end() :]}"


def _facts(record: dict[str, Any]) -> Iterator[Fact]:
    """The paragraphs that are marked, with their marked sentences or the answers that they give."""
    answers: defaultdict[Any, list[Any]] = defaultdict(list)
    columns: tuple[str, ...] = ("answer", "paragraph_support_idx")
    for answer, number in _complete(record, "question_decomposition", columns):
        answers[number].append(answer)
    columns = ("title", "paragraph_text", "is_supporting")
    paragraphs = list(_rows(record, "paragraphs", columns))
    numbers = list(_complete(record, "paragraphs", ("idx",))) or [(None,)] * len(paragraphs)
    for (title, text, mark), (number,) in zip(paragraphs, numbers, strict=True):
        if mark:
            whole, given = _paragraph(title or "", text), answers[number]
            steps = [Fact(*whole, (answer,)) for answer in given if isinstance(answer, str)]
            yield from steps or [Fact(*whole, ())]
    context: dict[str, Any] = {}
    for title, sentences in _rows(record, "context", ("title", "sentences")):
        context.setdefault(_paragraph(title, sentences)[0], sentences)
    marked: dict[str, list[str]] = {}
    for (title,) in _rows(record, "supporting_facts", ("title",)):
        marked.setdefault(title, [])
    for title, number in _complete(record, "supporting_facts", ("title", "sent_id")):
        sentences = context.get(title)
        if isinstance(sentences, list) and number in range(len(sentences)):
            marked[title].append(sentences[number])
    for title, sentences in marked.items():
        yield Fact(*_paragraph(title, context.get(title, "")), tuple(sentences))


def _complete(
    record: dict[str, Any], key: str, columns: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """`_rows` of a record in which every row has all columns; none otherwise."""
    try:
        yield from list(_rows(record, key, columns))
    except (KeyError, IndexError):
        return


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
        yield from zip(*_cells(value, columns), strict=True)
        return
    for row in value or ():
        yield _cells(row, columns if isinstance(row, dict) else range(len(columns)))


def _cells(row: Any, keys: Iterable[Any]) -> tuple[Any, ...]:
    """Cells; in one file of 2WikiMultiHopQA, the sentences are in "content"."""
    return tuple(row["content" if k == "sentences" and "content" in row else k] for k in keys)


# ---------------------------------------------------------------------------- Problems of the input


PROBLEMS: Final = {
    "duplicate_passages": "duplicate passages, skipped",
    "empty_passages": "passages without text, skipped",
    "duplicate_question_ids": "questions with a duplicate id, skipped",
    "questions_without_support": "questions without supporting paragraphs, excluded from recall",
    "questions_with_support_not_in_corpus": "questions with a supporting paragraph missing from "
    "the corpus, excluded from recall",
    "questions_with_support_not_in_graph": "questions with a supporting passage missing from the "
    "graph, which counts as not retrieved",
    "questions_without_answer": "questions without an answer, excluded from coverage and accuracy",
    "questions_answered_yes_or_no": "questions answered yes or no, which are covered by chance",
    "documents_without_extraction": "documents missing from the file of --extractor, not indexed",
    "passages_not_in_graph": "passages missing from the graph, which cannot be retrieved",
    "documents_of_no_passage": "documents of the graph outside of all passages, counted as misses",
}
"""Kind of problem of the input -> description, which is printed before the count."""


def count_problems(
    file: QuestionFile,
    questions: Sequence[Question],
    corpus: Corpus | None = None,
    documents: Iterable[tuple[str, str]] = (),
    unextracted: int = 0,
    *,
    of_support: bool = True,
) -> dict[str, int]:
    """Counts of the problems of questions, and of their corpus, by the keys of `PROBLEMS`.

    `documents` are (title, text) of the whole graph. `of_support`: also those that matter only if
    supporting passages are to be found.
    """
    answers = [set(map(normalize_answer, question.answers)) for question in questions]
    counts = {
        "duplicate_question_ids": file.duplicates,
        "questions_without_answer": sum(not question.has_answer for question in questions),
        "questions_answered_yes_or_no": sum(bool({"yes", "no"} & texts) for texts in answers),
    }
    if corpus is not None:
        parts = [corpus.index_of_part(title, text) for title, text in documents]
        indexed = {part for part in parts if part is not None}
        counts |= {
            "duplicate_passages": corpus.duplicates,
            "empty_passages": corpus.empty,
            "documents_without_extraction": unextracted,
            "passages_not_in_graph": len(corpus.passages) - len(indexed),
        }
        if of_support:
            supporting = [corpus.support_of(question) for question in questions]
            unmarked = sum(not question.supporting for question in questions)
            counts |= {
                "questions_without_support": unmarked,
                "questions_with_support_not_in_corpus": supporting.count(()) - unmarked,
                "questions_with_support_not_in_graph": sum(not indexed >= {*s} for s in supporting),
                "documents_of_no_passage": parts.count(None),
            }
    return {kind: counts[kind] for kind in PROBLEMS if kind in counts}


def problem_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """A line for each kind of problem that occurs."""
    return (f"{PROBLEMS[kind]}: {count}" for kind, count in counts.items() if count)


# ------------------------------------------------------------------------------------ Perturbations

_LEAST: Final = 3
"""The fewest letters, besides the first of each word, of a name that gets a typing error."""
_INNER_LETTER = re.compile(r"(?<=\w)[^\W\d_]")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_CAPITALS = re.compile(r"(?<=\s)[^\W\d_a-z]\w+(?:\s+[^\W\d_a-z]\w+)*")
"""A run of words with capitals that is not the first word."""
_LAST_NAME = re.compile(r"(?<=\s)\S+(?:,?\s+(?:[JS]r\.?|[IVX]+))?$", re.IGNORECASE)
_OTHERWISE = re.compile(r"\b(?:of|the|prince|princess|king|queen)\b|^\S+\s+[IVX]+$", re.IGNORECASE)
"""What names have of which the last word is no last name: "Beatrice of Savoy", "Henry II"."""
_APPOSITION = re.compile(r"\s*\(.*|,(?!\s+[JS]r\b).*", re.IGNORECASE)
_END = re.compile(r"(?:['\u2019]s)?[^\w)]*$")
_STROKES = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "ß": "ss",
     "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th"}
)  # fmt: skip


def perturbed(
    questions: Sequence[Question], kind: str, view: GraphView, seed: int = 0
) -> list[Question]:
    """The questions after one of the `commands.PERTURBATIONS`; the same ones for the same seed."""
    return [_perturbed(question, kind, view, seed) for question in questions]


def _perturbed(question: Question, kind: str, view: GraphView, seed: int) -> Question:
    text = question.query.text
    if kind == "lower":
        text = text.lower()
    elif kind == "plain":
        text = without_diacritics(text)
    else:
        random = Random(f"{seed} {question.id}")  # noqa: S311 - not for cryptography
        for begin, end, is_person in sorted(_names(view, text), reverse=True):
            name = text[begin:end]
            if kind == "typo":
                name = with_typo(name, random)
            elif is_person:
                name = last_name(name)
            text = text[:begin] + name + text[end:]
    return replace(question, query=question_of(text), marked=text, topic="")


def _names(view: GraphView, text: str) -> Iterator[tuple[int, int, bool]]:
    """The names in a question, as offsets, and whether they are those of persons."""
    spans = named_spans(view.names, text, ProperNames(view))
    types = view.labels(entity for _, entities in spans for entity in entities)
    for (begin, end), entities in spans:
        kinds = {types[entity][1] for entity in entities if entity in types}
        if not kinds <= VALUE_TYPES:
            article = _ARTICLE.match(text, begin, end)
            yield article.end() if article else begin, end, kinds == {"person"}
    for run in _CAPITALS.finditer(text):
        if all(run.end() <= begin or end <= run.start() for (begin, end), _ in spans):
            yield run.start(), run.end(), False


def with_typo(name: str, random: Random) -> str:
    """The name with a letter left out, doubled or replaced, or two letters swapped.

    The first letter of a word remains. A name of very few letters remains as it is.
    """
    places = [match.start() for match in _INNER_LETTER.finditer(name)]
    if len(places) < _LEAST:
        return name
    at = random.choice(places)
    before, letter, after = name[:at], name[at], name[at + 1 :]
    others = [other for other in string.ascii_lowercase if other != letter.lower()]
    errors = [before + after, before + 2 * letter + after, before + random.choice(others) + after]
    if at - 1 in places and name[at - 1] != letter:
        errors.append(name[: at - 1] + letter + name[at - 1] + after)
    return random.choice(errors)


def last_name(name: str) -> str:
    """The last word of a person's name, with a suffix such as "Jr." or "III".

    What follows in parentheses or after a comma is left out. A name without a last name, such as
    "Beatrice of Savoy", stays.

    >>> last_name("Napier Sturt, 3rd Baron Alington's"), last_name("Beatrice of Savoy")
    ("Sturt's", 'Beatrice of Savoy')
    """
    end = _END.search(name)
    size = end.start() if end else len(name)
    bare = _APPOSITION.sub("", name[:size])
    match = None if _OTHERWISE.search(bare) else _LAST_NAME.search(bare)
    return match[0] + name[size:] if match else name


def without_diacritics(text: str) -> str:
    """The text without accents and other marks: Hernández, Møller and Łódź are plain."""
    parts = unicodedata.normalize("NFD", text.translate(_STROKES))
    return "".join(c for c in parts if unicodedata.category(c) != "Mn")
