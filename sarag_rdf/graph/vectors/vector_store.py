"""Vector indexes and arrays that are cached in a folder, or held in memory.

A file of arrays begins with a line of JSON that has the key of the arrays, their layout and their
checksums, and those of the table of vectors that belongs to them, to which rows are appended.
"""

from __future__ import annotations

import fcntl
import json
import logging
import math
import mmap
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, narrow
from sarag_rdf.base.errors import shown_path, warn_unwritable
from sarag_rdf.base.files import replacing
from sarag_rdf.base.ports import Arrays, Matrix
from sarag_rdf.graph.vectors.search_indexes import ExactIndex, VectorIndex

log = logging.getLogger(__name__)

DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""Exceptions for a file that is missing, truncated or invalid."""
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)
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
    """An entry with memory-mapped arrays; None for another key. Raises one of `DAMAGED`."""
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


# -------------------------------------------------------------------------- Tables of vectors


def write_rows(path: Path, blocks: Iterable[Matrix]) -> tuple[Matrix, Table | OSError]:
    """Write rows to a new file and map them; what does not fit stays in memory, with the error."""
    in_memory: list[Matrix] = []
    count = dimension = 0
    error: OSError | None = None
    for block in blocks:
        rows = np.ascontiguousarray(block, dtype=np.float32)
        dimension = rows.shape[1]
        try:
            if error is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(_bytes(rows))
                count += len(rows)
        except OSError as problem:
            error = problem
        if error is not None:
            in_memory.append(rows)
    matrix = np.empty((0, dimension), dtype=np.float32)
    if count:
        with path.open("rb") as file:
            matrix = _mapped(file, count, dimension)
    if error is not None:
        return np.concatenate([matrix, *in_memory]), error
    return matrix, Table(path.name, count, dimension, checksums(_bytes(matrix)))


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
    """Verify all checksums anew."""
    _verified.clear()


def checksums(data: memoryview, first: int = 0) -> list[int]:
    """The CRC-32 of each segment of some bytes, from segment `first` on."""
    begins = range(first * SEGMENT, max(len(data), 1), SEGMENT)
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda begin: zlib.crc32(data[begin : begin + SEGMENT]), begins))


def _check(file: IO[bytes], array: NDArray[Any], expected: Sequence[int], offset: int = 0) -> None:
    """Raise ValueError for other checksums; segments that were verified are not read again."""
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


# ------------------------------------------------------------------------------ The stores


class VectorStore:
    """A cache of vector indexes, and of arrays computed from the graph; this one stores nothing.

    Entries of a store may be deleted at any time.
    """

    folder: Path | None = None
    """Where its files are, if it has any."""

    def names(self) -> Sequence[str]:
        """The names of arrays and kinds of indexes in the store, readable or not."""
        return ()

    def key_of(self, name: str) -> str:  # noqa: ARG002
        """The key of an entry; empty if there is none, or if it is unreadable."""
        return ""

    def discard(self, name: str) -> None:
        """Delete an entry."""

    def load_arrays(self, name: str, key: str) -> Arrays | None:  # noqa: ARG002
        """The arrays saved under name and key, read-only, or None."""
        return None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        """Store arrays, if possible."""

    def load(self, kind: str, key: str) -> VectorIndex | None:  # noqa: ARG002
        """The index of a kind if it was saved under this key, else None."""
        return None

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> VectorIndex:
        """Create an index of ascending IRIs and blocks of vectors (at least one), and store it."""
        del kind, key
        rows = [np.asarray(block, dtype=np.float32) for block in blocks]
        return ExactIndex(IriList.packed(iris), np.concatenate(rows))

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        deleted: Sequence[str],
        inserted: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> VectorIndex | None:
        """Update the index of key `before` to key `after`: delete IRIs, and insert others.

        `inserted` ascends, with vectors in `blocks`; IRIs that already exist must be in `deleted`
        as well, which may contain unknown IRIs. None if there is no such index, or if it cannot be
        written; it must then be rebuilt, and the old one is no longer usable.
        """
        del kind, before, after, deleted, inserted, blocks
        return None

    def rekey(self, name: str, before: str, after: str) -> None:
        """Change the key of an index or arrays, if they exist."""


DEAD = 0.25
"""A table is written anew if more than this share of its slots is deleted."""
_reported: set[Path] = set()
"""Damaged entries for which a warning was logged."""


class FolderVectors(VectorStore):
    """A `VectorStore` in a folder. Entries with another key, or damaged ones, count as absent.

    ``NAME.arrays`` has the arrays of an entry and its key. The vectors of an index are in
    ``NAME-PROCESS-DIGITS.f32``; its arrays are ``iris``, ``iris_ends`` and, if the vectors are not
    in the order of their IRIs, ``order``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Path = folder

    def names(self) -> Sequence[str]:
        return sorted(path.stem for path in self._glob("*.arrays"))

    def key_of(self, name: str) -> str:
        try:
            return read_head(self._path(name))[0]
        except DAMAGED:
            return ""

    def discard(self, name: str) -> None:
        table = self._table_file(name)
        _discard(self._path(name))
        shutil.rmtree(self._path(name), ignore_errors=True)
        if table:
            _discard(self.folder / table)

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        entry = self._entry(name, key)
        return entry.arrays if entry else None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        try:
            self._publish(name, Entry(key, arrays))
        except OSError as error:
            warn_unwritable(self.folder, error)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        return self._index(kind, self._entry(kind, key))

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> ExactIndex:
        names = IriList.packed(iris)
        path = self.folder / f"{kind}-{os.getpid()}-{uuid.uuid4().hex[:12]}.f32"
        is_stored = False
        try:
            matrix, table = write_rows(path, blocks)
            try:
                if isinstance(table, OSError):
                    raise table
                self._publish(kind, Entry(key, names.arrays("iris"), table))
                is_stored = True
            except OSError as error:
                warn_unwritable(self.folder, error)
        finally:
            if not is_stored:
                _discard(path)
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
        old = self._index(kind, entry)
        if entry is None or entry.table is None or old is None:
            return None
        merge = Merge.of(old.iris, deleted, inserted)
        if not merge.size:
            self.rekey(kind, before, after)
            return self.load(kind, after)
        try:
            first, table = append_rows(self.folder, entry.table, blocks)
            if table.slots - first != len(inserted):
                raise ValueError("the numbers of vectors and IRIs differ")
            names = merge.iris(old.iris, IriList.packed(inserted))
            order = narrow(merge.values(old.slots, np.arange(first, table.slots)))
            if table.slots - len(order) > table.slots * DEAD:
                index = ExactIndex(names, map_table(self.folder, table), order)
                return self.save(kind, after, names, index.blocks())
            self._publish(kind, Entry(after, names.arrays("iris") | {"order": order}, table))
        except DAMAGED:
            return None
        return self.load(kind, after)

    def rekey(self, name: str, before: str, after: str) -> None:
        with suppress(*DAMAGED):
            change_key(self._path(name), before, after)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.arrays"

    def _entry(self, name: str, key: str) -> Entry | None:
        try:
            return read_entry(self._path(name), key)
        except _ABSENT:
            return None
        except DAMAGED as error:
            self._warn(name, error)
            return None

    def _index(self, kind: str, entry: Entry | None) -> ExactIndex | None:
        if entry is None or entry.table is None:
            return None
        try:
            iris, order = IriList.of_arrays(entry.arrays, "iris"), entry.arrays.get("order")
            matrix = map_table(self.folder, entry.table)
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
        """Replace an entry atomically, or raise OSError; delete unused tables."""
        unused = {self._table_file(name), *self._abandoned(name)}
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._path(name)) as stream:
            write_entry(stream, entry)
            shutil.rmtree(self._path(name), ignore_errors=True)  # a folder is damage, too
        for file in unused - {"", entry.table.file if entry.table else ""}:
            _discard(self.folder / file)

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
            return list(self.folder.glob(pattern))
        except OSError:  # no permission
            return []


def _discard(path: Path) -> None:
    """Delete a file, if possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # a process of another user
    return True
