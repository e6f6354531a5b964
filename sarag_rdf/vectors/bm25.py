"""Okapi BM25 over texts, with its postings in arrays that may lie in a file.

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

from sarag_rdf.arrays import IriList, Merge, Rows, find, find_all, narrow, packed

_WORD = re.compile(r"\w+")
K1, B = 1.2, 0.75
_ARRAYS = ("starts", "rows", "counts", "lengths")


class Bm25Index:
    """A WordIndex; words are runs of letters and digits, case folded.

    Word number i has the postings from ``starts[i]`` to ``starts[i + 1]``: in `rows` the texts that
    hold it, ascending, and in `counts` how often. `lengths` are words a text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words, self._arrays = _indexed(texts)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The index whose `arrays` these are."""
        made = cls.__new__(cls)
        made._words = IriList.of_arrays(arrays, "words")
        made._arrays = {name: arrays[name] for name in _ARRAYS}
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds, to be kept in a file; equal for equal texts."""
        return self._words.arrays("words") | self._arrays

    def __len__(self) -> int:
        return len(self._arrays["lengths"])

    def scores(self, text: str) -> NDArray[np.float32]:
        """One score a text; only the postings of the words asked for are looked at."""
        scores = np.zeros(len(self), dtype=np.float32)
        starts, lengths = self._arrays["starts"], self._arrays["lengths"]
        for word in dict.fromkeys(_words(text)):
            number = find(self._words, word)
            if number < 0:
                continue
            held = slice(int(starts[number]), int(starts[number + 1]))
            rows, counts = self._arrays["rows"][held], self._arrays["counts"][held]
            relative = lengths[rows] / self._mean
            idf = np.log(1 + (len(self) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * counts / (counts + K1 * (1 - B + B * relative))
        return scores

    @cached_property
    def _mean(self) -> float:
        """Words a text."""
        return float(self._arrays["lengths"].mean(dtype=np.float64))

    def changed(self, merge: Merge, texts: Sequence[str]) -> Self:
        """The index after some texts went and others came, as `merge` says."""
        other = Bm25Index(texts)
        rows = merge.rows(len(self))[self._arrays["rows"]]
        is_kept = rows >= 0
        numbers = _numbers(self._arrays["starts"])[is_kept]
        added, unused = self._other_words(other, numbers)
        words = Merge.of(self._words, unused, added)
        vocabulary = words.iris(self._words, IriList.of(added))

        lengths = merge.values(self._arrays["lengths"], other._arrays["lengths"])
        numbers = words.rows(len(self._words))[numbers]
        new_numbers = find_all(vocabulary, list(other._words))[_numbers(other._arrays["starts"])]
        new_rows = merge.new_rows()[other._arrays["rows"]]
        keys, new_keys = (
            word * len(lengths) + row
            for word, row in ((numbers, rows[is_kept]), (new_numbers, new_rows))
        )
        order = np.argsort(new_keys)
        places = np.searchsorted(keys, new_keys[order])
        counts = self._arrays["counts"][is_kept]
        return self.of_arrays(
            vocabulary.arrays("words")
            | _narrow(
                starts=_starts(np.insert(numbers, places, new_numbers[order]), len(vocabulary)),
                rows=np.insert(rows[is_kept], places, new_rows[order]),
                counts=np.insert(counts, places, other._arrays["counts"][order]),
                lengths=lengths,
            )
        )

    def _other_words(self, other: Bm25Index, left: Rows) -> tuple[list[str], list[str]]:
        """Words that another index has beside these, and those that neither has any more.

        `left` are the numbers of the words of the postings that stay.
        """
        new = list(other._words)
        known = find_all(self._words, new)
        added = [word for word, number in zip(new, known.tolist(), strict=True) if number < 0]
        is_used = np.bincount(np.concatenate([left, known[known >= 0]]), minlength=len(self._words))
        return added, [self._words[number] for number in np.flatnonzero(is_used == 0).tolist()]


def _indexed(texts: Iterable[str]) -> tuple[IriList, dict[str, NDArray[Any]]]:
    numbers: dict[str, int] = {}
    words, counts, distinct, lengths = (array("i") for _ in range(4))
    for text in texts:
        found = Counter(_words(text))
        words.extend(numbers.setdefault(word, len(numbers)) for word in found)
        counts.extend(found.values())
        distinct.append(len(found))
        lengths.append(found.total())
    ascending = sorted(numbers)
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[[numbers[word] for word in ascending]] = np.arange(len(numbers))
    found_words = ranks[np.array(words, dtype=np.int32)]
    order = np.argsort(found_words, kind="stable")
    rows = np.repeat(np.arange(len(distinct)), np.array(distinct, dtype=np.int32))
    return IriList(*packed(ascending)), _narrow(
        starts=_starts(found_words[order], len(ascending)),
        rows=rows[order],
        counts=np.array(counts, dtype=np.int32)[order],
        lengths=np.array(lengths, dtype=np.int32),
    )


def _narrow(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {name: narrow(values) for name, values in arrays.items()}


def _starts(numbers: Rows, size: int) -> Rows:
    """Where the postings of each word begin, of the ascending numbers of words."""
    return np.searchsorted(numbers, np.arange(size + 1))


def _numbers(starts: Rows) -> Rows:
    """The number of the word of each posting."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
