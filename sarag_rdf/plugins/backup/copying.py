"""``sarag backup`` and ``restore``: from a graph's folder to a backup, and back."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from sarag_rdf.base.errors import InputError, StoreError, StoreLockedError, UsageError, shown_path
from sarag_rdf.base.ports import Advance, Progress, silent
from sarag_rdf.cli import flags
from sarag_rdf.cli.exchange_commands import RESTORED, import_
from sarag_rdf.cli.output import counted, emit, problem, progress_bars
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.store.oxigraph import COPY, OxigraphStore, holder_of, remove_leftovers
from sarag_rdf.kg.location import FolderLocation
from sarag_rdf.plugins.backup.backups import (
    MANIFEST,
    Backup,
    Writer,
    backups_in,
    copy_file,
    explaining,
    locked,
    prune,
    read_backup,
    sync_folder,
)

_STORE_FILE = re.compile(r"CURRENT|MANIFEST-\d+|\d+\.(?:sst|log)")
_UNSAFE = re.compile(r".*(?:\.part|-wal|-shm|-journal)|\..*")
"""Names of files of caches that are being written."""
_DATABASE = ".sqlite"
_LOCK = "LOCK"
"""Name of the file of a store that its writer has locked."""
_SAFE = "earlier backups are unchanged"


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The newest backup, whether it was made now, bytes copied and shared, and deleted backups."""

    backup: Backup
    is_new: bool
    copied: int = 0
    shared: int = 0
    deleted: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def back_up(
    kg: Path,
    to: Path,
    *,
    keep: int | None = None,
    caches: bool = False,
    progress: Progress = silent,
) -> BackupReport:
    """Copy the graph in `kg`, as it is now, to a folder of backups.

    Nothing is copied if the newest backup has the same revision. `keep` is the number of backups
    after which older ones are deleted. Others may read and write the graph meanwhile. Raises
    `NotAGraphError`, `StoreLockedError` while another backup is running, `DiskFullError`,
    `StoreError`.
    """
    location = FolderLocation(kg)
    to = to.expanduser().absolute()
    if location.folder == to or location.folder in to.parents:
        raise UsageError(f"{shown_path(to)} is inside of the graph: give another folder with --to")
    with explaining(to, _SAFE), ExitStack() as stack:
        files, meta = stack.enter_context(_one_state(location))
        stack.enter_context(locked(to))
        earlier, problems = backups_in(to)
        newest = earlier[-1] if earlier else None
        if newest and _is_current(newest, meta, caches=caches):
            deleted = _pruned(earlier, keep)  # the process may have been killed before it did
            return BackupReport(newest, False, deleted=deleted, problems=tuple(problems))
        with Writer(to, earlier) as writer:
            chosen = [path for path in sorted(files.iterdir()) if _STORE_FILE.fullmatch(path.name)]
            cached = [*_cache_files(location.folder / "cache")] if caches else []
            advance = progress("copying files", len(chosen) + len(cached))
            for path in chosen:
                writer.add(path, f"store/{path.name}")
                advance(1)
            for path in cached:
                _add_cache(writer, path, path.relative_to(location.folder).as_posix())
                advance(1)
            backup = writer.complete(meta.revision, meta.base, caches=caches)
        deleted = _pruned([*earlier, backup], keep)
        return BackupReport(backup, True, writer.copied, writer.shared, deleted, tuple(problems))


def _pruned(backups: Sequence[Backup], keep: int | None) -> tuple[str, ...]:
    """The names of the backups that were deleted, none without `keep`."""
    return tuple(backup.name for backup in prune(backups, keep)) if keep else ()


def _is_current(backup: Backup, meta: Meta, *, caches: bool) -> bool:
    """Whether a backup has what is asked for; a graph whose change was interrupted never does."""
    same = (backup.revision, backup.base) == (meta.revision, meta.base)
    return bool(meta.revision) and same and (backup.caches or not caches)


@contextmanager
def _one_state(location: FolderLocation) -> Iterator[tuple[Path, Meta]]:
    """A folder with the files of one state of a graph, and the metadata of that state."""
    store = location.open()
    if not isinstance(store, OxigraphStore):  # pragma: no cover - a folder has no other store
        raise TypeError(type(store))
    if store.checkpoint is not None:
        yield store.checkpoint, _metadata(store, location)
        return
    with location.open_locked() as locked_store, ExitStack() as stack:
        assert isinstance(locked_store, OxigraphStore)  # noqa: S101 - as above
        name = tempfile.mkdtemp(prefix=COPY, dir=location.folder)
        stack.callback(shutil.rmtree, name, ignore_errors=True)
        locked_store.backup(Path(name, "store"))
        yield Path(name, "store"), _metadata(locked_store, location)


def _metadata(store: OxigraphStore, location: FolderLocation) -> Meta:
    meta = read_meta(store)
    if meta is None:
        writer = location.writer()
        remedy = f"wait until {writer} has finished" if writer else "there is nothing to back up"
        raise StoreError(f"the graph in {shown_path(location.folder)} is empty: {remedy}")
    return meta


