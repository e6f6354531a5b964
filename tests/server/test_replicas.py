"""Several servers of one folder, beside one writer: each serves the newest revision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import sarag_rdf
from sarag_rdf.building import index_run
from sarag_rdf.building.plan import Request, plan
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import WRITER_SECONDS, Worker
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import FaultServer, playing
from tests.faults.places import read_only
from tests.sample_graph import CapitalExtractor, embeddings, files_of, make_graph, remote_embedder
from tests.server.running import Running, serving

DOCUMENT = """PREFIX sarag: <https://w3id.org/sarag/ontology#>
SELECT ?text { ?d a sarag:Document ; sarag:text ?text FILTER(CONTAINS(?text, "Zaragoza")) }"""
_SQLITE = ("-shm", "-wal")
"""Ends of the names of files by which SQLite locks a cache that is open."""
QUESTION = "Who came to Zaragoza?"


@pytest.fixture
def endpoint() -> Iterator[FaultServer]:
    with playing(embeddings) as server:
        yield server


@pytest.fixture
def env(endpoint: FaultServer) -> dict[str, str]:
    return {"SARAG_EMBEDDER": "openai:hash", "SARAG_BASE_URL": endpoint.base_url}


@pytest.fixture
def kg(tmp_path: Path, endpoint: FaultServer) -> Path:
    return make_graph(tmp_path / "kg", embedder=remote_embedder(endpoint.base_url))


def health(server: Running) -> Any:
    got = server.ask("GET", "/health")
    assert got.status == 200, got
    assert (got.media_type, got.headers["cache-control"]) == ("application/json", "no-store")
    return got.json()


def state(server: Running) -> tuple[str, list[list[str]], str, str]:
    """Revision, texts that name Zaragoza, the first document of a search, and its text."""
    got = server.ask("GET", "/search?" + urlencode({"q": QUESTION, "limit": 1}))
    assert got.status == 200, got
    [first] = got.json()["documents"]
    return health(server)["revision"], server.values(DOCUMENT), first["title"], first["text"]


def test_servers_of_a_folder_serve_each_revision_of_its_writer(
    kg: Path, env: dict[str, str], endpoint: FaultServer, tmp_path: Path
) -> None:
    """One is mounted read-only, as on another machine; a third one takes updates."""
    mounted = tmp_path / "replica" / "kg"
    mounted.mkdir(parents=True)
    embedder = remote_embedder(endpoint.base_url)
    with ExitStack() as stack:
        stack.enter_context(read_only(kg, mounted))
        replicas = [
            stack.enter_context(serving(kg, env=env)),
            stack.enter_context(serving(mounted, env=env)),
            stack.enter_context(serving(kg, "--writable", env=env)),
        ]
        revisions = {state(server)[0] for server in replicas}
        assert len(revisions) == 1
        for name in ("Cid", "Dora", "Eve"):
            with sarag_rdf.open(kg, embedder=embedder, endpoint=None) as graph:
                source = sarag_rdf.Source(f"{name} came to Zaragoza.", "Travels", "travels.txt")
                graph.index([source], extractor=CapitalExtractor())
                revision = graph.meta().revision
            assert revision not in revisions
            revisions.add(revision)
            want = (revision, [[source.text]], "Travels", source.text)
            asked = len(endpoint.requests)
            assert [state(server) for server in replicas] == [want] * 3
            texts = {text for body in endpoint.bodies[asked:] for text in body["input"]}
            assert texts <= {QUESTION, "Zaragoza"}  # vectors of documents are read, not made again
        update = "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <urn:o> } }"
        assert replicas[2].update(update).status == 204
        assert len({health(server)["revision"] for server in replicas}) == 1
        assert health(replicas[0])["revision"] not in revisions
        for server in replicas:
            assert server.values("SELECT ?o { <urn:s> ?p ?o }") == [["urn:o"]]
            assert "Traceback" not in server.log.read_text()
    with sarag_rdf.open(kg, embedder=embedder, endpoint=None) as graph:
        assert fsck(graph).in_order


def test_searches_wait_for_the_vectors_of_a_writer_and_queries_do_not(
    kg: Path, env: dict[str, str], endpoint: FaultServer
) -> None:
    """A writer that has committed, and not made the vectors yet, is one that holds the lock."""
    embedder = remote_embedder(endpoint.base_url)
    with serving(kg, env=env) as server:
        _, _, before, _ = state(server)
        with sarag_rdf.open(kg, embedder=embedder, endpoint=None) as graph:
            source = sarag_rdf.Source("Cid came to Zaragoza.", "Travels", "travels.txt")
            with graph.session.write() as reader:
                extractor = CapitalExtractor()
                todo = plan(reader, Request.of([source], "index"), extractor.method)
                index_run.run(reader, todo, extractor)
                revision, texts, first, _ = state(server)
                assert texts == [[source.text]]
                assert first == before
        asked = len(endpoint.requests)
        assert state(server) == (revision, texts, "Travels", source.text)  # the lock is gone
        assert any(source.text in str(body) for body in endpoint.bodies[asked:])


def test_a_worker_waits_for_a_writer_for_a_while_only(
    kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = partial(sarag_rdf.open, kg, embedder=HashEmbedder(), endpoint=None)
    worker = Worker(ServeSettings(kg), kg.parent, opened)
    clock = [0.0]
    monkeypatch.setattr("sarag_rdf.server.worker.time.monotonic", lambda: clock[0])

    def count() -> int:
        return int(worker.kg().stats()["sources"])

    before = count()
    with opened() as graph:
        source = sarag_rdf.Source("Cid came to Zaragoza.", "Travels", "travels.txt")
        graph.index([source], extractor=CapitalExtractor())
        with graph.session.write():
            assert count() == before
            clock[0] = WRITER_SECONDS - 1
            assert count() == before
            clock[0] = WRITER_SECONDS + 1
            assert count() == before + 1


def test_servers_write_nothing_to_the_folder(kg: Path, env: dict[str, str]) -> None:
    def files() -> object:
        return {name: data for name, data in files_of(kg).items() if not name.endswith(_SQLITE)}

    before = files()
    with serving(kg, env=env) as server:
        state(server)
    assert files() == before


def test_a_server_without_a_readable_graph_is_not_healthy(kg: Path) -> None:
    with serving(kg, "--workers", "1") as server:
        assert health(server)["status"] == "ok"
        damaged = kg / "store" / "CURRENT"
        damaged.write_text("nothing")
        (kg / "store" / "999999.sst").touch()
        server.ask("GET", "/health").is_line(500, "cannot open the graph")


def test_health_needs_no_token(kg: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.yml"
    tokens.write_text("tokens: []\n")
    with serving(kg, "--tokens", str(tokens)) as server:
        assert server.ask("GET", "/sparql?query=ASK%7B%7D").status == 401
        assert json.loads(server.ask("GET", "/health").body)["revision"]
