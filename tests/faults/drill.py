"""Backups and restorations that are killed: ``python -m tests.faults.drill --kills 200``.

A writer indexes, and a reader searches, while ``sarag backup`` or ``sarag restore`` is killed at a
random moment. After each kill all backups that were there are whole, and the folder that was to be
restored has no graph, or the one before, or that of the backup. The command then runs to its end.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sarag_rdf.base.errors import NotAGraphError
from sarag_rdf.plugins.backup.backups import Backup, backups_in
from sarag_rdf.plugins.fsck import fsck
from tests.command import ROOT, environment
from tests.faults.killing import Aim, Ended, run
from tests.faults.readers import opened, source
from tests.sample_graph import CapitalExtractor

KEEP = 3
"""Backups that are kept."""


class LostError(AssertionError):
    """Something that must hold after a kill does not hold."""


def exported(folder: Path) -> bytes:
    """The whole graph as N-Quads; nothing if there is no graph."""
    written = io.BytesIO()
    try:
        with opened(folder) as kg:
            kg.export("nquads", written)
    except NotAGraphError:
        return b""
    return written.getvalue()


def change(folder: Path, number: int) -> None:
    """Index a few sources, some of them anew."""
    with opened(folder) as kg:
        sources = [source(7, number * 3 + each, number) for each in range(5)]
        kg.index(sources, extractor=CapitalExtractor(), words=6, overlap=0)


@contextmanager
def life(folder: Path, seconds: float) -> Iterator[None]:
    """A writer and a reader of a graph, as processes of their own."""
    command = (*(sys.executable, "-m", "tests.faults.readers"), "--folder", str(folder))
    processes = [
        subprocess.Popen(
            [*command, "--role", role, "--number", "1", "--seconds", str(seconds)],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.nice(10),
        )
        for role in ("write", "read")
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@dataclass
class Drill:
    """Trials in a folder, with the graph in ``kg`` and its backups in ``backups``."""

    work: Path
    seed: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    late: int = 0
    exports: dict[str, bytes] = field(default_factory=dict)
    """The name of a backup -> the export of the graph that is restored from it."""
    undisturbed: dict[str, Ended] = field(default_factory=dict)

    @property
    def kg(self) -> Path:
        return self.work / "kg"

    @property
    def backups(self) -> Path:
        return self.work / "backups"

    def prepare(self) -> None:
        change(self.kg, 0)
        self.backups.mkdir()
        self._run("backup", ("backup", "--to", "backups"), self.backups)

    def trial(self, number: int) -> None:
        """Kill a backup or a restoration, look, and complete it; raises `LostError`."""
        chance = random.Random(f"{self.seed} {number}")
        what = ("backup", "restore", "replace")[number % 3]
        before = self._whole()
        command: tuple[str, ...]
        if what == "backup":
            command = ("backup", "--to", "backups", "--keep", str(KEEP), "--caches")
            self._killed(what, command, self.backups, chance)
            self._look_at_backups(before)
            self._finish(command, self.backups)
            after = self._whole()
            _expect(len(after) <= KEEP, f"{len(after)} backups")
            _expect(after[-1].number > before[0].number, "no backup was made")
            left = [path.name for path in self.backups.iterdir() if path.name.startswith(".part")]
            _expect(not left, f"left behind: {left}")
            return
        target = self.work / "restored"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()  # so that it can be watched
        chosen = chance.choice(before)
        old = b""
        if what == "replace":
            self._finish(("restore", f"backups/{chance.choice(before).name}"), target, target)
            old = exported(target)
        command = ("restore", f"backups/{chosen.name}", "--replace")
        want = self._export_of(chosen)
        self._killed(what, command, target, chance)
        _expect(exported(target) in (old, want), "neither the graph before nor that of the backup")
        self._look_at_backups(before)
        self._finish(command, target, target)
        _expect(exported(target) == want, "another graph than that of the backup")
        left = [path.name for path in target.iterdir() if path.name.startswith("write-")]
        _expect(not left, f"left behind: {left}")
        if chance.random() < 0.2:  # it takes most of the time
            change(target, number)  # the next indexing goes on
            with opened(target) as kg:
                findings = fsck(kg, deep=True).findings
            _expect(not findings, f"{findings}")

    def _export_of(self, backup: Backup) -> bytes:
        if backup.name not in self.exports:
            scratch = self.work / "scratch"
            shutil.rmtree(scratch, ignore_errors=True)
            self._finish(("restore", f"backups/{backup.name}"), self.work, scratch)
            self.exports[backup.name] = exported(scratch)
            with opened(scratch) as kg:
                _expect(kg.meta().revision == backup.revision, "another revision")
                counts = kg.stats()
                _expect(not fsck(kg, deep=True).findings, "the restored graph is not in order")
            _expect(counts["documents"] == 2 * counts["sources"], f"half a source: {counts}")
        return self.exports[backup.name]

    def _whole(self) -> list[Backup]:
        """The backups, which must all be whole."""
        backups, problems = backups_in(self.backups)
        _expect(not problems, f"{problems}")
        for backup in backups:
            faults = [*backup.faults()]
            _expect(not faults, f"{backup.name}: {faults}")
        return backups

    def _look_at_backups(self, before: list[Backup]) -> None:
        """After a kill: the newest of the backups that were there are there, and all are whole."""
        now = {backup.name for backup in self._whole()}
        lost = [backup.name for backup in before[-KEEP + 1 :] if backup.name not in now]
        _expect(not lost, f"lost: {lost}")

    def _killed(
        self, what: str, command: tuple[str, ...], watched: Path, chance: random.Random
    ) -> None:
        known = self.undisturbed.get(what)
        if known is None:
            aim = Aim(seconds=chance.uniform(0, 0.05))
        elif chance.random() < 0.4:
            aim = Aim(seconds=chance.uniform(0, known.seconds - known.began))
        else:
            kind = chance.choice(sorted(known.events))
            # Not all of many: changes that follow at once are told as one.
            aim = Aim(file=kind, times=chance.randint(1, -(-known.events[kind] * 2 // 3)))
        ended = self._run(what, command, watched, aim)
        if ended.was_killed:
            self.kills[what] += 1
        else:
            _expect(ended.code == 0, ended.err)
            self.late += 1
            if ended.events:
                self.undisturbed[what] = ended

    def _run(
        self, what: str, command: tuple[str, ...], watched: Path, aim: Aim | None = None
    ) -> Ended:
        kg = () if command[0] == "backup" else ("--kg", str(watched))
        ended = run((*command, *kg), self.work, watched, {}, aim)
        if aim is None:
            self.undisturbed[what] = ended
        return ended

    def _finish(self, command: tuple[str, ...], watched: Path, kg: Path | None = None) -> None:
        place = ("--kg", str(kg)) if kg else ()
        ended = run((*command, *place), self.work, watched, {})
        _expect(ended.code == 0, f"{command} failed: {ended.err}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise LostError(otherwise)


@contextmanager
def drilling(seed: int) -> Iterator[Drill]:
    """A drill in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="sarag-drill-") as name:
        drill = Drill(Path(name), seed)
        drill.prepare()
        yield drill


def soak(kills: int, seed: int) -> Mapping[str, int]:
    """Trials beside a writer and a reader until there were so many kills; counts by command."""
    with drilling(seed) as drill:
        number = 0
        while drill.kills.total() < kills:
            with life(drill.kg, 600):
                for _ in range(12):
                    drill.trial(number)
                    number += 1
            print(f"{number} trials, {dict(drill.kills)} killed", flush=True)
        with opened(drill.kg) as kg:
            _expect(not fsck(kg, deep=True).findings, "the graph is not in order")
        return {**drill.kills, "after the end": drill.late}


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill backups and restorations.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin = time.monotonic()
    counts = soak(given.kills, given.seed)
    for name, count in counts.items():
        print(f"{name}: {count} kills")
    print(f"{time.monotonic() - begin:.0f} seconds, seed {given.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
