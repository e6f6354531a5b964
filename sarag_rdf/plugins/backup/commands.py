"""``sarag backup`` and ``restore``: copies of a graph's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.exchange_commands import RESTORED, import_
from sarag_rdf.cli.output import counted, emit, problem, progress_bars
from sarag_rdf.plugins.backup.backups import MANIFEST, Backup, backups_in
from sarag_rdf.plugins.backup.copying import back_up, chosen_backup
from sarag_rdf.plugins.backup.copying import restore as restore_backup


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
