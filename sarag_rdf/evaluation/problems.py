"""What is wrong with the input of an evaluation: counted, said, and never silently scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sarag_rdf.evaluation.corpus import Corpus
from sarag_rdf.evaluation.questions import Question, QuestionFile
from sarag_rdf.evaluation.scores import normalised

SAYING = {
    "duplicate_passages": "passages that the corpus holds already, left out",
    "empty_passages": "passages without a text, left out",
    "duplicate_question_ids": "questions with the id of an earlier one, left out",
    "questions_without_support": "questions that mark no supporting paragraph, without recall",
    "questions_with_support_not_in_corpus": "questions with a supporting paragraph that the corpus "
    "does not hold, without recall",
    "questions_with_support_not_in_graph": "questions with a supporting passage that is not in the "
    "graph, which counts as not found",
    "questions_without_answer": "questions without an answer, without coverage",
    "questions_answered_yes_or_no": "questions answered yes or no, which chance covers",
    "documents_without_extraction": "documents that the file of --extractor does not know, not "
    "indexed",
    "passages_not_in_graph": "passages that are not in the graph, so that no method can find them",
    "documents_of_no_passage": "documents of the graph that are part of no passage, counted as "
    "misses",
}
"""What is counted -> what is said before the count."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, and the places in the corpus of its supporting passages.

    `supporting` is empty if recall cannot be told: the file marks none, or the corpus lacks one.
    """

    question: Question
    supporting: tuple[int, ...]


def judged(questions: Iterable[Question], corpus: Corpus) -> list[Judged]:
    """Find the supporting passages of each question."""
    return [Judged(question, _places(question, corpus)) for question in questions]


def _places(question: Question, corpus: Corpus) -> tuple[int, ...]:
    places = dict.fromkeys(corpus.number(*paragraph) for paragraph in question.supporting)
    found = tuple(place for place in places if place is not None)
    return found if len(found) == len(places) else ()


def troubles(
    corpus: Corpus,
    file: QuestionFile,
    questions: Sequence[Judged],
    documents: Iterable[tuple[str, str]],
    unextracted: int,
) -> dict[str, int]:
    """Counts by the keys of `SAYING`; `documents` are (title, text) of all in the graph."""
    parts = [corpus.number_of_part(title, text) for title, text in documents]
    held = {part for part in parts if part is not None}
    answers = [set(map(normalised, q.question.answers)) for q in questions]
    unheld = [q for q in questions if not held.issuperset(q.supporting)]
    without = [q for q in questions if not q.supporting]
    unmarked = [q for q in without if not q.question.supporting]
    return {
        "duplicate_passages": corpus.duplicates,
        "empty_passages": corpus.empty,
        "duplicate_question_ids": file.duplicates,
        "questions_without_support": len(unmarked),
        "questions_with_support_not_in_corpus": len(without) - len(unmarked),
        "questions_with_support_not_in_graph": len(unheld),
        "questions_without_answer": sum(not q.question.has_answer for q in questions),
        "questions_answered_yes_or_no": sum(bool({"yes", "no"} & found) for found in answers),
        "documents_without_extraction": unextracted,
        "passages_not_in_graph": len(corpus.passages) - len(held),
        "documents_of_no_passage": parts.count(None),
    }


def trouble_lines(counts: Mapping[str, int], saying: Mapping[str, str] = SAYING) -> Iterator[str]:
    """A line for each kind of trouble that there is."""
    return (f"{saying[kind]}: {count}" for kind, count in counts.items() if count)
