"""Temporary files for answers and request bodies that are too large for memory."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

IN_MEMORY = 1 << 16
"""Bytes up to which an answer goes through the pipe itself."""
PIECE = 1 << 17


class Spool:
    """Takes bytes; holds them in memory up to `IN_MEMORY`, beyond that in a file of `folder`.

    Use it in a ``with`` block: unless `done` was called, leaving the block closes and removes the
    file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[bytes] = []
        self._waiting = 0
        self._descriptor = -1
        self._path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            Path(self._path).unlink(missing_ok=True)
        self._descriptor, self._parts = -1, []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._waiting += len(data)
        if self._waiting > IN_MEMORY:
            self._pour()
        return len(data)

    def flush(self) -> None:
        """Nothing: `done` is the end."""

    @property
    def stream(self) -> IO[bytes]:
        """The spool as a stream, for code that only writes to it."""
        return cast("IO[bytes]", self)

    def extend(self, parts: Iterable[bytes]) -> None:
        """Write all parts."""
        for part in parts:
            self.write(part)

    def done(self) -> tuple[bytes, str]:
        """The content as bytes and no path, or no bytes and the path of the file."""
        if self._descriptor < 0:
            return b"".join(self._parts), ""
        self._pour()
        os.close(self._descriptor)
        self._descriptor = -1
        return b"", self._path

    def _pour(self) -> None:
        if self._descriptor < 0:
            prefix = f"{os.getpid()}-"
            self._descriptor, self._path = tempfile.mkstemp(prefix=prefix, dir=self._folder)
        data = b"".join(self._parts)
        self._parts, self._waiting = [], 0
        while data:
            data = data[os.write(self._descriptor, data) :]


def sweep(folder: Path, process: int) -> None:
    """Remove what a process has left behind."""
    for path in folder.glob(f"{process}-*"):
        path.unlink(missing_ok=True)


PREFIX = "sarag-serve-"
_LOCK = "lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, locked until the end of the block, after those left behind are removed."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        new = Path(name, "new")
        with new.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new.rename(new.with_name(_LOCK))  # never there without being held
            yield Path(name)


def _remove_abandoned(root: Path) -> None:
    """Remove this user's folders whose locks nobody holds."""
    for folder in root.glob(f"{PREFIX}*"):
        try:
            state = folder.lstat()
            if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its server runs
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
