"""Checks of what is kept of a graph for searching: that it opens, belongs to it, and is sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sarag_rdf.graph.kind_texts import texts_of
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import KINDS, arrays_key, index_key
from sarag_rdf.inspect.findings import REPAIR, Finding
from sarag_rdf.ports import Arrays, VectorIndex, VectorStore

CACHES = "caches"
"""The check of what is kept."""
_TOLERANCE = 1e-3
"""How far a vector's length may be from one."""
_BLOCK = 8192


@dataclass(frozen=True, slots=True)
class Broken:
    """Something kept that is of no use, and why."""

    name: str
    why: str

    @property
    def finding(self) -> Finding:
        """As a line."""
        return Finding(CACHES, f"{self.name}: {self.why}", REPAIR)


def check_kept(reader: GraphReader, store: VectorStore, revision: str, model: str) -> list[Broken]:
    """What of the indexes and arrays is broken; those of an older revision are replaced in use."""
    broken: list[Broken] = []
    for name in store.names():
        key = store.key_of(name)
        of_index = name in KINDS
        wanted = (index_key if of_index else arrays_key)(revision, model)
        if not key:
            broken.append(Broken(name, "cannot be read"))
        elif key != wanted:
            continue
        elif of_index:
            broken += _of_index(reader, store, name, key)
        elif store.load_arrays(name, key) is None:
            broken.append(Broken(name, "cannot be read"))
    return broken


def check_arrays(
    store: VectorStore, made: Mapping[str, Arrays], revision: str, model: str
) -> Iterator[Broken]:
    """The arrays that are kept are those that are `made` of the graph as it is."""
    for name, wanted in made.items():
        kept = store.load_arrays(name, arrays_key(revision, model))
        if kept is None:
            continue
        same = (np.array_equal(kept[part], wanted[part]) for part in kept.keys() & wanted.keys())
        if kept.keys() != wanted.keys() or not all(same):
            yield Broken(name, "is not what the graph gives")


def _of_index(reader: GraphReader, store: VectorStore, name: str, key: str) -> Iterator[Broken]:
    index = store.load(name, key)
    if index is None:
        yield Broken(name, "cannot be read")
        return
    [kind] = (kind for kind in KINDS if kind == name)
    iris = [iri for iri, _ in texts_of(reader, kind)]
    if list(index.iris) != iris:
        odd = len(set(iris) ^ set(index.iris))
        yield Broken(name, f"has other texts than the graph: {odd} are in one of both alone")
    wrong = _wrong_rows(index)
    if wrong:
        yield Broken(name, f"{wrong} vectors are not of unit length")


def _wrong_rows(index: VectorIndex) -> int:
    wrong = 0
    for begin in range(0, len(index), _BLOCK):
        rows = index.vectors(np.arange(begin, min(begin + _BLOCK, len(index)), dtype=np.int64))
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        wrong += int(np.count_nonzero(~(np.abs(lengths - 1) <= _TOLERANCE)))
    return wrong
