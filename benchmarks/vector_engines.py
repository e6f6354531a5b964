"""Our files of vectors against vector engines: exactness, times, memory, and what a kill leaves.

    pip install 'sarag-rdf[milvus,qdrant,postgres]' pgserver faiss-cpu lancedb
    python -m benchmarks.vector_engines --count 10000 --count 100000
    python -m benchmarks.vector_engines faults

Every engine does the same work in a process of its own, behind the same `VectorStore`: an index of
synthetic unit vectors (`benchmarks.vectors`) is written, a hundredth of it is replaced, and it is
opened again by another process, which asks for the ten nearest. Times are of processors, those of a
database server included; what waits for the disk alone is not counted. Memory is the proportional
share (PSS) of what is resident while questions are asked, mapped files included, less that of the
same process before it opened the engine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.vectors import made
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.graph.vectors.search_indexes import VectorIndex
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.plugins.vector_engines.engine import EngineVectors, VectorEngine

KIND: Final = "document"
WIDTH: Final = 384
QUESTIONS: Final = 30
NEAREST: Final = 10
KILLED_AFTER: Final = 0.5
"""The share of vectors that are written before a kill."""


class Faiss:
    """A `VectorEngine` of one collection: an exact or HNSW index, in a file that is rewritten."""

    def __init__(self, folder: Path, factory: str) -> None:
        self._folder, self._factory = folder, factory
        self._index: Any = None
        self._iris: list[str] = []
        self._name = self._mark = ""
        self._updating = False
        folder.mkdir(exist_ok=True)
        if (folder / "names.json").exists():
            import faiss

            self._name, self._mark, self._iris = json.loads((folder / "names.json").read_text())
            self._index = faiss.read_index(str(folder / "index"))

    def close(self) -> None:
        pass

    def collections(self) -> list[str]:
        return [self._name] if self._name else []

    def create(self, name: str, width: int) -> None:
        import faiss

        kind = faiss.index_factory(width, self._factory, faiss.METRIC_INNER_PRODUCT)
        self._index, self._iris, self._name, self._mark = faiss.IndexIDMap2(kind), [], name, ""

    def drop(self, name: str) -> None:
        pass

    def mark(self, name: str, key: str) -> None:
        import faiss

        self._mark, self._updating = key, not key
        if key:
            faiss.write_index(self._index, str(self._folder / "index.new"))
            (self._folder / "index.new").replace(self._folder / "index")
            names = json.dumps([self._name, self._mark, self._iris])
            (self._folder / "names.json").write_text(names)

    def marked(self, name: str) -> str:
        return self._mark if name == self._name else ""

    def count(self, name: str) -> int:
        return int(self._index.ntotal)

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        self.delete(name, iris)
        first = len(self._iris)
        self._iris += iris
        self._index.add_with_ids(vectors, np.arange(first, first + len(iris)))

    def delete(self, name: str, iris: Sequence[str]) -> None:
        if not self._updating:
            return
        gone = set(iris)
        numbers = [number for number, iri in enumerate(self._iris) if iri in gone]
        if not numbers:
            return
        for number in numbers:
            self._iris[number] = ""
        if self._factory == "Flat":
            self._index.remove_ids(np.array(numbers))
            return
        iris_ = [iri for iri in self._iris if iri]  # HNSW cannot delete: it is built again
        rows = np.array([self._index.reconstruct(n) for n, iri in enumerate(self._iris) if iri])
        self.create(name, self._index.d)
        self._iris = iris_
        self._index.add_with_ids(rows, np.arange(len(iris_)))

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        if not hasattr(self, "_numbers"):
            self._numbers = {iri: number for number, iri in enumerate(self._iris) if iri}
        return {iri: self._index.reconstruct(self._numbers[iri]) for iri in iris}

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        scores, numbers = self._index.search(vector[np.newaxis], k)
        pairs = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
        return [(self._iris[number], score) for number, score in pairs if number >= 0]


class Lance:
    """A `VectorEngine` in LanceDB: a table for each collection, searched without an index."""

    def __init__(self, folder: Path) -> None:
        import lancedb

        self._database = lancedb.connect(folder)
        self._marks = folder / "marks.json"
        self._tables: dict[str, Any] = {}

    def close(self) -> None:
        pass

    def _table(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = self._database.open_table(name)
        return self._tables[name]

    def collections(self) -> list[str]:
        return list(self._database.list_tables().tables)

    def create(self, name: str, width: int) -> None:
        import pyarrow as pa

        vector = pa.list_(pa.float32(), width)
        schema = pa.schema([("iri", pa.string()), ("vector", vector)])
        self._tables[name] = self._database.create_table(name, schema=schema)

    def drop(self, name: str) -> None:
        self._database.drop_table(name)

    def mark(self, name: str, key: str) -> None:
        self._marks.write_text(json.dumps({name: key}))
        if key:
            self._table(name).optimize()
            self._table(name).create_scalar_index("iri", replace=True)

    def marked(self, name: str) -> str:
        with suppress(FileNotFoundError):
            return str(json.loads(self._marks.read_text()).get(name, ""))
        return ""

    def count(self, name: str) -> int:
        return int(self._table(name).count_rows())

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        rows = [{"iri": i, "vector": v} for i, v in zip(iris, vectors, strict=True)]
        merge = self._table(name).merge_insert("iri").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(rows)

    def delete(self, name: str, iris: Sequence[str]) -> None:
        self._table(name).delete(_among(iris))

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        found = self._table(name).search().where(_among(iris)).limit(len(iris)).to_arrow()
        return dict(zip(found["iri"].to_pylist(), found["vector"].to_pylist(), strict=True))

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        asked = self._table(name).search(vector).distance_type("dot").limit(k).to_arrow()
        scores = [1 - distance for distance in asked["_distance"].to_pylist()]
        return list(zip(asked["iri"].to_pylist(), scores, strict=True))


def _among(iris: Sequence[str]) -> str:
    return f"iri IN ({', '.join(repr(iri) for iri in iris)})"


def milvus(folder: Path) -> VectorEngine:
    from sarag_rdf.plugins.vector_engines.milvus import MilvusEngine

    return MilvusEngine(str(folder / "vectors.db"))


def qdrant(folder: Path) -> VectorEngine:
    from sarag_rdf.plugins.vector_engines.qdrant import QdrantEngine

    return QdrantEngine(str(folder / "qdrant"))


def postgres(folder: Path) -> VectorEngine:
    from sarag_rdf.plugins.vector_engines.postgres import PostgresEngine

    return PostgresEngine(_server(folder).get_uri())


def _server(folder: Path) -> Any:
    (folder / "run").mkdir(mode=0o700, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(folder / "run")
    from pgserver import postgres_server

    return postgres_server.get_server(folder / "postgres", cleanup_mode=None)


ENGINES: Final[dict[str, Callable[[Path], VectorEngine] | None]] = {
    "ours": None,
    "milvus-lite": milvus,
    "qdrant local": qdrant,
    "pgvector": postgres,
    "faiss flat": lambda folder: Faiss(folder / "faiss", "Flat"),
    "faiss HNSW": lambda folder: Faiss(folder / "faiss", "HNSW32"),
    "lancedb": lambda folder: Lance(folder / "lance"),
}


def store_of(engine: str, folder: Path) -> VectorStore:
    connect, local = ENGINES[engine], FolderVectors(folder / "local")
    return local if connect is None else EngineVectors(connect(folder), "sarag-benchmark", local)


def names(count: int) -> list[str]:
    return sorted(f"https://example.org/kg/doc/{sha256_hex(str(n))[:32]}" for n in range(count))


# ------------------------------------------------------------------- What a process has used


def _processes(folder: Path) -> list[int]:
    """This process, and those of a database server in the folder."""
    pids = [os.getpid()]
    with suppress(FileNotFoundError):
        server = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        pids += [server, *map(int, children)]
    return pids


def processor_seconds(folder: Path) -> float:
    """Of this process, and of a server to a hundredth of a second."""
    ticks = 0
    for pid in _processes(folder)[1:]:
        with suppress(FileNotFoundError):
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, stat[11:15]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def resident(folder: Path) -> float:
    """MB of memory, pages that are shared counted in parts."""
    total = 0
    for pid in _processes(folder):
        with suppress(FileNotFoundError, PermissionError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


class Clock:
    """Seconds of processors and of the clock that parts of a process took."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.figures: dict[str, float] = {}

    def __call__(self, what: str, do: Callable[[], Any]) -> Any:
        cpu, wall = processor_seconds(self._folder), time.perf_counter()
        outcome = do()
        self.figures[f"{what} wall"] = time.perf_counter() - wall
        self.figures[what] = processor_seconds(self._folder) - cpu
        return outcome


