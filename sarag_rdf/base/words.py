"""The words of a text as stems, by which those of a question and of a sentence are compared."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import cache, lru_cache
from itertools import repeat
from typing import Any

from Stemmer import Stemmer

from sarag_rdf.base.sentences import STOP_WORDS, sentence_spans

Words = frozenset[str]

_WORD = re.compile(r"\w+")
_FORMS = (
    "birth born",
    "death die died dead",
    "burial bury buried interred",
    "marriage marry married spouse wife husband widow",
    "sibling brother sister",
    "direct director",
    "compose composer",
    "perform performer",
    "write wrote written writer author",
)
"""English words for one thing that a stemmer keeps apart."""
_OF_QUESTIONS = (
    "film movie",
    "found founder",
    "act actor",
    "child children",
    "person people",
    "marriage wives",
    "teach taught",
    "win won",
    "lead led",
    "build built",
    "make made",
    "hold held",
    "sing sang sung",
    "speak spoke spoken",
    "give gave given",
    "know knew known",
    "choose chose chosen",
    "draw drew drawn",
    "take took taken",
    "buy bought",
    "sell sold",
    "begin began begun",
)
"""Further ones, in which questions ask for things."""
_CONVERSE = (
    "parent father mother son daughter child",
    "grandparent grandfather grandmother grandson granddaughter",
)
"""English words for one relation, seen from its two ends."""


def words_of(text: str, language: str) -> Words:
    """The stems of a text's words without stop words; the words, where no stemmer is known.

    "Father" and "son" are one word: who asks for the one may read of the other.
    """
    return frozenset(stems_of(text, language, STOP_WORDS, converse=True))


def stems_of(
    text: str, language: str, stop: Container[str] = (), *, converse: bool = False
) -> list[str]:
    """The stems of the words of a text that are not among the `stop` words, in order.

    With `converse`, words for the two ends of one relation are one, else those of one question.
    """
    words = [word for word in _WORD.findall(text.casefold()) if word not in stop]
    return [*map(_stem, words, repeat(language.partition("-")[0]), repeat(converse))]


@lru_cache(1 << 16)
def _stem(word: str, language: str, converse: bool) -> str:
    """The stem of a word, of an English one of a family that of the first."""
    stem = word if (stemmer := _stemmer(language)) is None else str(stemmer.stemWord(word))
    return _families(converse).get(stem, stem) if language == "en" else stem


def family_of(stem: str) -> str:
    """The first stem of the words for the two ends of one relation that have it, or itself."""
    return _families(True).get(stem, stem)


@cache
def _families(converse: bool) -> dict[str, str]:
    names = _FORMS + (_CONVERSE if converse else _OF_QUESTIONS)
    families = [_stemmer("en").stemWords(family.split()) for family in names]
    return {stem: stems[0] for stems in families for stem in stems}


@cache
def _stemmer(language: str) -> Any:
    """The stemmer of a language, or None."""
    try:
        return Stemmer(language)
    except KeyError:
        return None


def saying(text: str, statement: str, phrase: str, language: str) -> tuple[int, int]:
    """Where the sentence of a text begins and ends that says a statement, or most of it.

    Its phrase and its object count more than its subject, often a pronoun there: each by the share
    of its words that the sentence has.
    """
    subject, _, object_ = statement.partition(f" {phrase} ")
    parts = [(words_of(part, language), n) for part, n in ((subject, 2), (phrase, 3), (object_, 3))]

    def said(span: tuple[int, int]) -> float:
        words = words_of(text[slice(*span)], language)
        return sum(n * len(own & words) / len(own) for own, n in parts if own)

    sentences = sentence_spans(text, headings=False)
    spans = [line for span in sentences for line in _lines(text, span, phrase)]
    return max(spans, key=said, default=(0, 0))


def _lines(text: str, span: tuple[int, int], key: str) -> Iterator[tuple[int, int]]:
    """A sentence, or its lines where one is a value with its key."""
    lines = [*re.finditer(r"[^\n]+", text[slice(*span)])]
    is_split = any(re.match(rf"\W*{re.escape(key)}\W*:", line[0], re.I) for line in lines)
    yield from ((span[0] + m.start(), span[0] + m.end()) for m in lines) if is_split else (span,)
