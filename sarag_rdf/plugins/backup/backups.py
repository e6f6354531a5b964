"""A folder of backups: complete copies of a graph side by side, which share unchanged files.

RocksDB never changes a table once it is written. So a backup copies the tables that are new since
the earlier ones, and has hard links to the other backups for the rest; without hard links it
copies all. It has no file in common with the graph itself: what damages the one leaves the other.

A backup is written under a name that begins with a full stop, and renamed when it is complete and
on the disk. What a killed process leaves is deleted by the next backup.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Self

from sarag_rdf.base.errors import (
    DiskFullError,
    InputError,
    StoreError,
    StoreLockedError,
    lack_of_room,
    shown_path,
)
from sarag_rdf.base.iris import sha256_hex

MANIFEST = "backup.json"
"""Name of the file of a backup that lists the others with their checksums."""
_PART = ".part-"
"""Prefix of the names of backups that are not complete, or are being deleted."""
_LOCK = ".lock"
_NAME = re.compile(r"\d{4,}-\d{8}T\d{6}Z-\w+")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The size of a file in bytes, and its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup: what it is a copy of, and its files by their path in the folder."""

    folder: Path
    number: int
    when: str
    revision: str
    base: str
    caches: bool
    files: Mapping[str, StoredFile]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def size(self) -> int:
        """Bytes of all files, those that it shares with other backups, too."""
        return sum(file.size for file in self.files.values())

    def faults(self) -> Iterator[str]:
        """What is wrong with each damaged file, one after the other."""
        for path, expected in self.files.items():
            try:
                with (self.folder / path).open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                yield f"{path}: {error.strerror}"
            else:
                if found != expected.sha256:
                    yield f"{path}: another checksum than when it was written"


