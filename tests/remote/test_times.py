"""What was true at a time, of a graph behind an endpoint: as from a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Table
from sarag_rdf.base.vocab import COMMON, OWL
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.remote.sample import export_nquads
from tests.servers import Server
from tests.timed_graph import timed_graph

TIMES = ("", "1918", "1925", "1937-06", "1940", "1970-01-31")
QUERIES = {
    "documents": "SELECT ?n { ?m common:head/skos:prefLabel ?n } ORDER BY STR(?n)",
    "heads": "SELECT ?n { ?m common:head ?n } ORDER BY ?n",
    "all": "SELECT ?m ?n { ?m <urn:isHeadOf> ?n } ORDER BY ?m ?n",
}
"""By the part that is queried."""
REIFIED = f"""@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix sarag: <https://w3id.org/sarag/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<urn:oslo> rdfs:label "Oslo" ; <{COMMON.head.value}> <urn:ida> , <urn:eva> .
<urn:1> rdf:subject <urn:oslo> ; rdf:predicate <{COMMON.head.value}> ; rdf:object <urn:ida> ;
    sarag:startTime "1938" ; sarag:endTime "1950" .
"""
AXIOM = f"<urn:isHeadOf> {OWL.inverseOf} <{COMMON.head.value}> ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Statements with times: of a document, of an imported graph, and what follows from them."""
    root = tmp_path_factory.mktemp("timed")
    folder = timed_graph(root / "kg")
    (root / "heads.ttl").write_text(REIFIED)
    (root / "axiom.ttl").write_text(AXIOM)
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(root / "heads.ttl", "rdf", name="heads")
        kg.ontologies.add(root / "axiom.ttl")
        kg.ontologies.entail()
    return folder


Pair = tuple[KnowledgeGraph, KnowledgeGraph]


@pytest.fixture
def pair(
    folder: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pair]:
    """The graph in its folder, and behind an endpoint with a graph of others."""
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    server.load(export_nquads(OxigraphStore.open(folder / "store")))
    with (
        sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as near,
        sarag_rdf.open(server.query_url, embedder=HashEmbedder(), endpoint=None) as far,
    ):
        yield near, far


def test_queries_searches_and_answers_are_the_same(pair: Pair) -> None:
    near, far = pair
    counts = dict[str, set[int]]()
    for at in TIMES:
        for part, text in QUERIES.items():
            wanted = near.query(text, at=at, over=[part])
            assert isinstance(wanted, Table)
            assert far.query(text, at=at, over=[part]) == wanted
            assert far.query(text, at=at, over=[part], timeout=60) == wanted
            counts.setdefault(part, set()).add(len(wanted.rows))
        for question in ("Who was director of the Thule Museum?", "Who leads Oslo?"):
            assert far.search(question, at=at) == near.search(question, at=at)
            one, other = (kg.ask(question, at=at) for kg in pair)
            assert (other.text, other.evidence) == (one.text, one.evidence)
    assert counts == {"documents": {0, 1, 2}, "heads": {1, 2}, "all": {0, 1, 2}}
    with pytest.raises(UsageError, match="is not a time"):
        far.query("ASK {}", at="soon")


def test_on_the_command_line(sarag: Sarag, folder: Path, pair: Pair, server: Server) -> None:
    text = QUERIES["documents"]
    for at in ("1925", "1970"):
        wanted = sarag("query", text, "--kg", folder, "--at", at)
        found = sarag("query", text, "--endpoint", server.query_url, "--at", at)
        assert (found.code, found.out) == (0, wanted.out)
        assert ("Ida Brandt" if at == "1925" else "Karl Holm") in found.out


def test_graphs_of_others_are_not_copied(pair: Pair, server: Server) -> None:
    server.load(b'<urn:s> <urn:p> "o" <urn:other> .\n')
    text = 'SELECT ?s { GRAPH ?g { ?s <urn:p> "o" } }'
    sizes = [len(pair[1].query(text, at=at).rows) for at in ("", "1925")]  # type: ignore[union-attr]
    assert sizes == [1, 0]
