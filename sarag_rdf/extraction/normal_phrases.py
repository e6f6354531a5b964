"""Phrases in a normal form: the stems of their words, without articles, adverbs and areas."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from sarag_rdf.extraction.names import ENGLISH, english

WILDCARD = "*"
"""In a phrase of an ontology: one to three words of the text."""
NAME = "_"
"""In the words of a relation: the place of another name, which only a wildcard matches."""
COPULA = "is"
"""The normal form of "be" before nouns and prepositions; before participles it is "be"."""
_ARTICLES = english("phrases", "articles")
_ADVERBS = english("phrases", "adverbs")
_NOT_PARTICIPLES = frozenset({"speed", "seed", "breed", "need", "deed", "bed", "shed", "hundred"})
_NOT_ADVERBS = frozenset({"family", "supply", "reply", "ally", "assembly", "monopoly", "july"})
_AREAS = english("phrases", "areas")
"""Nouns that say what kind of place follows: "in the village of"."""
_PARTICIPLES = english("phrases", "participles")
"""Irregular participles of verbs that are not among the irregular verbs below."""
_IRREGULAR: dict[str, str] = {
    form: forms.split()[0]
    for forms in ENGLISH["phrases"]["irregular"].split(";")
    for form in forms.split()
}
"""Forms of irregular verbs -> the verb."""
PREPOSITIONS = english("phrases", "prepositions")


@dataclass(frozen=True, slots=True)
class Word:
    """A normalised word of a phrase; an optional one, such as an adjective, may stay unmatched."""

    stem: str
    is_optional: bool = False
    is_kind: bool = False
    """Whether it makes another office of the next word: "product" of "manager"."""


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The stem of an English word, the same for all inflected forms.

    >>> [stem(word) for word in ("married", "marries", "wrote", "located", "locates", "mapped")]
    ['marri', 'marri', 'write', 'locat', 'locat', 'map']
    """
    word = word.lower()
    for form in (word, word.removesuffix("s")):
        if form in _IRREGULAR:
            return _IRREGULAR[form]
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-2]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    else:
        if word.endswith(("sses", "shes", "ches", "xes", "zes")):
            word = word[:-2]
        elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


_AREA_STEMS = frozenset(stem(word) for word in _AREAS)


def normalize_phrase(phrase: str) -> tuple[Word, ...]:
    """The stems of a phrase without articles, adverbs, and the auxiliary "have".

    >>> [word.stem for word in normalize_phrase("has also been awarded the")]
    ['be', 'award']
    >>> [word.stem for word in normalize_phrase("was born in the village of")]
    ['be', 'born', 'in']
    """
    words = re.findall(r"[^\W_]+(?:[-'\u2019][^\W_]+)*|\*", phrase)
    return normalize_words(tuple(map(Word, words)))


@lru_cache(maxsize=8192)
def normalize_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The same for words in the form of the text."""
    lower = (replace(word, stem=word.stem.lower()) for word in words)
    plain = [word for word in lower if not is_function_word(word.stem)]
    result: list[Word] = []
    for position, word in enumerate(plain):
        following = next((w.stem for w in plain[position + 1 :] if not w.is_optional), "")
        root = word.stem if word.stem in (WILDCARD, NAME) else stem(word.stem)
        if root in ("have", "be") and stem(following) == "be":
            continue
        if root == "have" and is_participle(following):
            continue
        if root == "be" and not is_participle(following):
            root = COPULA
        result.append(replace(word, stem=root))
    is_bare = result and is_participle(plain[0].stem) and result[0].stem != "be"
    if is_bare and result[-1].stem == "by":
        result.insert(0, Word("be"))
    return _without_areas(result)


def _without_areas(words: list[Word]) -> tuple[Word, ...]:
    """Without "village of" after a preposition."""
    position = 1
    while position + 1 < len(words):
        is_area = words[position].stem in _AREA_STEMS and words[position + 1].stem in ("of", "in")
        before = next((w for w in reversed(words[:position]) if not w.is_optional), None)
        if is_area and before and before.stem in PREPOSITIONS:
            del words[position : position + 2]
            while words[position - 1].is_optional:
                del words[position - 1]
                position -= 1
        else:
            position += 1
    return tuple(words)


def stems_of(phrase: str) -> tuple[str, ...]:
    """The stems of the words of `normalize_phrase`."""
    return tuple(word.stem for word in normalize_phrase(phrase))


def is_function_word(word: str) -> bool:
    """Whether a word is an article, a possessive, or an adverb, which phrases ignore."""
    lower = word.lower()
    is_adverb = lower.endswith("ly") and len(lower) > 4 and lower not in _NOT_ADVERBS
    return lower in _ARTICLES or lower in _ADVERBS or is_adverb


def is_participle(word: str) -> bool:
    """Whether a word looks like the past tense or the participle of a verb."""
    if word in _NOT_PARTICIPLES:
        return False
    verb = _IRREGULAR.get(word)
    is_form = word.endswith("ed") if verb is None else word != verb and not word.endswith("s")
    return is_form or word in _PARTICIPLES
