"""What happens to files below a folder, as Linux tells it (inotify), at once."""

from __future__ import annotations

import ctypes
import os
import select
import struct
from collections.abc import Iterator
from pathlib import Path

_MODIFY, _CLOSE_WRITE, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x8, 0x80, 0x100, 0x200
_MASK = _MODIFY | _CLOSE_WRITE | _MOVED_TO | _CREATE | _DELETE
_IS_FOLDER = 0x40000000
_HEAD = struct.Struct("iIII")
_SILENT = ("LOG",)
"""Files whose changes change nothing."""


class Watch:
    """Events of all files below a folder that there is; folders that are made are watched, too."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._descriptor >= 0, os.strerror(ctypes.get_errno())
        self._folders: dict[int, Path] = {}
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                self._add(path)

    def _add(self, folder: Path) -> None:
        number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _MASK)
        if number >= 0:  # else it is gone already
            self._folders[number] = folder

    def events(self, seconds: float) -> Iterator[str]:
        """Paths of files to which something has happened, waiting for so long at most."""
        if not self._poll.poll(seconds * 1000):
            return
        data = os.read(self._descriptor, 1 << 16)
        place = 0
        while place < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, place)
            place += _HEAD.size + length
            name = os.fsdecode(data[place - length : place].rstrip(b"\0"))
            folder = self._folders.get(number)
            if folder is None or name in _SILENT:
                continue
            if mask & _IS_FOLDER and mask & (_CREATE | _MOVED_TO):
                self._add(folder / name)
                yield from map(str, (folder / name).glob("*"))  # what came before the watch
            yield str(folder / name)

    def close(self) -> None:
        os.close(self._descriptor)
