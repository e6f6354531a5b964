"""What it costs to read a graph behind a SPARQL endpoint instead of from its folder.

Serves a copy of an indexed folder with Oxigraph's server, and with Virtuoso where it is installed,
on this machine, and times the same work on both sides, one after the other::

    python -m benchmarks.endpoint --kg kg --runs 11

Prints for each query that retrieval reads a graph with, and for a whole `search`, the medians in
milliseconds and their ratio. A search is warm: the question has been embedded before, and with
steps by ``memory`` the network is there; what these two take stands apart.

Searches of generated graphs, each for another question, in arrays and by SPARQL, each side in a
process of its own, and how fast generated documents are written to each server::

    python -m benchmarks.endpoint --edges 100000
    python -m benchmarks.endpoint --linked 1000000 --keep FOLDER   # as `benchmarks.scale` leaves it
    python -m benchmarks.endpoint --documents 2000
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyoxigraph as ox
import pytest

import sarag_rdf
from benchmarks.generated import Corpus, GeneratedExtractor, LinkedGraph, WordVectors
from benchmarks.scale import memory
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.types import Query
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.retrieval.network import network_arrays
from sarag_rdf.retrieval.view import Engine
from sarag_rdf.testing.fakes import HashEmbedder
from tests.remote.sample import seeds
from tests.servers import Server, oxigraph_server, virtuoso_server

SEEDS = 50
"""IRIs that a query is asked for: about what a search looks up."""
SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {
    "oxigraph": oxigraph_server,
    "virtuoso": lambda: virtuoso_server(rows=10_000, buffers=170_000),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kg", type=Path)
    parser.add_argument("--edges", type=int, nargs="*", default=[], help="of generated graphs")
    parser.add_argument("--linked", type=int, nargs="*", default=[], help="statements imported")
    parser.add_argument("--questions", type=int, default=12, help="measured, of generated graphs")
    parser.add_argument("--warm", type=int, default=15, help="questions asked before these")
    parser.add_argument("--documents", type=int, nargs="*", default=[], help="to be written")
    parser.add_argument("--keep", type=Path, help="folder that generated graphs are left in")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--question", default="Which river flows through the birthplace of Curie?")
    parser.add_argument("--servers", nargs="+", default=list(SERVERS), choices=list(SERVERS))
    options = parser.parse_args()
    try:
        for name in options.servers:
            if options.kg:
                compare(name, options.kg, options.question, options.runs)
            for kind, sizes in (("generated", options.edges), ("linked", options.linked)):
                for size in sizes:
                    with tempfile.TemporaryDirectory() as scratch:
                        folder = (options.keep or Path(scratch)) / f"{kind}-{size}" / "kg"
                        graph = Generated(folder, size, is_linked=kind == "linked")
                        compare_generated(name, graph, options.warm, options.questions)
            for documents in options.documents:
                write(name, documents)
    except SaragError as error:
        print(f"endpoint: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def compare(name: str, folder: Path, question: str, runs: int) -> None:
    """Print the table of one server."""
    try:
        with SERVERS[name]() as server, tempfile.TemporaryDirectory() as cache:
            os.environ["SARAG_CACHE_DIR"] = cache
            buffer = io.BytesIO()
            with opened(folder) as kg:
                kg.export("nquads", buffer)
            server.load(buffer.getvalue())
            quads = buffer.getvalue().count(b"\n")
            print(f"\n{name}: {quads:,} quads, medians of {runs} runs\n")
            print(f"{'':26}{'rows':>8}{'embedded ms':>13}{'endpoint ms':>13}{'ratio':>8}")
            for row in queries(folder, server, runs):
                line(*row)
            for row in searches(folder, server, question, runs):
                line(*row)
    except pytest.skip.Exception as missing:
        print(f"{name}: {missing}")


def line(what: str, rows: int, near: float, far: float) -> None:
    print(f"{what:26}{rows:>8,}{near:>13.2f}{far:>13.2f}{far / near:>8.1f}", flush=True)


def queries(folder: Path, server: Server, runs: int) -> Iterator[tuple[str, int, float, float]]:
    """Each query of a graph's kind: name, rows, milliseconds embedded and at the endpoint."""
    store = OxigraphStore.open(folder / "store")
    minter = Minter(base_of(folder))
    near = GraphReader(store, minter)
    far = GraphReader(SparqlStore(SparqlEndpoint(server.query_url)), minter)
    for name in query_names("sarag"):
        header = query_file("sarag", name).header
        values = seeds(store, header["params"])[:SEEDS] if header["params"] != "none" else None

        def rows(reader: GraphReader, name: str = name, values: Any = values) -> list[Any]:
            return [*(reader.rows(name) if values is None else reader.rows_for(name, values))]

        count = len(rows(near))
        if len(rows(far)) != count:
            raise SaragError(f"{name} has other rows at {server.name}")
        yield name, count, *both(lambda: rows(near), lambda: rows(far), runs)
    store.close()


