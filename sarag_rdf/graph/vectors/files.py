"""Memory-mapped cache files with checksums: named arrays, and tables to which rows are appended.

A file of arrays begins with a line of JSON that has the key of the arrays, their layout and their
checksums, and those of the table that belongs to them.
"""

from __future__ import annotations

import fcntl
import json
import math
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.ports import Arrays, Matrix

DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""Exceptions for a file that is missing, truncated or invalid."""
SEGMENT = 1 << 26
"""Bytes per checksum."""
_MAGIC = b"sarag arrays 2 "
_ALIGNMENT = 64
_SLACK = 64
"""Bytes by which the first line of a file of arrays may grow, for another key."""
_DTYPE = re.compile(r"[<|][biuf][1248]")
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Table:
    """The first `slots` rows, of float32, of a file; others are those of an interrupted writer."""

    file: str
    slots: int
    dimension: int
    checksums: Sequence[int]


@dataclass(frozen=True, slots=True)
class Entry:
    """Arrays, the key under which they are valid, and for an index the table of its vectors."""

    key: str
    arrays: Arrays
    table: Table | None = None


def write_entry(file: IO[bytes], entry: Entry) -> None:
    """Write an entry to a new file; raises OSError."""
    arrays = {name: np.ascontiguousarray(array) for name, array in entry.arrays.items()}
    layout, size = {}, 0
    for name, array in arrays.items():
        layout[name] = (array.dtype.str, array.shape, size, checksums(_bytes(array)))
        size += _aligned(array.nbytes)
    table = asdict(entry.table) if entry.table else None
    file.write(_head_line({"key": entry.key, "size": size, "arrays": layout, "table": table}))
    for array in arrays.values():
        file.write(_bytes(array))
        file.write(bytes(_aligned(array.nbytes) - array.nbytes))


def read_head(path: Path) -> tuple[str, Table | None]:
    """The key and the table of an entry; raises one of `DAMAGED`."""
    with path.open("rb") as file:
        head = _head(file.readline())
    return head["key"], _table(head)


def read_entry(path: Path, key: str) -> Entry | None:
    """An entry with memory-mapped, read-only arrays; None if it has another key.

    Raises one of `DAMAGED`.
    """
    with path.open("rb") as file:
        line = file.readline()
        head = _head(line)
        if head["key"] != key:
            return None
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(data) != len(line) + head["size"]:
            raise ValueError(f"{path.name} is truncated")
        layout: Mapping[str, Any] = head["arrays"]
        arrays = {n: _array(file, data, len(line), *entry) for n, entry in layout.items()}
    return Entry(key, arrays, _table(head))


def change_key(path: Path, before: str, after: str) -> None:
    """Change the key of an entry in place, if it is `before`; raises one of `DAMAGED`."""
    with path.open("r+b") as file:
        line = file.readline()
        head = _head(line)
        if head["key"] == before:
            file.seek(0)
            file.write(_head_line({**head, "key": after}, len(line)))


def _head_line(head: Mapping[str, Any], size: int = 0) -> bytes:
    """The first line of a file, padded to a size; raises ValueError if it is longer."""
    text = json.dumps(head).encode()
    line = _MAGIC + f"{zlib.crc32(text):08x} ".encode() + text
    size = size or _aligned(len(line) + 1 + _SLACK)
    if len(line) >= size:
        raise ValueError("the key is too long")
    return line.ljust(size - 1) + b"\n"


def _head(line: bytes) -> dict[str, Any]:
    """Parse the first line of a file; raises ValueError."""
    checksum, _, text = line.removeprefix(_MAGIC).strip().partition(b" ")
    if not (line.startswith(_MAGIC) and line.endswith(b"\n")):
        raise ValueError("not a file of arrays")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("wrong checksum")
    head: dict[str, Any] = json.loads(text)
    return head


def _table(head: Mapping[str, Any]) -> Table | None:
    """The table of an entry; raises ValueError if it is not in the folder, TypeError, KeyError."""
    if head["table"] is None:
        return None
    table = Table(**head["table"])
    if not isinstance(table.file, str) or Path(table.file).name != table.file:
        raise ValueError("a file outside of the folder")
    if not all(type(size) is int and size >= 0 for size in (table.slots, table.dimension)):
        raise ValueError("invalid sizes")
    return table


def _array(
    file: IO[bytes],
    data: mmap.mmap,
    begin: int,
    dtype: str,
    shape: Sequence[int],
    offset: int,
    expected: Sequence[int],
) -> NDArray[Any]:
    if not _DTYPE.fullmatch(dtype) or any(length < 0 for length in shape):
        raise ValueError(f"invalid array type {dtype} or shape {shape}")
    kind, count = np.dtype(dtype), math.prod(shape)
    if offset < 0 or begin + offset + count * kind.itemsize > len(data):
        raise ValueError("an array exceeds the file")
    if count == 0:
        return np.empty(shape, kind)
    array = np.frombuffer(data, kind, count, begin + offset)
    _check(file, array, expected, begin + offset)
    return array.reshape(shape)


def _aligned(size: int) -> int:
    """The size rounded up to the alignment."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _bytes(array: NDArray[Any]) -> memoryview:
    return memoryview(array.data.cast("B") if array.size else b"")


