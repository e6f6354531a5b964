"""Runs ``sarag`` as a user would, on a terminal, and kills it at a given moment."""

from __future__ import annotations

import os
import pty
import re
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.watching import Watch
from tests.forked import Forked, start

_PATIENCE = 300.0
_NUMBER = re.compile(r"[0-9a-f]{12}|\d+")
_BAR = re.compile(r"([a-z][a-z ]+): +\d+%[^\r\n]*? (\d+)/(\d+) \[")


@dataclass(frozen=True)
class Aim:
    """When a process is killed: `seconds` after it first changed a file of the graph.

    Or else as soon as `times` things have happened to files of the graph whose kind is `file`.
    """

    seconds: float = _PATIENCE
    file: str = ""
    times: int = 0

    def __str__(self) -> str:
        return f"{self.file} {self.times}" if self.file else f"{self.seconds:.2f} s"


def kind_of(path: str) -> str:
    """The kind of a file: its name without its numbers."""
    return _NUMBER.sub("#", path.rpartition("/")[2])


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it did until then.

    `began` is when the first thing happened to a file of the graph, `seconds` when the run ended,
    `events` how many things happened to each kind of file, `last` the kind of the last.
    """

    code: int
    out: str
    err: str
    seconds: float
    began: float
    events: Counter[str]
    last: str

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def reported(self, what: str) -> int:
        """How many were done by then, as the progress bar of this name said last."""
        found = [int(done) for name, done, _ in _BAR.findall(self.err) if name == what]
        return max(found, default=0)


def run(
    arguments: Sequence[str],
    work: Path,
    graph: Path,
    env: Mapping[str, str],
    aim: Aim | None = None,
) -> Ended:
    """Run a command in the folder `work` until its end, or until the moment that is aimed at."""
    watch = Watch(graph)
    master, terminal = pty.openpty()
    seen = bytearray()
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        process = start(arguments, work, {"COLUMNS": "120", **env}, out.fileno(), terminal)
        os.close(terminal)
        reading = threading.Thread(target=_drain, args=(master, seen))
        reading.start()
        try:
            began, events, last = _follow(process, watch, begin, aim or Aim())
        finally:
            process.kill()
            code = process.wait()
            seconds = time.monotonic() - begin
            reading.join()
            os.close(master)
            watch.close()
        out.seek(0)
        text = out.read().decode()
    assert aim or code != -signal.SIGKILL, f"{arguments} took too long"
    return Ended(code, text, seen.decode(), seconds, began, events, last)


def _follow(
    process: Forked, watch: Watch, begin: float, aim: Aim
) -> tuple[float, Counter[str], str]:
    """Wait for the end or the moment, and kill the process then."""
    began, last = 0.0, ""
    events: Counter[str] = Counter()
    while process.poll() is None:
        left = begin + (began + aim.seconds if began else _PATIENCE) - time.monotonic()
        for path in watch.events(max(0.0, min(left, 0.02))):
            last = kind_of(path)
            events[last] += 1
            began = began or time.monotonic() - begin
            if aim.file == last and aim.times == events[last]:
                process.kill()
        if left <= 0 or (aim.file and events[aim.file] >= aim.times):
            process.kill()
            process.wait()
            break
    return began, events, last


def _drain(terminal: int, seen: bytearray) -> None:
    """Read what is written to a terminal, until nobody holds it any more."""
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # EIO: the other side is closed
            return
        if not data:
            return
        seen += data
