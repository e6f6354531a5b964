"""Vectors in an external engine; IRIs and other arrays stay in a local store.

`VectorEngine` is the port: one class for each engine implements it. `EngineVectors` makes a
`VectorStore` of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Protocol
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import numpy as np

from sarag_rdf.base.arrays import IriList, Merge, Rows, batches, find_all
from sarag_rdf.base.errors import VectorStoreError, one_line
from sarag_rdf.base.ports import Arrays, Matrix, Vector
from sarag_rdf.base.redaction import redact_exception, redacted_remark
from sarag_rdf.graph.vectors.search_indexes import ROUNDING, VectorIndex
from sarag_rdf.graph.vectors.vector_store import VectorStore

BATCH = 512
"""Vectors per request to send, fetch or delete them."""
TIMEOUT = 30
"""Time limit of a request to an engine, in seconds."""
_CHANGED = "the vectors were changed by another process: open the graph again"
_GENERATION = 8
"""Digits, at the end of a mark, that are drawn for each change of the vectors."""


def key_of(iri: str) -> UUID:
    """The key of an IRI in engines whose keys are no long texts."""
    return uuid5(NAMESPACE_URL, iri)


class VectorEngine(Protocol):
    """Stores collections of vectors by IRI; failures raise `VectorStoreError`.

    The effects of a call are visible to the next one, also in another thread or process. Names of
    collections are letters, digits and hyphens, at most 100.
    """

    def close(self) -> None:
        """Close connections and files; the next call opens them again."""

    def collections(self) -> Sequence[str]:
        """The names of all collections, including those of other applications."""

    def create(self, name: str, width: int) -> None:
        """Create an empty collection for unit vectors of dimension `width`, at least 1."""

    def drop(self, name: str) -> None:
        """Delete a collection and its mark."""

    def mark(self, name: str, key: str) -> None:
        """Set the mark of a collection, 72 letters and digits; empty to remove it."""

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
    """An index whose engine finds candidates, which are ranked here by their exact vectors.

    When vectors have been fetched, it makes sure that they are still those of its generation.
    """

    def __init__(
        self, engine: VectorEngine, collection: str, iris: IriList, width: int, generation: str
    ) -> None:
        super().__init__(iris)
        self._engine, self.collection, self.width = engine, collection, width
        self.generation = generation

    def vectors(self, positions: Rows) -> Matrix:
        matrix = self._fetch(positions)
        self._check()
        return matrix

    def _check(self) -> None:
        if not self._engine.marked(self.collection).endswith(self.generation):
            raise VectorStoreError(_CHANGED)

    def _fetch(self, positions: Rows) -> Matrix:
        rows, inverse = np.unique(positions, return_inverse=True)
        matrix = np.empty((len(rows), self.width), dtype=np.float32)
        for begin in range(0, len(rows), BATCH):
            iris = [self.iris[row] for row in rows[begin : begin + BATCH].tolist()]
            vectors = self._engine.fetch(self.collection, iris)
            if vectors.keys() != set(iris):
                raise VectorStoreError(_CHANGED)
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
        if len(candidates) < k:
            self._check()
            raise VectorStoreError(
                f"the engine found {len(candidates)} of the {k} nearest vectors: ask for fewer "
                "documents, or choose another engine with --vectors"
            )
        rows = find_all(self.iris, [iri for iri, product in candidates if product >= threshold])
        if not len(rows) or rows.min() < 0:
            raise VectorStoreError(_CHANGED)
        return rows


class EngineVectors(VectorStore):
    """A `VectorStore` with vectors in an engine, and IRIs in a local store.

    While a collection is complete its mark is the key of its index, followed by its generation. It
    is used if the local store names it with both, and rebuilt otherwise.
    """

    def __init__(self, engine: VectorEngine, name: str, local: VectorStore) -> None:
        """Collections are named ``NAME-KIND-DIGITS``; those of others are never used or deleted."""
        self._engine, self.prefix, self._local = engine, name, local

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
        if arrays is None or not {"collection", "generation"} <= arrays.keys():
            return None
        iris = IriList.of_arrays(arrays, "iris")
        collection, generation = (
            arrays[name].tobytes().decode() for name in ("collection", "generation")
        )
        if not self._is_own(kind, collection):
            return None
        if self._engine.marked(collection) != key + generation:
            return None
        if self._engine.count(collection) != len(iris):
            return None
        return EngineIndex(self._engine, collection, iris, int(arrays["width"][0]), generation)

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> EngineIndex:
        rest = iter(blocks)
        first = next(rest)
        collection = f"{self.prefix}-{kind}-{uuid4().hex}"
        names, width = IriList.packed(iris), first.shape[1]
        index = EngineIndex(self._engine, collection, names, width, _new_generation())
        self._engine.create(collection, max(1, index.width))
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
        generation = old.generation
        if merge.size:
            generation = _new_generation()
            self._engine.mark(old.collection, "")
            removed = sorted(set(deleted).difference(inserted))
            for batch in batches(removed, BATCH):
                self._engine.delete(old.collection, batch)
            self._put(old.collection, inserted, blocks)
        names = merge.iris(old.iris, IriList.packed(inserted))
        new = EngineIndex(self._engine, old.collection, names, old.width, generation)
        self._commit(kind, after, new)
        return new

    def rekey(self, name: str, before: str, after: str) -> None:
        index = self.load(name, before)
        if index is not None:
            self._engine.mark(index.collection, after + index.generation)
        self._local.rekey(name, before, after)

    def _put(self, collection: str, iris: Sequence[str], blocks: Iterable[Matrix]) -> None:
        rest = iter(iris)
        for block in blocks:
            for begin in range(0, len(block), BATCH):
                rows = block[begin : begin + BATCH]
                names = list(islice(rest, len(rows)))
                if len(names) < len(rows):
                    raise ValueError("there are more vectors than IRIs")
                self._engine.put(collection, names, rows)
        if next(rest, None) is not None:
            raise ValueError("there are fewer vectors than IRIs")

    def _commit(self, kind: str, key: str, index: EngineIndex) -> None:
        """Mark an index as complete; the local store is written last."""
        self._engine.mark(index.collection, key + index.generation)
        reference = {
            "collection": np.frombuffer(index.collection.encode(), dtype=np.uint8),
            "generation": np.frombuffer(index.generation.encode(), dtype=np.uint8),
            "width": np.array([index.width]),
        }
        self._local.save_arrays(kind, key, index.iris.arrays("iris") | reference)

    def _drop(self, kind: str, but: str = "") -> None:
        """Delete the collections of a kind, including those of interrupted writers."""
        for name in self._engine.collections():
            if name != but and self._is_own(kind, name):
                self._engine.drop(name)

    def _is_own(self, kind: str, collection: str) -> bool:
        pattern = rf"{re.escape(self.prefix)}-{re.escape(kind)}-[0-9a-f]{{32}}"
        return re.fullmatch(pattern, collection) is not None


def _new_generation() -> str:
    return uuid4().hex[:_GENERATION]


@contextmanager
def failing_as(engine: str, failures: tuple[type[Exception], ...]) -> Iterator[None]:
    """A block in which errors of the client of an engine become `VectorStoreError`."""
    try:
        yield
    except failures as error:
        reason = one_line(redacted_remark(getattr(error, "message", "") or str(error)))
        redact_exception(error)
        raise VectorStoreError(f"{engine}: {reason}: see that it runs, and try again") from error