# --------------------------------------------------------------------------- The measurements


def write(engine: str, count: int, folder: Path) -> dict[str, float]:
    """Fill an index, then replace a hundredth of it."""
    if engine == "pgvector":
        _server(folder)
    clock, iris = Clock(folder), names(count)
    matrix = np.concatenate(list(made(count, WIDTH, 1)))
    store = store_of(engine, folder)
    store.load(KIND, "none")
    blocks = [matrix[begin : begin + 10_000] for begin in range(0, count, 10_000)]
    clock("fill", lambda: store.save(KIND, "1", iris, blocks))
    changed = iris[::100]
    vectors = np.concatenate(list(made(len(changed), WIDTH, 3)))
    updated = clock("update", lambda: store.update(KIND, "1", "2", changed, changed, [vectors]))
    if updated is None:
        raise SystemExit(f"{engine} was not updated")
    return clock.figures


def ask(engine: str, count: int, folder: Path) -> dict[str, float]:
    """Open the index in a process that has not written it, and search it."""
    if engine == "pgvector":
        _server(folder)
    clock, iris = Clock(folder), names(count)
    questions = next(made(QUESTIONS, WIDTH, 2))
    before = resident(folder)
    store = clock("connect", lambda: store_of(engine, folder))
    index: VectorIndex = clock("open", lambda: store.load(KIND, "2"))
    walls, found = [], []
    index.nearest(questions[0], NEAREST)
    cpu = processor_seconds(folder)
    for question in questions:
        wall = time.perf_counter()
        found.append([iri for iri, _ in index.nearest(question, NEAREST)])
        walls.append(time.perf_counter() - wall)
    searching = (processor_seconds(folder) - cpu) / QUESTIONS
    used = resident(folder) - before
    fetched = clock("fetch", lambda: [index.vectors(np.arange(n, n + 200)) for n in range(20)])
    del fetched
    matrix = np.concatenate(list(made(count, WIDTH, 1)))
    matrix[::100] = np.concatenate(list(made(len(iris[::100]), WIDTH, 3)))
    right = 0
    for question, own in zip(questions, found, strict=True):
        best = np.argsort(-(matrix @ question), kind="stable")[:NEAREST]
        right += len({iris[row] for row in best.tolist()} & set(own))
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6
    return {
        "recall": right / (NEAREST * QUESTIONS),
        "open": clock.figures["connect"] + clock.figures["open"],
        "search ms": 1000 * searching,
        "search wall ms": 1000 * median(walls),
        "fetch ms": 1000 * clock.figures["fetch"] / 20,
        "memory MB": used,
        "disk MB": size,
    }


