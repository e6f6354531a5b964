"""Memory-mapped cache files with checksums: arrays, append-only matrices, and manifests."""

from __future__ import annotations

import json
import logging
import math
import mmap
import os
import re
import shutil
import sys
import uuid
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.errors import shown_path
from sarag_rdf.base.ports import Arrays, Matrix
from sarag_rdf.base.temporary import replacing

log = logging.getLogger(__name__)

_LAYOUT = 2
_reported: set[Path] = set()
"""Damaged manifests for which a warning was logged."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files that are cached under a name, and the key for which they are valid.

    `arrays` is a file by `write_arrays`. An index also has a file `matrix` with `slots` rows of
    `dimension` numbers. `checksums` maps names of files to digests (see `digest`); for a matrix,
    whose file may be longer, to the digest of its slots.
    """

    key: str
    arrays: str
    matrix: str = ""
    slots: int = 0
    dimension: int = 0
    checksums: dict[str, str] = field(default_factory=dict)

    def size(self, file: str) -> int | None:
        """The number of bytes of a file that are covered by its checksum; None for all."""
        return 4 * self.slots * self.dimension if file == self.matrix else None

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files of the manifest."""
        return tuple(name for name in (self.arrays, self.matrix) if name)


class CacheFolder:
    """A folder of manifests ``NAME.json`` and files ``NAME-PROCESS-DIGITS.SUFFIX``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: str) -> Path:
        """The path of a file in a manifest."""
        return self.folder / file

    def new(self, name: str, suffix: str) -> Path:
        """A new unique path."""
        return self.folder / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:12]}.{suffix}"

    def names(self) -> list[str]:
        """The names with a manifest, readable or not."""
        return sorted(path.stem for path in self._glob("*.json"))

    def discard(self, name: str) -> None:
        """Delete a manifest, and its files if the manifest is readable."""
        manifest = self.manifest(name)
        discard(self.folder / f"{name}.json")
        _remove_folder(self.folder / f"{name}.json")
        for file in manifest.files if manifest else ():
            discard(self.folder / file)

    def manifest(self, name: str, *, warn: bool = False) -> Manifest | None:
        """The manifest of a name; None if there is none, or if it is unreadable.

        With `warn`, a damaged manifest is logged once.
        """
        path = self.folder / f"{name}.json"
        try:
            return _manifest(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            if warn and path not in _reported:
                _reported.add(path)
                reason = getattr(error, "strerror", None) or error
                log.warning("the cache %s is damaged (%s): rebuilding it", shown_path(path), reason)
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Replace the manifest of a name atomically, and delete files that are no longer used.

        Missing checksums are computed. Raises OSError, in which case the previous manifest remains.
        """
        previous = self.manifest(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        checksums = {
            file: manifest.checksums.get(file) or digest(self.path(file), manifest.size(file))
            for file in manifest.files
        }
        data = asdict(replace(manifest, checksums=checksums))
        target = self.folder / f"{name}.json"
        with replacing(target) as stream:
            text = json.dumps({"layout": _LAYOUT, "sum": _checksum(data), **data}, indent=1)
            stream.write(text.encode())
            _remove_folder(target)
        stale = set(previous.files if previous else ()) | self._abandoned(name)
        for file in stale - set(manifest.files):
            discard(self.folder / file)

    def check(self, manifest: Manifest, file: str) -> None:
        """Raise ValueError if a file of a manifest does not have its checksum, or OSError."""
        try:
            check(self.path(file), manifest.checksums.get(file, ""), manifest.size(file))
        except ValueError as error:
            log.warning(
                "the cache %s is damaged (%s): rebuilding it", shown_path(self.folder), error
            )
            raise

    def _glob(self, pattern: str) -> list[Path]:
        try:
            return list(self.folder.glob(pattern))
        except OSError:  # no permission
            return []

    def _abandoned(self, name: str) -> set[str]:
        """Files of processes that have ended, and of earlier versions."""
        files = {f"{name}.npy", f"{name}.iris", f"{name}.npz"}
        for file in self._glob(f"{name}-*"):
            process = file.name[len(name) + 1 :].partition("-")[0]
            if process.isdigit() and not _is_running(int(process)):
                files.add(file.name)
        return files


def _manifest(data: bytes) -> Manifest | None:
    """Parse a manifest; None for one of another layout. Raises if it is damaged."""
    values = json.loads(data)
    if values.pop("layout") != _LAYOUT:
        return None
    if values.pop("sum") != _checksum(values):
        raise ValueError("wrong checksum")
    manifest = Manifest(**values)
    names = (manifest.arrays, *manifest.files)
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise ValueError("files outside of the folder")
    if not all(type(size) is int and size >= 0 for size in (manifest.slots, manifest.dimension)):
        raise ValueError("invalid sizes")
    return manifest


def _checksum(values: Mapping[str, Any]) -> int:
    """The checksum of a manifest."""
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def discard(path: Path) -> None:
    """Delete a file, if possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _remove_folder(path: Path) -> None:
    """Delete a folder at the path of a manifest, if there is one."""
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


SEGMENT = 1 << 26
"""Bytes per checksum."""
_BUFFER = 1 << 20
_THREADS = min(4, os.cpu_count() or 1)

_verified: dict[tuple[int, int], tuple[int, str]] = {}
"""Device and inode of a file -> size and digest that were verified in this process."""


def digest(path: Path, size: int | None = None, *, known: str = "", unchanged: int = 0) -> str:
    """CRC-32 checksums of the segments of a file, up to `size` bytes; raises OSError, ValueError.

    `known` is the digest of a file with the same first `unchanged` bytes, for reuse.
    """
    size = path.stat().st_size if size is None else size
    reused = known.split()[: unchanged // SEGMENT]
    begins = range(len(reused) * SEGMENT, max(size, 1), SEGMENT)
    with ThreadPoolExecutor(_THREADS) as pool:
        computed = pool.map(
            lambda begin: _segment_checksum(path, begin, min(begin + SEGMENT, size)), begins
        )
        return " ".join([*reused, *computed])


def check(path: Path, expected: str, size: int | None = None) -> None:
    """Raise ValueError if the digest of the first `size` bytes is not `expected`, or OSError."""
    state = path.stat()
    size = state.st_size if size is None else size
    verified_size, verified = _verified.get((state.st_dev, state.st_ino), (0, ""))
    if (verified_size, verified) == (size, expected):
        return
    segments = min(verified_size, size) // SEGMENT
    common = segments if expected.split()[:segments] == verified.split()[:segments] else 0
    if digest(path, size, known=verified, unchanged=common * SEGMENT) != expected:
        raise ValueError(f"wrong checksum of {path.name}")
    _verified[state.st_dev, state.st_ino] = size, expected


def forget_verified() -> None:
    """Verify all files again, as in a new process."""
    _verified.clear()


def _segment_checksum(path: Path, begin: int, end: int) -> str:
    """The checksum of a segment; raises ValueError if the file is too short."""
    total, buffer = 0, memoryview(bytearray(_BUFFER))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while begin < end:
            count = file.readinto(buffer[: end - begin]) or 0
            if not count:
                raise ValueError(f"{path.name} is truncated")
            total = zlib.crc32(buffer[:count], total)
            begin += count
    return f"{total:08x}"


DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""Exceptions of `read_arrays` for a file that is missing, truncated or invalid."""

_MAGIC = b"sarag arrays 1\n"
_ALIGNMENT = 64
_DTYPE = re.compile(r"[<|][biuf][1248]")


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays to a new file, creating its folder; if OSError is raised, no file remains."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    layout, size = {}, 0
    for name, array in contiguous.items():
        layout[name] = (array.dtype.str, array.shape, size)
        size += _aligned(array.nbytes)
    head = _MAGIC + json.dumps({"size": size, "arrays": layout}).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(head.ljust(_aligned(len(head) + 1) - 1) + b"\n")
            for array in contiguous.values():
                file.write(array.data.cast("B") if array.size else b"")
                file.write(bytes(_aligned(array.nbytes) - array.nbytes))
    except OSError:
        discard(path)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, memory-mapped and read-only; raises one of `DAMAGED`."""
    with path.open("rb") as file:
        data = map_file(file)
    begin = data.find(b"\n", len(_MAGIC)) + 1
    if data[: len(_MAGIC)] != _MAGIC or begin == 0:
        raise ValueError(f"{path.name} is not a file of arrays")
    head = json.loads(data[len(_MAGIC) : begin])
    if len(data) != begin + head["size"]:
        raise ValueError(f"{path.name} is truncated")
    layout: Mapping[str, Any] = head["arrays"]
    return {name: _array(data, begin, *entry) for name, entry in layout.items()}


def map_file(file: IO[bytes]) -> mmap.mmap:
    """A read-only memory map of a file; raises ValueError if the file is empty."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _array(
    data: mmap.mmap, begin: int, dtype: str, shape: tuple[int, ...], offset: int
) -> NDArray[Any]:
    if not _DTYPE.fullmatch(dtype) or any(length < 0 for length in shape):
        raise ValueError(f"invalid array type {dtype} or shape {shape}")
    kind, count = np.dtype(dtype), math.prod(shape)
    if offset < 0 or begin + offset + count * kind.itemsize > len(data):
        raise ValueError("an array exceeds the file")
    if count == 0:
        return np.empty(shape, kind)
    return np.frombuffer(data, kind, count, begin + offset).reshape(shape)


def _aligned(size: int) -> int:
    """The size rounded up to the alignment."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


if sys.platform != "win32":
    import fcntl


class MatrixFile:
    """Writes rows to a new file; rows that cannot be written are kept in memory.

    The file is deleted at the end of a ``with`` block, unless `is_kept` is set.
    """

    def __init__(self, path: Path | None) -> None:
        """Without a path, all rows are kept in memory."""
        self._path = path
        self._in_memory: list[Matrix] = []
        self._rows = 0
        self._dimension = 0
        self.error: OSError | None = None
        """The error because of which rows are kept in memory."""
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
        """Append rows block by block; without `keep`, stop at the first error."""
        for block in blocks:
            if self.error and not keep:
                return
            rows = np.ascontiguousarray(block, dtype=np.float32)
            self._dimension = rows.shape[1]
            if self._path is None or self.error or not self._write(self._path, rows):
                self._in_memory.append(rows)
            else:
                self._rows += len(rows)

    def matrix(self) -> Matrix:
        """All rows, memory-mapped if they are in the file."""
        written = np.empty((0, self._dimension), dtype=np.float32)
        if self._path is not None and self._rows:
            written = map_matrix(self._path, self._rows, self._dimension)
        return np.concatenate([written, *self._in_memory]) if self._in_memory else written

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
    """The first rows of a file, memory-mapped and read-only.

    Raises OSError, or ValueError for a file that is too short.
    """
    if not slots * dimension:
        return np.empty((slots, dimension), dtype=np.float32)
    with path.open("rb") as file:
        values = np.frombuffer(map_file(file), np.float32, slots * dimension)
    return values.reshape(slots, dimension)


def release(matrix: Matrix) -> None:
    """Let the system evict the pages of a memory-mapped matrix, which remains usable."""
    base: object = matrix
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def append_rows(path: Path, dimension: int, blocks: Iterable[Matrix]) -> tuple[int, int]:
    """Append rows to a file that may be mapped elsewhere; the first new slot, and their number.

    Rows of an interrupted writer are neither used nor overwritten. Raises OSError, or ValueError
    for rows of another dimension.
    """
    width = dimension * np.dtype(np.float32).itemsize
    if not width:
        raise ValueError("cannot append to rows of dimension 0")
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
                raise ValueError(f"rows have dimension {rows.shape[1]} instead of {dimension}")
            file.write(rows.data.cast("B") if rows.size else b"")
            slots += len(rows)
    return first, slots
