"""Identification of the process that writes to a graph, and cleanup after killed writers."""

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
COPY = "write-"
"""Prefix of the names of working copies of a store, in the graph's folder."""
_MAX_COMMAND = 80
"""Characters of a command that are shown."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a graph open for writing.

    `begun` is the start time of the process in clock ticks, which distinguishes it from a later
    process with the same id; empty if the system does not provide it.
    """

    pid: int
    host: str
    command: str
    since: str
    begun: str

    def __str__(self) -> str:
        is_local = self.host == platform.node()
        where = "" if is_local else f" on {self.host}"
        if is_local and self.pid == os.getpid():
            return "this process itself"
        since = datetime.fromisoformat(self.since)
        today = datetime.now().astimezone().date()
        time = f"{since:%H:%M}" if since.date() == today else self.since
        return f"`{self.command}` (process {self.pid}{where}, since {time})"


def record_holder(folder: Path) -> None:
    """Record this process as the writer of the graph in a folder, if the folder is writable."""
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = Holder(os.getpid(), platform.node(), _command(), now, _start_time(os.getpid()))
    with suppress(OSError):
        (folder / NAME).write_text(json.dumps(asdict(holder)), encoding="utf-8")


def remove_holder(folder: Path) -> None:
    """Delete the record, if it is that of this process."""
    holder = holder_of(folder)
    if holder is not None and (holder.host, holder.pid) == (platform.node(), os.getpid()):
        with suppress(OSError):
            (folder / NAME).unlink()


def holder_of(folder: Path) -> Holder | None:
    """The recorded writer; None if there is none, or if it was a local process that has ended."""
    try:
        holder = Holder(**json.loads((folder / NAME).read_text(encoding="utf-8")))
        datetime.fromisoformat(holder.since)
    except (OSError, ValueError, TypeError):
        return None
    if holder.host == platform.node() and not _is_alive(holder):
        return None
    return holder


def remove_leftovers(folder: Path) -> None:
    """Delete the files of killed writers in a graph's folder; requires the lock of the store.

    These are tables of bulk loads that were not committed, options that were not completely
    written, and working copies.
    """
    store = folder / "store"
    for path in (*store.glob("bulk-*.sst"), *store.glob("OPTIONS-*.dbtmp")):
        with suppress(OSError):
            path.unlink()
    for path in folder.glob(f"{COPY}*"):
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(holder: Holder) -> bool:
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError, ValueError, TypeError):
        return False
    except OSError:
        pass  # a process of another user
    return _start_time(holder.pid) == holder.begun


def _start_time(pid: int) -> str:
    """The start time of a process in clock ticks since boot; empty if not available."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return state.rpartition(")")[2].split()[19]


def _command() -> str:
    """The command line up to the first option, because options may contain private data."""
    program, *words = sys.argv or ["python"]
    name = Path(program).name
    command = "sarag" if name in ("sarag", "__main__.py") else name or "python"
    text = " ".join([command, *takewhile(lambda word: not word.startswith("-"), words)])
    return text if len(text) <= _MAX_COMMAND else text[: _MAX_COMMAND - 1] + "…"