def stall(engine: str, count: int, folder: Path, change: str) -> None:
    """Write until `KILLED_AFTER`, say so, and wait to be killed."""
    iris, matrix = names(count), np.concatenate(list(made(count, WIDTH, 1)))
    store = store_of(engine, folder)

    def blocks() -> Iterable[Matrix]:
        size = 500
        for begin in range(0, len(matrix), size):
            if begin >= KILLED_AFTER * len(matrix):
                print("half", flush=True)
                time.sleep(1000)
            yield matrix[begin : begin + size]

    if change == "fill":
        store.save(KIND, "1", iris, blocks())
    else:
        store.save(KIND, "1", iris, [matrix])
        matrix = matrix[::-1].copy()
        store.update(KIND, "1", "2", iris, iris, blocks())


def repair(engine: str, count: int, folder: Path) -> str:
    """What another process finds after a kill, and whether it can write the index again."""
    iris, matrix = names(count), np.concatenate(list(made(count, WIDTH, 1)))
    question = next(made(1, WIDTH, 2))[0]
    try:
        store = store_of(engine, folder)
        state = "nothing is taken for complete"
        for key, rows in (("1", matrix), ("2", matrix[::-1])):
            index = store.load(KIND, key)
            if index is not None:
                right = [iris[row] for row in np.argsort(-(rows @ question))[:NEAREST].tolist()]
                is_right = [iri for iri, _ in index.nearest(question, NEAREST)] == right
                state = "the index before" if is_right else "WRONG RESULTS"
        again = store.save(KIND, "3", iris, [matrix])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
        return f"{type(error).__name__}: {error}"
    right = [iris[row] for row in np.argsort(-(matrix @ question))[:NEAREST].tolist()]
    is_right = [iri for iri, _ in again.nearest(question, NEAREST)] == right
    return f"{state}; written again: {'right' if is_right else 'WRONG'}"