def read_backup(folder: Path) -> Backup:
    """The backup in a folder, whose files are not checked; raises `InputError`."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        listed, is_whole = content["backup"], content["sha256"] == _digest(content["backup"])
        files = {path: StoredFile(**file) for path, file in listed.pop("files").items()}
        backup = Backup(folder, files=files, **listed)
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{shown_path(folder / MANIFEST)} cannot be read: {reason} (take another backup)"
        ) from error
    if not is_whole:
        raise InputError(
            f"{shown_path(folder / MANIFEST)} is not as it was written (take another backup)"
        )
    return backup


def _digest(listed: Mapping[str, Any]) -> str:
    return sha256_hex(json.dumps(listed, sort_keys=True))


def backups_in(folder: Path) -> tuple[list[Backup], list[str]]:
    """The complete backups in a folder, the oldest first, and what is wrong with the others."""
    backups, problems = [], []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if _NAME.fullmatch(path.name) and path.is_dir():
            try:
                backups.append(read_backup(path))
            except InputError as error:
                problems.append(str(error))
    return sorted(backups, key=lambda backup: backup.number), problems


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder of backups, and keep other processes from writing to it.

    Deletes what killed ones left. Raises `StoreLockedError`, `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreLockedError(
                f"another process is writing backups to {shown_path(folder)}: wait until it has "
                "finished"
            ) from error
        for path in folder.glob(f"{_PART}*"):
            shutil.rmtree(path, ignore_errors=True)
        yield


@dataclass
class Writer:
    """Writes one backup; a block of this object ends with it complete, or with nothing.

    `earlier` are the backups whose files may be shared, the newest last.
    """

    folder: Path
    earlier: Sequence[Backup] = ()
    copied: int = 0
    """Bytes that were copied."""
    shared: int = 0
    """Bytes of the files that are those of earlier backups."""
    files: dict[str, StoredFile] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._part = Path(tempfile.mkdtemp(prefix=_PART, dir=self.folder))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None or self._part.exists():
            shutil.rmtree(self._part, ignore_errors=True)

    def add(self, path: Path, name: str) -> None:
        """Add a file as it is, shared with an earlier backup if it is the same file there.

        A file is the same with the same name, size and time of its last change.
        """
        state = path.stat()

        def is_same(known: StoredFile, before: Path) -> bool:
            if known.size != state.st_size:
                return False
            with suppress(OSError):
                found = before.stat()
                return (found.st_size, found.st_mtime_ns) == (state.st_size, state.st_mtime_ns)
            return False

        self._share_or_copy(path, name, is_same)

    def add_written(self, name: str, path: Path) -> None:
        """Add a file that was written for this backup, unless an earlier one has the same."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        written = StoredFile(path.stat().st_size, digest)
        self._share_or_copy(path, name, lambda known, _: known == written)

    def _share_or_copy(
        self, path: Path, name: str, is_same: Callable[[StoredFile, Path], bool]
    ) -> None:
        target = self._part / name
        target.parent.mkdir(parents=True, exist_ok=True)
        for backup in reversed(self.earlier):
            known, before = backup.files.get(name), backup.folder / name
            if known and is_same(known, before):
                with suppress(OSError):  # without hard links, or with too many to one file
                    target.hardlink_to(before)
                    self.files[name], self.shared = known, self.shared + known.size
                    return
        self.files[name] = copy_file(path, target)
        self.copied += self.files[name].size

    def complete(self, revision: str, base: str, *, caches: bool) -> Backup:
        """Write the manifest, and give the backup its name."""
        named = [path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        number = 1 + max((int(name.partition("-")[0]) for name in named), default=0)
        now = datetime.now(UTC)
        start = revision[:8] or "none"
        name = f"{number:04}-{now:%Y%m%dT%H%M%SZ}-{start}"
        when = now.isoformat(timespec="seconds")
        backup = Backup(self.folder / name, number, when, revision, base, caches, self.files)
        listed = asdict(backup)
        del listed["folder"]
        text = json.dumps({"sha256": _digest(listed), "backup": listed}, indent=1, sort_keys=True)
        with (self._part / MANIFEST).open("w", encoding="utf-8") as file:
            file.write(text)
            sync(file)
        for path in (*(path for path in self._part.rglob("*") if path.is_dir()), self._part):
            sync_folder(path)
        self._part.rename(backup.folder)
        sync_folder(self.folder)
        return backup


def prune(backups: Sequence[Backup], keep: int) -> list[Backup]:
    """Delete all but the newest `keep` backups, at least one; returns those that were deleted."""
    deleted = list(backups[: -max(keep, 1)])
    for backup in deleted:
        gone = backup.folder.with_name(f"{_PART}{backup.name}")
        backup.folder.rename(gone)  # half a backup never has the name of a whole one
        shutil.rmtree(gone, ignore_errors=True)
    return deleted


# ------------------------------------------------------------------------------------- Files


def copy_file(source: Path, target: Path) -> StoredFile:
    """Copy a file with the time of its last change to the disk; raises `OSError`."""
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as read, target.open("xb") as written:
        while block := read.read(_BLOCK):
            digest.update(block)
            written.write(block)
            size += len(block)
        state = os.fstat(read.fileno())
        written.flush()
        os.utime(written.fileno(), ns=(state.st_atime_ns, state.st_mtime_ns))
        os.fsync(written.fileno())
    return StoredFile(size, digest.hexdigest())


def sync(file: IO[Any]) -> None:
    """Write a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def explaining(folder: Path, state: str) -> Iterator[None]:
    """Turn an `OSError` of this block into a `StoreError` with the folder and `state`."""
    try:
        yield
    except OSError as error:
        cause, remedy = lack_of_room(error)
        if cause:
            raise DiskFullError(
                f"{cause} ({shown_path(folder)}): {remedy} and run it again; {state}"
            ) from error
        where = f" ({error.filename})" if error.filename else ""
        raise StoreError(
            f"cannot write to {shown_path(folder)}: {error.strerror or error}{where}; {state}"
        ) from error
