"""Temporary files and folders, and those that killed processes leave."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sarag_rdf.base.files import LOCK, ScratchFolder, replacing
from tests.command import ROOT, environment

_WAIT = "print(flush=True); sys.stdin.read()"
_REPLACE = f"""
import sys
from pathlib import Path
from sarag_rdf.base.files import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    {_WAIT}
"""
_SCRATCH = f"""
import sys
from sarag_rdf.base.files import ScratchFolder
folder = ScratchFolder("test")
{_WAIT}
"""


def waiting(code: str, *arguments: object, **env: str) -> subprocess.Popen[bytes]:
    """A process that has come to its wait."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=environment(**env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline()
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def write(target: Path, content: bytes) -> None:
    with replacing(target) as stream:
        stream.write(content)


def test_a_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a[1].txt"
    write(target, b"first")
    with replacing(target) as stream:
        stream.write(b"second")
        stream.flush()
        assert target.read_bytes() == b"first"
        assert len(list(tmp_path.iterdir())) == 2
    assert target.read_bytes() == b"second"
    with pytest.raises(ZeroDivisionError), replacing(target) as stream:
        stream.write(b"third")
        raise ZeroDivisionError
    assert target.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [target]


def test_the_mode_of_a_new_file_follows_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(tmp_path / "a", b"")
    finally:
        os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_what_killed_processes_leave_beside_a_file_is_deleted(tmp_path: Path) -> None:
    target, other = tmp_path / "a[1].txt", tmp_path / "b.txt"
    killed, elsewhere = waiting(_REPLACE, target), waiting(_REPLACE, other)
    kill(killed)
    kill(elsewhere)
    old = tmp_path / ".a[1].txt.4711.part"  # that of a process of an earlier version
    old.touch()
    running = waiting(_REPLACE, target)
    try:
        assert len(list(tmp_path.iterdir())) == 2, "those of other files are left"
        write(target, b"whole")
        assert target.read_bytes() == b"whole"
        assert len(list(tmp_path.iterdir())) == 3, "that of a running process is left"
        running.communicate(timeout=60)
        assert target.read_bytes() == b"half"
    finally:
        kill(running)
    write(other, b"")
    assert set(tmp_path.iterdir()) == {target, other}


def test_a_scratch_folder_is_deleted_by_its_process_or_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "sarag-of-a-user").mkdir()
    killed = waiting(_SCRATCH, TMPDIR=str(tmp_path))
    kill(killed)
    (left,) = tmp_path.glob("sarag-test-*")
    with ScratchFolder("one") as scratch:
        assert scratch.path.is_dir()
        assert not left.exists()
        running = waiting(_SCRATCH, TMPDIR=str(tmp_path))
        assert scratch.path.is_dir()
        assert len(list(tmp_path.glob(f"*/{LOCK}"))) == 2
        running.communicate(timeout=60)
        pid = os.fork()
        if not pid:  # pragma: no cover - a child, which ends as Python does
            scratch.delete()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert scratch.path.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["sarag-of-a-user"]
