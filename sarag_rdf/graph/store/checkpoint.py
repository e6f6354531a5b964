"""One state of a store on disk, for readers beside a writer.

RocksDB opens most tables of a store when they are first read. A writer deletes tables that it has
merged into others, and a store that another process has opened for reading fails from then on. A
checkpoint opens all files first: what is open stays readable until it is closed, deleted or not.
"""

from __future__ import annotations

import os
import re
import resource
import weakref
from contextlib import suppress
from pathlib import Path

from sarag_rdf.base.temporary import ScratchFolder

_OPEN_FILES = Path("/proc/self/fd")
"""Where the system names the files that a process has open."""
_DATA = re.compile(r"\d+\.(sst|log)")
"""Names of tables, which never change, and of logs, which are only appended to."""
_ATTEMPTS = 1000
"""At opening all files while they change; each attempt opens only those that are new."""
_DESCRIPTORS = 4
"""File descriptors for each file: this process and RocksDB open it, for two states at a time."""


class Checkpoint:
    """A folder with one state of a store, which can be opened until this object is deleted.

    Tables and logs are links to files that this process has open, so that nothing is copied and
    nothing need be writable. The manifest, which lists the tables of a state, is a copy. Where the
    system does not name open files, or has no folder for temporary ones, the folder is the store's.
    """

    def __init__(self, store: Path) -> None:
        """Raises `OSError`: `FileNotFoundError` if there is no store."""
        self.folder = store
        if not _OPEN_FILES.is_dir():
            return
        try:
            self._scratch = ScratchFolder("read")
        except OSError:
            return
        self.folder = self._scratch.path
        self._inodes: dict[str, int] = {}
        self._descriptors: list[int] = []
        weakref.finalize(self, _close, self._descriptors)
        manifest = _read_manifest(store)
        for _ in range(_ATTEMPTS):
            self._open_new_files(store)
            before, manifest = manifest, _read_manifest(store)
            if manifest == before:  # a file is deleted only after a manifest without it was written
                break
        else:
            raise BlockingIOError("the files of the store change all the time")
        name, content = manifest
        (self.folder / name).write_bytes(content)
        (self.folder / "CURRENT").write_text(f"{name}\n")

    def _open_new_files(self, store: Path) -> None:
        """Open and link the files that are not open yet."""
        with os.scandir(store) as entries:
            inodes = {entry.name: entry.inode() for entry in entries if _DATA.fullmatch(entry.name)}
        _allow_open_files(_DESCRIPTORS * len(inodes))
        for name, _ in inodes.items() - self._inodes.items():
            with suppress(FileNotFoundError):  # it belongs to no state any more
                descriptor = os.open(store / name, os.O_RDONLY | os.O_CLOEXEC)
                self._descriptors.append(descriptor)
                self._inodes[name] = os.fstat(descriptor).st_ino
                (self.folder / name).unlink(missing_ok=True)
                (self.folder / name).symlink_to(_OPEN_FILES / str(descriptor))


def _read_manifest(store: Path) -> tuple[str, bytes]:
    """The name and content of the current manifest. Raises `FileNotFoundError`."""
    name = (store / "CURRENT").read_text(encoding="ascii").strip()
    return name, (store / name).read_bytes()


def _allow_open_files(count: int) -> None:
    """Raise the limit of this process to the count, or as far as it may be raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard) or soft >= count:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