def _child(*arguments: str, kills: bool = False) -> str:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.vector_engines", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        if kills:
            child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            return ""
        return next(iter(islice(child.stdout.read().splitlines()[::-1], 1)), "")


def measure(counts: Sequence[int], engines: Sequence[str]) -> None:
    for count in counts:
        rows = {}
        for engine in engines:
            with _scratch() as name:
                try:
                    figures: dict[str, float] = {}
                    for step in ("write", "ask"):
                        figures |= json.loads(_child(step, engine, str(count), name) or "{}")
                finally:
                    _stop(Path(name))
            rows[engine] = figures
            print(engine, json.dumps(figures), file=sys.stderr, flush=True)
        _print_table(count, rows)


def _print_table(count: int, rows: dict[str, dict[str, float]]) -> None:
    columns = {
        "recall": "recall@10",
        "fill": "fill",
        "update": "update of 1 %",
        "open": "open",
        "search ms": "search",
        "fetch ms": "fetch 200",
        "memory MB": "memory",
        "disk MB": "disk",
    }
    print(f"\n{count:,} vectors\n\n| | {' | '.join(columns.values())} |")
    print("| --- " * (len(columns) + 1) + "|")
    ours = rows.get("ours", {})
    for engine, figures in rows.items():
        cells = []
        for key in columns:
            value = figures.get(key)
            unit = "ms" if key.endswith("ms") else "MB" if key.endswith("MB") else "s"
            if value is None:
                cells.append("")
            elif key == "recall":
                cells.append(f"{value:.3f}")
            else:
                base = ours.get(key, 0.0)
                ratio = f" ({value / base:.2g})" if base > 0 and engine != "ours" else ""
                cells.append(f"{value:.3g} {unit}{ratio}")
        print(f"| {engine} | {' | '.join(cells)} |")


def faults(count: int, engines: Sequence[str]) -> None:
    print("\n| | killed while filling | killed while updating |\n| --- | --- | --- |")
    for engine in engines:
        cells = []
        for change in ("fill", "update"):
            with _scratch() as name:
                try:
                    if engine == "pgvector":
                        _child("start", engine, str(count), name)
                    _child("stall", engine, str(count), name, change, kills=True)
                    cells.append(_child("repair", engine, str(count), name))
                finally:
                    _stop(Path(name))
        print(f"| {engine} | {' | '.join(cells)} |", flush=True)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory, if there is one, so that no engine waits for the disk."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        ignore_cleanup_errors=True, dir=memory if memory.is_dir() else None
    )


def _stop(folder: Path) -> None:
    with suppress(FileNotFoundError, ProcessLookupError):
        server = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(server, signal.SIGINT)  # a fast shutdown
        while True:
            os.kill(server, 0)
            time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", nargs="?", default="measure", choices=("measure", "faults"))
    parser.add_argument("--count", type=int, action="append")
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    arguments = parser.parse_args()
    engines = arguments.engine or list(ENGINES)
    if arguments.what == "faults":
        faults((arguments.count or [10_000])[0], engines)
    else:
        measure(arguments.count or [10_000], engines)
    return 0


def _in_child(step: str, engine: str, count: str, folder: str, *change: str) -> int:
    steps: dict[str, Callable[..., Any]] = {
        "write": write,
        "ask": ask,
        "stall": stall,
        "repair": repair,
        "start": lambda *_: _server(Path(folder)) and "",
    }
    outcome = steps[step](engine, int(count), Path(folder), *change)
    print(outcome if isinstance(outcome, str) else json.dumps(outcome))
    return 0


if __name__ == "__main__":
    is_child = len(sys.argv) > 4 and sys.argv[1] in ("write", "ask", "stall", "repair", "start")
    sys.exit(_in_child(*sys.argv[1:]) if is_child else main())
