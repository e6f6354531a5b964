"""Lists of strings as NumPy arrays that can be memory-mapped, merging of sorted arrays, batches."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Ends = NDArray[np.signedinteger]
"""The end offset of each string in a concatenation: shape (n,)."""
Rows = NDArray[np.int64]
"""Positions in a list."""
Floats = NDArray[np.float64]
"""Real numbers, such as scores."""
SAMPLED = 64
"""One in this many strings of a list is decoded when the list is first searched."""
DECODED = 8192
"""Strings of a list that are decoded at a time when all are."""
DECODE_ALL_RATIO = 20
"""If more than one in this many strings of a list are looked up, the whole list is decoded."""
_Item = TypeVar("_Item")


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """The items in lists of at most `size`, as by `itertools.batched` of Python 3.12."""
    pending = iter(items)
    while batch := list(islice(pending, size)):
        yield batch


def narrow(values: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same integers as int32 if they fit, else as int64."""
    bounds = np.iinfo(np.int32)
    fits = not values.size or (bounds.min <= values.min() and values.max() <= bounds.max)
    return values.astype(np.int32 if fits else np.int64)


def packed(texts: Iterable[str]) -> tuple[NDArray[np.uint8], Ends]:
    """The concatenation of strings in UTF-8, and the end offset of each."""
    (column,) = _packed_columns(((text,) for text in texts), 1)
    return column


def _packed_columns(
    rows: Iterable[Sequence[str]], width: int
) -> list[tuple[NDArray[np.uint8], Ends]]:
    """What `packed` returns for each column of rows, which are read once."""
    columns = [(bytearray(), array("q")) for _ in range(width)]
    for row in rows:
        for (data, ends), text in zip(columns, row, strict=True):
            data += text.encode("utf-8", "surrogatepass")
            ends.append(len(data))
    return [
        (np.frombuffer(data, dtype=np.uint8), narrow(np.array(ends, dtype=np.int64)))
        for data, ends in columns
    ]


def unpacked(data: NDArray[np.uint8], ends: Ends) -> list[str]:
    """The inverse of `packed`."""
    content, begin, texts = data.tobytes(), 0, []
    for end in ends.tolist():
        texts.append(content[begin:end].decode("utf-8", "surrogatepass"))
        begin = end
    return texts