def searches(
    folder: Path, server: Server, question: str, runs: int
) -> Iterator[tuple[str, int, float, float]]:
    """A warm search, and what comes before the first one."""
    for engine in get_args(Engine)[1:]:
        with opened(folder) as near, opened(server.query_url, engine) as far:
            count, *pairs = asked(near, far, question, runs)
            yield f"search, steps by {engine}", count, *pairs[0]
            yield "  without explanations", count, *pairs[1]
    with opened(folder) as near:
        embed = near.embedder(cached=False).embed
        times = both(lambda: embed([question]), lambda: embed([question]), runs)
        yield "embedding the question", 1, *times
        with near.session.read() as snapshot:
            iris = snapshot.view.iris
    store = OxigraphStore.open(folder / "store")
    minter = Minter(base_of(folder))
    here = GraphReader(store, minter)
    there = GraphReader(SparqlStore(SparqlEndpoint(server.query_url)), minter)
    near_by, far_off = (partial(network_arrays, reader, iris) for reader in (here, there))
    yield "reading the network", len(iris.relationships), *both(near_by, far_off, min(runs, 5))
    store.close()


def asked(
    near: KnowledgeGraph, far: KnowledgeGraph, question: str, runs: int
) -> tuple[int, tuple[float, float], tuple[float, float]]:
    """Documents of a search, and its milliseconds on both sides, with explanations and without."""
    found = near.search(question)
    if found.documents != far.search(question).documents:
        raise SaragError("the endpoint finds other documents")
    explained = both(lambda: near.search(question), lambda: far.search(question), runs)
    one, other = (kg.retriever("sarag", explain=False) for kg in (near, far))
    plain = both(lambda: one.retrieve(found.query), lambda: other.retrieve(found.query), runs)
    return len(found.documents), explained, plain


def opened(location: Path | str, engine: Engine = "auto") -> KnowledgeGraph:
    """A graph with the embedder that it was indexed with; made-up vectors for one of tests."""
    with sarag_rdf.open(location, endpoint=None) as kg:
        model = kg.meta().embedding_model
    hashed = HashEmbedder() if model == HashEmbedder().name else None
    return sarag_rdf.open(location, embedder=hashed, endpoint=None, engine=engine)


def base_of(folder: Path) -> str:
    with sarag_rdf.open(folder, endpoint=None) as kg:
        return kg.meta().base


