"""Vector indexes and arrays, kept in a folder between runs and valid for one key (a revision)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from sarag_rdf.algo.iri_list import IriList
from sarag_rdf.algo.merge import Merge
from sarag_rdf.algo.packed import narrow, packed
from sarag_rdf.ports import Arrays, Matrix
from sarag_rdf.stores.array_file import DAMAGED, read_arrays, write_arrays
from sarag_rdf.stores.exact_index import ExactIndex
from sarag_rdf.stores.kept_files import KeptFiles, Manifest
from sarag_rdf.stores.matrix_file import MatrixFile, append_rows, map_matrix

log = logging.getLogger(__name__)

DEAD = 0.25
"""Where more of the slots than this share hold vectors that are gone, the others are copied."""


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

    def load(self, kind: str, key: str) -> ExactIndex | None:  # noqa: ARG002
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
        return ExactIndex(_iri_list(iris), held.matrix())

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


class FolderVectors:
    """A VectorStore of a manifest and one or two files a name; see `kept_files`.

    What has another key, or is damaged, counts as absent. An index has the arrays ``iris``,
    ``iris_ends`` and, where vectors do not stand in the order of their IRIs, ``order``.
    """

    def __init__(self, folder: Path) -> None:
        self._files = KeptFiles(folder)

    def names(self) -> Sequence[str]:
        return self._files.names()

    def key_of(self, name: str) -> str:
        manifest = self._files.manifest(name)
        return manifest.key if manifest else ""

    def discard(self, name: str) -> None:
        self._files.discard(name)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        found = self._found(name, key)
        return None if found is None else found[1]

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        try:
            self._files.publish(name, Manifest(key, self._written(name, arrays)))
        except OSError as error:
            log.warning("what was made of the graph could not be kept: %s", error.strerror)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        found = self._found(kind, key)
        if found is None:
            return None
        manifest, arrays = found
        try:
            path = self._files.path(manifest.matrix)
            matrix = map_matrix(path, manifest.slots, manifest.dimension)
            return _index(arrays, matrix)
        except DAMAGED:
            return None

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> ExactIndex:
        names = _iri_list(iris)
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
                log.warning("the vector index could not be kept: %s", error.strerror)
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
        if found is None:
            return None
        manifest, arrays = found
        iris = IriList.of_arrays(arrays, "iris")
        merge = Merge.of(iris, gone, come)
        try:
            if not merge.size:
                self.rekey(kind, before, after)
                return self.load(kind, after)
            table = self._files.path(manifest.matrix)
            first, slots = append_rows(table, manifest.dimension, blocks)
            if slots - first != len(come):
                raise ValueError("there is not one vector an IRI")
            names = merge.iris(iris, _iri_list(come))
            order = arrays.get("order", np.arange(len(iris)))
            order = narrow(merge.values(order, np.arange(first, slots)))
            if slots - len(order) > slots * DEAD:
                index = ExactIndex(names, map_matrix(table, slots, manifest.dimension), order)
                return self.save(kind, after, names, index.blocks())
            rows = self._written(kind, names.arrays("iris") | {"order": order})
            changed = replace(manifest, key=after, arrays=rows, slots=slots, checksums={})
            self._files.publish(kind, changed)
        except DAMAGED:
            return None
        return self.load(kind, after)

    def rekey(self, name: str, before: str, after: str) -> None:
        manifest = self._files.manifest(name)
        if manifest is not None and manifest.key == before:
            with suppress(OSError):
                self._files.publish(name, replace(manifest, key=after))

    def _written(self, name: str, arrays: Arrays) -> str:
        path = self._files.new(name, "arrays")
        write_arrays(path, arrays)
        return path.name

    def _found(self, name: str, key: str) -> tuple[Manifest, Arrays] | None:
        """Manifest and arrays of a key; looked for once more if a writer just replaced them."""
        for _ in range(2):
            manifest = self._files.manifest(name)
            if manifest is None or manifest.key != key:
                return None
            try:
                return manifest, read_arrays(self._files.path(manifest.arrays))
            except FileNotFoundError:
                continue
            except DAMAGED:
                return None
        return None


def _iri_list(iris: Sequence[str]) -> IriList:
    return iris if isinstance(iris, IriList) else IriList(*packed(iris))


def _index(arrays: Arrays, matrix: Matrix) -> ExactIndex:
    """Raises KeyError or ValueError for arrays that do not belong together."""
    iris = IriList.of_arrays(arrays, "iris")
    order = arrays.get("order")
    if len(iris) != len(matrix if order is None else order):
        raise ValueError("there is not one vector an IRI")
    return ExactIndex(iris, matrix, order)
