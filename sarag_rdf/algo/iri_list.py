"""Many IRIs in ascending order, as bytes in one array that may lie in a file.

Nothing is decoded until it is asked for, so that a list of a million opens at once; an IRI is found
by bisection.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.packed import Ends, packed, unpacked

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
