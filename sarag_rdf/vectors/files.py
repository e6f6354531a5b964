"""Memory-mapped cache files with checksums: arrays, append-only matrices, and their manifest."""

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

from sarag_rdf.errors import place
from sarag_rdf.ports import Arrays, Matrix

log = logging.getLogger(__name__)

_LAYOUT = 2
_told: set[Path] = set()
"""Manifests that were damaged: each is told once."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is kept under a name, and for which key it is valid.

    `arrays` names a file of `array_file`. An index has a file `matrix` of `slots` rows of
    `dimension` numbers beside it. `checksums` maps names of files to digests (see `checked`); of a
    matrix, whose file may be longer, to that of its slots.
    """

    key: str
    arrays: str
    matrix: str = ""
    slots: int = 0
    dimension: int = 0
    checksums: dict[str, str] = field(default_factory=dict)

    def size(self, file: str) -> int | None:
        """How many bytes of a file count; None for all."""
        return 4 * self.slots * self.dimension if file == self.matrix else None

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files that belong to it."""
        return tuple(name for name in (self.arrays, self.matrix) if name)


class KeptFiles:
    """A folder of manifests ``NAME.json``, and of files ``NAME-PROCESS-DIGITS.SUFFIX``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: str) -> Path:
        """Where a file stands that a manifest names."""
        return self.folder / file

    def new(self, name: str, suffix: str) -> Path:
        """A path that nothing refers to yet."""
        return self.folder / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:12]}.{suffix}"

    def names(self) -> list[str]:
        """Names that have a manifest, readable or not."""
        return sorted(path.stem for path in self._listed("*.json"))

    def discard(self, name: str) -> None:
        """Delete a manifest and then its files, as far as it tells them."""
        manifest = self.manifest(name)
        discard(self.folder / f"{name}.json")
        _make_way(self.folder / f"{name}.json")
        for file in manifest.files if manifest else ():
            discard(self.folder / file)

    def manifest(self, name: str, *, tell: bool = False) -> Manifest | None:
        """What is kept under a name; None if there is nothing, or nothing that can be read.

        With `tell` the latter gives a warning.
        """
        path = self.folder / f"{name}.json"
        try:
            return _manifest(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            if tell and path not in _told:
                _told.add(path)
                why = getattr(error, "strerror", None) or error
                log.warning("the cache %s is damaged (%s): it is made anew", place(path), why)
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Put a manifest in place of another, and delete what only the other names.

        Files have their checksums taken that it has none for. Raises OSError, and then the other
        stays.
        """
        before = self.manifest(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        sums = {
            file: manifest.checksums.get(file) or digest(self.path(file), manifest.size(file))
            for file in manifest.files
        }
        said = asdict(replace(manifest, checksums=sums))
        there = self.folder / f"{name}.json"
        part = self.folder / f"{name}.{os.getpid()}-{uuid.uuid4().hex[:12]}.part"
        try:
            part.write_text(json.dumps({"layout": _LAYOUT, "sum": _sum(said), **said}, indent=1))
            _make_way(there)
            part.replace(there)
        except OSError:
            discard(part)
            raise
        stale = set(before.files if before else ()) | self._abandoned(name)
        for file in stale - set(manifest.files):
            discard(self.folder / file)

    def check(self, manifest: Manifest, file: str) -> None:
        """Raise ValueError if a file that a manifest names is not what was written, or OSError."""
        try:
            check(self.path(file), manifest.checksums.get(file, ""), manifest.size(file))
        except ValueError as error:
            log.warning("the cache %s is damaged (%s): it is made anew", place(self.folder), error)
            raise

    def _listed(self, pattern: str) -> list[Path]:
        try:
            return list(self.folder.glob(pattern))
        except OSError:  # one may not look into it
            return []

    def _abandoned(self, name: str) -> set[str]:
        """Files of processes that are no more, and of former versions."""
        found = {f"{name}.npy", f"{name}.iris", f"{name}.npz"}
        for file in (*self._listed(f"{name}-*"), *self._listed(f"{name}.*.part")):
            process = file.name[len(name) + 1 :].partition("-")[0]
            if process.isdigit() and not _runs(int(process)):
                found.add(file.name)
        return found


def _manifest(data: bytes) -> Manifest | None:
    """The manifest in a file, None for one of another layout; raises if it is none."""
    said = json.loads(data)
    if said.pop("layout") != _LAYOUT:
        return None
    if said.pop("sum") != _sum(said):
        raise ValueError("it is not what was written")
    found = Manifest(**said)
    names = (found.arrays, *found.files)
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise ValueError("it names files elsewhere")
    if not all(type(size) is int and size >= 0 for size in (found.slots, found.dimension)):
        raise ValueError("its sizes are no numbers")
    return found


def _sum(said: Mapping[str, Any]) -> int:
    """The checksum of a manifest."""
    return zlib.crc32(json.dumps(said, sort_keys=True).encode())


def discard(path: Path) -> None:
    """Delete a file if that is possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _make_way(path: Path) -> None:
    """Delete a folder that stands where a manifest belongs, if that is possible."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


SEGMENT = 1 << 26
_BUFFER = 1 << 20
_THREADS = min(4, os.cpu_count() or 1)

_sound: dict[tuple[int, int], tuple[int, str]] = {}
"""Device and number of a file -> size and digest that it was found to have."""


def digest(path: Path, size: int | None = None, *, known: str = "", unchanged: int = 0) -> str:
    """The checksums of the first `size` bytes of a file, or of all; raises OSError, ValueError.

    `known` is the digest of a file whose first `unchanged` bytes are the same as those of this one.
    """
    size = path.stat().st_size if size is None else size
    kept = known.split()[: unchanged // SEGMENT]
    begins = range(len(kept) * SEGMENT, max(size, 1), SEGMENT)
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(
            lambda begin: _segment_sum(path, begin, min(begin + SEGMENT, size)), begins
        )
        return " ".join([*kept, *found])


def check(path: Path, said: str, size: int | None = None) -> None:
    """Raise ValueError if the first `size` bytes, or all, do not have that digest; or OSError."""
    state = path.stat()
    size = state.st_size if size is None else size
    before, sound = _sound.get((state.st_dev, state.st_ino), (0, ""))
    if (before, sound) == (size, said):
        return
    whole = min(before, size) // SEGMENT
    common = whole if said.split()[:whole] == sound.split()[:whole] else 0
    if digest(path, size, known=sound, unchanged=common * SEGMENT) != said:
        raise ValueError(f"{path.name} is not what was written")
    _sound[state.st_dev, state.st_ino] = size, said


def forget() -> None:
    """Look at every file again, as a new process does."""
    _sound.clear()


def _segment_sum(path: Path, begin: int, end: int) -> str:
    """The checksum of a stretch of a file; raises ValueError if it ends before."""
    total, buffer = 0, memoryview(bytearray(_BUFFER))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while begin < end:
            count = file.readinto(buffer[: end - begin]) or 0
            if not count:
                raise ValueError(f"{path.name} is cut off")
            total = zlib.crc32(buffer[:count], total)
            begin += count
    return f"{total:08x}"


DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""What `read_arrays` raises for a file that is absent, cut off or not what it should be."""

_FORMAT = b"sarag arrays 1\n"
_STEP = 64
_DTYPE = re.compile(r"[<|][biuf][1248]")


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write a new file, and its folder if need be; one that fails with OSError leaves none."""
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    places, size = {}, 0
    for name, array in held.items():
        places[name] = (array.dtype.str, array.shape, size)
        size += _whole(array.nbytes)
    head = _FORMAT + json.dumps({"size": size, "arrays": places}).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(head.ljust(_whole(len(head) + 1) - 1) + b"\n")
            for array in held.values():
                file.write(array.data.cast("B") if array.size else b"")
                file.write(bytes(_whole(array.nbytes) - array.nbytes))
    except OSError:
        discard(path)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, mapped and not to be written to; raises one of `DAMAGED`."""
    with path.open("rb") as file:
        data = mapped(file)
    begin = data.find(b"\n", len(_FORMAT)) + 1
    if data[: len(_FORMAT)] != _FORMAT or begin == 0:
        raise ValueError(f"{path.name} holds no arrays")
    head = json.loads(data[len(_FORMAT) : begin])
    if len(data) != begin + head["size"]:
        raise ValueError(f"{path.name} is cut off")
    places: Mapping[str, Any] = head["arrays"]
    return {name: _array(data, begin, *place) for name, place in places.items()}


def mapped(file: IO[bytes]) -> mmap.mmap:
    """The whole of a file as memory that is only read; an empty one raises ValueError."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _array(
    data: mmap.mmap, begin: int, dtype: str, shape: tuple[int, ...], offset: int
) -> NDArray[Any]:
    if not _DTYPE.fullmatch(dtype) or any(length < 0 for length in shape):
        raise ValueError(f"no array has type {dtype} and shape {shape}")
    kind, count = np.dtype(dtype), math.prod(shape)
    if offset < 0 or begin + offset + count * kind.itemsize > len(data):
        raise ValueError("an array lies beyond the end")
    if count == 0:
        return np.empty(shape, kind)
    return np.frombuffer(data, kind, count, begin + offset).reshape(shape)


def _whole(size: int) -> int:
    """The least multiple of the step that is not below."""
    return -(-size // _STEP) * _STEP


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
