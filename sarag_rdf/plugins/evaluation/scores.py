"""Answer scores: exact match, token F1 (SQuAD 1.1), and coverage within a token budget."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from sarag_rdf.base.types import Document

_TRUTH = frozenset({"yes", "no"})


def exact_match(answer: str, known: Iterable[str]) -> float:
    """Exact match: 1 if the answer equals a known answer after normalization, else 0.

    >>> exact_match("The Danube.", ["Donau", "danube"])
    1.0
    """
    normalized = normalize_answer(answer)
    return float(any(normalized == text for text in _nonempty(known)))


def token_f1(answer: str, known: Iterable[str]) -> float:
    """Token F1: the harmonic mean of precision and recall of the bags of normalized words.

    >>> round(token_f1("the river Danube", ["Danube"]), 3)
    0.667
    """
    normalized = normalize_answer(answer).split()
    return max((_overlap(normalized, text.split()) for text in _nonempty(known)), default=0.0)


def matches(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer matches a known answer, compared by words after normalization.

    It matches if it contains the known answer as whole words, or if the known answer contains it
    and it has at least half of its words. For ``yes`` and ``no``, only its first word is compared.
    After "The Reasoning Bottleneck in Graph-RAG", section 4.4, without the comparison of the last
    word only, by which "South Korea" would match "North Korea".

    >>> matches("It is the Danube.", ["Danube"]), matches("Obama", ["Barack Obama"])
    (True, True)
    >>> matches("1990", ["12 June 1990"]), matches("No one knows", ["one"])
    (False, True)
    >>> matches("not known", ["no"]), matches("No, neither", ["no"]), matches("say no", ["no"])
    (False, True, False)
    """
    normalized = normalize_answer(answer)
    return any(_match(normalized, text) for text in _nonempty(known))


def _match(normalized: str, known: str) -> bool:
    words = normalized.split()
    if not words:
        return False
    if known in _TRUTH:
        return words[0] == known
    if f" {known} " in f" {normalized} ":
        return True
    return f" {normalized} " in f" {known} " and 2 * len(words) >= len(known.split())


def _overlap(normalized: list[str], known: list[str]) -> float:
    same = sum((Counter(normalized) & Counter(known)).values())
    return 2 * same / (len(normalized) + len(known)) if same else 0.0


def _nonempty(known: Iterable[str]) -> list[str]:
    """Normalized known answers that are not empty."""
    return [text for text in map(normalize_answer, known) if text]


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Lower-case a text, remove punctuation and articles, and fold white space (SQuAD 1.1)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def count_words(document: Document) -> int:
    """The number of words in title and text, separated by white space."""
    return len(document.title.split()) + len(document.text.split())


def fits_budget(words: int, tokens: int) -> bool:
    """Whether words fit a token budget, at 4/3 tokens per word."""
    return 4 * words <= 3 * tokens


def words_to_answer(answers: Iterable[str], documents: Iterable[Document]) -> int | None:
    """The number of words, in order of rank, up to the end of the first document with an answer.

    Answers are compared as whole words after normalization; empty ones never match. None if no
    document contains an answer.
    """
    targets = [f" {text} " for text in map(normalize_answer, answers) if text]
    words = 0
    for document in documents:
        words += count_words(document)
        context = _context(document.title, document.text)
        if any(answer in context for answer in targets):
            return words
    return None


def contains_answer(answers: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether any text contains any of the answers, compared as in `words_to_answer`.

    >>> contains_answer(["The Danube"], ["Ulm", "It lies on the Danube."])
    True
    """
    targets = [f" {text} " for text in map(normalize_answer, answers) if text]
    return any(answer in _padded(text) for text in texts for answer in targets)


@lru_cache(maxsize=20_000)
def _padded(text: str) -> str:
    return f" {normalize_answer(text)} "


@lru_cache(maxsize=20_000)
def _context(title: str, text: str) -> str:
    # The bar prevents a match across title and text.
    return f" {normalize_answer(title)} | {normalize_answer(text)} "
