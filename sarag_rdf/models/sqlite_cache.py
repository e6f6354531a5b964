"""A table of bytes by key in one SQLite file: a cache that may be deleted, damaged or shared."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sarag_rdf.caches import cannot_be_kept
from sarag_rdf.errors import place

_LOG = logging.getLogger(__name__)
_DAMAGED: Final = (
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_IOERR_SHORT_READ),
)
"""Primary codes, and extended ones; SQLITE_ERROR is a table that is not as it was made."""
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
_KEPT: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept'"
_FORMER: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entry'"
_BATCH: Final = 500
_SUM: Final = 4
"""Bytes behind each value: its checksum."""


def fault_of(path: Path) -> str:
    """What is wrong with a cache's file, as SQLite's integrity check and the checksums tell.

    Nothing if it is sound. A file that another process holds, or that may not be read, is not
    called broken.
    """
    if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where it may not look
        return "is not a file" if os.path.exists(path) else ""  # noqa: PTH110
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as database:
            found = database.execute("PRAGMA integrity_check(1)").fetchone()
            if found == ("ok",) and database.execute(_KEPT).fetchone():
                rows = database.execute("SELECT key, value FROM kept")
                spoiled = sum(not _is_whole(key, value) for key, value in rows)
                found = (f"{spoiled} values are not what was written" if spoiled else "ok",)
    except sqlite3.DatabaseError as error:
        return str(error) if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED else ""
    return "" if found == ("ok",) else str(found[0]).replace("\n", " ")


class SqliteCache:
    """Keys and values are bytes; threads and processes may share the file.

    A damaged file is set aside with a warning, also while in use; a file that cannot be used (no
    right to write, disk full) means going on without it, with one warning. Neither is an error:
    what is cached can be had again. SQLite does not see that a byte of a value is another one, so
    each value has a checksum, and one that does not match it counts as absent. The path
    ``:memory:`` keeps nothing after `close`.
    """

    def __init__(self, path: Path | str, *, what: str, writable: bool = True) -> None:
        """`what` names the cache in warnings: "reply cache".

        One that is not `writable` is read if it is there, and otherwise left alone.
        """
        self._writable = writable
        self._path = Path(path)
        self._what = what
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._warned = False

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The entries there are for the keys."""
        found: dict[bytes, bytes] = {}
        if not self._writable and not self._path.is_file():
            return found
        pending = iter(keys)
        with self._lock:
            while batch := list(islice(pending, _BATCH)):
                marks = ",".join("?" * len(batch))
                text = f"SELECT key, value FROM kept WHERE key IN ({marks})"  # noqa: S608
                for key, value in self._run(text, [batch]):
                    if _is_whole(key, value):
                        found[key] = value[:-_SUM]
        return found

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        """Keep entries; those of the same key are replaced."""
        with self._lock:
            rows = [(key, value + _sum(key, value)) for key, value in entries.items()]
            self._run("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)

    def set_aside(self) -> None:
        """Rename the file, which is damaged; a new one is begun when it is needed."""
        with self._lock:
            self._set_aside()

    def close(self) -> None:
        """Close the file; it is opened again if it is needed again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None

    def _run(self, text: str, rows: Sequence[Sequence[bytes]]) -> list[tuple[Any, ...]]:
        """Run a statement for each row of values; on a damaged file, once more on a new one."""
        try:
            try:
                return self._execute(text, rows)
            except (sqlite3.Error, sqlite3.Warning, TypeError, ValueError) as error:
                if not self._writable or not self._is_damaged(error):
                    raise
                self._set_aside()
                return self._execute(text, rows)
        except (sqlite3.Error, OSError) as error:
            if not self._warned:
                cannot_be_kept(self._path, error)
            self._warned = True
            return []

    def _is_damaged(self, error: Exception) -> bool:
        """Whether an error comes of what is in the file."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return not isinstance(error, sqlite3.Error)
        return code in _DAMAGED or code & 0xFF in _DAMAGED

    def _execute(self, text: str, rows: Sequence[Sequence[bytes]]) -> list[tuple[Any, ...]]:
        if self._database is None:
            self._database = self._open()
        if text.startswith("SELECT"):
            return self._database.execute(text, rows[0]).fetchall()
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(text, rows)
        return []

    def _open(self) -> sqlite3.Connection:
        if not self._writable:
            location = f"file:{quote(str(self._path))}?mode=ro"
            return sqlite3.connect(location, uri=True, timeout=30, check_same_thread=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(
            self._path, timeout=30, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(_SCHEMA)
            if database.execute(_FORMER).fetchone():
                _take_over(database)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _set_aside(self) -> None:
        self._disconnect()
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        self._path.replace(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + suffix).unlink()
        _LOG.warning(
            "the %s %s is damaged: it was renamed to %s, and a new one is begun",
            self._what,
            place(self._path),
            aside.name,
        )


def _sum(key: bytes, value: bytes) -> bytes:
    """The checksum of a value under its key."""
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(_SUM, "big")


def _is_whole(key: object, value: object) -> bool:
    """Whether a row has the checksum that it was written with."""
    if not isinstance(key, bytes) or not isinstance(value, bytes):
        return False
    return value[-_SUM:] == _sum(key, value[:-_SUM])


def _take_over(database: sqlite3.Connection) -> None:
    """Give checksums to the entries of a file of former versions, which had none."""
    database.create_function("summed", 2, lambda key, value: value + _sum(key, value))
    with database:
        database.execute("BEGIN IMMEDIATE")
        if database.execute(_FORMER).fetchone():
            database.execute("INSERT OR IGNORE INTO kept SELECT key, summed(key, value) FROM entry")
            database.execute("DROP TABLE entry")
