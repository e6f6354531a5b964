"""Checksums of files that are mapped into memory: a byte that changed on disk is noticed.

A file has a CRC-32 for every 64 MiB, so that large ones are checked by several threads, and rows
that are appended cost no reading of all that stands before. Reading goes through a small buffer:
checking a file does not bring it into the memory of the process. What was found sound is not read
again by the same process.
"""

from __future__ import annotations

import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
        found = pool.map(lambda begin: _sum(path, begin, min(begin + SEGMENT, size)), begins)
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


def _sum(path: Path, begin: int, end: int) -> str:
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
