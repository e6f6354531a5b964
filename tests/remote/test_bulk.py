"""Some hundred documents at once into an endpoint, by a process that is killed meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import sarag_rdf
from benchmarks.generated import Corpus, GeneratedExtractor
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.remote.test_write import embedded, graph_of
from tests.servers import Server, virtuoso_server

EDGES = 3000
"""In 300 documents, which are several commits."""
CHILD = f"""
import sys
from tests.remote.test_bulk import index
index(sys.argv[1], {EDGES})
"""
SECONDS = 240


def index(location: str | Path, edges: int) -> None:
    corpus = Corpus(edges)
    with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))
    assert report.problems == []


def whole_sources(server: Server) -> int:
    """The number of sources that are there in full; their digest comes last."""
    pattern = f"SELECT DISTINCT ?s WHERE {{ GRAPH ?g {{ ?s {SARAG.sha256} ?x }} }}"
    return len(SparqlStore(SparqlEndpoint(server.query_url)).select(pattern, "s").rows)


def index_killed(server: Server, sources: int) -> None:
    """Index in a process that is killed when it has written so many sources."""
    process = subprocess.Popen([sys.executable, "-c", CHILD, server.query_url], cwd=ROOT)
    try:
        until = time.monotonic() + SECONDS
        while whole_sources(server) < sources:
            assert process.poll() is None, "it had written everything before it was killed"
            assert time.monotonic() < until, "it wrote too little"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


def check(server: Server, folder: Path) -> None:
    """After two kills, one in the first commit, a third run leaves what a folder has."""
    server.clear()
    for sources in (40, 170):
        index_killed(server, sources)
        assert sources <= whole_sources(server) < EDGES // 10
    index(server.query_url, EDGES)
    index(folder, EDGES)
    remote = SparqlStore(SparqlEndpoint(server.query_url, timeout=600))
    assert graph_of(remote) == embedded(folder)


@pytest.mark.fault
def test_oxigraph(oxigraph: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    check(oxigraph, tmp_path / "kg")


@pytest.mark.fault
@pytest.mark.virtuoso
def test_virtuoso(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit on rows that its own configuration has; that of other tests is far lower."""
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    with virtuoso_server(rows=10_000) as server:
        check(server, tmp_path / "kg")
