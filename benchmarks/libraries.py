"""Libraries that could stand where this project has code of its own, measured against it.

Install them beside the project, in an environment for this alone, and run a part::

    pip install usearch faiss-cpu pyshacl pyshacl-turbo pyrudof shacl resvg-py cairosvg pebble
    OPENBLAS_NUM_THREADS=1 python benchmarks/libraries.py vectors --count 100000
    python benchmarks/libraries.py shacl --sources 1000
    python benchmarks/libraries.py pictures --folder /tmp/pictures
    python benchmarks/libraries.py pool

All times are processor time, the best of some runs where a run is short. Only ratios within one
run say something: other programs share the machine. What follows from the figures is in
``benchmarks/libraries.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as PoolTimeout
from functools import cache
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyoxigraph as ox

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.vectors import made
from sarag_rdf.index.evidence import source_quads
from sarag_rdf.index.plan import chunk
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Matrix, silent
from sarag_rdf.rdf.shacl.engines import parse_shapes, validate
from sarag_rdf.types import Extraction, Mention, Method, Relation, Source
from sarag_rdf.vectors.store import FolderVectors
from tests.shacl.mutations import evidence, mutations, written

ROOT = Path(__file__).parent.parent
SHAPES = [ROOT / "ontology" / name for name in ("shapes.ttl", "evidence-shapes.ttl")]


def seconds(do: Callable[[], object], runs: int = 1) -> float:
    """Processor time of the fastest run, of all threads."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        do()
        times.append(time.process_time() - begin)
    return min(times)


# ------------------------------------------------------------------------------- Vectors

WIDTH, QUESTIONS, CHANGED = 384, 100, 1000


class Engine(Protocol):
    """An approximate index; vectors are named by numbers."""

    def build(self, matrix: Matrix) -> None: ...
    def open(self) -> None: ...
    def nearest(self, question: Matrix, k: int) -> list[int]: ...
    def change(self, new: Matrix, gone: range) -> None: ...


class Ours:
    """`FolderVectors` with clusters."""

    def __init__(self, folder: Path, count: int) -> None:
        self.store = FolderVectors(folder, exact_up_to=1)
        self.count = count

    def build(self, matrix: Matrix) -> None:
        self.store.save("document", "1", [f"{n:08}" for n in range(len(matrix))], iter([matrix]))
        self.store.prepare("document", "1", silent)

    def open(self, key: str = "1") -> None:
        index = self.store.load("document", key)
        assert index is not None
        self.index = index

    def nearest(self, question: Matrix, k: int) -> list[int]:
        return list(map(int, self.index.nearest_rows(question, k)[0]))

    def change(self, new: Matrix, gone: range) -> None:
        come = [f"{self.count + n:08}" for n in range(len(new))]
        self.store.update("document", "1", "2", [f"{n:08}" for n in gone], come, [new])
        self.open("2")


class Usearch:
    """Usearch: HNSW with its defaults, but for `EXPANSION` while searching."""

    EXPANSION = 128

    def __init__(self, folder: Path, count: int) -> None:
        self.file, self.count = folder / "usearch", count

    def build(self, matrix: Matrix) -> None:
        from usearch.index import Index

        index = Index(ndim=WIDTH, metric="ip", dtype="f32")
        index.add(np.arange(len(matrix)), matrix, threads=2)
        index.save(self.file)

    def open(self) -> None:
        from usearch.index import Index

        self.index = Index.restore(self.file, view=True)
        self.index.expansion_search = self.EXPANSION

    def nearest(self, question: Matrix, k: int) -> list[int]:
        return list(map(int, self.index.search(question, k, threads=1).keys))

    def change(self, new: Matrix, gone: range) -> None:
        from usearch.index import Index

        index = Index.restore(self.file, view=False)
        index.add(np.arange(self.count, self.count + len(new)), new, threads=2)
        index.remove(np.asarray(gone))
        index.save(self.file)
        self.open()


