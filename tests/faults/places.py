"""Folders with faults of their own: a disk that is small, or that may only be read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A disk of that size at a folder, which is made; only root may do this."""
    folder.mkdir()
    size = f"size={kilobytes}k"
    if not _mount("-t", "tmpfs", "-o", size, "tmpfs", str(folder)):
        pytest.skip("optional: only root may mount a disk, and not everywhere")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resized(folder: Path, kilobytes: int) -> None:
    """Give a small disk another size."""
    assert _mount("-o", f"remount,size={kilobytes}k", str(folder))


@contextmanager
def read_only(folder: Path, at: Path | None = None) -> Iterator[None]:
    """Mount a folder so that nobody may write to it there: in its own place, or at another."""
    here = str(at or folder)
    if not _mount("--bind", str(folder), here):
        pytest.skip("optional: only root may mount a folder, and not everywhere")
    try:
        assert _mount("-o", "remount,ro,bind", here)
        yield
    finally:
        subprocess.run(["umount", "--lazy", here], check=True)
