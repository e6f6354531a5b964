"""What a large vector index costs: to write, to open, to ask, to bring up to date.

Vectors are made at random about topics and subtopics, or read from the cache of a graph::

    python -m benchmarks.vectors --count 1000000
    python -m benchmarks.vectors --embeddings KG/cache/embeddings.sqlite

Prints seconds, the median milliseconds of processors for a question, sizes of files, and the peak
of memory, of which mapped pages of the files are a part.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np

from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Matrix
from sarag_rdf.graph.vectors.search_indexes import ExactIndex, VectorIndex
from sarag_rdf.graph.vectors.vector_store import FolderVectors

BLOCK = 10_000
KIND = "document"
QUESTIONS = 50


def made(count: int, width: int, seed: int) -> Iterator[Matrix]:
    """Unit vectors: a topic, a subtopic, and noise whose share falls from axis to axis."""
    fixed = np.random.default_rng(0)
    topics, subtopics = fixed.normal(size=(300, width)), fixed.normal(size=(9000, width))
    scale = 1.6 / np.sqrt(1 + np.arange(width) / 24)
    chance = np.random.default_rng(seed)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        topic, part = chance.integers(0, 300, size), chance.integers(0, 30, size)
        mixed = topics[topic] + subtopics[30 * topic + part]
        mixed += scale * chance.normal(size=(size, width))
        yield unit(mixed)


def unit(rows: np.ndarray) -> Matrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def read(path: Path) -> Matrix:
    """All vectors in a cache of embeddings, ordered by key; only those of the most common width."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        values = database.execute("SELECT value FROM kept ORDER BY key")
        rows = [value[:-4] for (value,) in values]  # without the checksum
    width = int(median(map(len, rows)))
    return np.stack([np.frombuffer(row, np.float32) for row in rows if len(row) == width])


def timed(what: str, do: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:42}{wall:9.2f} s {cpu:9.2f} s of processors")


def asked(index: VectorIndex, questions: Matrix, k: int) -> float:
    """Median milliseconds of processors for a question."""
    times = []
    for question in questions:
        begin = time.process_time()
        index.nearest(question, k)
        times.append(time.process_time() - begin)
    return 1000 * median(times)


def loaded(store: FolderVectors, key: str) -> ExactIndex:
    index = store.load(KIND, key)
    assert index is not None
    return index


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--embeddings", type=Path, help="embeddings.sqlite of a graph")
    arguments = parser.parse_args()
    if arguments.embeddings:
        every = read(arguments.embeddings)
        chosen = np.random.default_rng(0).permutation(len(every))
        questions, vectors = every[chosen[:QUESTIONS]], every[chosen[QUESTIONS:]]
        count, blocks = len(vectors), iter([vectors])
    else:
        count = arguments.count
        blocks = made(count, arguments.width, 1)
        questions = next(made(QUESTIONS, arguments.width, 2))
    iris = sorted(f"https://example.org/kg/doc/{sha256_hex(str(n))[:32]}" for n in range(count))
    print(f"{count} vectors of {questions.shape[1]} numbers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = FolderVectors(folder)
        timed("written (and made)", lambda: store.save(KIND, "1", iris, blocks))
        timed("opened", lambda: loaded(store, "1"))
        asked(loaded(store, "1"), questions[:3], 10)
        for k in (10, 200):
            print(f"nearest {k:3}: {asked(loaded(store, '1'), questions, k):8.1f} ms")
        come = [f"https://example.org/kg/doc/{n}" for n in range(10)]
        timed(
            "10 of them replaced",
            lambda: store.update(KIND, "1", "2", iris[:10], come, [questions[:10]]),
        )
        assert loaded(store, "2").nearest(questions[3], 1)[0][0] == come[3]
        timed("opened", lambda: loaded(store, "2"))
        for file in sorted(folder.iterdir()):
            print(f"{file.suffix:8}{file.stat().st_size / 1e6:9.1f} MB")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
