"""Vectors in an engine elsewhere; IRIs and all other arrays stay in a store that is here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol
from uuid import uuid4

import numpy as np

from sarag_rdf.arrays import IriList, Merge, Rows, find_all
from sarag_rdf.errors import VectorStoreError
from sarag_rdf.ports import Arrays, Matrix, Progress, Vector, VectorStore
from sarag_rdf.vectors.index import ROUNDING, AnyIndex
from sarag_rdf.vectors.store import iri_list

BATCH = 512
"""Vectors that are sent, fetched or deleted at a time."""


class VectorEngine(Protocol):
    """Keeps collections of vectors by IRI; what cannot be done raises `VectorStoreError`.

    A call returns when what it did is seen by the next one. Names of collections are what the
    graph is called, and behind it letters, digits and hyphens.
    """

    def collections(self) -> Iterable[str]:
        """Names of all collections, those of others among them."""

    def create(self, name: str, width: int) -> None:
        """Make an empty collection for unit vectors of a width, of at least 1."""

    def drop(self, name: str) -> None:
        """Delete a collection, and its mark."""

    def mark(self, name: str, key: str) -> None:
        """Let a collection have a mark of letters and digits in place of any other; or none."""

    def marked(self, name: str) -> str:
        """The mark of a collection; empty if it has none, or is not there."""

    def count(self, name: str) -> int:
        """How many vectors are in a collection."""

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        """Put vectors in a collection, in place of those that the IRIs have there."""

    def delete(self, name: str, iris: Sequence[str]) -> None:
        """Take vectors away, as far as they are there."""

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        """The vectors of IRIs that are each named once, as far as they are there."""

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        """IRIs of the highest products with a vector, at most k, highest first."""


class EngineIndex(AnyIndex):
    """The engine tells what is near; in which order it is, its vectors tell."""

    def __init__(self, engine: VectorEngine, collection: str, iris: IriList, width: int) -> None:
        super().__init__(iris)
        self._engine, self.collection, self.width = engine, collection, width

    def vectors(self, positions: Rows) -> Matrix:
        rows, places = np.unique(positions, return_inverse=True)
        found = np.empty((len(rows), self.width), dtype=np.float32)
        for begin in range(0, len(rows), BATCH):
            iris = [self.iris[row] for row in rows[begin : begin + BATCH].tolist()]
            held = self._engine.fetch(self.collection, iris)
            if held.keys() != set(iris):
                raise _changed()
            found[begin : begin + BATCH] = [held[iri] for iri in iris]
        return found[places]

    def near(self, vector: Vector, k: int) -> Rows:
        limit = k
        while True:
            limit = min(2 * limit, len(self))
            found = self._engine.nearest(self.collection, vector, limit)
            least = found[:k][-1][1] - ROUNDING if found else 0.0
            if len(found) < limit or limit == len(self) or found[-1][1] < least:
                break
        rows = find_all(self.iris, [iri for iri, product in found if product >= least])
        if not len(rows) or rows.min() < 0:
            raise _changed()
        return rows


class EngineVectors:
    """A VectorStore over an engine and the store that is `here`.

    A collection is marked with the key of its index only while it is whole: what was broken off
    has no mark. It counts if the store here names it under the same key; all else is made anew.
    """

    def __init__(self, engine: VectorEngine, name: str, here: VectorStore) -> None:
        """Collections are called ``NAME-KIND-DIGITS``, and nobody else's may be."""
        self._engine, self._name, self._here = engine, name, here

    def names(self) -> Sequence[str]:
        return self._here.names()

    def key_of(self, name: str) -> str:
        return self._here.key_of(name)

    def discard(self, name: str) -> None:
        self._here.discard(name)
        self._drop(name)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        return self._here.load_arrays(name, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        self._here.save_arrays(name, key, arrays)

    def load(self, kind: str, key: str) -> EngineIndex | None:
        arrays = self._here.load_arrays(kind, key)
        if arrays is None or "collection" not in arrays:
            return None
        iris, collection = (
            IriList.of_arrays(arrays, "iris"),
            arrays["collection"].tobytes().decode(),
        )
        if self._engine.marked(collection) != key or self._engine.count(collection) != len(iris):
            return None
        return EngineIndex(self._engine, collection, iris, int(arrays["width"][0]))

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> EngineIndex:
        rest = iter(blocks)
        first = next(rest)
        index = EngineIndex(
            self._engine, f"{self._name}-{kind}-{uuid4().hex}", iri_list(iris), first.shape[1]
        )
        self._engine.create(index.collection, max(1, index.width))
        self._put(index.collection, iris, chain([first], rest))
        self._keep(kind, key, index)
        self._drop(kind, but=index.collection)
        return index

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        gone: Sequence[str],
        come: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> EngineIndex | None:
        old = self.load(kind, before)
        if old is None or not old.width:
            return None
        merge = Merge.of(old.iris, gone, come)
        if merge.size:
            self._engine.mark(old.collection, "")
            stay = set(come)
            leave = [iri for iri in gone if iri not in stay]
            for begin in range(0, len(leave), BATCH):
                self._engine.delete(old.collection, leave[begin : begin + BATCH])
            self._put(old.collection, come, blocks)
        names = merge.iris(old.iris, iri_list(come))
        new = EngineIndex(self._engine, old.collection, names, old.width)
        self._keep(kind, after, new)
        return new

    def rekey(self, name: str, before: str, after: str) -> None:
        index = self.load(name, before)
        if index is not None:
            self._engine.mark(index.collection, after)
        self._here.rekey(name, before, after)

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        """What makes searching faster is up to the engine."""

    def _put(self, collection: str, iris: Sequence[str], blocks: Iterable[Matrix]) -> None:
        done = 0
        for block in blocks:
            for begin in range(0, len(block), BATCH):
                rows = block[begin : begin + BATCH]
                names = iris[done : done + len(rows)]
                if len(names) < len(rows):
                    raise ValueError("there are more vectors than IRIs")
                self._engine.put(collection, names, rows)
                done += len(rows)
        if done < len(iris):
            raise ValueError("there are fewer vectors than IRIs")

    def _keep(self, kind: str, key: str, index: EngineIndex) -> None:
        """Say that an index is whole; what is here is written last."""
        self._engine.mark(index.collection, key)
        about = {
            "collection": np.frombuffer(index.collection.encode(), dtype=np.uint8),
            "width": np.array([index.width]),
        }
        self._here.save_arrays(kind, key, index.iris.arrays("iris") | about)

    def _drop(self, kind: str, but: str = "") -> None:
        """Delete the collections of a kind, also what was left by those that were broken off."""
        ours = re.compile(rf"{re.escape(self._name)}-{re.escape(kind)}-[0-9a-f]{{32}}")
        for name in list(self._engine.collections()):
            if ours.fullmatch(name) and name != but:
                self._engine.drop(name)


def _changed() -> VectorStoreError:
    return VectorStoreError("the vectors were changed meanwhile: open the graph again")
