"""Files that processes left behind which were killed: they hold nothing that counts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def sweep_store(store: Path) -> None:
    """Remove the tables that bulk loads left which were killed; only for who holds the lock.

    They never became part of the store.
    """
    for path in store.glob("bulk-*.sst"):
        with suppress(OSError):
            path.unlink()
