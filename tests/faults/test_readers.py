"""Readers beside writers, for ten seconds: `make soak-readers`, shortened."""

from __future__ import annotations

from pathlib import Path

from tests.faults.readers import READS, soak

SECONDS, WRITERS, READERS = 10, 2, 3


def test_readers_beside_writers_read_one_revision(tmp_path: Path) -> None:
    done = soak(tmp_path / "kg", seconds=SECONDS, writers=WRITERS, readers=READERS)
    assert not done["failed reads"]
    assert not done["failed writes"]
    assert done["written"].total() >= WRITERS
    assert done["read"].keys() == READS.keys()
