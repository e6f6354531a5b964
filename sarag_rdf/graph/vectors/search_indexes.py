"""Search indexes: exact cosine search over a matrix that may be memory-mapped; BM25 of words."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, Rows, find, find_all, narrow, rows_of
from sarag_rdf.base.ports import Matrix, Vector

SAMPLE = 4096
"""The maximum size of the sample for quantiles and moments."""
BLOCK = 16_384
"""Vectors that are copied at a time."""
FEW = 512
"""Vectors that are compared at a time, which fit into a core's cache."""
ROUNDING = 1e-4
"""An upper bound of the rounding error of a cosine in single precision."""


class VectorIndex(ABC):
    """Vectors of one kind of node: descriptions, relationships, documents, or entities.

    A subclass adds `vectors` and `near`. Positions refer to `iris`, which ascend.
    """

    def __init__(self, iris: IriList) -> None:
        self._iris = iris

    @abstractmethod
    def vectors(self, positions: Rows) -> Matrix:
        """The vectors at positions in any order, also repeated: shape (len(positions), d)."""

    @abstractmethod
    def near(self, vector: Vector, k: int) -> Rows:
        """Distinct candidate positions that include the k nearest; ``1 <= k <= len(self)``.

        Also includes positions whose cosine is less than the k-th by at most `ROUNDING`, since the
        candidates are ranked by exact cosines afterwards.
        """

    @property
    def iris(self) -> IriList:
        return self._iris

    def __len__(self) -> int:
        return len(self._iris)

    def nearest(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        """The k IRIs of highest cosine, best first, ties by IRI."""
        rows, cosines = self.nearest_rows(vector, k)
        return [
            (self._iris[row], cosine)
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]

    def nearest_rows(self, vector: Vector, k: int) -> tuple[Rows, Vector]:
        """The same as positions and cosines, of shape (min(k, n),) each."""
        if not len(self) or k < 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        rows = self.near(vector, min(k, len(self)))
        exact = np.empty(len(rows), dtype=np.float32)
        for begin in range(0, len(rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            exact[block] = self.vectors(rows[block]).astype(np.float64) @ vector
        best = np.lexsort((rows, -exact))[:k]
        return rows[best], exact[best]

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        """The cosines of IRIs, shape (len(iris),). Raises KeyError for an unknown IRI."""
        return self.cosines(vector, rows_of(self._iris, iris))

    def blocks(self) -> Iterator[Matrix]:
        """All vectors by row, in at least one block."""
        for begin in range(0, max(1, len(self)), BLOCK):
            yield self.vectors(np.arange(begin, min(begin + BLOCK, len(self))))

    def cosines(self, vector: Vector, positions: Rows) -> NDArray[np.float32]:
        """The cosines at positions, shape (len(positions),)."""
        cosines = np.empty(len(positions), dtype=np.float32)
        for begin in range(0, len(positions), FEW):
            block = slice(begin, begin + FEW)
            cosines[block] = self.vectors(positions[block]) @ vector
        return cosines

    @cached_property
    def _sample(self) -> Matrix:
        """A deterministic random sample of the vectors."""
        count = len(self)
        if count <= SAMPLE:
            return self.vectors(np.arange(count))
        chosen = np.random.default_rng(0).choice(count, SAMPLE, replace=False)
        return self.vectors(np.sort(chosen))

    def quantile(self, vector: Vector, q: float) -> tuple[float, float]:
        """The q-quantile and maximum of the cosines, of a fixed sample of many; (0, 0) if empty."""
        if not len(self):
            return 0.0, 0.0
        cosines = np.sort(np.asarray(self._sample @ vector, dtype=np.float64))
        place = q * (len(cosines) - 1)  # as numpy.quantile, which takes longer to import and run
        low, high = cosines[int(place)], cosines[math.ceil(place)]
        share = place - int(place)
        near = low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)
        return float(near), float(cosines[-1])

    def moments(self, vector: Vector) -> tuple[float, float]:
        """Mean and standard deviation of the cosines with `vector`; (0, 0) if empty."""
        if not len(self):
            return 0.0, 0.0
        cosines = np.asarray(self._sample @ vector, dtype=np.float64)
        return float(cosines.mean()), float(cosines.std())


Slots = NDArray[np.signedinteger]


class ExactIndex(VectorIndex):
    """A `VectorIndex` with exhaustive search."""

    def __init__(self, iris: IriList, matrix: Matrix, order: Slots | None = None) -> None:
        """`matrix` has a unit vector a slot; `order` the slot of each IRI, by default its row."""
        super().__init__(iris)
        self._matrix, self._order = matrix, order

    @property
    def slots(self) -> Slots:
        """The slot of each row."""
        return np.arange(len(self)) if self._order is None else self._order

    def vectors(self, positions: Rows) -> Matrix:
        slots = positions if self._order is None else self._order[positions]
        return self._matrix.take(slots, axis=0)

    def near(self, vector: Vector, k: int) -> Rows:
        rows, scores = np.arange(len(self._matrix)), self._matrix @ vector
        if self._order is not None:
            rows = self._rows[rows]
            rows, scores = rows[rows >= 0], scores[rows >= 0]
        if k < len(rows):
            threshold = np.partition(scores, len(rows) - k)[len(rows) - k] - ROUNDING
            rows = rows[scores >= threshold]
        return rows

    @cached_property
    def _rows(self) -> Rows:
        """Slot -> row, or -1."""
        rows = np.full(len(self._matrix), -1, dtype=np.int64)
        rows[self._order] = np.arange(len(self))
        return rows


# ------------------------------------------------------------------------------------ Words


K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")
_ARRAYS = ("starts", "rows", "counts", "lengths")


class Bm25Index:
    """Okapi BM25; words are runs of letters, digits and underscores, case folded.

    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, Foundations and
    Trends in Information Retrieval 3(4), 2009, section 3.4, equation 3.15; the idf is Lucene's,
    never below 0 (Kamphuis et al., Which BM25 Do You Mean?, ECIR 2020).

    The arrays are those of a sparse matrix, shape (words, texts), in compressed rows: the postings
    of word i are those from ``starts[i]`` to ``starts[i + 1]``; `rows` are the texts that contain
    it, ascending, and `counts` its frequencies in them. `lengths` are the numbers of words per
    text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
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
        self._words = IriList.packed(ascending)
        rows = np.repeat(np.arange(len(distinct)), np.array(distinct, dtype=np.int32))
        self._arrays = _postings(
            ranks[np.array(words, dtype=np.int32)],
            rows,
            np.array(counts, dtype=np.int32),
            len(ascending),
            np.array(lengths, dtype=np.int32),
        )

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

    def frequency(self, word: str) -> int:
        """The number of texts that contain a word, case folded."""
        number, starts = find(self._words, word), self._arrays["starts"]
        return int(starts[number + 1] - starts[number]) if number >= 0 else 0

    def sharing(self, text: str, count: int, most: int) -> Rows:
        """At most `count` texts that share most words with a text, most first, by their idf.

        At most `most` postings are read, those of rare words first; scores are divided by the
        square roots of lengths.
        """
        starts = self._arrays["starts"]
        numbers = np.array([find(self._words, word) for word in {*_words(text)}], dtype=np.int64)
        numbers = numbers[numbers >= 0]
        sizes = (starts[numbers + 1] - starts[numbers]).astype(np.int64)
        order = np.lexsort((numbers, sizes))
        order = order[np.cumsum(sizes[order]) <= most]
        if not len(order):
            return np.zeros(0, dtype=np.int64)
        parts = [self._arrays["rows"][starts[n] : starts[n + 1]] for n in numbers[order].tolist()]
        weights = np.repeat(np.log1p(len(self) / sizes[order]), sizes[order])
        sums = np.bincount(np.concatenate(parts), weights)
        rows = np.flatnonzero(sums)
        scores = sums[rows] / np.sqrt(self._arrays["lengths"][rows])
        if count < len(rows):
            least = np.partition(scores, len(rows) - count)[len(rows) - count]
            rows, scores = rows[scores >= least], scores[scores >= least]
        return rows[np.argsort(-scores, kind="stable")[:count]]

    @cached_property
    def _mean(self) -> float:
        """The mean number of words per text."""
        return float(self._arrays["lengths"].mean(dtype=np.float64))

    @property
    def _numbers(self) -> Rows:
        """The word number of each posting."""
        starts = self._arrays["starts"]
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def changed(self, merge: Merge, texts: Sequence[str]) -> Self:
        """The index after texts were deleted and inserted as described by `merge`."""
        other = Bm25Index(texts)
        rows = merge.rows(len(self))[self._arrays["rows"]]
        remains = rows >= 0
        numbers, new_numbers = self._numbers[remains], other._numbers
        new = list(other._words)
        known = find_all(self._words, new)
        added = [word for word, number in zip(new, known.tolist(), strict=True) if number < 0]
        used = np.bincount(np.concatenate([numbers, known[known >= 0]]), minlength=len(self._words))
        unused = [self._words[number] for number in np.flatnonzero(used == 0).tolist()]
        words = Merge.of(self._words, unused, added)
        vocabulary = words.iris(self._words, IriList.of(added))
        postings = _postings(
            np.concatenate(
                [words.rows(len(self._words))[numbers], find_all(vocabulary, new)[new_numbers]]
            ),
            np.concatenate([rows[remains], merge.new_rows()[other._arrays["rows"]]]),
            np.concatenate([self._arrays["counts"][remains], other._arrays["counts"]]),
            len(vocabulary),
            merge.values(self._arrays["lengths"], other._arrays["lengths"]),
        )
        return self.of_arrays(vocabulary.arrays("words") | postings)


def _postings(
    words: Rows, rows: Rows, counts: NDArray[Any], size: int, lengths: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """The arrays of an index of `size` words from the word, text and frequency of each posting."""
    from scipy.sparse import coo_array

    matrix = coo_array((counts, (words, rows)), shape=(size, len(lengths))).tocsr()
    arrays = {"starts": matrix.indptr, "rows": matrix.indices, "counts": matrix.data}
    return {name: narrow(values) for name, values in {**arrays, "lengths": lengths}.items()}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
