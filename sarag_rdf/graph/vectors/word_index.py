"""Okapi BM25 with an inverted index in arrays that can be memory-mapped.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, Foundations and
Trends in Information Retrieval 3(4), 2009, section 3.4, equation 3.15; the idf is Lucene's, never
below 0 (Kamphuis et al., Which BM25 Do You Mean?, ECIR 2020).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, Rows, find, find_all, narrow, packed

_WORD = re.compile(r"\w+")
K1, B = 1.2, 0.75
_ARRAYS = ("starts", "rows", "counts", "lengths")


class Bm25Index:
    """A `WordIndex`; words are runs of letters, digits and underscores, case folded.

    The postings of word i are those from ``starts[i]`` to ``starts[i + 1]``: `rows` are the texts
    that contain it, ascending, and `counts` its frequencies in them. `lengths` are the numbers of
    words per text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words, self._arrays = _build(texts)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`."""
        index = cls.__new__(cls)
        index._words = IriList.of_arrays(arrays, "words")
        index._arrays = {name: arrays[name] for name in _ARRAYS}
        return index

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The index as named arrays, for a file; equal texts give equal arrays."""
        return self._words.arrays("words") | self._arrays

    def __len__(self) -> int:
        return len(self._arrays["lengths"])

    def scores(self, text: str) -> NDArray[np.float32]:
        """One score per text; only the postings of the words in the query are read."""
        scores = np.zeros(len(self), dtype=np.float32)
        starts, lengths = self._arrays["starts"], self._arrays["lengths"]
        for word in dict.fromkeys(_words(text)):
            number = find(self._words, word)
            if number < 0:
                continue
            postings = slice(int(starts[number]), int(starts[number + 1]))
            rows, counts = self._arrays["rows"][postings], self._arrays["counts"][postings]
            relative = lengths[rows] / self._mean
            idf = np.log(1 + (len(self) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * counts / (counts + K1 * (1 - B + B * relative))
        return scores

    @cached_property
    def _mean(self) -> float:
        """The mean number of words per text."""
        return float(self._arrays["lengths"].mean(dtype=np.float64))

    def changed(self, merge: Merge, texts: Sequence[str]) -> Self:
        """The index after texts were deleted and inserted as described by `merge`."""
        other = Bm25Index(texts)
        rows = merge.rows(len(self))[self._arrays["rows"]]
        remains = rows >= 0
        numbers = _numbers(self._arrays["starts"])[remains]
        added, unused = self._other_words(other, numbers)
        words = Merge.of(self._words, unused, added)
        vocabulary = words.iris(self._words, IriList.of(added))

        lengths = merge.values(self._arrays["lengths"], other._arrays["lengths"])
        numbers = words.rows(len(self._words))[numbers]
        new_numbers = find_all(vocabulary, list(other._words))[_numbers(other._arrays["starts"])]
        new_rows = merge.new_rows()[other._arrays["rows"]]
        keys, new_keys = (
            word * len(lengths) + row
            for word, row in ((numbers, rows[remains]), (new_numbers, new_rows))
        )
        order = np.argsort(new_keys)
        positions = np.searchsorted(keys, new_keys[order])
        counts = self._arrays["counts"][remains]
        return self.of_arrays(
            vocabulary.arrays("words")
            | _narrow(
                starts=_starts(np.insert(numbers, positions, new_numbers[order]), len(vocabulary)),
                rows=np.insert(rows[remains], positions, new_rows[order]),
                counts=np.insert(counts, positions, other._arrays["counts"][order]),
                lengths=lengths,
            )
        )

    def _other_words(self, other: Bm25Index, remaining: Rows) -> tuple[list[str], list[str]]:
        """Words that only the other index contains, and words that neither contains any longer.

        `remaining` are the numbers of the words of the remaining postings.
        """
        new = list(other._words)
        known = find_all(self._words, new)
        added = [word for word, number in zip(new, known.tolist(), strict=True) if number < 0]
        used = np.concatenate([remaining, known[known >= 0]])
        frequencies = np.bincount(used, minlength=len(self._words))
        return added, [self._words[number] for number in np.flatnonzero(frequencies == 0).tolist()]


def _build(texts: Iterable[str]) -> tuple[IriList, dict[str, NDArray[Any]]]:
    numbers: dict[str, int] = {}
    words, counts, distinct, lengths = (array("i") for _ in range(4))
    for text in texts:
        frequencies = Counter(_words(text))
        words.extend(numbers.setdefault(word, len(numbers)) for word in frequencies)
        counts.extend(frequencies.values())
        distinct.append(len(frequencies))
        lengths.append(frequencies.total())
    ascending = sorted(numbers)
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[[numbers[word] for word in ascending]] = np.arange(len(numbers))
    ranked_words = ranks[np.array(words, dtype=np.int32)]
    order = np.argsort(ranked_words, kind="stable")
    rows = np.repeat(np.arange(len(distinct)), np.array(distinct, dtype=np.int32))
    return IriList(*packed(ascending)), _narrow(
        starts=_starts(ranked_words[order], len(ascending)),
        rows=rows[order],
        counts=np.array(counts, dtype=np.int32)[order],
        lengths=np.array(lengths, dtype=np.int32),
    )


def _narrow(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {name: narrow(values) for name, values in arrays.items()}


def _starts(numbers: Rows, size: int) -> Rows:
    """The start of the postings of each word, from the ascending word numbers of all postings."""
    return np.searchsorted(numbers, np.arange(size + 1))


def _numbers(starts: Rows) -> Rows:
    """The word number of each posting."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
