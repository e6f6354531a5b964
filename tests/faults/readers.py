"""Readers beside writers: ``python -m tests.faults.readers --seconds 600 --writers 2 --readers 8``.

The writers take turns to index, update and delete their own sources, one commit each. Every reader
opens the graph again and again, and checks that what it reads is one revision from its beginning
to its end: it compares counts, an export, a plan and what fsck finds.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.errors import SaragError, StoreLockedError, UsageError
from sarag_rdf.base.vocab import RDF, SARAG
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT, environment
from tests.sample_graph import CapitalExtractor

DOCUMENTS = 2
"""Of each source."""
SOURCES = 40
"""Of each writer, at most."""
_A_DOCUMENT = f"{RDF.type} {SARAG.Document} ".encode()
_GRACE = 120
"""Seconds after the given time in which a process must have ended."""


def source(writer: int, number: int, version: int) -> sarag_rdf.Source:
    """A source of two documents."""
    text = f"Ada met Number{number} in Ulm{version}. Number{number} knew Boris{version % 7} there."
    return sarag_rdf.Source(text, key=f"{writer}/{number:04}.txt")


def opened(folder: Path) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None)


def write(kg: KnowledgeGraph, writer: int, chance: random.Random) -> str:
    """One change; the name of what was done."""
    number = chance.randrange(SOURCES)
    one = source(writer, number, chance.randrange(1000))
    action = chance.choice(["index", "index", "update", "delete"])
    if action == "delete":
        with suppress(UsageError):  # there is no such source
            kg.delete(one.key)
    elif action == "update":
        kg.update([one], extractor=CapitalExtractor(), words=6, overlap=0, yes=True)
    else:
        kg.index([one], extractor=CapitalExtractor(), words=6, overlap=0)
    return action


def _counts(kg: KnowledgeGraph) -> tuple[int, int, int]:
    stats = kg.stats()
    return stats["sources"], stats["documents"], stats["quads"]


def _query(kg: KnowledgeGraph) -> None:
    table = kg.query("SELECT ?d WHERE { GRAPH ?g { ?d a sarag:Document } }")
    assert len({row[0] for row in table.rows}) == _counts(kg)[1]  # type: ignore[union-attr]


def _export(kg: KnowledgeGraph) -> None:
    written = io.BytesIO()
    kg.export("nquads", written)
    quads = written.getvalue().splitlines()
    documents = {line.split()[0] for line in quads if _A_DOCUMENT in line}
    assert len(documents) == _counts(kg)[1], (len(documents), _counts(kg))


def _plan(kg: KnowledgeGraph) -> None:
    plan = kg.plan([source(9, 1, 1)], extractor=CapitalExtractor(), words=6, overlap=0)
    assert len(plan.todo) == 1


def _fsck(kg: KnowledgeGraph) -> None:
    findings = fsck(kg).findings
    assert not findings, findings


READS: dict[str, Callable[[KnowledgeGraph], None]] = {
    "query": _query,
    "export": _export,
    "plan": _plan,
    "fsck": _fsck,
}


def read(folder: Path, what: str) -> None:
    """Read a graph once, between two counts of what it has."""
    with opened(folder) as kg:
        before = _counts(kg)
        assert before[1] == DOCUMENTS * before[0], before
        READS[what](kg)
        if what in ("query", "export"):  # the others read the newest revision
            assert _counts(kg) == before, (_counts(kg), before)


def _run(role: str, folder: Path, number: int, seconds: float) -> None:
    """Read or write until the time is over; prints counts as JSON."""
    chance, end = random.Random(number), time.monotonic() + seconds
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    while time.monotonic() < end:
        what = sorted(READS)[done.total() % len(READS)]
        try:
            if role == "write":
                with opened(folder) as kg:
                    what = write(kg, number, chance)
            else:
                read(folder, what)
        except StoreLockedError:
            time.sleep(0.01)
            continue
        except (SaragError, AssertionError) as error:
            failed[f"{what}: {type(error).__name__}: {str(error)[:300]}"] += 1
        done[what] += 1
    print(json.dumps({"done": done, "failed": failed}))


def soak(folder: Path, *, seconds: float, writers: int, readers: int) -> dict[str, Counter[str]]:
    """Run writers and readers beside each other; what they did, and what failed."""
    with opened(folder) as kg:
        first = [source(8, number, 0) for number in range(SOURCES)]
        kg.index(first, extractor=CapitalExtractor(), words=6, overlap=0)
    roles = ["write"] * writers + ["read"] * readers
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.faults.readers"),
                *("--role", role, "--number", str(number)),
                *("--folder", str(folder), "--seconds", str(seconds)),
            ],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, role in enumerate(roles)
    ]
    result: dict[str, Counter[str]] = {
        key: Counter() for key in ("written", "read", "failed writes", "failed reads")
    }
    try:
        for role, process in zip(roles, processes, strict=True):
            out, err = process.communicate(timeout=seconds + _GRACE)
            assert process.returncode == 0, err
            report = json.loads(out.splitlines()[-1])
            result["written" if role == "write" else "read"] += Counter(report["done"])
            result[f"failed {role}s"] += Counter(report["failed"])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Read beside writers.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--role", help="run one writer or reader alone")
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(arguments)
    if given.role:
        _run(given.role, given.folder, given.number, given.seconds)
        return 0
    with tempfile.TemporaryDirectory(prefix="sarag-readers-") as name:
        counts = (given.seconds, given.writers, given.readers)
        result = soak(Path(name, "kg"), seconds=counts[0], writers=counts[1], readers=counts[2])
    for what, counter in result.items():
        print(f"{what}: {counter.total()}")
        for name, count in counter.most_common(20):
            print(f"  {count} {name}")
    return int(any(result[what] for what in ("failed reads", "failed writes")))


if __name__ == "__main__":
    sys.exit(main())
