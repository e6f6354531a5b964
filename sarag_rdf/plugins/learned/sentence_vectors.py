"""The candidates of a sentence with the vectors of their texts, which features compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.plugins.learned.candidates import Candidate, find_candidates
from sarag_rdf.plugins.learned.contexts import path_phrase, path_tokens, window_words

Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Floats]

STOP_WORDS = frozenset(
    "is a an the of in at by to and was were has have had for with on as it its".split()
)


@dataclass(frozen=True)
class SentenceVectors:
    """The candidates of one sentence with the vectors of their path phrases and windows."""

    sentence: Span
    candidates: tuple[Candidate, ...]
    paths: tuple[str, ...]
    path_vectors: Floats
    windows: tuple[tuple[str, ...], ...]
    window_vectors: Floats
    text_vectors: Floats
    name_vectors: Floats
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, sentence: Span, embed: Embed) -> SentenceVectors:
        """The vectors of a sentence of a parsed text."""
        return cls.of_all([sentence], embed)[0]

    @classmethod
    def of_all(cls, sentences: Sequence[Span], embed: Embed) -> list[SentenceVectors]:
        """The vectors of many sentences, whose texts are embedded together."""
        read = [_SentenceTexts.of(sentence) for sentence in sentences]
        embed(sorted({text for texts in read for text in texts.all()}))
        return [
            cls(
                texts.sentence, texts.candidates, texts.paths, embed(texts.paths),
                tuple(tuple(names) for names, _ in texts.windows),
                mean_of_words(texts.windows, embed), mean_of_words(texts.common, embed),
                mean_of_words(texts.names, embed), texts.words,
            )
            for texts in read
        ]  # fmt: skip


_Weighted = tuple[Sequence[str], Sequence[float]]
"""Words with their weights."""


@dataclass(frozen=True)
class _SentenceTexts:
    """What is embedded of a sentence."""

    sentence: Span
    candidates: tuple[Candidate, ...]
    paths: tuple[str, ...]
    windows: tuple[_Weighted, ...]
    common: tuple[_Weighted, ...]
    names: tuple[_Weighted, ...]
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, sentence: Span) -> _SentenceTexts:
        doc = sentence.doc
        candidates = tuple(find_candidates(sentence))
        words = tuple(
            tuple(
                t.lower_ for t in path_tokens(doc, c) if t.is_alpha and t.lower_ not in STOP_WORDS
            )
            for c in candidates
        )
        return cls(
            sentence,
            candidates,
            tuple(path_phrase(doc, c) for c in candidates),
            tuple(window_words(sentence, c) for c in candidates),
            tuple(_common_words(doc, c) for c in candidates),
            tuple(_words_of_name(c.text) for c in candidates),
            words,
        )

    def all(self) -> Iterator[str]:
        """All texts."""
        yield from self.paths
        for words, _ in (*self.windows, *self.common, *self.names):
            yield from words
        for path in self.words:
            yield from path


def _common_words(doc: Doc, candidate: Candidate) -> tuple[list[str], list[float]]:
    """The words of a candidate that are no names; the last one counts twice."""
    tokens = [t for t in doc[candidate.begin : candidate.end] if t.is_alpha and t.pos_ != "PROPN"]
    weights = [1.0] * len(tokens)
    weights[-1:] = [2.0] * bool(tokens)
    return [t.lower_ for t in tokens], weights


def mean_of_words(phrases: Sequence[tuple[Sequence[str], Sequence[float]]], embed: Embed) -> Floats:
    """Shape (phrases, d): unit weighted means of the vectors of single words; zero for no words."""
    vocabulary = sorted({word for words, _ in phrases for word in words})
    if not vocabulary:
        return np.zeros((len(phrases), embed(["is"]).shape[1]), np.float32)
    table = embed(vocabulary)
    position = {word: row for row, word in enumerate(vocabulary)}
    result = np.zeros((len(phrases), table.shape[1]), np.float32)
    for row, (words, weights) in enumerate(phrases):
        if words:
            vector = np.array(weights, np.float32) @ table[[position[word] for word in words]]
            result[row] = vector / max(1e-9, float(np.linalg.norm(vector)))
    return result


def vectors_of_names(names: Sequence[str], embed: Embed) -> Floats:
    """Shape (names, d): means of the vectors of all words; the last one counts twice.

    What a name is like, without what is said of it: "Cardiff" is near "Swansea".
    """
    return mean_of_words([_words_of_name(name) for name in names], embed)


def _words_of_name(name: str) -> _Weighted:
    words = re.findall(r"[^\W\d_]+", name.lower())
    return words, [1.0] * (len(words) - 1) + [2.0] * bool(words)
