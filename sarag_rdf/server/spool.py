"""Temporary files for responses and request bodies that are too large for memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Self, cast

IN_MEMORY = 1 << 16
"""Responses of up to this many bytes are sent through the pipe."""
CHUNK = 1 << 17
"""Bytes read from a spooled response at a time."""


class Spool:
    """Buffers bytes in memory up to `IN_MEMORY`, beyond that in a file in `folder`.

    Use it as a context manager: unless `finish` was called, the file is closed and deleted at the
    end of the block.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[bytes] = []
        self._buffered = 0
        self._descriptor = -1
        self._path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            Path(self._path).unlink(missing_ok=True)
        self._descriptor, self._parts = -1, []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._buffered += len(data)
        if self._buffered > IN_MEMORY:
            self._spill()
        return len(data)

    def flush(self) -> None:
        """Do nothing: `finish` flushes."""

    @property
    def stream(self) -> IO[bytes]:
        """The spool as a stream, for code that only writes to it."""
        return cast("IO[bytes]", self)

    def extend(self, parts: Iterable[bytes]) -> None:
        """Write all parts."""
        for part in parts:
            self.write(part)

    def finish(self) -> tuple[bytes, str]:
        """The content and an empty path, or no bytes and the path of the file."""
        if self._descriptor < 0:
            return b"".join(self._parts), ""
        self._spill()
        os.close(self._descriptor)
        self._descriptor = -1
        return b"", self._path

    def _spill(self) -> None:
        if self._descriptor < 0:
            prefix = f"{os.getpid()}-"
            self._descriptor, self._path = tempfile.mkstemp(prefix=prefix, dir=self._folder)
        data = b"".join(self._parts)
        self._parts, self._buffered = [], 0
        while data:
            data = data[os.write(self._descriptor, data) :]


def remove_spools(folder: Path, process: int) -> None:
    """Delete the files that a killed process has left behind."""
    for path in folder.glob(f"{process}-*"):
        path.unlink(missing_ok=True)
