"""Documents, entities and relationships as arrays: what activation is spread over.

Nodes go by their row. Everything is in the order of IRIs, so equal graphs give equal arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
_ARRAYS = ("described", "topics", "ends", "identical")
_GROUPS = ("by_document", "by_entity", "starting_at", "ending_at", "by_same")


class Groups:
    """Positions of an array by the value that stands there."""

    def __init__(self, values: Rows, size: int) -> None:
        """`values` of shape (n,), from 0 on and below `size`."""
        self._order = smallest(np.argsort(values, kind="stable"))
        self._starts = smallest(np.searchsorted(values[self._order], np.arange(size + 1)))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Groups:
        """The groups whose `arrays` these are."""
        made = cls.__new__(cls)
        made._order, made._starts = arrays[f"{name}_order"], arrays[f"{name}_starts"]
        return made

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """All that it holds, to be kept in a file."""
        return {f"{name}_order": self._order, f"{name}_starts": self._starts}

    def sizes(self) -> Rows:
        """How many positions each group has, shape (size,)."""
        return np.diff(self._starts).astype(np.int64)

    def of(self, groups: Rows) -> Rows:
        """The positions of several groups, group after group."""
        starts = self._starts[groups].astype(np.int64)
        counts = self._starts[groups + 1].astype(np.int64) - starts
        offsets = np.repeat(starts - np.cumsum(counts) + counts, counts)
        found = self._order[offsets + np.arange(int(counts.sum()))]
        return found.astype(np.int64)


def smallest(rows: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in 32 bits, if they fit: what is kept of a graph is half as large."""
    return rows.astype(np.int32) if not len(rows) or rows.max() < 2**31 else rows


@dataclass(frozen=True)
class Network:
    """The traversed graph with its documents.

    `documents`, `entities` and `relationships` are in ascending order. `described` has a row
    (document, entity) for each that a document describes, ascending; `topics` the entity that each
    document is about, or -1; `ends` a row (subject, object) for each relationship; `identical` a
    row for each pair of entities that are linked as the same.
    """

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]
    described: Rows
    topics: Rows
    ends: Rows
    identical: Rows = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds but the IRIs, to be kept in a file."""
        found = {name: smallest(getattr(self, name)) for name in _ARRAYS}
        for name in _GROUPS:
            found |= getattr(self, name).arrays(name)
        return found

    @classmethod
    def of_arrays(
        cls,
        documents: Sequence[str],
        entities: Sequence[str],
        relationships: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
    ) -> Network:
        """The network of these IRIs whose `arrays` these are."""
        made = cls(documents, entities, relationships, *(arrays[name] for name in _ARRAYS))
        made.__dict__.update({name: Groups.of_arrays(arrays, name) for name in _GROUPS})
        return made

    @cached_property
    def by_document(self) -> Groups:
        """Document -> rows of `described`."""
        return Groups(self.described[:, 0], len(self.documents))

    @cached_property
    def by_entity(self) -> Groups:
        """Entity -> rows of `described`."""
        return Groups(self.described[:, 1], len(self.entities))

    @cached_property
    def starting_at(self) -> Groups:
        """Entity -> relationships of which it is the subject."""
        return Groups(self.ends[:, 0], len(self.entities))

    @cached_property
    def ending_at(self) -> Groups:
        """Entity -> relationships of which it is the object."""
        return Groups(self.ends[:, 1], len(self.entities))

    @cached_property
    def by_same(self) -> Groups:
        """Entity -> positions in the columns of `identical`, the first and then the second."""
        return Groups(self.identical.T.ravel(), len(self.entities))

    @cached_property
    def frequencies(self) -> Rows:
        """How many documents describe each entity, at least 1: shape (entities,)."""
        return np.maximum(1, self.by_entity.sizes())

    @cached_property
    def is_topic(self) -> NDArray[np.bool_]:
        """For each row of `described`, whether the document is about the entity."""
        return np.asarray(self.topics[self.described[:, 0]] == self.described[:, 1], dtype=np.bool_)
