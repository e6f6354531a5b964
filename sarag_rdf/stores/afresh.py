"""A store that shows what would be kept if nothing were kept yet, and keeps nothing."""

from __future__ import annotations

from sarag_rdf.ports import Arrays, VectorIndex, VectorStore
from sarag_rdf.stores.memory_vectors import MemoryVectors


class Afresh(MemoryVectors):
    """Indexes are those of another store; arrays are made anew, and are at `arrays` then."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self.arrays: dict[str, Arrays] = {}

    def load(self, kind: str, key: str) -> VectorIndex | None:
        return self._store.load(kind, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:  # noqa: ARG002
        self.arrays[name] = arrays