def _cache_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not _UNSAFE.fullmatch(path.name):
            yield path


def _add_cache(writer: Writer, path: Path, name: str) -> None:
    """Add a cache, which another process may change or delete at any time; a damaged one is not."""
    if path.suffix != _DATABASE:
        with suppress(FileNotFoundError):
            writer.add(path, name)
        return
    with tempfile.TemporaryDirectory(prefix=".part-", dir=writer.folder) as scratch:
        copy = Path(scratch, path.name)
        try:
            source = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
            with closing(source), closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        except sqlite3.Error:
            return
        writer.add_written(name, copy)


# ------------------------------------------------------------------------------- Restoration


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The backup that was restored, and whether it took the place of another graph."""

    backup: Backup
    replaced: bool


def chosen_backup(place: Path) -> Backup:
    """The backup in a folder, or the newest of a folder of backups; raises `InputError`."""
    if not os.path.lexists(place):
        raise InputError(f"no such file or folder: {place}")
    backups, problems = backups_in(place)
    if backups:
        return backups[-1]
    if problems:
        raise InputError(problems[-1])
    if not (place / MANIFEST).exists():
        raise InputError(f"{place} holds no backup: give a folder that sarag backup wrote to")
    return read_backup(place)


def restore_backup(
    backup: Backup, kg: Path, *, replace: bool = False, progress: Progress = silent
) -> RestoreReport:
    """Make a graph's folder from a backup, after all checksums were compared.

    A graph that is there already is replaced only with `replace`, in one step and when everything
    has been copied; its caches stay. Raises `InputError` for a damaged backup, `UsageError`,
    `StoreLockedError` while another process is writing to the graph, `DiskFullError`, `StoreError`.
    """
    location = FolderLocation(kg)
    store = location.folder / "store"
    if not (is_there := _has_graph(store)):
        location.exists()  # raises for a folder of other files
    elif not replace:
        raise UsageError(
            f"{shown_path(location.folder)} has a graph already: give another folder with --kg, "
            "or add --replace"
        )
    with explaining(location.folder, "what was there is unchanged"), ExitStack() as stack:
        store.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_excluding_writers(location))
        remove_leftovers(location.folder)
        work = Path(tempfile.mkdtemp(prefix=COPY, dir=location.folder))
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        _copy(backup, work, progress("restoring files", len(backup.files)))
        _check_opens(work / "store", backup)
        for folder in (*(path for path in work.rglob("*") if path.is_dir()), work):
            sync_folder(folder)
        _exchange(work / "store", store)
        _move_caches(work / "cache", location.folder / "cache")
        sync_folder(location.folder)
    return RestoreReport(backup, is_there)


def _has_graph(store: Path) -> bool:
    """Whether there is a graph, be it a damaged one: more than the lock of one to be made."""
    return store.is_dir() and any(path.name != _LOCK for path in store.iterdir())


@contextmanager
def _excluding_writers(location: FolderLocation) -> Iterator[None]:
    """Hold the lock of a store, which may be damaged or not yet made, as the engine does.

    Raises `StoreLockedError`.
    """
    with (location.folder / "store" / _LOCK).open("a") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = holder_of(location.folder) or "another process"
            raise StoreLockedError(
                f"{shown_path(location.folder)} is locked by {holder}: wait until it has finished, "
                "or stop it"
            ) from error
        yield


def _copy(backup: Backup, work: Path, advance: Advance) -> None:
    """Copy the files of a backup; raises `InputError` if one is not as it was written."""
    for name, expected in backup.files.items():
        target = work / name
        if work not in target.resolve().parents:
            raise InputError(f"{backup.folder} names a file outside of it: take another backup")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            found = copy_file(backup.folder / name, target)
        except FileNotFoundError as error:
            raise _damaged(backup, f"{name} is missing") from error
        if found != expected:
            raise _damaged(backup, f"{name} has another checksum than when it was written")
        advance(1)


def _check_opens(store: Path, backup: Backup) -> None:
    meta = read_meta(OxigraphStore.open(store))
    if meta is None or (meta.revision, meta.base) != (backup.revision, backup.base):
        raise _damaged(backup, "its graph has another revision than the manifest says")


def _damaged(backup: Backup, reason: str) -> InputError:
    return InputError(f"{shown_path(backup.folder)} is damaged: {reason} (take another backup)")


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def _exchange(new: Path, old: Path) -> None:
    """Exchange two folders, in one step where the system can do that."""
    with suppress(AttributeError, OSError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        if not call(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE):
            return
    old.rename(new.with_name("replaced"))
    new.rename(old)


def _move_caches(new: Path, caches: Path) -> None:
    """Add the caches of a backup that are not there."""
    for path in sorted(new.rglob("*")):
        target = caches / path.relative_to(new)
        if path.is_file() and not os.path.lexists(target):
            with suppress(OSError):  # what cannot be cached is computed again
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)


# ----------------------------------------------------------------------------------------- Commands


@click.command(epilog="Example:  sarag backup --kg kg --to /mnt/backups --keep 7")
@flags.kg_option
@flags.path_option("--to", "Folder of backups, which need not exist.", required=True)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Afterwards delete all but the newest N backups. Default: keep all.",
)
@flags.switch("--caches", "Copy caches as well: embeddings and replies of models, and vectors.")
@flags.switch("--list", "listing", "List the backups in the folder; copy nothing.")
@flags.switch("--verify", "Compare the backups in the folder with their checksums; copy nothing.")
@flags.json_option
def backup(to: Path, **options: Any) -> int:
    """Copy a graph's folder, while others read and write it.

    Each backup is a folder with one revision of the graph, complete or not there at all. It shares
    the files that have not changed with the earlier backups, as hard links, and none with the
    graph. If the newest backup is of the same revision, nothing is copied. Without --caches, a
    restored graph computes them again. 'sarag restore' restores one.

    With --verify, the exit code is 1 if a backup is damaged.
    """
    if options["listing"] or options["verify"]:
        if options["keep"] or options["caches"] or options["listing"] == options["verify"]:
            raise UsageError("--list and --verify copy nothing: give one of them, and --to")
        return (_verify if options["verify"] else _list)(to, options)
    where = _folder(options)
    with progress_bars() as progress:
        report = back_up(
            where, to, keep=options["keep"], caches=options["caches"], progress=progress
        )
    for text in report.problems:
        problem(text)
    made = report.backup
    data = {**_data(made), "made": report.is_new, "deleted": report.deleted}
    data |= {"copied_bytes": report.copied, "shared_bytes": report.shared}
    lines = [f"deleted {name}" for name in report.deleted]
    if not report.is_new:
        state = f"{made.folder}: has this revision already, nothing copied"
        return emit(options, data, state, *lines)
    sizes = f"{_mebibytes(report.copied)} copied, {_mebibytes(report.shared)} shared"
    return emit(options, data, f"{made.folder}: {sizes} with earlier backups", *lines)


def _folder(options: Mapping[str, Any]) -> Path:
    if not isinstance(options["kg"], Path):
        raise UsageError(
            f"{options['kg']} is an endpoint: --kg needs a folder (back its graph up with sarag "
            "export --format nquads)"
        )
    return options["kg"]


def _list(to: Path, options: Mapping[str, Any]) -> int:
    backups, problems = backups_in(to)
    for text in problems:
        problem(text)
    lines = (f"{b.name}  {b.when}  {b.revision}  {_mebibytes(b.size)}" for b in backups)
    return emit(options, [*map(_data, backups)], *lines, counted(len(backups), "backup"))


def _verify(to: Path, options: Mapping[str, Any]) -> int:
    """Read all files of all backups; returns 1 if there is a damaged one."""
    backups, problems = backups_in(to)
    faults = {each.name: [*each.faults()] for each in backups}
    damaged = sum(map(bool, faults.values())) + len(problems)
    data = {"backups": faults, "problems": problems}
    lines = [*problems, *(f"{n}: {fault}" for n, found in faults.items() for fault in found)]
    total = counted(len(backups) + len(problems), "backup")
    hint = ": delete the damaged ones, so that the next backup shares nothing with them"
    state = f"{damaged} of {total} damaged{hint}" if damaged else f"{total} as they were written"
    return emit(options, data, *lines, state, failed=bool(damaged))


def _data(made: Backup) -> dict[str, Any]:
    return {
        "folder": str(made.folder),
        "when": made.when,
        "revision": made.revision,
        "caches": made.caches,
        "bytes": made.size,
    }


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


@click.command(epilog="Example:  sarag restore /mnt/backups --kg kg")
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@flags.kg_option
@flags.switch("--replace", "Replace the graph that is in the folder of --kg.")
@flags.json_option
@click.pass_context
def restore(context: click.Context, /, source: Path, **options: Any) -> int:
    """Restore a graph from a backup, or from an export.

    BACKUP is a backup of 'sarag backup', or the folder of backups, of which the newest is restored;
    'sarag backup --list' lists them. Or it is a file that 'sarag export' wrote as TriG or N-Quads:
    'sarag import --as sarag' does the same, with more options.

    The checksums of all files are compared first. The graph is there completely or not at all, and
    one that is there already is never overwritten without --replace. The first search computes
    what it caches.
    """
    if source.is_file() and source.name != MANIFEST:
        if options["replace"]:
            raise UsageError("--replace requires a backup: restore an export into a new folder")
        shared = {name: options[name] for name in ("kg", "as_json")}
        return int(
            context.invoke(import_, file=str(source), kind=RESTORED, no_vectors=True, **shared)
        )
    found = chosen_backup(source.parent if source.name == MANIFEST else source)
    where = _folder(options)
    with progress_bars() as progress:
        report = restore_backup(found, where, replace=options["replace"], progress=progress)
    data = {**_data(found), "replaced": report.replaced}
    return emit(
        options, data, f"{where}: restored from {found.folder} ({_mebibytes(found.size)} copied)"
    )
