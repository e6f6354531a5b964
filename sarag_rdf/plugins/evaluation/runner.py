"""Parallel execution in threads, and an append-only file of rows for resumable runs."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import sha256_hex

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_as_completed(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[tuple[Item, Result]]:
    """Call `work` for each item in threads, and yield items with results as they complete.

    Items are started in order; with one thread they also complete in order. The first exception is
    raised, after the results that are available by then. After an exception, or when the iterator
    is closed, no more items are started; running ones are not awaited, because the threads are
    daemons, so an endpoint that hangs does not delay the end of the program.
    """
    jobs: queue.SimpleQueue[Item] = queue.SimpleQueue()
    results: queue.SimpleQueue[tuple[Item, Result] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    count = 0
    for item in items:
        jobs.put(item)
        count += 1

    def run() -> None:
        while not stop.is_set():
            try:
                item = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                results.put((item, work(item)))
            except BaseException as error:  # noqa: BLE001 - raised in the consumer's thread
                results.put(error)
                return

    for _ in range(min(threads, count)):
        threading.Thread(target=run, daemon=True).start()
    try:
        for _ in range(count):
            outcome = results.get()
            if isinstance(outcome, BaseException):
                stop.set()
                yield from _available(results)
                raise outcome
            yield outcome
    finally:
        stop.set()


def _available(
    results: queue.SimpleQueue[tuple[Item, Result] | BaseException],
) -> Iterator[tuple[Item, Result]]:
    while not results.empty():
        outcome = results.get()
        if not isinstance(outcome, BaseException):
            yield outcome


_BEGIN = b'{"key": "'

StoredRecord = dict[str, Any]


def key_of(*parts: Any) -> str:
    """SHA-256 of plain JSON values; equal values have equal keys."""
    return sha256_hex(json.dumps(parts, ensure_ascii=True, sort_keys=True))


class RowFile:
    """Records by key, optionally stored in a JSON Lines file, with one write per record.

    The file is opened for writing by the first `put`. Raises `InputError` for a file with other
    content. A truncated line, as left by a power failure, is ignored.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._records: dict[str, StoredRecord] = {}
        if path is not None and path.exists():
            for record in _read(path):
                self._records[record["key"]] = record

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __iter__(self) -> Iterator[StoredRecord]:
        """The last record of each key, in the order of the first occurrence of the keys."""
        return iter(list(self._records.values()))

    def get(self, key: str, fields: Iterable[str]) -> StoredRecord | None:
        """The last record of a key, if it exists and has these fields."""
        record = self._records.get(key, {})
        return record if record.keys() >= {"key", *fields} else None

    def put(self, key: str, record: StoredRecord) -> StoredRecord:
        """Store a record under a key; it is on disk when this returns. Raises OSError."""
        stored = {"key": key, **record}
        if self._path is not None:
            if self._file is None:
                self._file = _open_for_append(self._path)
            self._file.write(json.dumps(stored).encode() + b"\n")
            os.fsync(self._file.fileno())
        self._records[key] = stored
        return stored


def _open_for_append(path: Path) -> BinaryIO:
    """Open a file for appending lines, unbuffered, after completing a truncated last line."""
    file = path.open("a+b", buffering=0)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")
    return file


def _read(path: Path) -> Iterator[StoredRecord]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            if line.startswith(_BEGIN) or _BEGIN.startswith(line):
                continue
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("key"), str):
            raise InputError(
                f"{path}, line {number}: not a row of an evaluation: name another file with --rows"
            )
        yield record