# ------------------------------------------------------------------------------- Tables


class TableWriter:
    """Writes rows to a new file; rows that cannot be written are kept in memory."""

    def __init__(self, path: Path | None) -> None:
        """Without a path, all rows are kept in memory."""
        self._path = path
        self._in_memory: list[Matrix] = []
        self._rows = 0
        self._dimension = 0
        self._error: OSError | None = None

    def extend(self, blocks: Iterable[Matrix]) -> None:
        """Append rows block by block."""
        for block in blocks:
            rows = np.ascontiguousarray(block, dtype=np.float32)
            self._dimension = rows.shape[1]
            if self._path is None or self._error or not self._write(self._path, rows):
                self._in_memory.append(rows)
            else:
                self._rows += len(rows)

    def _write(self, path: Path, rows: Matrix) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(_bytes(rows))
        except OSError as error:
            self._error = error
            return False
        return True

    def matrix(self) -> Matrix:
        """All rows, memory-mapped if they are in the file."""
        written = np.empty((0, self._dimension), dtype=np.float32)
        if self._path is not None and self._rows:
            with self._path.open("rb") as file:
                written = _mapped(file, self._rows, self._dimension)
        return np.concatenate([written, *self._in_memory]) if self._in_memory else written

    def table(self) -> Table:
        """The table in the file; raises the error because of which rows are kept in memory."""
        if self._error or self._path is None:
            raise self._error or FileNotFoundError("no file of vectors")
        sums = checksums(_bytes(self.matrix()))
        return Table(self._path.name, self._rows, self._dimension, sums)


def append_rows(folder: Path, table: Table, blocks: Iterable[Matrix]) -> tuple[int, Table]:
    """Append rows to a table that may be mapped elsewhere; the first new slot, and the new table.

    Rows of an interrupted writer are neither used nor overwritten. Raises OSError, or ValueError
    for rows of another dimension.
    """
    width = table.dimension * np.dtype(np.float32).itemsize
    if not width:
        raise ValueError("cannot append to rows of dimension 0")
    with (folder / table.file).open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        slots = first = -(-end // width)
        file.write(bytes(first * width - end))
        for block in blocks:
            rows = np.ascontiguousarray(block, dtype=np.float32)
            if rows.shape[1:] != (table.dimension,):
                raise ValueError(f"rows of dimension {rows.shape[1]} instead of {table.dimension}")
            file.write(_bytes(rows))
            slots += len(rows)
        file.flush()
        unchanged = table.slots * width // SEGMENT
        data = _bytes(_mapped(file, slots, table.dimension))
        sums = [*table.checksums[:unchanged], *checksums(data, unchanged)]
    return first, Table(table.file, slots, table.dimension, sums)


def map_table(folder: Path, table: Table) -> Matrix:
    """The rows of a table, memory-mapped and read-only; raises one of `DAMAGED`."""
    with (folder / table.file).open("rb") as file:
        matrix = _mapped(file, table.slots, table.dimension)
        _check(file, matrix, table.checksums)
    return matrix


def _mapped(file: IO[bytes], slots: int, dimension: int) -> Matrix:
    """The first rows of a file; raises ValueError for a file that is too short."""
    if not slots * dimension:
        return np.empty((slots, dimension), dtype=np.float32)
    if os.fstat(file.fileno()).st_size < 4 * slots * dimension:
        raise ValueError(f"{Path(file.name).name} is truncated")
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(data, np.float32, slots * dimension).reshape(slots, dimension)


# ---------------------------------------------------------------------------- Checksums


_verified: dict[tuple[int, int, int], tuple[int, Sequence[int]]] = {}
"""Device, inode and offset -> number of bytes and checksums that were verified in this process."""


def forget_verified() -> None:
    """Verify all files again, as in a new process."""
    _verified.clear()


def checksums(data: memoryview, first: int = 0) -> list[int]:
    """The CRC-32 of each segment of some bytes, from segment `first` on."""
    begins = range(first * SEGMENT, max(len(data), 1), SEGMENT)
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda begin: zlib.crc32(data[begin : begin + SEGMENT]), begins))


def _check(file: IO[bytes], array: NDArray[Any], expected: Sequence[int], offset: int = 0) -> None:
    """Raise ValueError if an array that is mapped from a file does not have these checksums.

    Segments that were verified before are not read again.
    """
    state = os.fstat(file.fileno())
    place, size = (state.st_dev, state.st_ino, offset), array.nbytes
    verified_size, verified = _verified.get(place, (0, ()))
    if (verified_size, verified) == (size, expected):
        return
    first = min(verified_size, size) // SEGMENT
    first = first if expected[:first] == verified[:first] else 0
    if checksums(_bytes(array), first) != expected[first:]:
        raise ValueError(f"wrong checksum of {Path(file.name).name}")
    _verified[place] = size, expected


def discard(path: Path) -> None:
    """Delete a file, if possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