class IriList(Sequence[str]):
    """Strings that are decoded when accessed; in a list that is searched or merged they ascend."""

    def __init__(self, data: NDArray[np.uint8], ends: Ends) -> None:
        """`data` is the concatenation of the strings in UTF-8; `ends` are their end offsets."""
        self._data, self._ends = data, ends
        self._bytes, self._bounds = data.data, ends.data  # faster for one string

    @classmethod
    def of(cls, iris: Iterable[str]) -> IriList:
        """A list of the given strings, which are sorted and deduplicated."""
        return cls.packed(sorted(set(iris)))

    @classmethod
    def packed(cls, texts: Iterable[str]) -> IriList:
        """A list of the given strings as they are."""
        return texts if isinstance(texts, IriList) else cls(*packed(texts))

    @classmethod
    def columns(cls, rows: Iterable[Sequence[str]], width: int) -> list[IriList]:
        """A list for each of the columns of rows, which are read once and not held."""
        return [cls(*column) for column in _packed_columns(rows, width)]

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> IriList:
        """The inverse of `arrays`."""
        return cls(arrays[name], arrays[f"{name}_ends"])

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The list as named arrays, for a file."""
        return {name: self._data, f"{name}_ends": self._ends}

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            begin, end, step = row.indices(len(self))
            if step != 1 or begin >= end:
                return [self[i] for i in range(begin, end, step)]
            first = int(self._ends[begin - 1]) if begin else 0
            return unpacked(self._data[first : self._ends[end - 1]], self._ends[begin:end] - first)
        size = len(self._bounds)
        if not -size <= row < size:
            raise IndexError(row)
        row %= size
        begin = self._bounds[row - 1] if row else 0
        return str(self._bytes[begin : self._bounds[row]], "utf-8", "surrogatepass")

    @cached_property
    def _sample(self) -> list[str]:
        return [self[row] for row in range(0, len(self), SAMPLED)]

    def first_from(self, iri: str) -> int:
        """The row of the first string that is not below this one; `len` if there is none."""
        after, key = bisect_left(self._sample, iri), iri.encode("utf-8", "surrogatepass")
        low, high = max(0, after - 1) * SAMPLED, min(after * SAMPLED, len(self))
        while low < high:  # as bisect_left, but nothing is decoded: UTF-8 keeps the order
            middle = (low + high) // 2
            begin = self._bounds[middle - 1] if middle else 0
            if bytes(self._bytes[begin : self._bounds[middle]]) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), DECODED):
            yield from self[begin : begin + DECODED]

    def __contains__(self, iri: object) -> bool:
        return isinstance(iri, str) and find(self, iri) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IriList):
            return NotImplemented
        same_ends = np.array_equal(self._ends, other._ends)
        return same_ends and np.array_equal(self._data, other._data)

    def __hash__(self) -> int:
        return hash((len(self), self._data[:4096].tobytes()))


def find(iris: Sequence[str], iri: str) -> int:
    """The position of an IRI in a sorted list, or -1."""
    row = iris.first_from(iri) if isinstance(iris, IriList) else bisect_left(iris, iri)
    return row if row < len(iris) and iris[row] == iri else -1


def place_in(ascending: Rows, row: int) -> int:
    """The position of a row in a list of rows, or -1; for many, see `places_in`."""
    rows = ascending.data
    place = bisect_left(rows, row)
    return place if place < len(rows) and rows[place] == row else -1


def find_all(iris: Sequence[str], requested: Sequence[str]) -> Rows:
    """The positions of IRIs, -1 for each that is not in the list: shape (len(requested),)."""
    if len(requested) * DECODE_ALL_RATIO > len(iris):
        rows_by_iri = {iri: row for row, iri in enumerate(iris)}
        rows = (rows_by_iri.get(iri, -1) for iri in requested)
    else:
        rows = (find(iris, iri) for iri in requested)
    return np.fromiter(rows, dtype=np.int64, count=len(requested))


def rows_of(iris: Sequence[str], requested: Sequence[str]) -> Rows:
    """The positions of IRIs, shape (len(requested),); raises KeyError for an unknown one."""
    return all_known(find_all(iris, requested), requested)


def all_known(rows: Rows, requested: Sequence[str]) -> Rows:
    """The rows of IRIs, if all are in the list; raises KeyError for one that is not."""
    if len(rows) and rows.min() < 0:
        raise KeyError(requested[int(np.argmin(rows))])
    return rows


class Finder:
    """Finds IRIs in a list again and again: from some number on by their hashes.

    These are of 64 bits, 16 bytes for each IRI of the list with its row, and all different. That
    an IRI that is not in the list is taken for one that is has a probability of 10^-12 for a list
    of ten million.
    """

    def __init__(self, iris: Sequence[str]) -> None:
        self._iris, self._requested = iris, 0
        self._hashes: Rows | None = None
        self._order: Rows = np.empty(0, dtype=np.int64)

    def find(self, requested: Sequence[str]) -> Rows:
        """What `find_all` returns."""
        self._requested += len(requested)
        if self._hashes is None and self._requested * DECODE_ALL_RATIO > len(self._iris):
            hashes = np.fromiter(map(hash, self._iris), dtype=np.int64, count=len(self._iris))
            self._order = np.argsort(hashes)
            hashes = hashes[self._order]
            is_clear = bool(np.all(hashes[1:] != hashes[:-1]))
            self._hashes = hashes if is_clear else self._order[:0]
        if self._hashes is None or not len(self._hashes):
            return find_all(self._iris, requested)
        places = places_in(
            self._hashes, np.fromiter(map(hash, requested), dtype=np.int64, count=len(requested))
        )
        return np.where(places < 0, -1, self._order[places])


def distinct(rows: Rows) -> Rows:
    """The distinct rows, ascending; `numpy.unique` takes some ten times as long for thousands."""
    ascending = np.sort(rows)
    is_first = np.ones(len(rows), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def places_in(ascending: Rows, rows: Rows) -> Rows:
    """The position of each row in a list of rows, -1 if it is not there: shape (len(rows),)."""
    if not len(ascending):
        return np.full(len(rows), -1)
    places = np.searchsorted(ascending, rows)
    return np.where(ascending.take(places, mode="clip") == rows, places, -1)


@dataclass(frozen=True, slots=True)
class Merge:
    """A change of a sorted list: `deleted` rows, and the positions of `insertions`.

    New entry number i is inserted before the old row ``insertions[i]``; `insertions` ascend.
    """

    deleted: Rows
    insertions: Rows

    @classmethod
    def of(cls, iris: IriList, deleted: Sequence[str], inserted: Sequence[str]) -> Merge:
        """The change that deletes entries, if they exist, and inserts others, in ascending order.

        An inserted entry must not exist, unless it is deleted as well.
        """
        rows = find_all(iris, deleted)
        insertions = [bisect_left(iris, iri) for iri in inserted]
        return cls(distinct(rows[rows >= 0]), np.array(insertions, dtype=np.int64))

    @property
    def size(self) -> int:
        """The number of deleted and inserted entries."""
        return len(self.deleted) + len(self.insertions)

    def values(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """Merge arrays with one value per entry, shape (n, ...)."""
        remaining = np.delete(old, self.deleted, axis=0)
        positions = self.insertions - np.searchsorted(self.deleted, self.insertions)
        return np.insert(remaining, positions, new, axis=0)

    def rows(self, size: int) -> Rows:
        """For each row of the old list of `size` entries its new row, or -1 if it is deleted."""
        remains = np.ones(size, dtype=np.bool_)
        remains[self.deleted] = False
        before = np.searchsorted(self.insertions, np.arange(size), side="right")
        return np.where(remains, np.cumsum(remains) - 1 + before, -1)

    def new_rows(self) -> Rows:
        """The rows of the inserted entries in the new list."""
        positions = self.insertions - np.searchsorted(self.deleted, self.insertions)
        return positions + np.arange(len(positions))

    def texts(
        self, data: NDArray[np.uint8], ends: Ends, new: NDArray[np.uint8], new_ends: Ends
    ) -> tuple[NDArray[np.uint8], Ends]:
        """Merge packed strings with one string per entry."""
        starts = np.concatenate([[0], ends]).astype(np.int64)
        new_starts = np.concatenate([[0], new_ends]).astype(np.int64)
        pieces: list[NDArray[np.uint8]] = []
        begin, inserted = 0, 0
        for row in distinct(np.concatenate([self.deleted, self.insertions])).tolist():
            pieces.append(data[starts[begin] : starts[row]])
            end = int(np.searchsorted(self.insertions, row, side="right"))
            pieces.append(new[new_starts[inserted] : new_starts[end]])
            inserted = end
            index = int(np.searchsorted(self.deleted, row))
            begin = row + (index < len(self.deleted) and self.deleted[index] == row)
        pieces.append(data[starts[begin] :])
        lengths = self.values(np.diff(starts), np.diff(new_starts))
        return np.concatenate(pieces), narrow(np.cumsum(lengths, dtype=np.int64))

    def iris(self, old: IriList, new: IriList) -> IriList:
        """Merge a list with its inserted entries."""
        return IriList(*self.texts(old._data, old._ends, new._data, new._ends))


@dataclass(frozen=True, slots=True)
class Scale:
    """The mean and standard deviation behind a z-score."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Floats) -> Scale:
        """The scale of some values; 0 without any."""
        return cls(float(values.mean()), float(values.std())) if len(values) else cls(0.0, 0.0)

    @classmethod
    def of_sparse(cls, values: Floats, size: int) -> Scale:
        """The scale of `size` values, which are 0 but for those in `values`."""
        if not size:
            return cls(0.0, 0.0)
        mean = float(values.sum()) / size
        variance = float(((values - mean) ** 2).sum() + (size - len(values)) * mean**2) / size
        return cls(mean, variance**0.5)

    def z(self, values: Floats) -> Floats:
        """The z-scores; 0 if all values are equal."""
        if not self.deviation > 0.0:
            return np.zeros(len(values))
        return (values - self.mean) / self.deviation


def logistic(score: float) -> float:
    """The probability of a log-odds: 1 / (1 + exp(-score)), in [0, 1]; it never overflows."""
    return float(np.exp(-np.logaddexp(0.0, -score)))
