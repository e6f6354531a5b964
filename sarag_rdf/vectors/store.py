"""Stores of vector indexes and arrays: in a folder, in memory, or recording what they are given."""

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

from sarag_rdf.arrays import IriList, Merge, narrow, packed
from sarag_rdf.cache_errors import cannot_be_kept
from sarag_rdf.ports import Arrays, Matrix, Progress, VectorIndex, VectorStore
from sarag_rdf.vectors.files import (
    DAMAGED,
    KeptFiles,
    Manifest,
    MatrixFile,
    append_rows,
    digest,
    map_matrix,
    read_arrays,
    release,
    write_arrays,
)
from sarag_rdf.vectors.index import (
    BLOCK,
    ClusteredIndex,
    Clusters,
    ExactIndex,
    UnclusteredIndex,
    clustered,
)

log = logging.getLogger(__name__)

EXACT_UP_TO = 100_000
"""Vectors of which all are looked at for the nearest."""
CLUSTERED = ("document",)
"""Kinds whose nearest every search asks for; others are put into clusters once one has."""
NEAR = "near-"
"""What the name of the clusters of a kind begins with; their key is the file of the vectors."""
STALE = 0.1
"""Where more of the slots than this share are in no cluster, or gone, clusters are made anew."""

DEAD = 0.25
"""Where more of the slots than this share hold vectors that are gone, the others are copied."""


class FolderVectors:
    """A VectorStore of a manifest and one or two files a name; see `kept_files`.

    What has another key, or is damaged, counts as absent. An index has the arrays ``iris``,
    ``iris_ends`` and, where vectors do not stand in the order of their IRIs, ``order``.
    """

    def __init__(self, folder: Path, *, exact_up_to: int = EXACT_UP_TO) -> None:
        """The nearest of more vectors than `exact_up_to` are looked for in clusters."""
        self._files = KeptFiles(folder)
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
        found = self._found(name, key)
        return None if found is None else found[1]

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        try:
            self._files.publish(name, Manifest(key, self._written(name, arrays)))
        except OSError as error:
            cannot_be_kept(self._files.folder, error)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        found = self._found(kind, key)
        if found is None or not found[0].matrix:
            return None
        manifest, arrays = found
        try:
            return self._index(kind, manifest, arrays, self._mapped(manifest))
        except DAMAGED:
            return None

    def _index(self, kind: str, manifest: Manifest, arrays: Arrays, matrix: Matrix) -> ExactIndex:
        """Raises KeyError or ValueError for arrays that do not belong together."""
        iris, order = IriList.of_arrays(arrays, "iris"), arrays.get("order")
        if len(iris) != len(matrix if order is None else order):
            raise ValueError("there is not one vector an IRI")
        if len(iris) <= self._exact_up_to:
            return ExactIndex(iris, matrix, order)
        clusters = self._clusters(kind, manifest.matrix, matrix)
        if clusters is None:
            return UnclusteredIndex(iris, matrix, order, partial(self._wanted, kind, len(iris)))
        return ClusteredIndex(iris, matrix, order, clusters)

    def _clusters(self, kind: str, key: str, matrix: Matrix) -> Clusters | None:
        found = self._found(NEAR + kind, key)
        if found is None:
            return None
        try:
            clusters = Clusters.of_arrays(found[1])
        except DAMAGED:
            return None
        width = clusters.centres.shape[1]
        return clusters if clusters.size <= len(matrix) and width == matrix.shape[1] else None

    def _wanted(self, kind: str, count: int) -> None:
        """Remember that the nearest of a kind are asked for, and say once how that gets faster."""
        if not self._is_marked(kind):
            with suppress(OSError):
                self._mark(kind).touch()
            log.warning(
                "the nearest are looked for among all %d vectors (%s): the next sarag index puts "
                "them into clusters, which makes that faster",
                count,
                kind,
            )

    def _mark(self, kind: str) -> Path:
        return self._files.path(f"{NEAR}{kind}.wanted")

    def _is_marked(self, kind: str) -> bool:
        """Whether the nearest of a kind were asked for."""
        return os.path.exists(self._mark(kind))  # noqa: PTH110 - Path.exists may raise

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        index = self.load(kind, key)
        fresh = isinstance(index, ClusteredIndex) and index.stale <= STALE
        wanted = kind in CLUSTERED or self._is_marked(kind)
        if index is None or len(index) <= self._exact_up_to or fresh or not wanted:
            return
        matrix, shown = index.matrix, progress(f"clustering {kind} vectors", len(index))

        def advance(done: int) -> None:
            release(matrix)
            shown(done)

        clusters, slots = clustered(matrix, index.slots.astype(np.int64), advance)
        places = np.empty(len(matrix), dtype=np.int64)
        places[slots] = np.arange(len(slots))
        arrays = index.iris.arrays("iris") | {"order": narrow(places[index.slots])}
        path = self._files.new(kind, "f32")
        with MatrixFile(path) as file:
            file.extend(_taken(matrix, slots), keep=False)
            try:
                if file.error:
                    raise file.error
                near = Manifest(path.name, self._written(NEAR + kind, clusters.arrays()))
                self._files.publish(NEAR + kind, near)
                width = matrix.shape[1]
                rows = self._written(kind, arrays)
                self._files.publish(kind, Manifest(key, rows, path.name, len(slots), width))
                file.is_kept = True
            except OSError as error:
                cannot_be_kept(self._files.folder, error)

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
                rows = self._written(kind, names.arrays("iris"))
                slots, dimension = matrix.shape
                self._files.publish(kind, Manifest(key, rows, path.name, slots, dimension))
                file.is_kept = True
            except OSError as error:
                cannot_be_kept(self._files.folder, error)
        return ExactIndex(names, matrix)

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        gone: Sequence[str],
        come: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> ExactIndex | None:
        found = self._found(kind, before)
        if found is None or not found[0].matrix:
            return None
        manifest, arrays = found
        iris = IriList.of_arrays(arrays, "iris")
        merge = Merge.of(iris, gone, come)
        try:
            if not merge.size:
                self.rekey(kind, before, after)
                return self.load(kind, after)
            table = self._files.path(manifest.matrix)
            self._files.check(manifest, manifest.matrix)
            first, slots = append_rows(table, manifest.dimension, blocks)
            if slots - first != len(come):
                raise ValueError("there is not one vector an IRI")
            names = merge.iris(iris, iri_list(come))
            order = arrays.get("order", np.arange(len(iris)))
            order = narrow(merge.values(order, np.arange(first, slots)))
            if slots - len(order) > slots * DEAD:
                index = ExactIndex(names, map_matrix(table, slots, manifest.dimension), order)
                return self.save(kind, after, names, index.blocks())
            rows = self._written(kind, names.arrays("iris") | {"order": order})
            changed = replace(manifest, key=after, arrays=rows, slots=slots)
            changed = replace(changed, checksums=self._extended(manifest, changed))
            self._files.publish(kind, changed)
        except DAMAGED:
            return None
        return self.load(kind, after)

    def rekey(self, name: str, before: str, after: str) -> None:
        manifest = self._files.manifest(name)
        if manifest is not None and manifest.key == before:
            with suppress(OSError):
                self._files.publish(name, replace(manifest, key=after))

    def _mapped(self, manifest: Manifest) -> Matrix:
        """The matrix of a manifest; raises one of `DAMAGED` if it is another by now."""
        self._files.check(manifest, manifest.matrix)
        path = self._files.path(manifest.matrix)
        return map_matrix(path, manifest.slots, manifest.dimension)

    def _extended(self, before: Manifest, after: Manifest) -> dict[str, str]:
        """The checksum of a matrix to which rows were appended."""
        name = before.matrix
        old, new = before.size(name) or 0, after.size(name)
        known = before.checksums[name]
        return {name: digest(self._files.path(name), new, known=known, unchanged=old)}

    def _written(self, name: str, arrays: Arrays) -> str:
        path = self._files.new(name, "arrays")
        write_arrays(path, arrays)
        return path.name

    def _found(self, name: str, key: str) -> tuple[Manifest, Arrays] | None:
        """Manifest and arrays of a key; looked for once more if a writer just replaced them."""
        for _ in range(2):
            manifest = self._files.manifest(name, tell=True)
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


