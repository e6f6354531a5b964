"""Problems in the input of an evaluation, which are counted and reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sarag_rdf.plugins.evaluation.corpus import Corpus
from sarag_rdf.plugins.evaluation.questions import Question, QuestionFile
from sarag_rdf.plugins.evaluation.scores import normalize_answer

DESCRIPTIONS = {
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
    "passages_not_in_graph": "passages missing from the graph, which no method can retrieve",
    "documents_of_no_passage": "documents of the graph outside of all passages, counted as misses",
}
"""Kind of problem -> description, which is printed before the count."""


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


def count_problems(
    corpus: Corpus,
    file: QuestionFile,
    questions: Sequence[JudgedQuestion],
    documents: Iterable[tuple[str, str]],
    unextracted: int,
) -> dict[str, int]:
    """Counts by the keys of `DESCRIPTIONS`; `documents` are (title, text) of the whole graph."""
    parts = [corpus.index_of_part(title, text) for title, text in documents]
    indexed = {part for part in parts if part is not None}
    answers = [set(map(normalize_answer, q.question.answers)) for q in questions]
    unindexed = [q for q in questions if not indexed.issuperset(q.supporting)]
    unjudged = [q for q in questions if not q.supporting]
    unmarked = [q for q in unjudged if not q.question.supporting]
    return {
        "duplicate_passages": corpus.duplicates,
        "empty_passages": corpus.empty,
        "duplicate_question_ids": file.duplicates,
        "questions_without_support": len(unmarked),
        "questions_with_support_not_in_corpus": len(unjudged) - len(unmarked),
        "questions_with_support_not_in_graph": len(unindexed),
        "questions_without_answer": sum(not q.question.has_answer for q in questions),
        "questions_answered_yes_or_no": sum(bool({"yes", "no"} & texts) for texts in answers),
        "documents_without_extraction": unextracted,
        "passages_not_in_graph": len(corpus.passages) - len(indexed),
        "documents_of_no_passage": parts.count(None),
    }


def problem_lines(
    counts: Mapping[str, int], descriptions: Mapping[str, str] = DESCRIPTIONS
) -> Iterator[str]:
    """A line for each kind of problem that occurs."""
    return (f"{descriptions[kind]}: {count}" for kind, count in counts.items() if count)
