"""An extractor that notes what it extracts, and has faults; and indexing with it as a program.

``python -m tests.workers.scripted FOLDER WORKERS NOTES COUNT FAULTS`` indexes `sources`,
or the folder COUNT.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import sarag_rdf
from sarag_rdf.base.errors import EndpointDownError, InputError, SaragError
from sarag_rdf.base.types import Document, Extraction, Method, Source
from sarag_rdf.building.index_run import IndexReport
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT, environment, interruptible
from tests.sample_graph import CapitalExtractor, graph_of, quads_of


@dataclass
class Scripted:
    """A `CapitalExtractor` that appends its process and each title to a file.

    At the titles in `kills` it kills its process, at those in `kills_once` the first time only; at
    `fails` it yields an exception, at `raises` it raises one. `seconds` is the time of a document,
    and `together` how many processes must have begun before one goes on.
    """

    notes: Path
    kills: Sequence[str] = ()
    kills_once: Sequence[str] = ()
    fails: Sequence[str] = ()
    raises: Sequence[str] = ()
    seconds: float = 0.0
    model: str = "none"
    together: int = 0

    @property
    def method(self) -> Method:
        return Method("scripted", self.model)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            before = extracted(self.notes)
            with self.notes.open("a") as file:
                file.write(f"{os.getpid()} {document.title}\n")
            time.sleep(self.seconds)
            until(lambda: len(processes(self.notes)) >= self.together)
            title = document.title
            if title in self.kills or (title in self.kills_once and not before[title]):
                os.kill(os.getpid(), signal.SIGKILL)
            if title in self.raises:
                raise EndpointDownError(f"{title} is down")
            if title in self.fails:
                yield InputError(f"{title} fails")
            else:
                yield from CapitalExtractor().extract([document])


def extracted(notes: Path) -> Counter[str]:
    """Title -> how often it was extracted."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return Counter(line.partition(" ")[2] for line in lines)


def processes(notes: Path) -> set[int]:
    """The processes that extracted something."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return {int(line.partition(" ")[0]) for line in lines}


def title(number: int) -> str:
    return f"Part {number}"


def sources(count: int) -> list[Source]:
    """Short texts, some of which share names."""
    return [
        Source(f"Ada{n % 7} met Bea{n % 5} in Oslo. Bea{n % 5} knows Cid{n}.", title(n), f"{n}.txt")
        for n in range(count)
    ]


def index(
    folder: Path, extractor: Scripted, count: int | Path, workers: int | str | None = None
) -> IndexReport:
    """Index so many of the sources, or a folder."""
    inputs = count if isinstance(count, Path) else sources(count)
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        chosen = None if workers is None else str(workers)
        return kg.index(inputs, extractor=extractor, workers=chosen)


def content(folder: Path) -> list[str]:
    """The quads of a graph but for the records of its runs and its revision, which are random."""
    return [str(q) for q in quads_of(folder) if graph_of(q).rpartition("/")[2] not in _RECORDS]


_RECORDS = ("meta", "runs")


def main(folder: str, workers: str, notes: str, count: str, faults: str) -> None:
    try:
        inputs = int(count) if count.isdigit() else Path(count)
        report = index(Path(folder), Scripted(Path(notes), **json.loads(faults)), inputs, workers)
    except SaragError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(report.added, *report.problems, sep="\n")


def started(
    folder: Path,
    workers: int | str,
    count: int | Path,
    env: Mapping[str, str] | None = None,
    **faults: Any,
) -> subprocess.Popen[str]:
    """Index ``folder/kg`` in a program of its own, with notes in ``folder/notes``."""
    arguments = [folder / "kg", workers, folder / "notes", count, json.dumps(faults)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.workers.scripted", *map(str, arguments)],
        cwd=ROOT,
        env=environment(**(env or {})),
        preexec_fn=interruptible,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended, and that nobody has waited for, does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


if __name__ == "__main__":
    # by its name: workers cannot import what is defined in the program itself
    import_module("tests.workers.scripted").main(*sys.argv[1:])
