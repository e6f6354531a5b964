"""Vectors in an external engine; IRIs and other arrays stay in a local store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol
from uuid import uuid4

import numpy as np

from sarag_rdf.base.arrays import IriList, Merge, Rows, find_all
from sarag_rdf.base.errors import VectorStoreError
from sarag_rdf.base.ports import Arrays, Matrix, Vector
from sarag_rdf.graph.vectors.search_indexes import ROUNDING, VectorIndex
from sarag_rdf.graph.vectors.vector_store import VectorStore

BATCH = 512
"""Vectors per request to send, fetch or delete them."""


class VectorEngine(Protocol):
    """Stores collections of vectors by IRI; failures raise `VectorStoreError`.

    The effects of a call are visible to the next one. Names of collections begin with the name of
    the graph, followed by letters, digits and hyphens.
    """

    def collections(self) -> Iterable[str]:
        """The names of all collections, including those of other applications."""

    def create(self, name: str, width: int) -> None:
        """Create an empty collection for unit vectors of dimension `width`, at least 1."""

    def drop(self, name: str) -> None:
        """Delete a collection and its mark."""

    def mark(self, name: str, key: str) -> None:
        """Set the mark of a collection, letters and digits; empty to remove it."""

    def marked(self, name: str) -> str:
        """The mark of a collection; empty if it has none, or does not exist."""

    def count(self, name: str) -> int:
        """The number of vectors in a collection."""

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        """Insert or replace vectors by IRI."""

    def delete(self, name: str, iris: Sequence[str]) -> None:
        """Delete vectors by IRI, if they exist."""

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        """The vectors of distinct IRIs, without those that do not exist."""

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        """The at most k IRIs with the highest dot products with a vector, highest first."""


class EngineIndex(VectorIndex):
    """An index whose engine finds candidates, which are ranked here by their exact vectors."""

    def __init__(self, engine: VectorEngine, collection: str, iris: IriList, width: int) -> None:
        super().__init__(iris)
        self._engine, self.collection, self.width = engine, collection, width

    def vectors(self, positions: Rows) -> Matrix:
        rows, inverse = np.unique(positions, return_inverse=True)
        matrix = np.empty((len(rows), self.width), dtype=np.float32)
        for begin in range(0, len(rows), BATCH):
            iris = [self.iris[row] for row in rows[begin : begin + BATCH].tolist()]
            vectors = self._engine.fetch(self.collection, iris)
            if vectors.keys() != set(iris):
                raise _changed_error()
            matrix[begin : begin + BATCH] = [vectors[iri] for iri in iris]
        return matrix[inverse]

    def near(self, vector: Vector, k: int) -> Rows:
        limit = k
        while True:
            limit = min(2 * limit, len(self))
            candidates = self._engine.nearest(self.collection, vector, limit)
            threshold = candidates[:k][-1][1] - ROUNDING if candidates else 0.0
            is_last = len(candidates) < limit or limit == len(self)
            if is_last or candidates[-1][1] < threshold:
                break
        rows = find_all(self.iris, [iri for iri, product in candidates if product >= threshold])
        if not len(rows) or rows.min() < 0:
            raise _changed_error()
        return rows


class EngineVectors(VectorStore):
    """A `VectorStore` with vectors in an engine, and IRIs in a local store.

    A collection is marked with the key of its index only while it is complete; after an
    interruption it has no mark. It is used if the local store names it under the same key, and
    rebuilt otherwise.
    """

    def __init__(self, engine: VectorEngine, name: str, local: VectorStore) -> None:
        """Collections are named ``NAME-KIND-DIGITS``, with a name that nothing else uses."""
        self._engine, self._name, self._local = engine, name, local

    def names(self) -> Sequence[str]:
        return self._local.names()

    def key_of(self, name: str) -> str:
        return self._local.key_of(name)

    def discard(self, name: str) -> None:
        self._local.discard(name)
        self._drop(name)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        return self._local.load_arrays(name, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        self._local.save_arrays(name, key, arrays)

    def load(self, kind: str, key: str) -> EngineIndex | None:
        arrays = self._local.load_arrays(kind, key)
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
            self._engine, f"{self._name}-{kind}-{uuid4().hex}", IriList.packed(iris), first.shape[1]
        )
        self._engine.create(index.collection, max(1, index.width))
        self._put(index.collection, iris, chain([first], rest))
        self._commit(kind, key, index)
        self._drop(kind, but=index.collection)
        return index

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        deleted: Sequence[str],
        inserted: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> EngineIndex | None:
        old = self.load(kind, before)
        if old is None or not old.width:
            return None
        merge = Merge.of(old.iris, deleted, inserted)
        if merge.size:
            self._engine.mark(old.collection, "")
            replaced = set(inserted)
            removed = [iri for iri in deleted if iri not in replaced]
            for begin in range(0, len(removed), BATCH):
                self._engine.delete(old.collection, removed[begin : begin + BATCH])
            self._put(old.collection, inserted, blocks)
        names = merge.iris(old.iris, IriList.packed(inserted))
        new = EngineIndex(self._engine, old.collection, names, old.width)
        self._commit(kind, after, new)
        return new

    def rekey(self, name: str, before: str, after: str) -> None:
        index = self.load(name, before)
        if index is not None:
            self._engine.mark(index.collection, after)
        self._local.rekey(name, before, after)

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

    def _commit(self, kind: str, key: str, index: EngineIndex) -> None:
        """Mark an index as complete; the local store is written last."""
        self._engine.mark(index.collection, key)
        reference = {
            "collection": np.frombuffer(index.collection.encode(), dtype=np.uint8),
            "width": np.array([index.width]),
        }
        self._local.save_arrays(kind, key, index.iris.arrays("iris") | reference)

    def _drop(self, kind: str, but: str = "") -> None:
        """Delete the collections of a kind, including those of interrupted writers."""
        pattern = re.compile(rf"{re.escape(self._name)}-{re.escape(kind)}-[0-9a-f]{{32}}")
        for name in list(self._engine.collections()):
            if pattern.fullmatch(name) and name != but:
                self._engine.drop(name)


def _changed_error() -> VectorStoreError:
    return VectorStoreError("the vectors were changed by another process: open the graph again")
