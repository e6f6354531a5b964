"""The folder for answers and bodies that are too large for memory, removed with its server.

A server that is killed cannot remove its folder. Each holds a lock while it runs; the next server
removes the folders whose locks nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
