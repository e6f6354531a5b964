"""The command line and Python on a graph behind an endpoint: what they do on the embedded one."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import EmptyGraphError, RemoteTruncatedError
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.fault_server import FaultServer
from tests.remote.sample import CORPUS, export_nquads
from tests.sample_graph import CapitalExtractor
from tests.servers import Server

QUESTIONS = ("Which river flows through Warsaw?", "Who taught Marie Curie?", "Where is CERN?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example corpus, indexed."""
    path = tmp_path_factory.mktemp("embedded") / "kg"
    with sarag_rdf.open(path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(CORPUS, extractor=CapitalExtractor())
    return path


@pytest.fixture
def served(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """URL of an endpoint that holds the same, with caches of its own."""
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    server.load(export_nquads(OxigraphStore.open(folder / "store")))
    return server.query_url


def test_search_finds_the_same_in_the_same_order(folder: Path, served: str, tmp_path: Path) -> None:
    with (
        sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as near,
        sarag_rdf.open(served, embedder=HashEmbedder(), endpoint=None) as far,
    ):
        for question in QUESTIONS:
            for retriever in ("sarag", "dense", "bm25"):
                wanted = near.search(question, retriever=retriever)
                assert wanted.documents
                assert far.search(question, retriever=retriever) == wanted
        assert far.ask(QUESTIONS[0]).evidence == near.ask(QUESTIONS[0]).evidence
    cached = [path.name for path in (tmp_path / "cache" / "endpoints").glob("*/*")]
    assert sorted(cached) == ["embeddings.sqlite", "vectors"]


def test_export_stats_and_validation_are_the_same(folder: Path, served: str) -> None:
    with (
        sarag_rdf.open(folder, endpoint=None) as near,
        sarag_rdf.open(served, endpoint=None) as far,
    ):
        assert far.stats() == near.stats()
        assert far.meta() == near.meta()
        for format_ in ("nquads", "turtle"):
            wanted, found = io.BytesIO(), io.BytesIO()
            near.export(format_, wanted)
            far.export(format_, found)
            assert found.getvalue() == wanted.getvalue()
        assert far.validate().conforms


def test_search_on_the_command_line(
    sarag: Sarag, embedding_server: FaultServer, folder: Path, served: str
) -> None:
    """A question with another embedder is refused as for a folder; --kg URL is the same."""
    own = ("--embedder", "openai:hash", "--base-url", embedding_server.base_url)
    done = sarag("search", QUESTIONS[0], "--endpoint", served, *own)
    done.fails(1, "embedded with 'hash-64'")
    same = sarag("search", QUESTIONS[0], "--kg", served, *own)
    assert same == done
    stats = sarag("stats", "--endpoint", served, "--json")
    assert stats.code == 0, stats
    assert json.loads(stats.out) == json.loads(sarag("stats", "--kg", folder, "--json").out)


@pytest.mark.parametrize("format_", ["csv", "tsv", "json", "table"])
def test_queries_pass_through(sarag: Sarag, folder: Path, served: str, format_: str) -> None:
    text = """SELECT DISTINCT ?entity ?name WHERE {
      GRAPH ?g { ?entity a sarag:Entity ; skos:prefLabel ?name }
    } ORDER BY ?entity LIMIT 90"""
    wanted = sarag("query", text, "--kg", folder, "--format", format_)
    found = sarag("query", text, "--endpoint", served, "--format", format_)
    assert wanted.code == found.code == 0, found
    assert found.out == wanted.out


def test_all_graphs_together_are_the_default_graph(sarag: Sarag, folder: Path, served: str) -> None:
    text = (
        "SELECT DISTINCT ?name { ?e a sarag:Entity ; skos:prefLabel ?name } ORDER BY ?name LIMIT 9"
    )
    found = sarag("query", text, "--endpoint", served)
    assert found.out == sarag("query", text, "--kg", folder).out


def test_other_forms_of_queries(sarag: Sarag, folder: Path, served: str) -> None:
    ask = "ASK { ?e a sarag:Entity }"
    assert sarag("query", ask, "--endpoint", served).out == "true\n"
    assert sarag("query", "ASK { ?e a sarag:Nothing }", "--endpoint", served).out == "false\n"
    text = "CONSTRUCT { ?e a ?type } WHERE { ?e a sarag:Run ; a ?type }"
    for format_ in ("turtle", "ntriples"):
        wanted = sarag("query", text, "--kg", folder, "--format", format_)
        found = sarag("query", text, "--endpoint", served, "--format", format_)
        assert "Run" in found.out
        assert found.out == wanted.out


def test_what_is_refused(sarag: Sarag, served: str) -> None:
    service = "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"
    sarag("query", service, "--endpoint", served).fails(1, "SERVICE")
    sarag("query", "SELECT * { ?s ?p", "--endpoint", served).fails(1, "rejected the SPARQL")


def test_a_result_that_virtuoso_cuts_is_an_error(virtuoso: Server, folder: Path) -> None:
    virtuoso.clear()
    virtuoso.load(export_nquads(OxigraphStore.open(folder / "store")))
    pattern = "{ GRAPH <https://example.org/kg/graph/kg> { ?s ?p ?o } }"
    with sarag_rdf.open(virtuoso.query_url, endpoint=None) as kg:
        for text in (
            f"SELECT * {pattern}",
            f"CONSTRUCT {{ ?s ?p ?o }} WHERE {pattern}",
            f"CONSTRUCT {{ ?p a ?s . ?s ?p ?o }} WHERE {pattern}",
        ):
            with pytest.raises(RemoteTruncatedError, match="has more: query in p"):
                kg.query(text)


def test_an_endpoint_without_a_graph_of_ours_must_be_explained(server: Server) -> None:
    with sarag_rdf.open(server.query_url, endpoint=None) as kg:
        with pytest.raises(EmptyGraphError, match="--graph-kind"):
            kg.search("Where?")
        with pytest.raises(EmptyGraphError, match="--graph-kind"):
            kg.stats()
