"""Okapi BM25 over texts, by bm25s (Lu 2024, arXiv 2407.03618)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
K1, B = 1.2, 0.75


class Bm25Index:
    """A WordIndex in memory; words are runs of letters and digits, case folded."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)
        self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
        words = [_words(text) for text in texts]
        if any(words):
            self._index.index(words, show_progress=False)
        self._empty = not any(words)

    def scores(self, text: str) -> NDArray[np.float32]:
        known = {} if self._empty else self._index.vocab_dict
        words = [word for word in dict.fromkeys(_words(text)) if word in known]
        if not words:
            return np.zeros(self._size, dtype=np.float32)
        return np.asarray(self._index.get_scores(words), dtype=np.float32)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
