"""The words of a text as stems, by which those of a question and of a sentence are compared."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import repeat
from typing import Any

from Stemmer import Stemmer

from sarag_rdf.base.sentences import STOP_WORDS

Words = frozenset[str]

_WORD = re.compile(r"\w+")
_FAMILIES = (
    "birth born",
    "death die died dead",
    "burial bury buried interred",
    "marriage marry married spouse wife husband widow",
    "parent father mother son daughter child",
    "grandparent grandfather grandmother grandson granddaughter",
    "sibling brother sister",
    "direct director",
    "compose composer",
    "perform performer",
    "write wrote written writer author",
)
"""English words that ask for one thing and that a stemmer keeps apart."""


def words_of(text: str, language: str) -> Words:
    """The stems of a text's words without stop words; the words, where no stemmer is known."""
    words = _WORD.findall(text.casefold())
    return frozenset(map(_stem, words, repeat(language.partition("-")[0]))) - {""}


@lru_cache(1 << 16)
def _stem(word: str, language: str) -> str:
    """The stem of a word, of an English one of `_FAMILIES` that of the first; "" for stop words."""
    if word in STOP_WORDS:
        return ""
    stem = word if (stemmer := _stemmer(language)) is None else str(stemmer.stemWord(word))
    return _families().get(stem, stem) if language == "en" else stem


@cache
def _families() -> dict[str, str]:
    families = [_stemmer("en").stemWords(family.split()) for family in _FAMILIES]
    return {stem: stems[0] for stems in families for stem in stems}


@cache
def _stemmer(language: str) -> Any:
    """The stemmer of a language, or None."""
    try:
        return Stemmer(language)
    except KeyError:
        return None
