"""The sentence of a retrieved document that best shows why it was retrieved."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from sarag_rdf.context.graph_walk import STOP_WORDS
from sarag_rdf.sentences import sentence_spans

_WORD = re.compile(r"\w+")


def key_sentences(
    texts: Iterable[str], question: str, paths: Iterable[str]
) -> list[tuple[int, int]]:
    """(begin, end) in code points of one sentence of each text, or (0, 0) of an empty one.

    `paths` gives for each text the names along the path of activation that led to it. A sentence
    scores the sum of ``log(1 + N / df)`` over the words that it shares with the question or the
    path, where df of the N sentences of all texts contain the word. Stop words do not count, and
    the first of equal sentences wins. No model is needed.
    """
    asked = _words(question)
    sentences = [
        [(span, _words(text[slice(*span)])) for span in sentence_spans(text)] for text in texts
    ]
    frequency = Counter(word for of_text in sentences for _, words in of_text for word in words)
    total = sum(len(of_text) for of_text in sentences)

    def score(words: set[str], requested: set[str]) -> float:
        return sum(math.log(1 + total / frequency[word]) for word in sorted(words & requested))

    chosen = []
    for of_text, path in zip(sentences, paths, strict=True):
        requested = asked | _words(path)
        best = max(of_text, key=lambda item: score(item[1], requested), default=((0, 0), set()))
        chosen.append(best[0])
    return chosen


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - STOP_WORDS
