"""A copy of a store to try a change on. Its files are hard links, so making one costs little."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyoxigraph as ox

from sarag_rdf.stores.left_behind import COPY
from sarag_rdf.stores.oxigraph import OxigraphStore, open_store

_T = TypeVar("_T")


def on_copy(store: OxigraphStore, folder: Path, work: Callable[[ox.Store], _T]) -> _T:
    """What `work` returns for a copy of the store as it is now, which is deleted afterwards.

    The copy lies in the graph's `folder`; one that a killed process leaves behind is removed by the
    next writer. `work` may neither keep the copy nor raise: a traceback would hold it open while it
    is deleted. Raises `StoreError`.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix=COPY, dir=folder))
    except OSError as error:
        raise store.not_written("nothing changed", error) from error
    try:
        store.backup(path / "store")
        return work(open_store(path / "store", writable=True))
    finally:
        shutil.rmtree(path, ignore_errors=True)
