"""Answer scores: exact match, token F1 (SQuAD 1.1), and coverage within a token budget."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from sarag_rdf.types import Document

_TRUTH = frozenset({"yes", "no"})


def exact(answer: str, known: Iterable[str]) -> float:
    """1 if the answer is a known one after normalisation, else 0.

    >>> exact("The Danube.", ["Donau", "danube"])
    1.0
    """
    given = normalised(answer)
    return float(any(given == text for text in _filled(known)))


def token_f1(answer: str, known: Iterable[str]) -> float:
    """Harmonic mean of precision and recall of normalised words, each as often as it occurs.

    >>> round(token_f1("the river Danube", ["Danube"]), 3)
    0.667
    """
    given = normalised(answer).split()
    return max((_overlap(given, text.split()) for text in _filled(known)), default=0.0)


def matches(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer says a known one, as far as words tell.

    It does if, both normalised, the known answer stands in it as whole words; or if it stands in
    the known one and has at least half of its words. For ``yes`` and ``no`` its first word counts
    alone. After "The Reasoning Bottleneck in Graph-RAG", section 4.4, without its comparison of
    the last word alone, by which "South Korea" would match "North Korea".

    >>> matches("It is the Danube.", ["Danube"]), matches("Obama", ["Barack Obama"])
    (True, True)
    >>> matches("1990", ["12 June 1990"]), matches("No one knows", ["one"])
    (False, True)
    >>> matches("not known", ["no"]), matches("No, neither", ["no"]), matches("say no", ["no"])
    (False, True, False)
    """
    given = normalised(answer)
    return any(_match(given, text) for text in _filled(known))


def _match(given: str, known: str) -> bool:
    words = given.split()
    if not words:
        return False
    if known in _TRUTH:
        return words[0] == known
    if f" {known} " in f" {given} ":
        return True
    return f" {given} " in f" {known} " and 2 * len(words) >= len(known.split())


def _overlap(given: list[str], known: list[str]) -> float:
    same = sum((Counter(given) & Counter(known)).values())
    return 2 * same / (len(given) + len(known)) if same else 0.0


def _filled(known: Iterable[str]) -> list[str]:
    """Known answers, normalised, without those of which nothing is left."""
    return [text for text in map(normalised, known) if text]


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
