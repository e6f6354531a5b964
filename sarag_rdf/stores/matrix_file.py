"""A matrix in a file to which rows are appended: what was written once is never written over."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from sarag_rdf.ports import Matrix
from sarag_rdf.stores.array_file import mapped
from sarag_rdf.stores.kept_files import discard

if sys.platform != "win32":
    import fcntl


class MatrixFile:
    """Collects rows in a new file; those that the disk does not take are held in memory.

    The file goes at the end of a ``with`` block, unless it is kept.
    """

    def __init__(self, path: Path | None) -> None:
        """Without a path all rows are held in memory."""
        self._path = path
        self._held: list[Matrix] = []
        self._rows = 0
        self._dimension = 0
        self.error: OSError | None = None
        """Why not all rows are in the file."""
        self.is_kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is not None and not self.is_kept:
            discard(self._path)

    def extend(self, blocks: Iterable[Matrix], *, keep: bool = True) -> None:
        """Append rows, block by block; without `keep` an error ends it."""
        for block in blocks:
            if self.error and not keep:
                return
            rows = np.ascontiguousarray(block, dtype=np.float32)
            self._dimension = rows.shape[1]
            if self._path is None or self.error or not self._write(self._path, rows):
                self._held.append(rows)
            else:
                self._rows += len(rows)

    def matrix(self) -> Matrix:
        """All rows, mapped if they are in the file."""
        written = np.empty((0, self._dimension), dtype=np.float32)
        if self._path is not None and self._rows:
            written = map_matrix(self._path, self._rows, self._dimension)
        return np.concatenate([written, *self._held]) if self._held else written

    def _write(self, path: Path, rows: Matrix) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(rows.data.cast("B") if rows.size else b"")
        except OSError as error:
            self.error = error
            return False
        return True


def map_matrix(path: Path, slots: int, dimension: int) -> Matrix:
    """The first rows of a file, mapped and not to be written to.

    Raises OSError, or ValueError for a file that is too short.
    """
    if not slots * dimension:
        return np.empty((slots, dimension), dtype=np.float32)
    with path.open("rb") as file:
        found = np.frombuffer(mapped(file), np.float32, slots * dimension)
    return found.reshape(slots, dimension)


def release(matrix: Matrix) -> None:
    """Give back the memory of what has been looked at of a mapped matrix; it stays as it is."""
    held: object = matrix
    while isinstance(held, np.ndarray):
        held = held.base
    if isinstance(held, memoryview):
        held = held.obj
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def append_rows(path: Path, dimension: int, blocks: Iterable[Matrix]) -> tuple[int, int]:
    """Append rows to a file that others may have mapped: the first new slot, and all slots then.

    What a writer left there that was broken off is neither used nor written over. Raises OSError,
    or ValueError for rows of another dimension.
    """
    width = dimension * np.dtype(np.float32).itemsize
    if not width:
        raise ValueError("there are no rows to append to")
    with path.open("r+b") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        first = -(-end // width)
        slots = first
        file.write(bytes(first * width - end))
        for block in blocks:
            rows = np.ascontiguousarray(block, dtype=np.float32)
            if rows.shape[1:] != (dimension,):
                raise ValueError(f"rows have {rows.shape[1]} numbers, and not {dimension}")
            file.write(rows.data.cast("B") if rows.size else b"")
            slots += len(rows)
    return first, slots
