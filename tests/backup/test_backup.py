"""Backups of a graph, and graphs that are restored from them."""

from __future__ import annotations

import ctypes
import io
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import InputError, StoreLockedError, UsageError
from sarag_rdf.graph.store import oxigraph
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.plugins.backup import backups
from sarag_rdf.plugins.backup.backups import MANIFEST, Backup, backups_in, locked, read_backup
from sarag_rdf.plugins.backup.copying import back_up, chosen_backup, restore_backup
from sarag_rdf.plugins.fsck import fsck
from tests.command import Sarag
from tests.faults.readers import opened, source
from tests.sample_graph import CapitalExtractor

QUESTION = "Whom did Ada meet?"


def index(folder: Path, *numbers: int, version: int = 0) -> None:
    with opened(folder) as kg:
        kg.index(
            [source(1, number, version) for number in numbers],
            extractor=CapitalExtractor(),
            words=6,
            overlap=0,
        )


def exported(folder: Path) -> bytes:
    written = io.BytesIO()
    with opened(folder) as kg:
        kg.export("nquads", written)
    return written.getvalue()


def found(folder: Path) -> Any:
    with opened(folder) as kg:
        return retrieved_to_dict(kg.search(QUESTION))


def inodes(folder: Path) -> set[int]:
    return {path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    index(tmp_path / "kg", *range(6))
    return tmp_path / "kg"


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def made(kg: Path, to: Path, **options: Any) -> Backup:
    report = back_up(kg, to, **options)
    assert report.is_new
    return report.backup


def test_a_restored_graph_is_that_of_its_revision(kg: Path, to: Path, tmp_path: Path) -> None:
    first, export, answer = made(kg, to), exported(kg), found(kg)
    index(kg, *range(4, 9), version=1)
    second, changed = made(kg, to), exported(kg)
    assert export != changed
    for number, (backup, want) in enumerate([(first, export), (second, changed)]):
        folder = tmp_path / f"restored{number}"
        restore_backup(backup, folder)
        assert exported(folder) == want
        with opened(folder) as restored:
            assert restored.meta().revision == backup.revision
            assert fsck(restored, deep=True).in_order
    assert found(tmp_path / "restored0") == answer
    index(tmp_path / "restored0", *range(4, 9), version=1)
    with opened(tmp_path / "restored0") as restored:
        assert restored.stats()["sources"] == 9
        assert fsck(restored, deep=True).in_order


def test_the_same_revision_is_not_copied_again(kg: Path, to: Path) -> None:
    backup = made(kg, to)
    again = back_up(kg, to)
    assert (again.is_new, again.backup) == (False, backup)
    with_caches = made(kg, to, caches=True)
    assert not back_up(kg, to).is_new
    assert not back_up(kg, to, caches=True).is_new
    assert backups_in(to) == ([backup, with_caches], [])


def test_tables_are_shared_with_backups_and_never_with_the_graph(kg: Path, to: Path) -> None:
    first = made(kg, to)
    index(kg, 7)
    before = inodes(first.folder)
    report = back_up(kg, to)
    tables = [name for name in first.files if name.endswith(".sst")]
    both = [name for name in tables if name in report.backup.files]
    assert both
    for name in both:
        assert (report.backup.folder / name).samefile(first.folder / name)
    assert report.shared >= sum(first.files[name].size for name in both)
    assert not (before | inodes(report.backup.folder)) & inodes(kg)


def test_without_hard_links_everything_is_copied(
    kg: Path, to: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    first = made(kg, to)
    index(kg, 7)
    monkeypatch.setattr(Path, "hardlink_to", refused)
    report = back_up(kg, to)
    assert report.shared == 0
    assert report.copied == report.backup.size
    assert not inodes(first.folder) & inodes(report.backup.folder)
    restore_backup(report.backup, tmp_path / "restored")
    assert exported(tmp_path / "restored") == exported(kg)


def test_the_newest_are_kept(kg: Path, to: Path) -> None:
    names = [made(kg, to).name]
    for number in range(6, 9):
        index(kg, number)
        names.append(made(kg, to).name)
    (to / "notes").mkdir()
    (to / names[3] / MANIFEST).rename(to / "manifest")  # no longer whole, so it does not count
    index(kg, 9)
    report = back_up(kg, to, keep=2)
    assert report.backup.number == 5
    assert report.deleted == (names[0], names[1])
    assert len(report.problems) == 1
    assert (to / "notes").exists()
    assert sorted(path.name for path in to.iterdir() if path.is_dir()) == sorted(
        [names[2], names[3], "notes", report.backup.name]
    )
    again = back_up(kg, to, keep=1)
    assert (again.is_new, again.deleted) == (False, (names[2],))


@pytest.mark.parametrize("name", ["store/CURRENT", "*.sst", "*.log", "MANIFEST-*", MANIFEST])
@pytest.mark.parametrize("how", ["changed", "truncated", "missing"])
def test_a_damaged_backup_is_not_restored(
    kg: Path, to: Path, tmp_path: Path, name: str, how: str
) -> None:
    backup = made(kg, to)
    pattern = name if "/" in name or name == MANIFEST else f"store/{name}"
    path = max(backup.folder.glob(pattern), key=lambda path: path.stat().st_size)
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        middle = len(data) // 2
        change = bytes([data[middle] ^ 1]) + data[middle + 1 :] if how == "changed" else b""
        path.write_bytes(data[:middle] + change)
    with pytest.raises(InputError, match=r"damaged|cannot be read|not as it was|no backup"):
        restore_backup(chosen_backup(backup.folder), tmp_path / "restored")
    assert not [*(tmp_path / "restored").glob("store/CURRENT")]
    assert not [*(tmp_path / "restored").glob("write-*")]
    restored_once_more = made(kg, tmp_path / "other")
    restore_backup(restored_once_more, tmp_path / "restored")
    assert exported(tmp_path / "restored") == exported(kg)


def test_a_graph_is_replaced_only_if_asked(kg: Path, to: Path, tmp_path: Path) -> None:
    backup, export = made(kg, to), exported(kg)
    index(kg, *range(20, 25))
    changed = exported(kg)
    with pytest.raises(UsageError, match="has a graph already"):
        restore_backup(backup, kg)
    assert exported(kg) == changed
    (kg / "store" / "CURRENT").unlink()  # what is damaged is a graph, too
    with pytest.raises(UsageError, match="has a graph already"):
        restore_backup(backup, kg)
    assert restore_backup(backup, kg, replace=True).replaced
    assert exported(kg) == export
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(Exception, match="holds other files"):
        restore_backup(backup, tmp_path / "other", replace=True)


@pytest.mark.parametrize("exchange", [True, False])
def test_readers_keep_what_they_read_while_it_is_replaced(
    kg: Path, to: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    backup = made(kg, to)
    index(kg, *range(20, 25))
    reader = OxigraphStore.open(kg / "store")
    count = sum(1 for _ in reader.quads())
    restore_backup(backup, kg, replace=True)
    assert sum(1 for _ in reader.quads()) == count
    assert sum(1 for _ in OxigraphStore.open(kg / "store").quads()) < count


def test_a_graph_that_is_written_to_is_not_replaced(kg: Path, to: Path) -> None:
    backup = made(kg, to)
    with opened(kg) as graph, graph.session.write():
        pid = os.fork()
        if pid == 0:
            try:
                restore_backup(backup, kg, replace=True)
            except StoreLockedError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_backup_while_a_writer_has_the_lock(kg: Path, to: Path, tmp_path: Path) -> None:
    with opened(kg) as graph, graph.session.write():
        backup = made(kg, to)
    restore_backup(backup, tmp_path / "restored")
    assert exported(tmp_path / "restored") == exported(kg)


def test_without_a_list_of_open_files(
    kg: Path, to: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on other systems than Linux: the backup takes the lock of the graph."""
    monkeypatch.setattr(oxigraph, "_OPEN_FILES", tmp_path / "none")
    first = made(kg, to)
    assert not inodes(first.folder) & inodes(kg)
    restore_backup(first, tmp_path / "restored")
    assert exported(tmp_path / "restored") == exported(kg)
    assert not [*kg.glob("write-*")]


def test_one_backup_at_a_time(kg: Path, to: Path) -> None:
    with locked(to), pytest.raises(StoreLockedError, match="another process is writing backups"):
        back_up(kg, to)
    assert made(kg, to)


def test_caches_are_restored_where_there_are_none(kg: Path, to: Path, tmp_path: Path) -> None:
    answer = found(kg)
    backup = made(kg, to, caches=True)
    assert "cache/embeddings.sqlite" in backup.files
    assert not [name for name in backup.files if name.endswith(("-wal", "-shm", ".part"))]
    restore_backup(backup, tmp_path / "restored")
    with sqlite3.connect(tmp_path / "restored" / "cache" / "embeddings.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM kept").fetchone()[0] > 0
    assert found(tmp_path / "restored") == answer
    own = tmp_path / "restored" / "cache" / "embeddings.sqlite"
    own.write_bytes(b"mine")
    restore_backup(backup, tmp_path / "restored", replace=True)
    assert own.read_bytes() == b"mine", "caches that are there stay"


def test_caches_that_have_not_changed_are_shared(kg: Path, to: Path) -> None:
    first = made(kg, to, caches=True)
    with opened(kg) as graph:
        graph.delete("1/0005.txt")
    second = made(kg, to, caches=True)
    name = "cache/embeddings.sqlite"
    assert (first.folder / name).samefile(second.folder / name)


def test_what_killed_backups_left_is_deleted(kg: Path, to: Path) -> None:
    (to / ".part-1").mkdir(parents=True)
    (to / ".part-1" / "file").write_text("half")
    made(kg, to)
    assert [path.name for path in to.iterdir() if path.name.startswith(".part")] == []


def test_a_manifest_may_not_name_files_elsewhere(kg: Path, to: Path, tmp_path: Path) -> None:
    backup = made(kg, to)
    manifest = json.loads((backup.folder / MANIFEST).read_text())
    manifest["backup"]["files"]["../../outside"] = {"size": 1, "sha256": "0"}
    manifest["sha256"] = backups._digest(manifest["backup"])
    (backup.folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="outside"):
        restore_backup(read_backup(backup.folder), tmp_path / "restored")


def test_commands(kg: Path, to: Path, tmp_path: Path, sarag: Sarag) -> None:
    made_now = sarag("backup", "--to", "backups", "--json")
    assert made_now.code == 0, made_now
    assert json.loads(made_now.out)["made"] is True
    assert "has this revision already" in sarag("backup", "--to", "backups").out
    index(kg, 7)
    assert "copied" in sarag("backup", "--to", "backups", "--keep", "1").out
    listed = json.loads(sarag("backup", "--to", "backups", "--list", "--json").out)
    assert [backup["bytes"] > 0 for backup in listed] == [True]
    verified = sarag("backup", "--to", "backups", "--verify")
    assert (verified.code, verified.out) == (0, "1 backup as they were written\n")
    assert sarag("restore", "backups", "--kg", "new").code == 0
    assert exported(tmp_path / "new") == exported(kg)
    sarag("restore", "backups", "--kg", "new").fails(2, "--replace")
    assert sarag("restore", "backups", "--kg", "new", "--replace").code == 0
    folder = Path(listed[0]["folder"])
    table = max(folder.glob("store/*.sst"), key=lambda path: path.stat().st_size)
    table.write_bytes(table.read_bytes()[:-1])
    verified = sarag("backup", "--to", "backups", "--verify")
    assert verified.code == 1
    assert "1 of 1 backup damaged" in verified.out
    sarag("restore", "backups", "--kg", "new", "--replace").fails(1, "is damaged", table.name)
    assert exported(tmp_path / "new") == exported(kg)


def test_an_export_is_restored_as_well(kg: Path, tmp_path: Path, sarag: Sarag) -> None:
    assert sarag("export", "--format", "nquads", "--output", "graph.nq").code == 0
    done = sarag("restore", "graph.nq", "--kg", "new")
    assert done.code == 0, done
    assert exported(tmp_path / "new") == exported(kg)
    sarag("restore", "graph.nq", "--kg", "new", "--replace").fails(2, "requires a backup")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("backup", "--to", "kg/backups"), ["inside of the graph"]),
        (("backup", "--to", "backups", "--kg", "none"), ["no graph at none"]),
        (("backup", "--to", "backups", "--list", "--verify"), ["give one of them"]),
        (("backup", "--to", "backups", "--kg", "http://localhost:1/q"), ["is an endpoint"]),
        (("backup", "--to", "file"), ["cannot write to file", "earlier backups are unchanged"]),
        (("restore", "none", "--kg", "new"), ["no such file or folder: none"]),
        (("restore", "kg", "--kg", "new"), ["holds no backup"]),
    ],
)
def test_errors_say_what_to_do(
    kg: Path, sarag: Sarag, tmp_path: Path, arguments: tuple[str, ...], words: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    done = sarag(*arguments)
    done.fails(done.code, *words)
    assert done.code > 0
