"""Documents, entities and relationships as arrays: what activation is spread over.

Nodes go by their row. Everything is sorted by IRI, so equal graphs give equal arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.packed import packed_lists, unpacked_list

Rows = NDArray[np.int64]
_LISTS = ("documents", "entities", "relationships")
_ARRAYS = ("described", "topics", "ends", "identical")


class Groups:
    """Positions of an array by the value that stands there."""

    def __init__(self, values: Rows, size: int) -> None:
        """`values` of shape (n,), from 0 on and below `size`."""
        self._order = np.argsort(values, kind="stable")
        self._starts = np.searchsorted(values[self._order], np.arange(size + 1))

    def sizes(self) -> Rows:
        """How many positions each group has, shape (size,)."""
        return np.diff(self._starts)

    def of(self, groups: Rows) -> Rows:
        """The positions of several groups, group after group."""
        starts, ends = self._starts[groups], self._starts[groups + 1]
        counts = ends - starts
        offsets = np.repeat(starts - np.cumsum(counts) + counts, counts)
        return self._order[offsets + np.arange(int(counts.sum()))]


@dataclass(frozen=True)
class Network:
    """The traversed graph with its documents.

    `described` has a row (document, entity) for each that a document describes, ascending;
    `topics` the entity that each document is about, or -1; `ends` a row (subject, object) for
    each relationship; `identical` a row for each pair of entities that are linked as the same.
    """

    documents: Sequence[str]
    entities: Sequence[str]
    relationships: Sequence[str]
    described: Rows
    topics: Rows
    ends: Rows
    identical: Rows = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds, to be kept in a file."""
        lists = packed_lists({name: getattr(self, name) for name in _LISTS})
        return lists | {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Network:
        """The network whose `arrays` these are."""
        documents, entities, relationships = (unpacked_list(arrays, name) for name in _LISTS)
        return cls(documents, entities, relationships, *(arrays[name] for name in _ARRAYS))

    @cached_property
    def document_rows(self) -> dict[str, int]:
        """Document -> row."""
        return {iri: row for row, iri in enumerate(self.documents)}

    @cached_property
    def entity_rows(self) -> dict[str, int]:
        """Entity -> row."""
        return {iri: row for row, iri in enumerate(self.entities)}

    @cached_property
    def relationship_rows(self) -> dict[str, int]:
        """Relationship -> row."""
        return {iri: row for row, iri in enumerate(self.relationships)}

    @cached_property
    def topic_iris(self) -> frozenset[str]:
        """Entities that some document is about."""
        return frozenset(self.entities[row] for row in np.unique(self.topics[self.topics >= 0]))

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
    def frequencies(self) -> Rows:
        """How many documents describe each entity, at least 1: shape (entities,)."""
        return np.maximum(1, self.by_entity.sizes())

    @cached_property
    def is_topic(self) -> NDArray[np.bool_]:
        """For each row of `described`, whether the document is about the entity."""
        return np.asarray(self.topics[self.described[:, 0]] == self.described[:, 1], dtype=np.bool_)
