"""Kills commands at random moments, and sees that nothing is lost: ``python -m tests.faults.soak``.

Each trial starts from the same folder, kills the command once or several times, looks at the graph
after each kill, lets the command run to its end, and compares with a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EmptyGraphError, NotAGraphError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import RDF, SARAG, iri
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import Finding, fsck
from tests.fault_server import playing
from tests.faults.killing import Aim, Ended, run
from tests.faults.lifetime import live
from tests.faults.scenarios import COMMIT_DOCUMENTS, QUESTIONS, SCENARIOS, Sarag, Scenario
from tests.forked import COMMIT
from tests.sample_graph import embeddings

Graphs = Mapping[str, frozenset[str]]
"""Named graph -> its N-Quads; there are no blank nodes, so equal sets are equal graphs."""
_MINTER = Minter()
_UNFINISHED = {"imports", "description"}
"""What fsck says of an import or a restoring that is not complete, which is true after a kill."""
_PASSING = {_MINTER.meta_graph, _MINTER.runs_graph}


class LostError(AssertionError):
    """Something that must hold after a kill does not hold."""


def graphs_of(folder: Path) -> Graphs:
    """All graphs but those that tell of runs and of the revision; none if there is no graph."""
    try:
        store = OxigraphStore.open(folder / "store")
    except NotAGraphError:
        return {}
    found: dict[str, set[str]] = {}
    for quad in store.quads():
        found.setdefault(iri(quad.graph_name), set()).add(str(quad))
    return {name: frozenset(quads) for name, quads in found.items() if name not in _PASSING}


def opened(folder: Path, env: Mapping[str, str]) -> KnowledgeGraph:
    """A graph with the embedder that the commands use."""
    endpoint = ModelEndpoint(env["SARAG_BASE_URL"])
    return sarag_rdf.open(folder, embedder=env["SARAG_EMBEDDER"], endpoint=endpoint)


def searched(folder: Path, env: Mapping[str, str]) -> list[str]:
    """What searching finds, with every figure of the report."""
    with opened(folder, env) as kg:
        try:
            found = [kg.search(question, limit=5) for question in QUESTIONS]
        except (EmptyGraphError, NotAGraphError) as error:
            return [type(error).__name__]
    return [json.dumps(retrieved_to_dict(one), sort_keys=True) for one in found]


@dataclass
class Undisturbed:
    """A scenario's folder before, and how its command ran and what came of it undisturbed."""

    scenario: Scenario
    template: Path
    before: Graphs
    after: Graphs
    found: list[str]
    ended: Ended

    def aim(self, chance: random.Random) -> Aim:
        """A moment of the run: any time, or just after something happened to some kind of file."""
        if chance.random() < 0.4:
            return Aim(seconds=chance.uniform(0, self.ended.seconds - self.ended.began))
        kind = chance.choice(sorted(self.ended.events))
        # Not all of many: changes that follow at once are told as one.
        times = chance.randint(1, -(-self.ended.events[kind] * 2 // 3))
        return Aim(file=kind, times=times)


@dataclass
class Tally:
    """What was done to whom: counts by scenario, and of the moments that were hit."""

    kills: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    moments: Counter[str] = field(default_factory=Counter)
    completed: int = 0

    def __str__(self) -> str:
        lines = [f"{name}: {count} kills" for name, count in sorted(self.kills.items())]
        lines += [f"{count} kills {moment}" for moment, count in sorted(self.moments.items())]
        return "\n".join(
            [
                *lines,
                f"{self.kills.total()} kills in all, {self.late.total()} came after the end and do "
                f"not count; {self.completed} graphs completed",
            ]
        )


class Soak:
    """Trials in a folder; each is drawn from the seed and its number alone."""

    def __init__(
        self, folder: Path, env: Mapping[str, str], seed: int, scenarios: Sequence[Scenario]
    ) -> None:
        self.folder = folder
        self.env = dict(env)
        self.seed = seed
        self.tally = Tally()
        self._chosen = scenarios
        self._known: dict[str, Undisturbed] = {}

    def trial(self, number: int) -> None:
        """Kill a command, perhaps again, and complete it; raises `LostError`."""
        chance = random.Random(f"{self.seed} {number}")
        weights = [scenario.weight for scenario in self._chosen]
        (scenario,) = chance.choices(self._chosen, weights)
        # One of each at first, so that few trials meet all.
        if number < len(self._chosen):
            scenario = self._chosen[number]
        known = self.undisturbed(scenario)
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(known.template, work)
        told = [f"trial {number} of seed {self.seed}, {scenario.name}"]
        try:
            while True:
                aim = known.aim(chance)
                ended = run(scenario.command, work, work / "kg", self.env, aim)
                told.append(f"aimed at {aim}, ended with {ended.code} after {ended.last}")
                if not ended.was_killed:
                    _expect(_ended_well(scenario, ended), f"{ended.code}: {ended.err}")
                    self.tally.late[scenario.name] += 1
                    break
                self.tally.kills[scenario.name] += 1
                self._look(known, work / "kg", ended)
                if chance.random() < 0.5:
                    break
            self._complete(known, work)
        except LostError as error:
            raise LostError("\n".join([*told, str(error)])) from error
        print("; ".join(told), flush=True)

    def undisturbed(self, scenario: Scenario) -> Undisturbed:
        """The outcome of a scenario, found out once."""
        if scenario.name not in self._known:
            template = self.folder / f"{scenario.name}-before"
            (template / "kg").mkdir(parents=True)
            scenario.prepare(template, Sarag(template, self.env))
            work = self.folder / f"{scenario.name}-after"
            shutil.copytree(template, work)
            ended = run(scenario.command, work, work / "kg", self.env)
            assert ended.code == 0, ended
            before, after = graphs_of(template / "kg"), graphs_of(work / "kg")
            found = self._searched(scenario, work / "kg")
            shutil.rmtree(work)
            self._known[scenario.name] = Undisturbed(
                scenario, template, before, after, found, ended
            )
            print(
                f"{scenario.name}: {ended.seconds:.1f} s undisturbed, {ended.events.total()} "
                f"changes of files from {ended.began:.1f} s on, {len(after)} graphs",
                flush=True,
            )
        return self._known[scenario.name]

    def _searched(self, scenario: Scenario, folder: Path) -> list[str]:
        return [] if scenario.over == "nothing" else searched(folder, self.env)

    def _look(self, known: Undisturbed, folder: Path, ended: Ended) -> None:
        """After a kill: the graph opens and is sound, each source is there wholly or not at all."""
        now = graphs_of(folder)
        sources = {name for name in now if name.startswith(_MINTER.graph("sources"))}
        for name in sources:
            whole = {known.before.get(name), known.after.get(name)}
            _expect(now[name] in whole, f"{name} is there in part")
        lost = {n for n in known.before if n.startswith(_MINTER.graph("sources"))} - sources
        lost -= known.before.keys() - known.after.keys()
        _expect(not lost, f"gone: {sorted(lost)[:3]}")
        changed = {n for n in sources if now[n] != known.before.get(n)}
        reported = ended.reported(known.scenario.bar)
        _expect(
            len(_documents(now, changed)) >= reported,
            f"{reported} documents were reported, {len(_documents(now, changed))} are there",
        )
        self.tally.moments[_moment(known, now, ended)] += 1
        if now:
            findings = [f for f in self._fsck(folder) if f.check not in _UNFINISHED]
            _expect(not findings, "; ".join(map(str, findings[:3])))

    def _fsck(self, folder: Path) -> Sequence[Finding]:
        """What ``sarag fsck`` finds: shapes, orphans, what is derived, caches."""
        with opened(folder, self.env) as kg:
            return fsck(kg).findings

    def _complete(self, known: Undisturbed, work: Path) -> None:
        """The next run makes the graph what it is undisturbed, and so is what is found in it."""
        ended = run(known.scenario.command, work, work / "kg", self.env)
        warnings = [line for line in ended.err.splitlines() if line.startswith("sarag: ")]
        told = [line for line in warnings if "indexing with" not in line]
        _expect(_ended_well(known.scenario, ended), f"the next run failed: {ended.err}")
        _expect(not told or ended.code == 2, f"the next run complained: {told}")
        now = graphs_of(work / "kg")
        _expect(now.keys() == known.after.keys(), "other graphs than undisturbed")
        findings = self._fsck(work / "kg")
        _expect(not findings, "; ".join(map(str, findings[:3])))
        other = [name for name in now if now[name] != known.after[name]]
        _expect(not other, f"another content than undisturbed: {other[:3]}")
        _expect(self._searched(known.scenario, work / "kg") == known.found, "finds other things")
        left = sorted(
            str(path.relative_to(work))
            for path in (work / "kg").rglob("*")
            if ".part" in path.name or path.name.startswith("bulk-") or path.suffix == ".dbtmp"
        )
        _expect(not left, f"left behind: {left}")
        self.tally.completed += 1


def _ended_well(scenario: Scenario, ended: Ended) -> bool:
    """Whether a run did all that there was to do, be it nothing."""
    nothing = bool(scenario.nothing_left) and scenario.nothing_left in ended.err
    return ended.code == 0 or (ended.code == 2 and nothing)


def _documents(graphs: Graphs, names: set[str]) -> list[str]:
    mark = f"{RDF.type} {SARAG.Document}"
    return [quad for name in names for quad in graphs[name] if mark in quad]


def _moment(known: Undisturbed, now: Graphs, ended: Ended) -> str:
    """Where in its course a run was killed, roughly."""
    if not ended.events:
        return "before anything was written"
    if now == known.before:
        return "before the graph changed"
    return "after the graph had changed wholly" if now == known.after else "with a part changed"


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise LostError(otherwise)


@contextmanager
def soaking(seed: int, scenarios: Sequence[Scenario]) -> Iterator[Soak]:
    """A soak in a folder of its own, with a server of embeddings."""
    with tempfile.TemporaryDirectory(prefix="sarag-soak-") as name, playing(embeddings) as server:
        env = {
            "SARAG_BASE_URL": server.base_url,
            "SARAG_EMBEDDER": "openai:one",
            COMMIT: str(COMMIT_DOCUMENTS),
        }
        yield Soak(Path(name), env, seed, scenarios)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Kill commands at random moments.")
    parser.add_argument("--kills", type=int, default=200, help="how many at least")
    parser.add_argument("--seed", type=int, default=0, help="what is drawn follows from it")
    parser.add_argument("--only", type=int, help="repeat this trial alone")
    parser.add_argument("--seconds", type=float, help="a long life instead, of so many seconds")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    if given.seconds is not None:
        series, done = live(given.seconds, given.seed)
        print("\n".join(f"{count} {what}" for what, count in done.most_common()))
        print(series.table())
        return int(bool(series.growing))
    with soaking(given.seed, SCENARIOS) as soak:
        if given.only is not None:
            soak.trial(given.only)
        number = 0
        while given.only is None and soak.tally.kills.total() < given.kills:
            soak.trial(number)
            number += 1
    print(f"{soak.tally}\n{time.monotonic() - begin:.0f} seconds, seed {given.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
