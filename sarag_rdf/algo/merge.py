"""Sorted lists of which some entries go and others come, without looking at the rest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.iri_list import IriList, Rows, find_all
from sarag_rdf.algo.packed import Ends, narrow


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
