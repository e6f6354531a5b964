"""Vector stores: in a folder, in memory, or recording saved arrays for inspection."""

from __future__ import annotations

import logging
import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from sarag_rdf.base.arrays import IriList, Merge, narrow, packed
from sarag_rdf.base.errors import shown_path, warn_unwritable
from sarag_rdf.base.files import replacing
from sarag_rdf.base.ports import Arrays, Matrix, VectorIndex, VectorStore
from sarag_rdf.graph.vectors.files import (
    DAMAGED,
    Entry,
    TableWriter,
    append_rows,
    change_key,
    discard,
    map_table,
    read_entry,
    read_head,
    write_entry,
)
from sarag_rdf.graph.vectors.index import ExactIndex

log = logging.getLogger(__name__)

DEAD = 0.25
"""A table is written anew if more than this share of its slots is deleted."""
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)
_reported: set[Path] = set()
"""Damaged entries for which a warning was logged."""


class FolderVectors:
    """A `VectorStore` in a folder. Entries with another key, or damaged ones, count as absent.

    ``NAME.arrays`` has the arrays of an entry and its key. The vectors of an index are in
    ``NAME-PROCESS-DIGITS.f32``; its arrays are ``iris``, ``iris_ends`` and, if the vectors are not
    in the order of their IRIs, ``order``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> Sequence[str]:
        return sorted(path.stem for path in self._glob("*.arrays"))

    def key_of(self, name: str) -> str:
        try:
            return read_head(self._path(name))[0]
        except DAMAGED:
            return ""

    def discard(self, name: str) -> None:
        table = self._table_file(name)
        discard(self._path(name))
        _remove_folder(self._path(name))
        if table:
            discard(self._folder / table)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        entry = self._entry(name, key)
        return entry.arrays if entry else None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        try:
            self._publish(name, Entry(key, arrays))
        except OSError as error:
            warn_unwritable(self._folder, error)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        entry = self._entry(kind, key)
        return self._index(kind, entry) if entry else None

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> ExactIndex:
        names = iri_list(iris)
        path = self._folder / f"{kind}-{os.getpid()}-{uuid.uuid4().hex[:12]}.f32"
        writer, is_stored = TableWriter(path), False
        try:
            writer.extend(blocks)
            matrix = writer.matrix()
            self._publish(kind, Entry(key, names.arrays("iris"), writer.table()))
            is_stored = True
        except OSError as error:
            warn_unwritable(self._folder, error)
        finally:
            if not is_stored:
                discard(path)
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
        old = self._index(kind, entry) if entry else None
        if entry is None or entry.table is None or old is None:
            return None
        merge = Merge.of(old.iris, deleted, inserted)
        if not merge.size:
            self.rekey(kind, before, after)
            return self.load(kind, after)
        try:
            first, table = append_rows(self._folder, entry.table, blocks)
            if table.slots - first != len(inserted):
                raise ValueError("the numbers of vectors and IRIs differ")
            names = merge.iris(old.iris, iri_list(inserted))
            order = narrow(merge.values(old.slots, np.arange(first, table.slots)))
            if table.slots - len(order) > table.slots * DEAD:
                index = ExactIndex(names, map_table(self._folder, table), order)
                return self.save(kind, after, names, index.blocks())
            self._publish(kind, Entry(after, names.arrays("iris") | {"order": order}, table))
        except DAMAGED:
            return None
        return self.load(kind, after)

    def rekey(self, name: str, before: str, after: str) -> None:
        with suppress(*DAMAGED):
            change_key(self._path(name), before, after)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.arrays"

    def _entry(self, name: str, key: str) -> Entry | None:
        try:
            return read_entry(self._path(name), key)
        except _ABSENT:
            return None
        except DAMAGED as error:
            self._warn(name, error)
            return None

    def _index(self, kind: str, entry: Entry) -> ExactIndex | None:
        if entry.table is None:
            return None
        try:
            iris, order = IriList.of_arrays(entry.arrays, "iris"), entry.arrays.get("order")
            matrix = map_table(self._folder, entry.table)
            if len(iris) != len(matrix if order is None else order):
                raise ValueError("the numbers of vectors and IRIs differ")
            return ExactIndex(iris, matrix, order)
        except DAMAGED as error:
            self._warn(kind, error)
            return None

    def _warn(self, name: str, error: Exception) -> None:
        """Log once that an entry is damaged."""
        path = self._path(name)
        if path not in _reported:
            _reported.add(path)
            reason = getattr(error, "strerror", None) or error
            log.warning("the cache %s is damaged (%s): rebuilding it", shown_path(path), reason)

    def _publish(self, name: str, entry: Entry) -> None:
        """Replace an entry atomically, and delete tables that are no longer used.

        Raises OSError, in which case the previous entry remains.
        """
        unused = {self._table_file(name), *self._abandoned(name)}
        self._folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._path(name)) as stream:
            write_entry(stream, entry)
            _remove_folder(self._path(name))
        for file in unused - {"", entry.table.file if entry.table else ""}:
            discard(self._folder / file)

    def _table_file(self, name: str) -> str:
        """The name of the file with the table of an entry, or an empty string."""
        with suppress(*DAMAGED):
            table = read_head(self._path(name))[1]
            return table.file if table else ""
        return ""

    def _abandoned(self, name: str) -> set[str]:
        """Files of processes that have ended."""
        files = set()
        for file in self._glob(f"{name}-*"):
            process = file.name[len(name) + 1 :].partition("-")[0]
            if process.isdigit() and not _is_running(int(process)):
                files.add(file.name)
        return files

    def _glob(self, pattern: str) -> list[Path]:
        try:
            return list(self._folder.glob(pattern))
        except OSError:  # no permission
            return []


def _remove_folder(path: Path) -> None:
    """Delete a folder at the path of an entry, if there is one."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


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
        rows = TableWriter(None)
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
