"""Whether an answer stands in what a reader with a limited context would be given."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache

from sarag_rdf.types import Document

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles, white space folded (SQuAD 1.1)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def words_of(document: Document) -> int:
    """Words between white space, of title and text."""
    return len(document.title.split()) + len(document.text.split())


def fits(words: int, tokens: int) -> bool:
    """Whether so many words fit a budget; a word counts as 4/3 tokens."""
    return 4 * words <= 3 * tokens


def words_to_answer(answers: Iterable[str], documents: Iterable[Document]) -> int | None:
    """How many words are read, in order of rank, to the end of the document with the answer.

    Any of the answers counts, normalised and as whole words; None if none of them is there.
    Answers that are nothing but articles and punctuation are nowhere.
    """
    wanted = [f" {text} " for text in map(normalised, answers) if text]
    words = 0
    for document in documents:
        words += words_of(document)
        context = _context(document.title, document.text)
        if any(answer in context for answer in wanted):
            return words
    return None


def any_holds(answers: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether any of the answers stands in any of the texts, compared as `words_to_answer` does.

    >>> any_holds(["The Danube"], ["Ulm", "It lies on the Danube."])
    True
    """
    wanted = [f" {text} " for text in map(normalised, answers) if text]
    return any(answer in _bare(text) for text in texts for answer in wanted)


@lru_cache(maxsize=20_000)
def _bare(text: str) -> str:
    return f" {normalised(text)} "


@lru_cache(maxsize=20_000)
def _context(title: str, text: str) -> str:
    return f" {normalised(title)} | {normalised(text)} "  # no answer reaches over the bar
