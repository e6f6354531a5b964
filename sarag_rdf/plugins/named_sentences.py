"""Sentences of a text on one line each, and those that name a thing, for extractors by models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.sentences import sentence_spans

# Thai to Lao, Burmese, Khmer, kana, Chinese characters: scripts without spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, with every run of white space replaced by one space."""
    return [" ".join(text[begin:end].split()) for begin, end in sentence_spans(text)]


class WordMatcher:
    """Finds normalised names in a text as whole words."""

    def __init__(self, text: str) -> None:
        self._text = f" {normalize_name(text)} "

    def contains(self, name: str) -> bool:
        """Whether the name occurs; in scripts without spaces, not only at word boundaries."""
        key = normalize_name(name)
        if not key:
            return False
        return (key if _UNSPACED.search(key) else f" {key} ") in self._text


def sentences_with_name(forms: Iterable[str], sentences: Sequence[str]) -> list[str]:
    """The sentences that contain one of the forms, normalised, as whole words."""
    names = [form for form in forms if form.strip()]
    return [s for s in sentences if any(map(WordMatcher(s).contains, names))]
