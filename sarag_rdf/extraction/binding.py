"""Binding of arguments to a text: the span of the text that an argument of a model's reply is.

Models change spelling, add what they know ("Ulm, Germany") and normalise dates. An argument is
bound by the first of these that succeeds:

1. it occurs in the text as it is, as whole words;
2. its words occur without regard to case, accents, punctuation and plural endings;
3. it is a date, number or other value that the text writes differently: "1905-03-12" is bound to
   "12 March 1905";
4. it is a place or people whose adjective occurs: "Italy" is bound to "Italian";
5. the longest run of its words that occurs has more than half of its characters and begins with
   its first word ("Ulm, Germany"), or has two words and more than two thirds of its characters.

A qualifier in brackets at the end of an argument need not occur.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from sarag_rdf.extraction.names import soft_text
from sarag_rdf.extraction.values import ValueSpan, find_values

_ARTICLE = re.compile(r"(?:the|an|a)\s+(?=\S)")
"""In lower case: that of "The Hague" is part of the name."""
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+")
"""A word, or initials: "U.S." is the word "us"."""
_ADJECTIVE_ENDINGS = ("", "n", "an", "ian", "ese", "i", "ish", "ic")
"""Endings of adjectives of countries, after the name without its last vowels."""
_PRONOUNS = frozenset(
    "he him his she her hers it its they them their theirs this that these those who which i me my "
    "we us our you your".split()
)
_MIN_STEM = 4


@dataclass(frozen=True, slots=True)
class BoundArgument:
    """An argument and its place ``text[begin:end]``, offsets in Unicode code points.

    `name` is the text at that place, or the name of a place of which the text has the adjective.
    """

    name: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class _Word:
    key: str
    begin: int
    end: int


class TextBinder:
    """Binds arguments to one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def values(self) -> list[ValueSpan]:
        """The values in the text."""
        return find_values(self.text)

    def bind(self, argument: str) -> BoundArgument | None:
        """The place of an argument, the first of several; None if the text does not contain it.

        A pronoun is not an argument.

        >>> TextBinder("Born in Zürich on 12 March 1905.").bind("1905-03-12").name
        '12 March 1905'
        """
        argument = " ".join(argument.split()).strip("\"'“”‘’ ")
        words = _words(argument)
        if not words or argument.casefold() in _PRONOUNS:
            return None
        bare = _QUALIFIER.sub("", argument)
        return (
            self._exact(argument)
            or self._run(words)
            or self._run(_words(bare))
            or self._value(argument)
            or self._adjective(argument)
            or self._partial_run(_words(bare))
        )

    def _exact(self, argument: str) -> BoundArgument | None:
        spaced = r"\s+".join(map(re.escape, argument.split()))
        match = re.search(rf"(?<!\w){spaced}(?!\w)", self.text)
        return self._bound(*match.span()) if match else None

    @cached_property
    def _words(self) -> list[_Word]:
        return _words(self.text)

    def _run(self, words: Sequence[_Word]) -> BoundArgument | None:
        """The place of all the words, one after another."""
        position, size = self._longest_run(words)
        return self._bound_words(position, size) if words and size == len(words) else None

    def _partial_run(self, words: Sequence[_Word]) -> BoundArgument | None:
        """The place of most of the words: of those at the beginning, or of any two or more."""
        total = sum(len(word.key) for word in words)
        for start in range(len(words)):
            position, size = self._longest_run(words[start:])
            share = sum(len(word.key) for word in words[start : start + size])
            if 2 * share > total and start == 0:
                return self._bound_words(position, size)
            if 3 * share > 2 * total and size > 1:
                return self._bound_words(position, size)
        return None

    def _longest_run(self, words: Sequence[_Word]) -> tuple[int, int]:
        """Place and number of the words at the beginning that occur one after another."""
        best, position = 0, 0
        for begin in range(len(self._words)):
            pairs = zip(words, self._words[begin:], strict=False)
            size = sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, pairs))
            if size > best:
                best, position = size, begin
        return position, best

    def _bound_words(self, position: int, size: int) -> BoundArgument:
        return self._bound(self._words[position].begin, self._words[position + size - 1].end)

    def _value(self, argument: str) -> BoundArgument | None:
        keys = {soft_text(argument)}
        values = [span for span in find_values(argument) if span.begin == 0]
        whole = [span for span in values if not any(map(str.isupper, argument[span.end :]))]
        keys |= {soft_text(span.value.lexical) for span in whole}
        for span in self.values:
            if soft_text(span.value.lexical) in keys:
                return self._bound(span.begin, span.end)
        return None

    def _adjective(self, argument: str) -> BoundArgument | None:
        stem = _folded(argument).rstrip("aeiouy")
        if not argument[:1].isupper() or " " in argument or len(stem) < _MIN_STEM - 1:
            return None
        whole = _folded(argument)
        forms = {stem + ending for ending in _ADJECTIVE_ENDINGS} | {whole + "n", whole + "an"}
        forms.discard(whole)
        for word in self._words:
            text = self.text[word.begin : word.end]
            if text[:1].isupper() and _folded(text) in forms:
                return BoundArgument(argument, word.begin, word.end)
        return None

    def _bound(self, begin: int, end: int) -> BoundArgument:
        if "(" in self.text[begin:end] and self.text[end : end + 1] == ")":
            end += 1
        if article := _ARTICLE.match(self.text, begin, end):
            begin = article.end()
        return BoundArgument(" ".join(self.text[begin:end].split()), begin, end)


def _words(text: str) -> list[_Word]:
    return [_Word(_key(match[0]), *match.span()) for match in _WORD.finditer(text)]


def _key(word: str) -> str:
    folded = _folded(word).replace(".", "")
    return folded.removesuffix("s") if len(folded) > _MIN_STEM else folded


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))
