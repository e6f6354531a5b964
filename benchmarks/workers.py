"""What several processes gain, and what does not become faster with them.

Indexes a corpus into new graphs, with each number of workers in turn, and the same again::

    python -m benchmarks.workers CORPUS.json --sources 96 --workers 0,1,2,4 --runs 3

0 is indexing without workers. Prints for each number the least seconds of a run, and the processor
seconds of the workers, without those of their start, and of the writer by stage: least values of
all runs. Where other programs use the cores, seconds say little, because more processes get more of
the machine; processor seconds do not depend on that. The start of a worker (imports, models) is
measured first, with a run of one source.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sarag_rdf
from benchmarks.indexing import PLACES, copies
from benchmarks.stopwatch import Stopwatch
from sarag_rdf.base.types import Source
from sarag_rdf.kg import session
from sarag_rdf.kg.vectors import Vectors
from tests.reading import read_paths

STAGES = [
    *(place for place in PLACES if place[2] != "model"),
    (Vectors, "build", "vector indexes and network"),
    (session, "recorded_model", "the rest"),
]


@dataclass(frozen=True)
class Run:
    """Seconds of one run: by the clock, of processors in workers, in this process by stage."""

    wall: float
    workers: float
    writer: float
    stages: dict[str, float]


def index(sources: Sequence[Source], extractor: str, workers: int) -> Run:
    """Index into a new graph."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder, watch.watching(STAGES):
        with sarag_rdf.open(Path(folder) / "kg", endpoint=None) as kg:
            chosen = kg.extractor(extractor)
            _ = chosen.method  # loads the model
            begin, before, own = time.perf_counter(), os.times(), time.thread_time()
            chosen_workers = str(workers) if workers else None
            report = watch.timed("the rest", kg.index)(
                sources, extractor=chosen, workers=chosen_workers
            )
            wall, after, main = time.perf_counter() - begin, os.times(), time.thread_time() - own
        assert (report.added, report.problems) == (len(sources), [])
    writer = sum(after[:2]) - sum(before[:2])
    stages = {**watch.seconds, "other threads": writer - main}
    return Run(wall, sum(after[2:4]) - sum(before[2:4]), writer, stages)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--extractor", default="spacy")
    parser.add_argument("--sources", type=int, default=96)
    parser.add_argument("--workers", default="0,1,2,4")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    every = [source for source in read_paths([options.corpus]) if isinstance(source, Source)]
    sources = list(islice(copies(every), options.sources))
    numbers = [int(number) for number in options.workers.split(",")]
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"{len(sources)} sources, {options.extractor}; {cores} cores, load {load:.1f} before")
    start = min(index(sources[:1], options.extractor, 1).workers for _ in range(options.runs))
    print(f"start of a worker: {start:.1f} processor seconds")
    runs: dict[int, list[Run]] = {number: [] for number in numbers}
    for _ in range(options.runs):
        for number in numbers:
            runs[number].append(index(sources, options.extractor, number))
    for number, measured in runs.items():
        show(number, measured, start, len(sources))
    return 0


def show(number: int, runs: Sequence[Run], start: float, count: int) -> None:
    wall, writer = min(run.wall for run in runs), min(run.writer for run in runs)
    work = max(0.0, min(run.workers for run in runs) - number * start)
    print(f"{number} workers: {wall:.1f} s; processor seconds: workers {work:.1f}, ", end="")
    print(f"writer {writer:.1f}")
    for stage in sorted({stage for run in runs for stage in run.stages}):
        seconds = min(run.stages.get(stage, 0.0) for run in runs)
        print(f"  {stage:<50} {seconds:8.2f} s {1000 * seconds / count:8.1f} ms a source")


if __name__ == "__main__":
    sys.exit(main())