def _taken(matrix: Matrix, slots: NDArray[np.int64]) -> Iterator[Matrix]:
    for begin in range(0, len(slots), BLOCK):
        yield matrix[slots[begin : begin + BLOCK]]
        release(matrix)


class MemoryVectors:
    """A VectorStore that keeps nothing."""

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
        held = MatrixFile(None)
        held.extend(blocks)
        return ExactIndex(iri_list(iris), held.matrix())

    def update(
        self,
        kind: str,  # noqa: ARG002
        before: str,  # noqa: ARG002
        after: str,  # noqa: ARG002
        gone: Sequence[str],  # noqa: ARG002
        come: Sequence[str],  # noqa: ARG002
        blocks: Iterable[Matrix],  # noqa: ARG002
    ) -> ExactIndex | None:
        return None

    def rekey(self, name: str, before: str, after: str) -> None:
        pass

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        pass


def iri_list(iris: Sequence[str]) -> IriList:
    """IRIs in ascending order, as bytes."""
    return iris if isinstance(iris, IriList) else IriList(*packed(iris))


class RecordingVectorStore(MemoryVectors):
    """Indexes are those of another store; arrays are made anew, and are at `arrays` then."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self.arrays: dict[str, Arrays] = {}

    def load(self, kind: str, key: str) -> VectorIndex | None:
        return self._store.load(kind, key)

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:  # noqa: ARG002
        self.arrays[name] = arrays
