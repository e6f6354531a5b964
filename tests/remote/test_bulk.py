"""Some hundred documents at once into an endpoint, by a process that is killed meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import sarag_rdf
from benchmarks.generated import Corpus, GeneratedExtractor
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.remote.test_write import embedded, graph_of
from tests.servers import Server, virtuoso_server

DOCUMENTS = int(os.environ.get("SARAG_DOCUMENTS", "300"))
"""Several commits."""
EDGES = 10 * DOCUMENTS
CHILD = f"""
import sys
from tests.remote.test_bulk import Corpus, NeverReady, index
index(sys.argv[1], NeverReady(Corpus({EDGES})))
"""
SECONDS = max(240, DOCUMENTS)


class NeverReady(GeneratedExtractor):
    """Reads all documents but the last, for which it waits until it is killed.

    So a process cannot have written everything before a slow server says how much there is.
    """

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        self.left = corpus.documents

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for extraction in super().extract(documents):
            self.left -= 1
            if not self.left:
                time.sleep(2 * SECONDS)
            yield extraction


def index(location: str | Path, extractor: GeneratedExtractor) -> None:
    with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(extractor.corpus.sources(), extractor=extractor)
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
            assert process.poll() is None, "it ended by itself"
            assert time.monotonic() < until, "it wrote too little"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


def check(server: Server, folder: Path) -> None:
    """After two kills, one in the first commit, a third run leaves what a folder has."""
    server.clear()
    for sources in (40, DOCUMENTS * 17 // 30):
        index_killed(server, sources)
        assert sources <= whole_sources(server) < DOCUMENTS
    for location in (server.query_url, folder):
        index(location, GeneratedExtractor(Corpus(EDGES)))
    remote = SparqlStore(SparqlEndpoint(server.query_url, timeout=600))
    assert graph_of(remote) == embedded(folder)


@pytest.mark.fault
@pytest.mark.minute
def test_oxigraph(oxigraph: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    check(oxigraph, tmp_path / "kg")


@pytest.mark.fault
@pytest.mark.minute
@pytest.mark.virtuoso
def test_virtuoso(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit on rows that its own configuration has; that of other tests is far lower."""
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    with virtuoso_server(rows=10_000) as server:
        check(server, tmp_path / "kg")
