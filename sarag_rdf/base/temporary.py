"""Temporary files and folders, each locked by its process: others delete what is not locked."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import stat
import tempfile
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

PREFIX = "sarag-"
LOCK = ".sarag-lock"
"""Name of the file in a scratch folder that its process has locked."""


class ScratchFolder:
    """A new folder in the system's folder for temporary files; creating one deletes abandoned ones.

    It is deleted at the end of a ``with`` block, with this object, or at exit, but not by a process
    that was forked.
    """

    def __init__(self, kind: str) -> None:
        """`kind` is a part of the folder's name. Raises `OSError`."""
        _delete_abandoned_folders(Path(tempfile.gettempdir()))
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


def _delete_abandoned_folders(root: Path) -> None:
    """Delete this user's scratch folders that are not locked."""
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError):  # of another user, or no scratch folder
            state = folder.lstat()
            if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
                _delete_unlocked(folder, folder / LOCK)


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A stream whose content replaces a file when the block ends without an exception.

    It writes to a file ``.NAME.DIGITS.part`` beside the target. Those that killed processes have
    left for the same target are deleted. Raises `OSError`.
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
