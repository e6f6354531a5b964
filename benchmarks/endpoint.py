"""What it costs to read a graph behind a SPARQL endpoint instead of from its folder.

Serves a copy of an indexed folder with Oxigraph's server, and with Virtuoso where it is installed,
on this machine, and times the same work on both sides, one after the other::

    python -m benchmarks.endpoint --kg kg --runs 11

Prints for each query that retrieval reads a graph with, and for a whole `search`, the medians in
milliseconds and their ratio. A search is warm: the question has been embedded before, and with
steps by ``memory`` the network is there; what these two take stands apart.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
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
    "virtuoso": lambda: virtuoso_server(rows=10_000),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--question", default="Which river flows through the birthplace of Curie?")
    parser.add_argument("--servers", nargs="+", default=list(SERVERS), choices=list(SERVERS))
    options = parser.parse_args()
    try:
        for name in options.servers:
            compare(name, options.kg, options.question, options.runs)
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
            return reader.rows(name) if values is None else list(reader.rows_for(name, values))

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


if __name__ == "__main__":
    sys.exit(main())
