"""What a search asks an endpoint for: nothing twice, and little at a time of what is IRIs."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.graph.store.sparql_endpoint import VALUES, VALUES_OF, SparqlStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import playing, raw, relay
from tests.remote.sample import CORPUS, export_nquads
from tests.sample_graph import CapitalExtractor
from tests.servers import Server

QUESTION = "Which river flows through the birthplace of Marie Curie?"
CSV = "SELECT ?s ?o WHERE { GRAPH <urn:g> { ?s <urn:p> ?o } }"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(CORPUS, extractor=CapitalExtractor())
    return tmp_path / "kg"


def test_the_edges_of_a_node_are_asked_for_once(oxigraph: Server, corpus: Path) -> None:
    oxigraph.clear()
    with sarag_rdf.open(corpus, embedder=HashEmbedder(), endpoint=None) as kg:
        wanted = retrieved_to_dict(kg.search(QUESTION))
        with kg.session.read() as snapshot:
            oxigraph.load(export_nquads(snapshot.reader.store))
    root = oxigraph.query_url.removesuffix("/query")
    with playing(relay(root)) as server:
        remote = SparqlEndpoint(f"{server.root}/query")
        with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:
            assert retrieved_to_dict(kg.search(QUESTION)) == wanted
            first = len(server.requests)
            assert retrieved_to_dict(kg.search(QUESTION)) == wanted
            again = [request["query"] for _, request in server.requests[first:]]
    assert len(again) < first / 2
    edges = ("sarag:subject ?", "sarag:describes", "sarag:about", "skos:prefLabel")
    assert [text for text in again if any(word in text for word in edges)] == []


def test_iris_come_as_csv(server: Server) -> None:
    """Also those that CSV has to quote; results of many rows are proved complete once."""
    odd = [f"urn:s{n}" for n in range(150)] + ["urn:a,b", "urn:'ü'(1);x=*"]
    server.load("".join(f"<{s}> <urn:p> <{s}?o> <urn:g> .\n" for s in odd).encode())
    store = SparqlStore(SparqlEndpoint(server.query_url))
    for iris in (True, False):
        rows = store.select(CSV, "s", iris=iris).rows
        assert sorted((s.value, o.value) for s, o in rows) == sorted((s, f"{s}?o") for s in odd)


@pytest.mark.parametrize(
    "body",
    [
        b"s,o\r\nurn:s,no iri\r\n",
        b"s,o\r\nurn:s\r\n",
        b"s,o\r\nurn:s,urn:o\r\nquery cancelled\r\n",
    ],
)
def test_csv_that_is_not_of_iris_is_asked_for_as_json(oxigraph: Server, body: bytes) -> None:
    oxigraph.clear()
    oxigraph.load(b'<urn:s> <urn:p> "a literal" <urn:g> .\n')
    root = oxigraph.query_url.removesuffix("/query")

    def play(handler: object) -> None:
        is_csv = handler.headers["Accept"].startswith("text/csv")  # type: ignore[attr-defined]
        (raw(200, body, Content_Type="text/csv") if is_csv else relay(root))(handler)  # type: ignore[arg-type]

    with playing(play) as server:
        store = SparqlStore(SparqlEndpoint(f"{server.root}/query"))
        for _ in range(2):
            assert [o.value for _, o in store.select(CSV, "s", iris=True).rows] == ["a literal"]
        accepted = [headers["Accept"] for _, _, headers in server.seen]
    assert sum("csv" in accept for accept in accepted) == 1


def test_values_in_a_query_depend_on_the_server(server: Server) -> None:
    store = SparqlStore(SparqlEndpoint(server.query_url))
    assert store.max_values == min(VALUES_OF.values())
    store.graphs()
    assert store.max_values == VALUES_OF.get(server.name, VALUES)
