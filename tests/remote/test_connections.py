"""Connections to an endpoint: kept between requests, and replaced without a word when it closes."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import RemoteDownError, RemoteTimeoutError
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_client import ACCEPT_ROWS, SparqlClient, read_rows
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.remote.sample import CORPUS, export_nquads
from tests.remote.test_write import embedded, graph_of
from tests.sample_graph import CapitalExtractor
from tests.servers import Server

QUESTION = "Which river flows through the birthplace of Marie Curie?"
ASK = "ASK { ?s ?p ?o }"


class Wire:
    """Hands bytes on to a server; counts connections and requests.

    A request that `is_cut` arrives, and its connection is closed without a word. One that is `slow`
    is answered by a byte now and then.
    """

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._target = (place.hostname or "", place.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()[:2]
        self.url = place._replace(netloc=f"{host}:{port}").geturl()
        self.connections, self.requests = 0, 0
        self.is_cut = self.is_slow = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(self._target)
                self._open += [client, server]
                for one, other in ((client, server), (server, client)):
                    arguments = (one, other, one is client)
                    threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_up: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if is_up and data.startswith((b"POST ", b"PUT ")):
                    self.requests += 1
                    if self.is_cut:
                        self.is_cut = False
                        break
                    while self.is_slow:
                        source.sendall(b"H")
                        time.sleep(0.02)
                target.sendall(data)
            for each in (source, target):
                each.shutdown(socket.SHUT_RDWR)

    def close_connections(self) -> None:
        """What a server does with connections over which nothing came for some time."""
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)

    def close(self) -> None:
        self.is_slow = False
        self._listener.close()
        self.close_connections()


@contextmanager
def wire_to(url: str) -> Iterator[Wire]:
    wire = Wire(url)
    try:
        yield wire
    finally:
        wire.close()


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(CORPUS, extractor=CapitalExtractor())
    return tmp_path / "kg"


def test_a_search_needs_one_connection(
    server: Server, corpus: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.load(export_nquads(OxigraphStore.open(corpus / "store")))
    with (
        wire_to(server.query_url) as wire,
        sarag_rdf.open(wire.url, embedder=HashEmbedder(), endpoint=None) as far,
        sarag_rdf.open(corpus, embedder=HashEmbedder(), endpoint=None) as near,
    ):
        wanted = near.search(QUESTION)
        assert far.search(QUESTION) == wanted
        assert far.ask(QUESTION).evidence == near.ask(QUESTION).evidence
        assert wire.requests > 30
        assert wire.connections == 1
        caplog.set_level(logging.INFO, "sarag_rdf")
        wire.close_connections()
        assert far.search(QUESTION) == wanted
        assert wire.connections == 2
    assert "retrying" not in caplog.text


def test_indexing_keeps_a_connection_for_what_may_be_sent_twice(
    server: Server, corpus: Path
) -> None:
    """Others, updates and additions to a graph, have one of their own."""
    with wire_to(server.query_url) as wire:
        root = wire.url.rpartition("/")[0]
        update, store = (root + urlsplit(url).path for url in (server.update_url, server.store_url))
        remote = SparqlEndpoint(wire.url, update, store)
        with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.index(CORPUS, extractor=CapitalExtractor())
        assert wire.requests > 30
        assert wire.connections < wire.requests / 2
    direct = SparqlStore(SparqlEndpoint(server.query_url))
    assert graph_of(direct) == embedded(corpus)


def test_a_connection_that_closes_as_the_request_arrives(server: Server) -> None:
    """A query is sent again, over another one; an update is not: it may have been carried out."""
    with wire_to(server.query_url) as wire:
        client = SparqlClient(SparqlEndpoint(wire.url, wire.url), backoff=30.0)
        read_rows(client.query(ASK, ACCEPT_ROWS, {}))
        wire.is_cut = True
        begin = time.monotonic()
        read_rows(client.query(ASK, ACCEPT_ROWS, {}))
        assert (wire.connections, wire.requests) == (2, 3)
        assert time.monotonic() - begin < 20.0
        wire.is_cut = True
        with pytest.raises(RemoteDownError):
            client.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <urn:o> } }")
        assert (wire.connections, wire.requests) == (3, 4)
        client.close()


def test_the_deadline_also_ends_a_request_over_a_kept_connection(oxigraph: Server) -> None:
    with wire_to(oxigraph.query_url) as wire:
        client = SparqlClient(SparqlEndpoint(wire.url, timeout=0.5))
        read_rows(client.query(ASK, ACCEPT_ROWS, {}))
        wire.is_slow = True
        begin = time.monotonic()
        with pytest.raises(RemoteTimeoutError):
            client.query(ASK, ACCEPT_ROWS, {})
        assert 0.4 < time.monotonic() - begin < 5.0
        wire.is_slow = False
        read_rows(client.query(ASK, ACCEPT_ROWS, {}))
        assert wire.connections == 2


def test_threads_have_a_connection_each(oxigraph: Server) -> None:
    with wire_to(oxigraph.query_url) as wire:
        client = SparqlClient(SparqlEndpoint(wire.url))

        def ask() -> None:
            for _ in range(25):
                read_rows(client.query(ASK, ACCEPT_ROWS, {}))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wire.requests == 100
        assert wire.connections <= 4
