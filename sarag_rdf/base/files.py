"""Files: temporary ones, those that are replaced or read as a whole, and compressed ones.

Temporary files are locked by their process: other processes delete what is not locked. The
expansion of compressed files is limited while they are read, as protection against decompression
bombs.
"""

from __future__ import annotations

import bz2
import fcntl
import glob
import gzip
import io
import lzma
import os
import shutil
import stat
import tempfile
import uuid
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self, cast

from sarag_rdf.base.errors import InputError

PREFIX = "sarag-"
LOCK = ".sarag-lock"
"""Name of the file in a scratch folder that its process has locked."""


class ScratchFolder:
    """A temporary folder, deleted with this object or at exit; a new one deletes abandoned ones."""

    def __init__(self, kind: str) -> None:
        """`kind` is a part of the folder's name. Raises `OSError`."""
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):  # of another user, or no scratch folder
                state = folder.lstat()
                if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
                    _delete_unlocked(folder, folder / LOCK)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
        lock = os.open(self.path / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (self.path / "new").rename(self.path / LOCK)  # so it never exists unlocked
        self.delete = weakref.finalize(self, _delete_folder, self.path, lock, os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()


def _delete_folder(path: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A stream whose content replaces a file when the block ends without an exception.

    It writes to ``.NAME.DIGITS.part`` beside the target, where such files that killed processes
    left are deleted. Raises `OSError`.
    """
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with suppress(OSError):
            _delete_unlocked(left, left)
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}")
    with new.open("x+b") as stream:
        with suppress(OSError):  # the file system has no locks, so that others delete nothing
            fcntl.flock(stream, fcntl.LOCK_EX)
        part = new.rename(f"{new}.part")  # so it never exists unlocked
        try:
            yield stream
            if not stream.closed:
                stream.flush()
            part.replace(target)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def _delete_unlocked(path: Path, lock: Path) -> None:
    """Delete a file or folder unless a process has locked it. Raises `OSError`."""
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path == lock:
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------ Files that are read


MAX_BYTES = 64 << 20
"""Maximum size of a file that is read at once: tables, examples, models, shapes; in bytes."""


def read_text(path: Path) -> str:
    """The text of a file; raises `InputError`, also for more than `MAX_BYTES`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from error


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """A file of at most `most` bytes, without which `MAX_BYTES`; raises `InputError`."""
    most = MAX_BYTES if most is None else most
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise InputError(f"{path} has more than {most / (1 << 20):g} MiB: give a smaller file")
    return data


TOO_SHORT_OR_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""Exceptions for damaged or truncated compressed files, in addition to `OSError`."""
MAX_EXPANSION = 200
"""The default limit of the expansion factor. RDF compresses by factors of 10 to 60."""
_COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""The first bytes of a compressed file -> what reads it."""
_ALWAYS = 64 << 20
"""Bytes that any compressed file may expand to."""


def unpacked(raw: IO[bytes], max_expansion: int = MAX_EXPANSION) -> IO[bytes]:
    """The decompressed content of a file at its start, or the file if it is not compressed.

    Reading raises `InputError` beyond `max_expansion` times the size of the file, and 64 MiB.
    """
    magic = raw.read(6)
    raw.seek(0)
    for beginning, open_compressed in _COMPRESSIONS.items():
        if magic.startswith(beginning):
            stream = _Bounded(open_compressed(raw), raw, max_expansion)
            return cast("IO[bytes]", io.BufferedReader(stream))
    return raw


def expands(size: int, packed: int, max_expansion: int) -> bool:
    """Whether `size` bytes exceed the expansion limit for `packed` compressed bytes."""
    return size > max(_ALWAYS, max_expansion * packed)


class _Bounded(io.RawIOBase):
    """A decompressing stream that enforces the expansion limit."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes], max_expansion: int) -> None:
        self._stream, self._raw, self._max_expansion = stream, raw, max_expansion
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._size += len(data)
        if expands(self._size, self._raw.tell(), self._max_expansion):
            name = getattr(self._raw, "name", "the file")
            raise InputError(
                f"{name} expands to more than {self._max_expansion} times its size and more than "
                f"{_ALWAYS >> 20} MiB: decompress it yourself, or raise --max-expansion"
            )
        return len(data)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position = self._stream.seek(offset, whence)
        self._size = position
        return position

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        self._stream.close()
        super().close()