class Faiss:
    """Faiss: inverted lists of whole vectors, as many lists and as much looked at as ours."""

    def __init__(self, folder: Path, count: int) -> None:
        self.file, self.count = folder / "faiss", count

    def build(self, matrix: Matrix) -> None:
        import faiss

        lists = round(2 * len(matrix) ** 0.5)
        quantizer = faiss.IndexFlatIP(WIDTH)
        index = faiss.IndexIVFFlat(quantizer, WIDTH, lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.max_points_per_centroid = 39
        index.train(matrix)
        index.add(matrix)
        faiss.write_index(index, str(self.file))

    def open(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.index = faiss.read_index(str(self.file), faiss.IO_FLAG_MMAP)
        self.index.nprobe = round(0.08 * self.index.nlist)

    def nearest(self, question: Matrix, k: int) -> list[int]:
        return list(map(int, self.index.search(question[None], k)[1][0]))

    def change(self, new: Matrix, gone: range) -> None:
        import faiss

        index = faiss.read_index(str(self.file))
        index.add(new)
        index.remove_ids(np.asarray(gone))
        faiss.write_index(index, str(self.file))
        self.open()


ENGINES: dict[str, Callable[[Path, int], Engine]] = {
    "ours": Ours,
    "usearch": Usearch,
    "faiss": Faiss,
}


def data(folder: Path, count: int, kind: str) -> tuple[Matrix, Matrix]:
    """Vectors and questions: about topics, or with no structure at all."""
    file = folder / f"{kind}-{count}.npy"
    if not file.exists():
        if kind == "topics":
            matrix = np.concatenate(list(made(count, WIDTH, 1)))
        else:
            matrix = np.random.default_rng(1).normal(size=(count, WIDTH)).astype(np.float32)
            matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        np.save(file, matrix)
    if kind == "topics":
        return np.load(file), next(made(QUESTIONS + CHANGED, WIDTH, 2))
    chance = np.random.default_rng(2).normal(size=(QUESTIONS + CHANGED, WIDTH))
    unit = chance / np.linalg.norm(chance, axis=1, keepdims=True)
    return np.load(file), unit.astype(np.float32)


def measure(name: str, folder: Path, count: int, kind: str) -> dict[str, float]:
    """Figures of one engine, in a process of its own."""
    matrix, every = data(folder, count, kind)
    questions, new = every[:QUESTIONS], every[QUESTIONS:]
    best = np.argsort(-(questions @ matrix.T), axis=1)[:, :200]
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        engine = ENGINES[name](Path(inner), count)
        figures = {"build s": seconds(lambda: engine.build(matrix))}
        files = sum(f.stat().st_size for f in Path(inner).rglob("*") if f.is_file())
        figures["files MB"] = files / 1e6
        before = anonymous_memory()
        figures["open ms"] = 1000 * seconds(engine.open)
        engine.nearest(questions[0], 10)
        for k in (10, 200):
            times, shares = [], []
            for question, wanted in zip(questions, best, strict=True):
                begin = time.process_time()
                near = engine.nearest(question, k)
                times.append(time.process_time() - begin)
                shares.append(len({*near} & {*wanted[:k].tolist()}) / k)
            figures[f"ms for {k}"] = 1000 * float(np.median(times))
            figures[f"recall@{k}"] = float(np.mean(shares))
        figures["memory MB"] = (anonymous_memory() - before) / 1e6
        figures["change s"] = seconds(lambda: engine.change(new, range(CHANGED)))
        assert engine.nearest(new[0], 1)[0] in (count, count - CHANGED)
    return figures


def anonymous_memory() -> int:
    """Bytes of this process that no file holds."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.findall(r"RssAnon:\s*(\d+)", status)[0])


def vectors(count: int, kind: str, engines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        data(Path(name), count, kind)
        for engine in engines:
            command = [sys.executable, __file__, "engine", engine, name, str(count), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(engine, "failed:", done.stderr.strip().splitlines()[-1:])
                continue
            row = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{count} {kind} {engine:8}",
                *(f"{k} {v:.4g};" for k, v in row.items()),
                flush=True,
            )


# --------------------------------------------------------------------------------- SHACL

Finding = tuple[str, str, str]
SH = "http://www.w3.org/ns/shacl#"


def _shacl() -> Callable[[bytes], set[Finding]]:
    shapes = parse_shapes(*(path.read_bytes() for path in SHAPES))

    def ask(text: bytes) -> set[Finding]:
        triples = [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)]
        report = validate(shapes, triples, engine="shacl")
        return {
            (v.focus if ":/" in v.focus else "_:", v.path, SH + v.component)
            for v in report.violations
        }

    return ask


def _rudof() -> Callable[[bytes], set[Finding]]:
    import pyrudof

    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_shacl(_shapes())

    def ask(text: bytes) -> set[Finding]:
        rudof.read_data(text.decode(), format=pyrudof.RDFFormat.NTriples)
        report = rudof.validate_shacl()
        return {
            (_iri(v.focus_node), _iri(v.path or ""), v.constraint_component)
            for v in report.violations
        }

    return ask


def _turbo() -> Callable[[bytes], set[Finding]]:
    import pyshacl_turbo

    shapes = pyshacl_turbo.compile_shapes(_shapes(), shacl_graph_format="turtle")
    return lambda text: _of_graph(shapes.validate(text.decode(), data_graph_format="nt")[1])


def _pyshacl() -> Callable[[bytes], set[Finding]]:
    import pyshacl
    import rdflib

    shapes = rdflib.Graph().parse(data=_shapes(), format="turtle")

    def ask(text: bytes) -> set[Finding]:
        graph = rdflib.Graph().parse(data=text, format="nt")
        return _of_graph(pyshacl.validate(graph, shacl_graph=shapes)[1])

    return ask


VALIDATORS = {
    "shacl": _shacl,
    "pyshacl-turbo": _turbo,
    "pyrudof": _rudof,
    "pySHACL": _pyshacl,
}


def _of_graph(report: Any) -> set[Finding]:
    from rdflib import RDF
    from rdflib.namespace import SH as NAMES

    return {
        (
            _iri(report.value(r, NAMES.focusNode).n3()),
            str(report.value(r, NAMES.resultPath) or ""),
            str(report.value(r, NAMES.sourceConstraintComponent)),
        )
        for r in report.subjects(RDF.type, NAMES.ValidationResult)
    }


def _iri(term: str) -> str:
    """An IRI without brackets; every blank node is the same."""
    return "_:" if term.startswith("_:") else term.strip("<>")


@cache
def _shapes() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in SHAPES)


def sources(count: int) -> Iterator[bytes]:
    """Evidence of sources made of the example corpus: runs of capitals are related in order."""
    texts = sorted((ROOT / "examples" / "corpus").rglob("*.md"))
    method, minter = Method("benchmark", "none", "0", {}), Minter()
    for number, path in enumerate(islice(cycle(texts), count)):
        text = path.read_text(encoding="utf-8")
        names = list(dict.fromkeys(re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", text)))
        source = Source(text, path.stem, f"{number}.md", "en")
        relations = [Relation(a, "precedes", b) for a, b in pairwise(names)]
        found = Extraction(tuple(Mention(name, "misc") for name in names), tuple(relations))
        iri = minter.source(source.key, source.title, source.text)
        documents = [(document, found) for document in chunk(source, iri, minter)]
        quads = source_quads(minter, source, iri, method, documents)
        yield written([quad.triple for quad in quads])


def shacl(count: int, validators: list[str]) -> None:
    sound = evidence()
    shapes = [q.triple for path in SHAPES for q in ox.parse(path=path, format=ox.RdfFormat.TURTLE)]
    spoiled = {name: written(triples) for name, triples in mutations(sound, shapes)}
    each = list(sources(count))
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    whole = b"".join(each)
    print(f"{len(spoiled)} spoiled graphs; {count} sources of {whole.count(b' .')} triples")
    verdicts: dict[str, set[Finding]] = {}
    base: dict[str, float] = {}
    for name in dict.fromkeys(["shacl", *validators]):
        ask = VALIDATORS[name]()
        other, failed = [], []
        slow = name in ("pyshacl-turbo", "pyrudof", "pySHACL")
        for case, text in islice(spoiled.items(), None, None, 20 if slow else 1):
            try:
                findings = ask(text)
            except Exception as error:  # noqa: BLE001
                failed.append(f"{case}: {error!r}"[:150])
                continue
            if name == "shacl":
                verdicts[case] = findings
            elif findings != verdicts[case]:
                other.append(case)
        few = each if name != "pySHACL" else each[:10]
        one = seconds(lambda: [ask(text) for text in few], 1 if slow else 3) * count / len(few)  # noqa: B023
        every = seconds(lambda: ask(whole)) if name != "pySHACL" else float("nan")  # noqa: B023
        base = base or {"each": one, "whole": every}
        print(
            f"{name:14} other verdicts {len(other):4}, failed {len(failed):3}; one by one "
            f"{one:7.2f} s ({one / base['each']:5.2f}), as one graph {every:7.2f} s "
            f"({every / base['whole']:5.2f})",
            flush=True,
        )
        for case in (other[:12] + failed[:3]) * (name != "shacl"):
            print("    ", case)


# ------------------------------------------------------------------------------ Pictures


def pictures(folder: Path, svg: Path) -> None:
    """Render an SVG by each library; compare the files by eye."""
    import resvg_py

    text = svg.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)

    def resvg() -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2))

    def cairo() -> bytes:
        import cairosvg

        return bytes(cairosvg.svg2png(bytestring=text.encode(), scale=2))

    for name, render in {"resvg": resvg, "cairosvg": cairo}.items():
        try:
            best = seconds(lambda: (folder / f"{name}.png").write_bytes(render()), 3)  # noqa: B023
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {error!r}")
            continue
        same = render() == render()
        print(f"{name}: {1000 * best:.0f} ms, the same bytes again: {same}")


# ---------------------------------------------------------------------------------- Pool


def square(number: int) -> int:
    return number * number


def forever(number: int) -> int:
    while number:
        time.sleep(0.01)
    return number


async def _ask_pebble(pool: Any, count: int) -> None:
    for number in range(count):
        await asyncio.wrap_future(pool.schedule(square, args=[number], timeout=10))


def pool() -> None:
    """Milliseconds of a call of pebble, and what becomes of a call that takes too long."""
    from pebble import ProcessPool

    with ProcessPool(max_workers=2) as workers:
        asyncio.run(_ask_pebble(workers, 20))
        begin = time.perf_counter()
        asyncio.run(_ask_pebble(workers, 200))
        print(f"pebble: {5 * (time.perf_counter() - begin):.2f} ms a call")
        begin = time.perf_counter()
        try:
            workers.schedule(forever, args=[1], timeout=0.5).result()
        except PoolTimeout:
            print(f"pebble: ended {time.perf_counter() - begin - 0.5:.2f} s after its time")


def main() -> int:
    if sys.argv[1:2] == ["engine"]:
        name, folder, count, kind = sys.argv[2:]
        print(json.dumps(measure(name, Path(folder), int(count), kind)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=["vectors", "shacl", "pictures", "pool"])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--kind", choices=["topics", "random"], default="topics")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--sources", type=int, default=1000)
    parser.add_argument("--validators", default=",".join(VALIDATORS))
    parser.add_argument("--folder", type=Path, default=Path("pictures"))
    parser.add_argument("--svg", type=Path, help="a drawing without a page around it")
    arguments = parser.parse_args()
    if arguments.part == "vectors":
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            print("set OPENBLAS_NUM_THREADS=1: else threads of NumPy wait for each other")
        vectors(arguments.count, arguments.kind, arguments.engines.split(","))
    elif arguments.part == "shacl":
        shacl(arguments.sources, arguments.validators.split(","))
    elif arguments.part == "pictures":
        pictures(arguments.folder, arguments.svg)
    else:
        pool()
    return 0


if __name__ == "__main__":
    sys.exit(main())
