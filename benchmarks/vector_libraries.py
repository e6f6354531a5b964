"""Vector-index libraries measured against `sarag_rdf.graph.vectors`: usearch and Faiss.

Install them beside the project, in an environment for this alone::

    pip install usearch faiss-cpu
    python -m benchmarks.vector_libraries compare --n 100000
    python -m benchmarks.vector_libraries compare --n 100000 --embeddings KG/cache/embeddings.sqlite
    python -m benchmarks.vector_libraries faults --n 20000

In `compare`, each phase of each engine is a process of its own, so that memory and the time to open
an index are those of that engine alone:

- build: index n vectors and write the files
- search: open the files, find the 10 and the 200 nearest vectors of 200 queries
- change: append 1,000 vectors and delete 1,000, each written to disk, and reopen

`faults` damages the files, interrupts writing them, and writes them while another process searches.
All engines use one thread. Times are processor time, the best of some runs where a run is short:
only ratios within one run say something on a machine that other programs share.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.vectors import read
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.graph.vectors.search_indexes import ExactIndex
from sarag_rdf.graph.vectors.vector_store import FolderVectors

ROOT = Path(__file__).parent.parent
DIMENSION = 384
QUERIES, CHANGED = 200, 1000
LIMITS = (10, 200)
SHARE, EACH = 0.2, 100
"""Of IVF: the share of the vectors that is searched, and at least so many for each of the k."""
BLOCK = 10_000
EXPANSION = 128
"""Of HNSW: candidates while building, and at least while searching."""
CONNECTIVITY = 16
"""Of HNSW: neighbours per vector and level; twice as many on the lowest level."""

Figures = dict[str, float]
Numbers = NDArray[np.int64]


# --------------------------------------------------------------------------------- Data


def mixture(count: int, seed: int) -> Iterator[Matrix]:
    """Unit vectors from a mixture of 1,000 Gaussians, in blocks.

    The weights of the Gaussians follow a power law. Centres and deviations have less variance from
    axis to axis, as embeddings have on their principal axes.
    """
    fixed, random = np.random.default_rng(0), np.random.default_rng(seed)
    scale = 1 / np.sqrt(1 + np.arange(DIMENSION) / 16)
    centres = scale * fixed.normal(size=(1000, DIMENSION))
    weights = np.arange(1, 1001) ** -0.5
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        groups = random.choice(1000, size, p=weights / weights.sum())
        rows = centres[groups] + scale * random.normal(size=(size, DIMENSION))
        yield (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def prepare(folder: Path, count: int, embeddings: Path | None) -> None:
    """Write vectors, queries, vectors to append, and the true neighbours of the queries."""
    if (folder / "truth.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if embeddings is None:
        matrix = np.concatenate(list(mixture(count, 1)))
        others = np.concatenate(list(mixture(QUERIES + CHANGED, 2)))
    else:
        rows = read(embeddings)
        rows = rows[np.random.default_rng(0).permutation(len(rows))]
        others, matrix = rows[: QUERIES + CHANGED], rows[QUERIES + CHANGED :][:count]
        if len(matrix) < count:
            sys.exit(f"{embeddings} has {len(rows)} vectors: use --n {len(matrix)} or less")
    queries = others[:QUERIES]
    np.save(folder / "vectors.npy", matrix)
    np.save(folder / "queries.npy", queries)
    np.save(folder / "new.npy", others[QUERIES:])
    truth = [np.argsort(-(matrix @ query), kind="stable")[: max(LIMITS)] for query in queries]
    np.save(folder / "truth.npy", np.stack(truth))


# ------------------------------------------------------------------------------ Engines


class Engine(Protocol):
    """An index in a folder; vectors are named by numbers from 0."""

    def build(self, matrix: Matrix) -> None:
        """Index a matrix, and write the files."""

    def open(self) -> None:
        """Open the files for searching, memory-mapped if the engine can do that."""

    def search(self, query: Vector, k: int) -> Numbers:
        """The numbers of the k nearest vectors, nearest first; rows after a deletion."""

    def append(self, matrix: Matrix, first: int) -> None:
        """Append vectors, numbered from `first`, and write the files."""

    def delete(self, numbers: Numbers) -> None:
        """Delete vectors, and write the files; raises NotImplementedError."""


class Ours:
    """`FolderVectors`, with exhaustive search."""

    def __init__(self, folder: Path) -> None:
        self.store = FolderVectors(folder)
        self.index: ExactIndex | None = None

    def build(self, matrix: Matrix) -> None:
        blocks = (matrix[begin : begin + BLOCK] for begin in range(0, len(matrix), BLOCK))
        self.store.save("document", "1", _names(np.arange(len(matrix))), blocks)

    def open(self) -> None:
        self.index = self.store.load("document", self.store.key_of("document"))
        if self.index is None:
            raise ValueError("no valid index: it is rebuilt")

    def search(self, query: Vector, k: int) -> Numbers:
        assert self.index is not None
        return self.index.nearest_rows(query, k)[0]

    def append(self, matrix: Matrix, first: int) -> None:
        self._update([], _names(np.arange(first, first + len(matrix))), [matrix])

    def delete(self, numbers: Numbers) -> None:
        self._update(_names(numbers), [], [])

    def _update(
        self, deleted: Sequence[str], inserted: Sequence[str], blocks: Sequence[Matrix]
    ) -> None:
        key = self.store.key_of("document")
        changed = self.store.update(
            "document", key, str(int(key) + 1), deleted, inserted, iter(blocks)
        )
        if changed is None:
            raise OSError("the change was not written")


def _names(numbers: Numbers) -> list[str]:
    return [f"{number:08}" for number in numbers.tolist()]


class UsearchExact:
    """Exhaustive search by usearch over a memory-mapped file of rows; it has no index file."""

    def __init__(self, folder: Path) -> None:
        from usearch.index import search

        self.exact_search, self.file = search, folder / "rows"

    def build(self, matrix: Matrix) -> None:
        matrix.tofile(self.file)

    def open(self) -> None:
        self.matrix = np.memmap(self.file, np.float32, "r").reshape(-1, DIMENSION)

    def search(self, query: Vector, k: int) -> Numbers:
        matches = self.exact_search(self.matrix, query, k, "ip", exact=True, threads=1)
        return np.asarray(matches.keys, dtype=np.int64)

    def append(self, matrix: Matrix, first: int) -> None:
        with self.file.open("ab") as file:
            file.write(matrix.tobytes())

    def delete(self, numbers: Numbers) -> None:
        raise NotImplementedError


class UsearchHnsw:
    """The graph index of usearch."""

    def __init__(self, folder: Path) -> None:
        from usearch.index import Index

        self.usearch_index, self.file = Index, folder / "usearch"

    def build(self, matrix: Matrix) -> None:
        index = self.usearch_index(
            ndim=DIMENSION,
            metric="ip",
            dtype="f32",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION,
        )
        index.add(np.arange(len(matrix)), matrix, threads=1)
        index.save(self.file)

    def open(self) -> None:
        self.index = self._restore(view=True)

    def search(self, query: Vector, k: int) -> Numbers:
        self.index.expansion_search = max(EXPANSION, 2 * k)
        return np.asarray(self.index.search(query, k, threads=1).keys, dtype=np.int64)

    def append(self, matrix: Matrix, first: int) -> None:
        index = self._restore(view=False)
        index.add(np.arange(first, first + len(matrix)), matrix, threads=1)
        index.save(self.file)

    def delete(self, numbers: Numbers) -> None:
        index = self._restore(view=False)
        index.remove(numbers, threads=1)
        index.save(self.file)

    def _restore(self, *, view: bool) -> Any:
        index = self.usearch_index.restore(self.file, view=view)
        if index is None:
            raise ValueError("not an index")
        return index


class Faiss:
    """An index of Faiss; subclasses say which."""

    map_flag = "IO_FLAG_MMAP_IFC"

    def __init__(self, folder: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.faiss: Any = faiss  # its annotations contradict its documentation
        self.file = folder / "faiss"

    def create(self, matrix: Matrix) -> Any:
        raise NotImplementedError

    def parameters(self, k: int) -> Any:
        """Search parameters for the k nearest."""
        return None

    def build(self, matrix: Matrix) -> None:
        index = self.create(matrix)
        self._add(index, matrix, 0)
        self._write(index)

    def open(self) -> None:
        self.index = self.faiss.read_index(str(self.file), getattr(self.faiss, self.map_flag))

    def search(self, query: Vector, k: int) -> Numbers:
        found = self.index.search(query[None], k, params=self.parameters(k))
        return np.asarray(found[1][0], dtype=np.int64)

    def append(self, matrix: Matrix, first: int) -> None:
        index = self.faiss.read_index(str(self.file))
        self._add(index, matrix, first)
        self._write(index)

    def delete(self, numbers: Numbers) -> None:
        index = self.faiss.read_index(str(self.file))
        index.remove_ids(numbers)
        self._write(index)

    def _add(self, index: Any, matrix: Matrix, first: int) -> None:
        index.add(matrix)

    def _write(self, index: Any) -> None:
        self.faiss.write_index(index, str(self.file))


class FaissFlat(Faiss):
    """Exhaustive search; numbers that outlive deletions need an `IndexIDMap` around it."""

    def create(self, matrix: Matrix) -> Any:
        return self.faiss.IndexIDMap(self.faiss.IndexFlatIP(DIMENSION))

    def _add(self, index: Any, matrix: Matrix, first: int) -> None:
        index.add_with_ids(matrix, np.arange(first, first + len(matrix)))


class FaissHnsw(Faiss):
    """The graph index of Faiss, which cannot delete."""

    def create(self, matrix: Matrix) -> Any:
        inner_product = self.faiss.METRIC_INNER_PRODUCT
        index = self.faiss.IndexHNSWFlat(DIMENSION, CONNECTIVITY, inner_product)
        index.hnsw.efConstruction = EXPANSION
        return index

    def parameters(self, k: int) -> Any:
        return self.faiss.SearchParametersHNSW(efSearch=max(EXPANSION, 2 * k))

    def delete(self, numbers: Numbers) -> None:
        raise NotImplementedError


class FaissIvf(Faiss):
    """An inverted file with as many lists as ours, which searches as many vectors as ours."""

    map_flag = "IO_FLAG_MMAP"

    def open(self) -> None:
        super().open()
        lists = self.faiss.downcast_InvertedLists(self.index.invlists)
        lists.prefetch_nthread = 0  # it starts threads for each query

    def create(self, matrix: Matrix) -> Any:
        lists, inner_product = round(2 * len(matrix) ** 0.5), self.faiss.METRIC_INNER_PRODUCT
        self.quantizer = self.faiss.IndexFlatIP(DIMENSION)
        index = self.faiss.IndexIVFFlat(self.quantizer, DIMENSION, lists, inner_product)
        index.cp.max_points_per_centroid = 39
        index.train(matrix)
        return index

    def parameters(self, k: int) -> Any:
        share = max(SHARE, EACH * k / self.index.ntotal)
        lists = min(self.index.nlist, round(share * self.index.nlist))
        return self.faiss.SearchParametersIVF(nprobe=max(1, lists))


ENGINES: Mapping[str, Callable[[Path], Engine]] = {
    "ours": Ours,
    "usearch exact": UsearchExact,
    "faiss Flat": FaissFlat,
    "faiss IVF": FaissIvf,
    "usearch HNSW": UsearchHnsw,
    "faiss HNSW": FaissHnsw,
}


# ------------------------------------------------------------------------------- Phases


def build(name: str, data: Path, folder: Path) -> Figures:
    engine, matrix = ENGINES[name](folder), np.load(data / "vectors.npy")
    figures = {"build, s": _seconds(lambda: engine.build(matrix))}
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {**figures, "files, MB": size / 1e6}


def search(name: str, data: Path, folder: Path) -> Figures:
    engine = ENGINES[name](folder)
    queries, truth = np.load(data / "queries.npy"), np.load(data / "truth.npy")
    own, mapped = _memory()
    figures = {"open to first result, ms": _open(engine, queries[0])}
    for k in LIMITS:
        times, recalls = [], []
        for query, nearest in zip(queries, truth, strict=True):
            begin = time.process_time()
            result = engine.search(query, k)
            times.append(1000 * (time.process_time() - begin))
            recalls.append(len({*result.tolist()} & {*nearest[:k].tolist()}) / k)
        figures[f"{k} nearest: recall"] = float(np.mean(recalls))
        figures[f"{k} nearest: median, ms"] = float(np.median(times))
        figures[f"{k} nearest: p95, ms"] = float(np.quantile(times, 0.95))
    own_after, mapped_after = _memory()
    figures["own memory, MB"] = (own_after - own) / 1e6
    figures["mapped pages, MB"] = (mapped_after - mapped) / 1e6
    return figures


def change(name: str, data: Path, folder: Path) -> Figures:
    engine = ENGINES[name](folder)
    vectors, new = np.load(data / "vectors.npy", mmap_mode="r"), np.load(data / "new.npy")
    count, first = len(vectors), len(vectors) - CHANGED
    figures, written = {}, _written()
    figures["append 1,000, s"] = _seconds(lambda: engine.append(new, count))
    figures["append 1,000, MB written"] = (_written() - written) / 1e6
    figures["reopen to first result, ms"] = _open(engine, new[0])
    assert engine.search(new[0], 1)[0] == count
    with suppress(NotImplementedError):
        figures["delete 1,000, s"] = _seconds(lambda: engine.delete(np.arange(first, count)))
        engine.open()
        assert engine.search(vectors[first], 1)[0] != first
    return figures


def _open(engine: Engine, query: Vector) -> float:
    """Milliseconds of the processor to open an index and find the 10 nearest vectors."""

    def first_result() -> None:
        engine.open()
        engine.search(query, 10)

    return 1000 * _seconds(first_result)


def _seconds(action: Callable[[], object]) -> float:
    """Processor time of an action, all threads."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def _memory() -> tuple[int, int]:
    """Resident bytes of this process: its own, and mapped from files."""
    status = Path("/proc/self/status").read_text()
    own, mapped = (re.findall(rf"{name}:\s*(\d+)", status) for name in ("RssAnon", "RssFile"))
    return 1024 * int(own[0]), 1024 * int(mapped[0])


