"""Runs jobs in threads, and appends finished rows to a file so that a run can be resumed."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from sarag_rdf.errors import InputError
from sarag_rdf.iris import sha256_hex

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_done(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result; begun in order, and with one thread done in order.

    The first error is raised, after what was done by then. Items that have not begun by then, or
    when the iterator is closed, are not begun; those under way are not waited for, since the
    threads are daemons: an endpoint that hangs does not hold up the end of the program.
    """
    jobs: queue.SimpleQueue[Item] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Item, Result] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    count = 0
    for item in items:
        jobs.put(item)
        count += 1

    def serve() -> None:
        while not stop.is_set():
            try:
                item = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:  # noqa: BLE001 - raised where results are taken
                done.put(error)
                return

    for _ in range(min(threads, count)):
        threading.Thread(target=serve, daemon=True).start()
    try:
        for _ in range(count):
            outcome = done.get()
            if isinstance(outcome, BaseException):
                stop.set()
                yield from _rest(done)
                raise outcome
            yield outcome
    finally:
        stop.set()


def _rest(
    done: queue.SimpleQueue[tuple[Item, Result] | BaseException],
) -> Iterator[tuple[Item, Result]]:
    while not done.empty():
        outcome = done.get()
        if not isinstance(outcome, BaseException):
            yield outcome


_BEGIN = b'{"key": "'

Record = dict[str, Any]


def key_of(*parts: Any) -> str:
    """SHA-256 of plain JSON values; equal values have equal keys."""
    return sha256_hex(json.dumps(parts, ensure_ascii=True, sort_keys=True))


class RowFile:
    """Records by key; with a path also on disk, each as soon as it is put, in one write.

    Nothing is opened for writing before the first `put`. Raises `InputError` for a file that
    holds something else. A line that was cut short is passed over, as a power cut leaves it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._records: dict[str, Record] = {}
        if path is not None and path.exists():
            for record in _read(path):
                self._records[record["key"]] = record

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __iter__(self) -> Iterator[Record]:
        """Records, the last of each key, in the order in which the keys first came."""
        return iter(list(self._records.values()))

    def get(self, key: str, fields: Iterable[str]) -> Record | None:
        """The last record of a key, if there is one and it has these fields."""
        record = self._records.get(key, {})
        return record if record.keys() >= {"key", *fields} else None

    def put(self, key: str, record: Record) -> Record:
        """Keep a record under a key; it is on the disk when this returns. Raises OSError."""
        kept = {"key": key, **record}
        if self._path is not None:
            if self._file is None:
                self._file = _opened(self._path)
            self._file.write(json.dumps(kept).encode() + b"\n")
            os.fsync(self._file.fileno())
        self._records[key] = kept
        return kept


def _opened(path: Path) -> BinaryIO:
    """The file at its end, which is the begin of a line; unbuffered, so a line is one write."""
    file = path.open("a+b", buffering=0)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")
    return file


def _read(path: Path) -> Iterator[Record]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
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
                f"{path}: line {number} is no row of an evaluation: name another file with --rows"
            )
        yield record
