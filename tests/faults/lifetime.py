"""A long random life of a graph, of which nothing is lost and nothing grows: ``make soak-long``.

A server answers all the time. Commands index, update, delete, search, back up and restore in turn,
and some of them are killed and run again. In the end the graph is that of the documents that are
left, and the server's memory and open files, and the files on the disk, have not grown.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.sandbox import process_memory
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.plugins.backup.backups import backups_in
from sarag_rdf.plugins.fsck import fsck
from tests.fault_server import FaultServer, data, playing
from tests.faults.corpus import openie_corpus
from tests.faults.killing import Aim, run
from tests.faults.scenarios import OPENIE, QUESTIONS
from tests.forked import run_forked
from tests.sample_graph import embeddings
from tests.server.running import Running, serving

SLOTS = 60
"""Documents that there may be, each in two versions."""
KEEP = 3
"""Backups that are kept."""
WARM_UP = 0.3
"""The part of the time after which growth is measured: caches and pools are full by then."""
SAMPLES = 60
_SOURCES = f"SELECT (COUNT(DISTINCT ?s) AS ?n) {{ GRAPH ?g {{ ?s a {SARAG.Source} }} }}"


REPLIES = {
    "decompose": {"questions": ["Who was it?"]},
    "answer_brief": {"final_answer": "Ada"},
}
"""What the model says, by the name of the prompt."""


def model(handler: BaseHTTPRequestHandler) -> None:
    """Embeds, and answers the same to every question."""
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    asked = owner.bodies[-1]
    if "input" in asked:
        embeddings(handler)
    else:
        data(REPLIES[asked["response_format"]["json_schema"]["name"]])(handler)
    owner.requests[:-1] = []


@dataclass(frozen=True)
class Measure:
    """What must not grow; `slack` is what it may, beside a tenth."""

    name: str
    unit: str
    slack: float


MEASURES = (
    Measure("memory of the server", "MiB", 24),
    Measure("open files of the server", "", 24),
    Measure("store", "MiB", 8),
    Measure("caches but replies", "MiB", 8),
    Measure("backups", "MiB", 16),
    Measure("temporary files", "MiB", 8),
)


@dataclass
class Series:
    """Samples of all measures, with their times in seconds."""

    times: list[float] = field(default_factory=list)
    values: list[Sequence[float]] = field(default_factory=list)

    def growth(self, place: int) -> tuple[float, float, float, float]:
        """First and last value, mean after the warm-up, and the growth of a fitted line in it."""
        times, values = np.array(self.times), np.array([row[place] for row in self.values])
        late = times >= WARM_UP * times[-1]
        slope = np.polyfit(times[late], values[late], 1)[0]
        length = times[late][-1] - times[late][0]
        return values[0], values[-1], float(values[late].mean()), float(slope * length)

    def table(self) -> str:
        lines = ["| measure | first | last | mean | growth | an hour | |"]
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
        length = self.times[-1] * (1 - WARM_UP)
        for place, measure in enumerate(MEASURES):
            first, last, mean, growth = self.growth(place)
            state = "flat" if self.is_flat(place) else "GROWS"
            hourly = growth / length * 3600
            name = f"{measure.name}, {measure.unit}" if measure.unit else measure.name
            lines.append(
                f"| {name} | {first:.1f} | {last:.1f} | {mean:.1f} | {growth:+.1f} | "
                f"{hourly:+.1f} | {state} |"
            )
        return "\n".join(lines)

    def is_flat(self, place: int) -> bool:
        _, _, mean, growth = self.growth(place)
        return growth <= MEASURES[place].slack + 0.1 * mean

    @property
    def growing(self) -> list[str]:
        return [each.name for place, each in enumerate(MEASURES) if not self.is_flat(place)]


@dataclass
class Life:
    """The documents that there are, and the graph and the server that must follow."""

    work: Path
    env: Mapping[str, str]
    server: Running
    chance: random.Random
    present: dict[int, int] = field(default_factory=dict)
    """Slot -> version."""
    done: Counter[str] = field(default_factory=Counter)

    @property
    def kg(self) -> Path:
        return self.work / "kg"

    @property
    def actions(self) -> dict[Callable[[], None], int]:
        """What may happen, and how often beside the others."""
        return {
            self._change: 4,
            self._delete: 2,
            self._killed: 3,
            self._ask_server: 8,
            self._search: 2,
            self._back_up: 3,
            self._restore_elsewhere: 1,
            self._restore_here: 1,
        }

    def act(self, action: Callable[[], None] | None = None) -> None:
        """One of the actions, by chance if it is not given."""
        actions = self.actions
        action = action or self.chance.choices([*actions], [*actions.values()])[0]
        action()
        self.done[action.__name__.strip("_").replace("_", " ")] += 1
        counted = int(self.server.values(_SOURCES)[0][0])
        assert counted == len(self.present), f"{counted} sources, not {len(self.present)}"

    def end(self) -> None:
        """The graph is that of the documents, and all is in order."""
        from tests.faults.soak import graphs_of

        with opened(self.kg, self.env) as kg:
            findings = fsck(kg, deep=True).findings
            assert not findings, findings
        backups, problems = backups_in(self.work / "backups")
        assert not problems
        assert 0 < len(backups) <= KEEP
        assert not [fault for backup in backups for fault in backup.faults()]
        self._sarag("index", "docs", *OPENIE, "--kg", "afresh")
        now, afresh = graphs_of(self.kg), graphs_of(self.work / "afresh")
        assert now.keys() == afresh.keys(), "other graphs than afresh"
        other = [name for name in now if now[name] != afresh[name]]
        assert not other, other

    def _sarag(self, *arguments: str) -> str:
        done = run_forked(*arguments, cwd=self.work, env=self.env)
        assert done.code == 0, (arguments, done)
        return done.out

    def _write(self) -> None:
        """Add some documents and change others, in the folder alone."""
        for slot in self.chance.sample(range(SLOTS), 6):
            version = self.chance.randrange(2)
            text = (self.work / f"version{version}" / f"{slot:04}.txt").read_bytes()
            (self.work / "docs" / f"{slot:04}.txt").write_bytes(text)
            self.present[slot] = version

    def _change(self) -> None:
        self._write()
        self._sarag("index", "docs", *OPENIE)

    def _delete(self) -> None:
        for slot in self.chance.sample(sorted(self.present), min(3, len(self.present) - 1)):
            (self.work / "docs" / f"{slot:04}.txt").unlink()
            del self.present[slot]
            self._sarag("delete", f"{slot:04}.txt")

    def _killed(self) -> None:
        """Kill a command, and run it again."""
        self._write()
        for slot in self.chance.sample(sorted(self.present), 2):
            (self.work / "docs" / f"{slot:04}.txt").unlink()
            del self.present[slot]
        command = ("sync", "docs", "--yes", *OPENIE)
        ended = run(command, self.work, self.kg, self.env, Aim(seconds=self.chance.uniform(0, 1.0)))
        self.done["kills that came in time"] += ended.was_killed
        self._sarag(*command)

    def _ask_server(self) -> None:
        question = self.chance.choice(QUESTIONS)
        for path in ("/search", "/ask"):
            got = self.server.ask("GET", f"{path}?{urlencode({'q': question})}")
            assert got.status == 200, got.text
        rows = self.server.values("SELECT ?s ?p ?o { ?s ?p ?o } LIMIT 100")
        assert rows

    def _search(self) -> None:
        found = self._sarag("search", self.chance.choice(QUESTIONS), "--json")
        assert json.loads(found)["documents"]

    def _back_up(self) -> None:
        self._sarag("backup", "--to", "backups", "--keep", str(KEEP))

    def _restore_elsewhere(self) -> None:
        self._back_up()
        self._sarag("restore", "backups", "--kg", "other", "--replace")
        with opened(self.work / "other", self.env) as kg:
            assert fsck(kg, deep=True).in_order

    def _restore_here(self) -> None:
        """In place of the graph that the server reads."""
        self._back_up()
        ended = run(
            ("restore", "backups", "--replace"),
            self.work,
            self.kg,
            self.env,
            Aim(seconds=self.chance.uniform(0, 0.3)),
        )
        self.done["kills that came in time"] += ended.was_killed
        self._sarag("restore", "backups", "--replace")

    def sample(self) -> list[float]:
        """A value of each of `MEASURES`."""
        processes = {self.server.process.pid, *self.server.children()}
        return [
            sum(map(process_memory, processes)) / (1 << 20),
            sum(map(_open_files, processes)),
            size_of(self.kg / "store"),
            size_of(self.kg / "cache") - size_of(self.kg / "cache", "replies.sqlite*"),
            size_of(self.work / "backups"),
            size_of(self.work / "tmp"),
        ]


def opened(folder: Path, env: Mapping[str, str]) -> sarag_rdf.KnowledgeGraph:
    endpoint = ModelEndpoint(env["SARAG_BASE_URL"])
    return sarag_rdf.open(folder, embedder=env["SARAG_EMBEDDER"], endpoint=endpoint)


def _open_files(process: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    return 0


def size_of(folder: Path, pattern: str = "*") -> float:
    """MiB of the files below a folder, those that have several names once."""
    sizes = {}
    for path in folder.rglob(pattern):
        with suppress(OSError):
            state = path.lstat()
            sizes[state.st_ino] = state.st_blocks * 512
    return sum(sizes.values()) / (1 << 20)


@contextmanager
def living(seed: int) -> Iterator[Life]:
    """A life in a folder of its own, with a server and an endpoint of models."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sarag-life-")))
        endpoint = stack.enter_context(playing(model))
        env = {
            "SARAG_BASE_URL": endpoint.base_url,
            "SARAG_EMBEDDER": "openai:one",
            "SARAG_MODEL": "m",
            "TMPDIR": str(work / "tmp"),
        }
        for name in ("docs", "tmp"):
            (work / name).mkdir()
        for version in (0, 1):
            openie_corpus(work, count=SLOTS, changed=version * SLOTS)
            shutil.move(work / "docs", work / f"version{version}")
        (work / "docs").mkdir()
        chance = random.Random(seed)
        first = Life(work, env, None, chance)  # type: ignore[arg-type]
        first._change()
        first.server = stack.enter_context(serving(work / "kg", env=env))
        yield first


def live(seconds: float, seed: int = 0) -> tuple[Series, Counter[str]]:
    """Live for some time; raises `AssertionError` if something is lost."""
    series = Series()
    with living(seed) as life:
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < seconds:
            life.act()
            if len(series.times) <= now / seconds * SAMPLES:
                series.times.append(now)
                series.values.append(life.sample())
                print(f"{now:.0f} s: {life.done.total()} actions", flush=True)
        life.end()
        return series, life.done
