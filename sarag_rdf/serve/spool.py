"""Where a worker keeps an answer that is too large for the pipe: a file that its reader removes.

An answer is complete before its first byte is sent. So an error or the time limit becomes a status,
the header can say whether rows were left out, and a slow reader keeps no worker busy.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
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
