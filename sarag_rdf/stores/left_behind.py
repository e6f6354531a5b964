"""Files that processes left behind which were killed: they hold nothing that counts."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

COPY = "write-"
"""What the names of working copies of a store begin with; they stand in the graph's folder."""
UNFINISHED_WRITE = "unfinished-write"
"""A file that earlier versions put into the graph's folder while they took a write over HTTP.

Where it is found, evidence may have changed without what follows from it.
"""


def sweep(folder: Path) -> None:
    """Remove what killed writers left in a graph's folder; only for who holds the lock.

    These are tables of bulk loads, which never became part of the store, and working copies.
    """
    for path in (folder / "store").glob("bulk-*.sst"):
        with suppress(OSError):
            path.unlink()
    for path in folder.glob(f"{COPY}*"):
        shutil.rmtree(path, ignore_errors=True)
