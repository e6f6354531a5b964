"""IRIs and texts as NumPy arrays that can be memory-mapped, and merging of sorted arrays."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Ends = NDArray[np.signedinteger]


def narrow(values: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same whole numbers, in four bytes each if they fit."""
    bounds = np.iinfo(np.int32)
    fits = not values.size or (bounds.min <= values.min() and values.max() <= bounds.max)
    return values.astype(np.int32 if fits else np.int64)


def packed(texts: Sequence[str]) -> tuple[NDArray[np.uint8], Ends]:
    """Texts as bytes, one after the other, and where each ends."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), narrow(ends)


def unpacked(data: NDArray[np.uint8], ends: Ends) -> list[str]:
    """The texts that were packed."""
    held, begin, texts = data.tobytes(), 0, []
    for end in ends.tolist():
        texts.append(held[begin:end].decode("utf-8", "surrogatepass"))
        begin = end
    return texts


def packed_lists(lists: Mapping[str, Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Lists of texts by name, as arrays: ``NAME`` the bytes, and ``NAME_ends``."""
    found: dict[str, NDArray[Any]] = {}
    for name, texts in lists.items():
        found[name], found[f"{name}_ends"] = packed(texts)
    return found


def unpacked_list(arrays: Mapping[str, NDArray[Any]], name: str) -> list[str]:
    """One of the lists that were packed."""
    return unpacked(arrays[name], arrays[f"{name}_ends"])


Rows = NDArray[np.int64]
MANY = 50
"""Where more than one in so many IRIs of the list are looked up, all are decoded for it."""


class OneByOne(Sequence[str]):
    """A list whose parts are read one by one: `at` gives one, by a row from 0 on."""

    @abstractmethod
    def at(self, row: int) -> str:
        """The text of a row."""

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self.at(i) for i in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.at(row % len(self))


class IriList(OneByOne):
    """Strings in ascending order of code points, each once."""

    def __init__(self, data: NDArray[np.uint8], ends: Ends) -> None:
        """`data` holds the texts in UTF-8, one after the other; `ends` where each ends."""
        self._data, self._ends = data, ends

    @classmethod
    def of(cls, iris: Iterable[str]) -> IriList:
        """The list of these, which need be neither in order nor each once."""
        return cls(*packed(sorted(set(iris))))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> IriList:
        """The list whose `arrays` these are."""
        return cls(arrays[name], arrays[f"{name}_ends"])

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """All that it holds, to be kept in a file."""
        return {name: self._data, f"{name}_ends": self._ends}

    def __len__(self) -> int:
        return len(self._ends)

    def at(self, row: int) -> str:
        begin = int(self._ends[row - 1]) if row else 0
        return bytes(self._data[begin : int(self._ends[row])]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return iter(unpacked(self._data, self._ends))

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
    """The row of an IRI in an ascending list, or -1."""
    row = bisect_left(iris, iri)
    return row if row < len(iris) and iris[row] == iri else -1


def find_all(iris: Sequence[str], wanted: Sequence[str]) -> Rows:
    """The rows of several IRIs, -1 for each that is not in the list: shape (len(wanted),)."""
    if len(wanted) * MANY > len(iris):
        known = {iri: row for row, iri in enumerate(iris)}
        found = (known.get(iri, -1) for iri in wanted)
    else:
        found = (find(iris, iri) for iri in wanted)
    return np.fromiter(found, dtype=np.int64, count=len(wanted))


def rows_of(iris: Sequence[str], wanted: Sequence[str]) -> Rows:
    """The rows of several IRIs, shape (len(wanted),); raises KeyError for an unknown one."""
    found = find_all(iris, wanted)
    if len(found) and found.min() < 0:
        raise KeyError(wanted[int(np.argmin(found))])
    return found


@dataclass(frozen=True, slots=True)
class Merge:
    """A change of a sorted list: rows that `go`, and where new entries come.

    New entry number i stands before the old row ``places[i]``; `places` ascend.
    """

    go: Rows
    places: Rows

    @classmethod
    def of(cls, iris: IriList, gone: Sequence[str], come: Sequence[str]) -> Merge:
        """The change that takes away `gone` where it is there, and adds `come`, ascending.

        What comes must not be there, unless it goes.
        """
        found = find_all(iris, gone)
        places = [bisect_left(iris, iri) for iri in come]
        return cls(np.unique(found[found >= 0]), np.array(places, dtype=np.int64))

    @property
    def size(self) -> int:
        """How many entries go or come."""
        return len(self.go) + len(self.places)

    def values(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """One value an entry, shape (n, ...), of the old list and of the new entries."""
        kept = np.delete(old, self.go, axis=0)
        places = self.places - np.searchsorted(self.go, self.places)
        return np.insert(kept, places, new, axis=0)

    def rows(self, size: int) -> Rows:
        """For each row of the old list of `size` entries its new one, or -1."""
        is_kept = np.ones(size, dtype=np.bool_)
        is_kept[self.go] = False
        before = np.searchsorted(self.places, np.arange(size), side="right")
        return np.where(is_kept, np.cumsum(is_kept) - 1 + before, -1)

    def new_rows(self) -> Rows:
        """The rows of the new entries in the new list."""
        places = self.places - np.searchsorted(self.go, self.places)
        return places + np.arange(len(places))

    def texts(
        self, data: NDArray[np.uint8], ends: Ends, new: NDArray[np.uint8], new_ends: Ends
    ) -> tuple[NDArray[np.uint8], Ends]:
        """Packed texts, of the old list and of the new entries."""
        starts = np.concatenate([[0], ends]).astype(np.int64)
        new_starts = np.concatenate([[0], new_ends]).astype(np.int64)
        pieces: list[NDArray[np.uint8]] = []
        at, comes = 0, 0
        for row in np.unique(np.concatenate([self.go, self.places])).tolist():
            pieces.append(data[starts[at] : starts[row]])
            last = int(np.searchsorted(self.places, row, side="right"))
            pieces.append(new[new_starts[comes] : new_starts[last]])
            comes = last
            goes = int(np.searchsorted(self.go, row))
            at = row + (goes < len(self.go) and self.go[goes] == row)
        pieces.append(data[starts[at] :])
        lengths = self.values(np.diff(starts), np.diff(new_starts))
        return np.concatenate(pieces), narrow(np.cumsum(lengths, dtype=np.int64))

    def iris(self, old: IriList, new: IriList) -> IriList:
        """The list as it is afterwards; `new` are those that come."""
        return IriList(*self.texts(*_packed(old), *_packed(new)))


def _packed(iris: IriList) -> tuple[NDArray[np.uint8], Ends]:
    arrays = iris.arrays("iris")
    return arrays["iris"], arrays["iris_ends"]
