"""Vector stores: in a folder, in memory, or recording saved arrays for inspection."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, narrow, packed
from sarag_rdf.base.cache_errors import warn_unwritable
from sarag_rdf.base.ports import Arrays, Matrix, Progress, VectorIndex, VectorStore
from sarag_rdf.graph.vectors.files import (
    DAMAGED,
    CacheFolder,
    Manifest,
    MatrixFile,
    append_rows,
    digest,
    map_matrix,
    read_arrays,
    release,
    write_arrays,
)
from sarag_rdf.graph.vectors.index import (
    BLOCK,
    ClusteredIndex,
    Clusters,
    ExactIndex,
    UnclusteredIndex,
    build_clusters,
)

log = logging.getLogger(__name__)

EXACT_UP_TO = 100_000
"""Up to this many vectors are searched exhaustively."""
CLUSTERED = ("document",)
"""Kinds that are always clustered; others are clustered once a search needs their nearest."""
NEAR = "near-"
"""Prefix of the names of clusters; their key is the file of the vectors."""
STALE = 0.1
"""Clusters are rebuilt if more than this share of the slots is unclustered or deleted."""
DEAD = 0.25
"""A matrix is compacted if more than this share of its slots is deleted."""


class FolderVectors:
    """A `VectorStore` with a manifest and one or two files per name; see `CacheFolder`.

    Entries with another key, or damaged ones, count as absent. An index has the arrays ``iris``,
    ``iris_ends`` and, if the vectors are not in the order of their IRIs, ``order``.
    """

    def __init__(self, folder: Path, *, exact_up_to: int = EXACT_UP_TO) -> None:
        """Indexes with more vectors than `exact_up_to` are searched approximately, by clusters."""
        self._files = CacheFolder(folder)
        self._exact_up_to = exact_up_to

    def names(self) -> Sequence[str]:
        return [name for name in self._files.names() if not name.startswith(NEAR)]

    def key_of(self, name: str) -> str:
        manifest = self._files.manifest(name)
        return manifest.key if manifest else ""

    def discard(self, name: str) -> None:
        self._files.discard(name)
        self._files.discard(NEAR + name)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        entry = self._entry(name, key)
        return None if entry is None else entry[1]

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        try:
            self._files.publish(name, Manifest(key, self._write(name, arrays)))
        except OSError as error:
            warn_unwritable(self._files.folder, error)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        entry = self._entry(kind, key)
        if entry is None or not entry[0].matrix:
            return None
        manifest, arrays = entry
        try:
            return self._index(kind, manifest, arrays, self._map(manifest))
        except DAMAGED:
            return None

    def _index(self, kind: str, manifest: Manifest, arrays: Arrays, matrix: Matrix) -> ExactIndex:
        """Raises KeyError or ValueError for inconsistent arrays."""
        iris, order = IriList.of_arrays(arrays, "iris"), arrays.get("order")
        if len(iris) != len(matrix if order is None else order):
            raise ValueError("the numbers of vectors and IRIs differ")
        if len(iris) <= self._exact_up_to:
            return ExactIndex(iris, matrix, order)
        clusters = self._clusters(kind, manifest.matrix, matrix)
        if clusters is None:
            request = partial(self._request_clusters, kind, len(iris))
            return UnclusteredIndex(iris, matrix, order, request)
        return ClusteredIndex(iris, matrix, order, clusters)

    def _clusters(self, kind: str, key: str, matrix: Matrix) -> Clusters | None:
        entry = self._entry(NEAR + kind, key)
        if entry is None:
            return None
        try:
            clusters = Clusters.of_arrays(entry[1])
        except DAMAGED:
            return None
        width = clusters.centres.shape[1]
        return clusters if clusters.size <= len(matrix) and width == matrix.shape[1] else None

    def _request_clusters(self, kind: str, count: int) -> None:
        """Request clusters for a kind, and log once that searching it is slow without them."""
        if not self._is_requested(kind):
            with suppress(OSError):
                self._request_file(kind).touch()
            log.warning(
                "searching all %d %s vectors exhaustively: the next sarag index clusters them, "
                "which makes searching faster",
                count,
                kind,
            )

    def _request_file(self, kind: str) -> Path:
        return self._files.path(f"{NEAR}{kind}.wanted")

    def _is_requested(self, kind: str) -> bool:
        """Whether clusters were requested for a kind."""
        return os.path.exists(self._request_file(kind))  # noqa: PTH110 - Path.exists may raise

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        index = self.load(kind, key)
        is_fresh = isinstance(index, ClusteredIndex) and index.stale <= STALE
        is_needed = kind in CLUSTERED or self._is_requested(kind)
        if index is None or len(index) <= self._exact_up_to or is_fresh or not is_needed:
            return
        matrix, show_progress = index.matrix, progress(f"clustering {kind} vectors", len(index))

        def advance(done: int) -> None:
            release(matrix)
            show_progress(done)

        clusters, slots = build_clusters(matrix, index.slots.astype(np.int64), advance)
        new_slots = np.empty(len(matrix), dtype=np.int64)
        new_slots[slots] = np.arange(len(slots))
        arrays = index.iris.arrays("iris") | {"order": narrow(new_slots[index.slots])}
        path = self._files.new(kind, "f32")
        with MatrixFile(path) as file:
            file.extend(_select(matrix, slots), keep=False)
            try:
                if file.error:
                    raise file.error
                near = Manifest(path.name, self._write(NEAR + kind, clusters.arrays()))
                self._files.publish(NEAR + kind, near)
                width = matrix.shape[1]
                rows = self._write(kind, arrays)
                self._files.publish(kind, Manifest(key, rows, path.name, len(slots), width))
                file.is_kept = True
            except OSError as error:
                warn_unwritable(self._files.folder, error)

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> ExactIndex:
        names = iri_list(iris)
        path = self._files.new(kind, "f32")
        with MatrixFile(path) as file:
            file.extend(blocks)
            matrix = file.matrix()
            try:
                if file.error:
                    raise file.error
                rows = self._write(kind, names.arrays("iris"))
                slots, dimension = matrix.shape
                self._files.publish(kind, Manifest(key, rows, path.name, slots, dimension))
                file.is_kept = True
            except OSError as error:
                warn_unwritable(self._files.folder, error)
        return ExactIndex(names, matrix)

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        deleted: Sequence[str],
        inserted: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> ExactIndex | None:
        entry = self._entry(kind, before)
        if entry is None or not entry[0].matrix:
            return None
        manifest, arrays = entry
        iris = IriList.of_arrays(arrays, "iris")
        merge = Merge.of(iris, deleted, inserted)
        try:
            if not merge.size:
                self.rekey(kind, before, after)
                return self.load(kind, after)
            table = self._files.path(manifest.matrix)
            self._files.check(manifest, manifest.matrix)
            first, slots = append_rows(table, manifest.dimension, blocks)
            if slots - first != len(inserted):
                raise ValueError("the numbers of vectors and IRIs differ")
            names = merge.iris(iris, iri_list(inserted))
            order = arrays.get("order", np.arange(len(iris)))
            order = narrow(merge.values(order, np.arange(first, slots)))
            if slots - len(order) > slots * DEAD:
                index = ExactIndex(names, map_matrix(table, slots, manifest.dimension), order)
                return self.save(kind, after, names, index.blocks())
            rows = self._write(kind, names.arrays("iris") | {"order": order})
            changed = replace(manifest, key=after, arrays=rows, slots=slots)
            changed = replace(changed, checksums=self._extend_checksum(manifest, changed))
            self._files.publish(kind, changed)
        except DAMAGED:
            return None
        return self.load(kind, after)

    def rekey(self, name: str, before: str, after: str) -> None:
        manifest = self._files.manifest(name)
        if manifest is not None and manifest.key == before:
            with suppress(OSError):
                self._files.publish(name, replace(manifest, key=after))

    def _map(self, manifest: Manifest) -> Matrix:
        """The matrix of a manifest, memory-mapped; raises one of `DAMAGED` if it has changed."""
        self._files.check(manifest, manifest.matrix)
        path = self._files.path(manifest.matrix)
        return map_matrix(path, manifest.slots, manifest.dimension)

    def _extend_checksum(self, before: Manifest, after: Manifest) -> dict[str, str]:
        """The checksum of a matrix after rows were appended."""
        name = before.matrix
        old, new = before.size(name) or 0, after.size(name)
        known = before.checksums[name]
        return {name: digest(self._files.path(name), new, known=known, unchanged=old)}

    def _write(self, name: str, arrays: Arrays) -> str:
        path = self._files.new(name, "arrays")
        write_arrays(path, arrays)
        return path.name

    def _entry(self, name: str, key: str) -> tuple[Manifest, Arrays] | None:
        """Manifest and arrays of a key; retried once if a writer has just replaced them."""
        for _ in range(2):
            manifest = self._files.manifest(name, warn=True)
            if manifest is None or manifest.key != key:
                return None
            try:
                self._files.check(manifest, manifest.arrays)
                return manifest, read_arrays(self._files.path(manifest.arrays))
            except FileNotFoundError:
                continue
            except DAMAGED:
                return None
        return None


def _select(matrix: Matrix, slots: NDArray[np.int64]) -> Iterator[Matrix]:
    for begin in range(0, len(slots), BLOCK):
        yield matrix[slots[begin : begin + BLOCK]]
        release(matrix)


class MemoryVectors:
    """A `VectorStore` without persistence."""

    def names(self) -> Sequence[str]:
        return ()

    def key_of(self, name: str) -> str:  # noqa: ARG002
        return ""

    def discard(self, name: str) -> None:
        pass

    def load_arrays(self, name: str, key: str) -> Arrays | None:  # noqa: ARG002
        return None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        pass

    def load(self, kind: str, key: str) -> VectorIndex | None:  # noqa: ARG002
        return None

    def save(
        self,
        kind: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        iris: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> ExactIndex:
        rows = MatrixFile(None)
        rows.extend(blocks)
        return ExactIndex(iri_list(iris), rows.matrix())

    def update(
        self,
        kind: str,  # noqa: ARG002
        before: str,  # noqa: ARG002
        after: str,  # noqa: ARG002
        deleted: Sequence[str],  # noqa: ARG002
        inserted: Sequence[str],  # noqa: ARG002
        blocks: Iterable[Matrix],  # noqa: ARG002
    ) -> ExactIndex | None:
        return None

    def rekey(self, name: str, before: str, after: str) -> None:
        pass

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        pass


def iri_list(iris: Sequence[str]) -> IriList:
    """A sorted sequence of IRIs as an `IriList`."""
    return iris if isinstance(iris, IriList) else IriList(*packed(iris))


class RecordingVectorStore(MemoryVectors):
    """Uses the indexes of another store; arrays are not loaded, and recorded when saved."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self.arrays: dict[str, Arrays] = {}

    def load(self, kind: str, key: str) -> VectorIndex | None:
        return self._store.load(kind, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:  # noqa: ARG002
        self.arrays[name] = arrays
