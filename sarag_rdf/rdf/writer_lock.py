"""Who is writing to a graph, and the cleaning up after writers that were killed."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path

NAME = "writer.json"
_LONGEST = 80
"""Characters of a command that are told."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a graph open for writing.

    `begun` tells the process apart from a later one of the same number, where the system says it.
    """

    pid: int
    host: str
    command: str
    since: str
    begun: str

    def __str__(self) -> str:
        here = self.host == platform.node()
        where = "" if here else f" on {self.host}"
        if here and self.pid == os.getpid():
            return "this very process"
        since = datetime.fromisoformat(self.since)
        moment = f"{since:%H:%M}" if since.date() == datetime.now().astimezone().date() else ""
        return f"`{self.command}` (process {self.pid}{where}, since {moment or self.since})"


def sign(folder: Path) -> None:
    """Note that this process is writing to the graph in a folder, if that can be noted."""
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = Holder(os.getpid(), platform.node(), _command(), now, _begun(os.getpid()))
    with suppress(OSError):
        (folder / NAME).write_text(json.dumps(asdict(holder)), encoding="utf-8")


def leave(folder: Path) -> None:
    """Take the note away, if it is that of this process."""
    holder = holder_of(folder)
    if holder is not None and (holder.host, holder.pid) == (platform.node(), os.getpid()):
        with suppress(OSError):
            (folder / NAME).unlink()


def holder_of(folder: Path) -> Holder | None:
    """Who noted to be writing, unless that process of this machine is gone."""
    try:
        holder = Holder(**json.loads((folder / NAME).read_text(encoding="utf-8")))
        datetime.fromisoformat(holder.since)
    except (OSError, ValueError, TypeError):
        return None
    if holder.host == platform.node() and not _is_alive(holder):
        return None
    return holder


def _is_alive(holder: Holder) -> bool:
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError, ValueError, TypeError):
        return False
    except OSError:
        pass  # it is another user's
    return _begun(holder.pid) == holder.begun


def _begun(pid: int) -> str:
    """When a process began, in the system's own count; empty where it does not tell."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return state.rpartition(")")[2].split()[19]


def _command() -> str:
    """What was called, without its options: they may hold what is nobody's business."""
    program, *words = sys.argv or ["python"]
    name = Path(program).name
    called = "sarag" if name in ("sarag", "__main__.py") else name or "python"
    shown = " ".join([called, *takewhile(lambda word: not word.startswith("-"), words)])
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


COPY = "write-"
"""What the names of working copies of a store begin with; they stand in the graph's folder."""
UNFINISHED_WRITE = "unfinished-write"
"""A file that earlier versions put into the graph's folder while they took a write over HTTP.

Where it is found, evidence may have changed without what follows from it.
"""


def sweep(folder: Path) -> None:
    """Remove what killed writers left in a graph's folder; only for who holds the lock.

    These are tables of bulk loads, which never became part of the store, and working copies.
    """
    for path in (folder / "store").glob("bulk-*.sst"):
        with suppress(OSError):
            path.unlink()
    for path in folder.glob(f"{COPY}*"):
        shutil.rmtree(path, ignore_errors=True)