def _written() -> int:
    """Bytes written by this process."""
    return int(re.findall(r"wchar: (\d+)", Path("/proc/self/io").read_text())[0])


# ------------------------------------------------------------------------------- Faults


def truncate(folder: Path) -> None:
    """Cut the largest file in half."""
    file = _largest(folder)
    os.truncate(file, file.stat().st_size // 2)


def flip_byte(folder: Path) -> None:
    """Change the sign of a number in the middle of the largest file."""
    file = _largest(folder)
    with file.open("r+b") as stream:
        stream.seek(4 * (file.stat().st_size // 8) + 3)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 0x80]))


def zero_pages(folder: Path) -> None:
    """Fill a page in every MB of the largest file with zeros, as a power failure may leave it."""
    file = _largest(folder)
    with file.open("r+b") as stream:
        for begin in range(1 << 16, file.stat().st_size, 1 << 20):
            stream.seek(begin)
            stream.write(bytes(4096))


def _largest(folder: Path) -> Path:
    return max(folder.iterdir(), key=lambda path: path.stat().st_size)


def results(name: str, data: Path, folder: Path) -> str:
    """Whether the results are those of the undamaged index, which the first call writes."""
    engine, queries = ENGINES[name](folder), np.load(data / "queries.npy")
    engine.open()
    return _compare(engine, queries, data / f"{name}.npy")


def _compare(engine: Engine, queries: Matrix, expected: Path) -> str:
    rows = np.full((len(queries), 10), -1)
    for row, query in zip(rows, queries, strict=True):
        numbers = engine.search(query, 10)
        row[: len(numbers)] = numbers
    if not expected.exists():
        np.save(expected, rows)
    return "same results" if np.array_equal(rows, np.load(expected)) else "other results"


def append(name: str, data: Path, folder: Path) -> str:
    count = len(np.load(data / "vectors.npy", mmap_mode="r"))
    ENGINES[name](folder).append(np.load(data / "new.npy"), count)
    return "no error"


def append_on_full_disk(name: str, data: Path, folder: Path) -> str:
    """Append with room for half of the new vectors."""
    new = np.load(data / "new.npy")
    limit = _largest(folder).stat().st_size + new.nbytes // 2
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return append(name, data, folder)


def search_while_written(name: str, data: Path, folder: Path) -> str:
    """Search an index that was opened before another process appended to it."""
    engine, queries = ENGINES[name](folder), np.load(data / "queries.npy")
    engine.open()
    run("append", name, data, folder)
    return _compare(engine, queries, data / f"{name}.npy")


def mapping(name: str, data: Path, folder: Path) -> str:
    """The permissions of the memory maps of the largest file."""
    engine = ENGINES[name](folder)
    engine.open()
    engine.search(np.load(data / "queries.npy")[0], 10)
    lines = Path("/proc/self/maps").read_text().splitlines()
    modes = {line.split()[1] for line in lines if line.endswith(str(_largest(folder)))}
    return ", ".join(sorted(modes)) or "none"


# ----------------------------------------------------------------------------- Processes

PHASES = ("build", "search", "change")
STEPS: Mapping[str, Callable[[str, Path, Path], object]] = {
    step.__name__: step
    for step in (
        build,
        search,
        change,
        results,
        append,
        append_on_full_disk,
        search_while_written,
        mapping,
    )
}


def run(step: str, name: str, data: Path, folder: Path) -> Any:
    """The result of a step in a process of its own, or a line with its error."""
    command = [sys.executable, "-m", "benchmarks.vector_libraries", step, name]
    command += [str(data), str(folder)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **threads},
    )
    if done.returncode < 0:
        return f"killed by {signal.Signals(-done.returncode).name}"
    if done.returncode:
        error = done.stderr.strip().splitlines()[-1]
        print(f"{name}: {step}: {error}", file=sys.stderr)
        return f"error: {error.partition(':')[0]}"
    return json.loads(done.stdout.splitlines()[-1])


def compare(names: Sequence[str], data: Path, phases: Sequence[str], runs: int) -> str:
    """A table of Markdown with the figures of some engines.

    Searches run several times, in turns, and the best time counts. The figures of each engine are
    also in a file, and those of phases that are not run are read from it.
    """
    columns = {name: {} if "build" in phases else _figures(data, name) for name in names}
    for phase in phases:
        for _, (name, figures) in product(range(_runs(phase, runs)), columns.items()):
            folder = data / _slug(name)
            if phase == "build":
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            answer = run(phase, name, data, folder)
            print(f"{name}: {phase}: {answer}", file=sys.stderr, flush=True)
            for figure, value in answer.items() if isinstance(answer, dict) else ():
                is_time = phase == "search" and figure.endswith("ms")
                figures[figure] = min(value, figures.get(figure, value)) if is_time else value
            (data / f"{_slug(name)}.json").write_text(json.dumps(figures))
    return _table(columns)


def _runs(phase: str, runs: int) -> int:
    """The number of times that a phase is run."""
    return runs if phase == "search" else 1


def _figures(data: Path, name: str) -> Figures:
    """The figures of phases that were run before."""
    file = data / f"{_slug(name)}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def faults(names: Sequence[str], data: Path) -> str:
    """A table of Markdown with the outcome of faults."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        whole, folder = data / _slug(name), data / f"{_slug(name)}-damaged"
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir()
        run("build", name, data, whole)
        (data / f"{name}.npy").unlink(missing_ok=True)
        run("results", name, data, whole)

        def on_copy(*steps: str, fault: Callable[[Path], None] | None = None) -> str:
            shutil.rmtree(folder, ignore_errors=True)  # noqa: B023
            shutil.copytree(whole, folder)  # noqa: B023
            if fault:
                fault(folder)  # noqa: B023
            return "; then ".join(str(run(step, name, data, folder)) for step in steps)  # noqa: B023

        columns[name] = {
            "memory map": on_copy("mapping"),
            "file cut in half": on_copy("results", fault=truncate),
            "a page of zeros in every MB": on_copy("results", fault=zero_pages),
            "one byte changed": on_copy("results", fault=flip_byte),
            "disk full while appending": on_copy("append_on_full_disk", "results"),
            "searched while another process appends": on_copy("search_while_written"),
        }
        print(name, json.dumps(columns[name], indent=1), file=sys.stderr, flush=True)
    return _table(columns)


def _slug(name: str) -> str:
    return name.replace(" ", "-").lower()


def _table(columns: Mapping[str, Mapping[str, object]]) -> str:
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        values = [column.get(row, "–") for column in columns.values()]
        cells = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in values]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    if sys.argv[1:2] and sys.argv[1] in STEPS:  # as `run` calls it
        step, name, *paths = sys.argv[1:]
        print(json.dumps(STEPS[step](name, *map(Path, paths))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=["compare", "faults"])
    parser.add_argument("--n", type=int, default=100_000, help="number of vectors")
    parser.add_argument("--embeddings", type=Path, help="embeddings.sqlite of a graph")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--runs", type=int, default=3, help="runs of each search, in turns")
    parser.add_argument("--folder", type=Path, help="folder for files, which are not deleted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        prepare(folder, options.n, options.embeddings)
        engines = options.engines.split(",")
        if options.part == "faults":
            print(faults(engines, folder))
        else:
            print(compare(engines, folder, options.phases.split(","), options.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