def both(near: Callable[[], object], far: Callable[[], object], runs: int) -> tuple[float, float]:
    """Medians in milliseconds, the two sides by turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for side, work in zip(times, (near, far), strict=True):
            begin = time.perf_counter()
            work()
            side.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times[0]), statistics.median(times[1])


# ------------------------------------------------------------------ Generated graphs


@dataclass(frozen=True)
class Generated:
    """A generated graph in a folder, of documents or imported, with that many relationships."""

    folder: Path
    size: int
    is_linked: bool

    @property
    def embedder(self) -> Embedder:
        return HashEmbedder() if self.is_linked else WordVectors()

    def build(self) -> None:
        """Index or import it, unless the folder is there."""
        if self.folder.exists():
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with sarag_rdf.open(self.folder, embedder=self.embedder, endpoint=None) as kg:
            if self.is_linked:
                file = self.folder.with_suffix(".nt")
                LinkedGraph(self.size).write(file)
                kg.import_graph(file, "rdf")
                file.unlink()
            else:
                corpus = Corpus(self.size)
                kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))

    def questions(self, count: int) -> list[str]:
        if self.is_linked:
            return [LinkedGraph(self.size).question(number) for number in range(count)]
        corpus = Corpus(self.size)
        chosen = np.random.default_rng(1).integers(corpus.documents, size=count).tolist()
        return list(map(corpus.question, chosen))


def compare_generated(name: str, graph: Generated, warm: int, count: int) -> None:
    """Print what searches take in arrays and by SPARQL, each for another question."""
    graph.build()
    with SERVERS[name]() as server, tempfile.TemporaryDirectory(dir=graph.folder.parent) as cache:
        os.environ["SARAG_CACHE_DIR"] = cache
        begin, cpu = time.perf_counter(), processor_time(server.pid)
        load(server, graph.folder)
        elapsed, cpu = time.perf_counter() - begin, processor_time(server.pid) - cpu
        remote = SparqlEndpoint(server.query_url, timeout=600)
        shutil.copytree(graph.folder / "cache", remote.cache(), copy_function=os.link)
        print(
            f"\n{name}: {graph.size:,} relationships, ms, median of elapsed and mean of processor"
        )
        print(f"loaded in {elapsed:.0f} s, processors {cpu:.0f} s\n")
        print(f"{'':34}{'arrays':>10}{'':>10}{'SPARQL':>10}{'':>10}{'ratio':>8}{'':>8}")
        (near, own), (far, other_own) = (
            in_a_process(timed_searches, graph, location, engine, warm, count, server.pid)
            for location, engine in ((graph.folder, "memory"), (remote, "sparql"))
        )
        for what in TIMED:
            (a, a_cpu, one), (b, b_cpu, other) = near[what], far[what]
            figures = f"{a:>10.0f}{a_cpu:>10.0f}{b:>10.0f}{b_cpu:>10.0f}{b / a:>8.1f}"
            same = "" if one == other else "  OTHER ANSWERS"
            print(f"{what:34}{figures}{b_cpu / a_cpu:>8.1f}{same}", flush=True)
        print(f"{'memory without mapped files, MB':34}{own:>10.0f}{other_own:>20.0f}")


TIMED = ("first questions of a process", "other questions after these", "the latter again")
Times = dict[str, tuple[float, float, list[Any]]]


def in_a_process(work: Callable[..., Any], *given: Any) -> Any:
    """The result of a function that had a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def timed_searches(
    graph: Generated,
    location: Path | SparqlEndpoint,
    engine: Any,
    warm: int,
    count: int,
    server: int,
) -> tuple[Times, float]:
    """Milliseconds elapsed, and of processors here and in the server, with the results; and MB."""
    times: Times = {}
    questions = graph.questions(warm + count)
    with sarag_rdf.open(location, embedder=graph.embedder, endpoint=None, engine=engine) as kg:
        retriever = kg.retriever("sarag", limit=10)
        first, others = questions[:warm], questions[warm:]
        for what, asked in zip(TIMED, (first, others, others), strict=True):
            begin, elapsed, found = processor_time(server), [], []
            for question in asked:
                start = time.perf_counter()
                result = retriever.retrieve(Query(question))
                elapsed.append(1000 * (time.perf_counter() - start))
                found.append(retrieved_to_dict(result))
            used = 1000 * (processor_time(server) - begin) / len(asked)
            times[what] = statistics.median(elapsed), used, found
        return times, memory()["own"]


def processor_time(pid: int) -> float:
    """Seconds of this process and of the server."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def load(server: Server, folder: Path) -> None:
    """All quads of a graph, in parts."""
    batch: list[ox.Quad] = []
    for quad in ox.Store.read_only(str(folder / "store")):
        batch.append(quad)
        if len(batch) == PART:
            server.load(ox.serialize(batch, format=ox.RdfFormat.N_QUADS) or b"")
            batch.clear()
    server.load(ox.serialize(batch, format=ox.RdfFormat.N_QUADS) or b"")


PART = 100_000
"""Quads that a server loads at a time."""


def write(name: str, documents: int) -> None:
    """Print how fast documents are indexed into a server, beside a folder."""
    corpus = Corpus(10 * documents)
    with SERVERS[name]() as server, tempfile.TemporaryDirectory() as scratch:
        os.environ["SARAG_CACHE_DIR"] = f"{scratch}/cache"
        for location in (f"{scratch}/kg", server.query_url):
            begin, cpu = time.perf_counter(), processor_time(server.pid)
            with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
                kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))
                elapsed, cpu = time.perf_counter() - begin, processor_time(server.pid) - cpu
                quads = kg.stats()["quads"]
            where = name if location == server.query_url else "folder"
            print(
                f"{where:10}{documents:>8,} documents {quads:>10,} quads {elapsed:>7.0f} s, "
                f"{quads / elapsed:>7,.0f} quads a second; processors {cpu:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
