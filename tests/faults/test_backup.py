"""Backups survive kills, full disks and damage of the graph: what they promise."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from sarag_rdf.plugins.backup.backups import backups_in
from sarag_rdf.plugins.fsck import fsck
from tests.faults.damage import KINDS, damage
from tests.faults.drill import change, exported, soak
from tests.faults.places import resized, small_disk
from tests.faults.readers import opened
from tests.forked import run_forked

KILLS = int(os.environ.get("SARAG_TEST_KILLS", "9"))
SEED = int(os.environ.get("SARAG_TEST_SEED", "0"))
STORED = [kind for kind, (pattern, _) in KINDS.items() if pattern.startswith("store/")]


@pytest.mark.minute
@pytest.mark.skipif(sys.platform != "linux", reason="optional: it needs inotify")
def test_kills_beside_a_writer_and_a_reader_lose_nothing() -> None:
    counts = soak(KILLS, SEED)
    assert counts.keys() >= {"backup", "restore", "replace"}


@pytest.mark.parametrize("seed", range(4))
def test_drill(tmp_path: Path, seed: int) -> None:
    """Index, back up, change, back up, damage, look, restore, and go on."""
    chance = random.Random(f"{SEED} {seed}")
    kg, exports = tmp_path / "kg", {}
    for number in range(2):
        change(kg, number)
        exports[number] = exported(kg)
        done = run_forked("backup", "--to", "backups", cwd=tmp_path)
        assert done.code == 0, done
    change(kg, 2)
    kind = STORED[chance.randrange(2)] if seed < 2 else chance.choice(STORED[2:4])
    path = damage(kg, kind, chance)
    found = run_forked("fsck", "--deep", cwd=tmp_path)
    assert found.code == 1, (kind, path, found)
    assert "storage: " in found.out
    backups, problems = backups_in(tmp_path / "backups")
    assert not problems
    assert len(backups) == 2
    for number, backup in enumerate(backups):
        done = run_forked("restore", backup.folder, "--replace", cwd=tmp_path)
        assert done.code == 0, done
        assert exported(kg) == exports[number]
        assert run_forked("fsck", "--deep", cwd=tmp_path).code == 0
    change(kg, 3)
    with opened(kg) as graph:
        assert fsck(graph, deep=True).in_order
    done = run_forked("backup", "--to", "backups", cwd=tmp_path)
    assert done.code == 0, done
    assert [*backups_in(tmp_path / "backups")[0]][-1].number == 3


def test_a_full_disk(tmp_path: Path) -> None:
    kg = tmp_path / "kg"
    change(kg, 0)
    with small_disk(tmp_path / "small", 200_000) as disk:
        assert run_forked("backup", "--to", "small/b", cwd=tmp_path).code == 0
        (first,), _ = backups_in(disk / "b")
        change(kg, 1)
        used = shutil.disk_usage(disk).used >> 10
        resized(disk, used + 100)
        done = run_forked("backup", "--to", "small/b", "--keep", "1", cwd=tmp_path)
        done.fails(1, "the disk is full (small/b)", "earlier backups are unchanged")
        assert backups_in(disk / "b") == ([first], [])
        assert not [*first.faults()]
        assert not [*(disk / "b").glob(".part*")]
        done = run_forked("restore", "small/b", "--kg", "small/kg", cwd=tmp_path)
        done.fails(1, "the disk is full (small/kg)", "what was there is unchanged")
        assert not [*(disk / "kg").glob("write-*")]
        resized(disk, 200_000)
        assert run_forked("backup", "--to", "small/b", "--keep", "1", cwd=tmp_path).code == 0
        (second,), _ = backups_in(disk / "b")
        assert second.number == 2
        assert run_forked("restore", "small/b", "--kg", "small/kg", cwd=tmp_path).code == 0
        assert exported(disk / "kg") == exported(kg)
        resized(disk, (shutil.disk_usage(disk).used >> 10) + 100)
        change(kg, 2)
        assert run_forked("backup", "--to", "more", cwd=tmp_path).code == 0
        before = exported(disk / "kg")
        done = run_forked("restore", "more", "--replace", "--kg", "small/kg", cwd=tmp_path)
        done.fails(1, "the disk is full (small/kg)", "what was there is unchanged")
        assert exported(disk / "kg") == before
