"""Indexing into a graph behind an endpoint: the same graph as in a folder, also after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from pyoxigraph import Quad

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import RemoteDownError, RemoteStoreError, StoreError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import OWL, SARAG
from sarag_rdf.building.commit import repair
from sarag_rdf.building.entailed_graph import entailment_errors
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.parts import StoredOntology
from sarag_rdf.graph.store import sparql_endpoint
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.fault_server import FaultServer, Play, failure, playing, relay
from tests.graph.museum import MUSEUM
from tests.remote.sample import CORPUS, export_nquads
from tests.sample_graph import (
    BASE,
    SOURCES,
    CapitalExtractor,
    CrookedExtractor,
    crooked_sources,
    make_graph,
)
from tests.servers import Server
from tests.typed_graph import EX, TypedExtractor, index_people
from tests.typed_graph import SOURCES as PEOPLE

CHANGED = (
    Source("Ada founded Ulm. Ulm is old.", "Ada", "ada.txt"),
    *SOURCES[1:],
    Source("Cleo met Ada.", "Cleo", "cleo.txt"),
)


@pytest.fixture(autouse=True)
def _caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def remote(server: Server) -> SparqlEndpoint:
    return SparqlEndpoint(server.query_url, server.update_url, server.store_url)


def index(location: Path | SparqlEndpoint | str, sources: object, extractor: object = None) -> None:
    with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(sources, extractor=extractor or CapitalExtractor())  # type: ignore[arg-type]
    assert report.problems == []


def graph_of(store: GraphStore) -> set[Quad]:
    """All quads of the graph, but for its revision and for when it was made."""
    minter = Minter(BASE)
    rows = store.select("SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "g").rows
    names = {row[0].value for row in rows if row[0].value.startswith(minter.graphs)}
    return {
        quad
        for name in names - {minter.runs_graph}
        for quad in store.quads(name)
        if quad.predicate != SARAG.revision
    }


def embedded(folder: Path) -> set[Quad]:
    store = OxigraphStore.open(folder / "store")
    try:
        return graph_of(store)
    finally:
        store.close()


def test_the_same_graph_as_in_a_folder(remote: SparqlEndpoint, tmp_path: Path) -> None:
    """Without blank nodes, isomorphic is equal."""
    index(tmp_path / "kg", CORPUS)
    index(tmp_path / "kg", crooked_sources(), CrookedExtractor())
    index(remote, CORPUS)
    index(remote, crooked_sources(), CrookedExtractor())
    assert graph_of(SparqlStore(remote)) == embedded(tmp_path / "kg")
    with sarag_rdf.open(remote, endpoint=None) as kg:
        assert kg.meta().revision


def test_a_changed_source_is_replaced(remote: SparqlEndpoint, tmp_path: Path) -> None:
    index(remote, SOURCES)
    index(remote, CHANGED)
    index(remote, CHANGED)
    make_graph(tmp_path / "kg", CHANGED)
    assert graph_of(SparqlStore(remote)) == embedded(tmp_path / "kg")


def test_graphs_of_others_are_left_alone(server: Server, remote: SparqlEndpoint) -> None:
    other = b'<urn:s> <urn:p> "o" <urn:other> .\n'
    server.load(other)
    index(remote, SOURCES)
    assert len(list(SparqlStore(remote).quads("urn:other"))) == 1


def test_large_graphs_go_in_parts(
    remote: SparqlEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparql_endpoint, "GRAPH_TRIPLES", 7)
    monkeypatch.setattr(sparql_endpoint, "UPDATE_TRIPLES", 11)
    index(remote, SOURCES)
    make_graph(tmp_path / "kg")
    assert graph_of(SparqlStore(remote)) == embedded(tmp_path / "kg")


def test_an_endpoint_without_a_graph_store_is_written_by_updates(
    oxigraph: Server, tmp_path: Path
) -> None:
    oxigraph.clear()
    with playing(relay(oxigraph.query_url.removesuffix("/query"))) as front:
        index(SparqlEndpoint(f"{front.root}/query", f"{front.root}/update", ""), SOURCES)
        methods = {method for method, path, _ in front.seen if path.startswith("/store")}
    assert methods <= {"PUT"}
    make_graph(tmp_path / "kg")
    assert graph_of(SparqlStore(SparqlEndpoint(oxigraph.query_url))) == embedded(tmp_path / "kg")


def failing_after(root: str, writes: int) -> Play:
    """Hands everything on until so many writes are done; then nothing is written any more."""
    numbers = count(1)
    through = relay(root)

    def play(handler: object) -> None:
        path: str = handler.path  # type: ignore[attr-defined]
        if not path.startswith("/query") and next(numbers) > writes:
            failure(500, "the disk is gone")(handler)  # type: ignore[arg-type]
        else:
            through(handler)  # type: ignore[arg-type]

    return play


@pytest.fixture
def root(oxigraph: Server) -> Iterator[str]:
    oxigraph.clear()
    yield oxigraph.query_url.removesuffix("/query")


@pytest.mark.fault
@pytest.mark.parametrize("parts", [5000, 60])
@pytest.mark.parametrize("then", [CHANGED, SOURCES], ids=["again", "as-before"])
def test_a_crash_anywhere_is_repaired_by_indexing_again(
    oxigraph: Server,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parts: int,
    then: tuple[Source, ...],
) -> None:
    """Whatever was written when it broke off, and whether or not the files changed meanwhile."""
    monkeypatch.setattr(sparql_endpoint, "GRAPH_TRIPLES", parts)
    wanted_folder = make_graph(tmp_path / "kg", then)
    if then is SOURCES:
        index(wanted_folder, CHANGED[-1:])
    wanted = embedded(wanted_folder)
    direct = SparqlEndpoint(f"{root}/query")
    index(direct, SOURCES)
    before = export_nquads(SparqlStore(direct))
    for writes in count():
        oxigraph.clear()
        oxigraph.load(before)
        with playing(failing_after(root, writes)) as front:
            try:
                index(SparqlEndpoint(f"{front.root}/query"), CHANGED)
            except RemoteDownError as error:
                assert "the disk is gone" in str(error)
                whole = False
            else:
                whole = True
        index(direct, then)
        if then is SOURCES:
            index(direct, CHANGED[-1:])
        assert graph_of(SparqlStore(direct)) == wanted, writes
        if whole:
            break
    assert writes > 5


@pytest.mark.fault
def test_what_follows_is_repaired_by_the_next_writer(
    oxigraph: Server, root: str, tmp_path: Path
) -> None:
    """With entailment on, whichever request of a write was the last to arrive."""
    axiom = f"<{EX}teacher> {OWL.inverseOf} <{EX}student> ."
    (tmp_path / "axioms.ttl").write_text(axiom, encoding="utf-8")
    direct = SparqlEndpoint(f"{root}/query")
    with sarag_rdf.open(direct, embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, tmp_path)
        kg.ontologies.add(tmp_path / "axioms.ttl")
        kg.ontologies.entail()
    store = SparqlStore(direct)
    entailed = Minter(BASE).entailed_graph
    before, followed = export_nquads(store), set(store.quads(entailed))
    assert followed
    wanted: set[Quad] = set()
    broken = 0
    for writes in (10_000, *range(8)):
        oxigraph.clear()
        oxigraph.load(before)
        with playing(failing_after(root, writes)) as front:
            try:
                without_emil(SparqlEndpoint(f"{front.root}/query"))
            except RemoteDownError:
                broken += set(store.quads(entailed)) != followed
        without_emil(direct)
        wanted = wanted or graph_of(store)
        assert graph_of(store) == wanted, writes
        assert entailment_errors(GraphReader(store, Minter(BASE))) == (set(), set())
        assert set(store.quads(entailed)) < followed
    assert broken, "nothing was ever interrupted after the entailed graph had changed"


def without_emil(location: SparqlEndpoint) -> None:
    """Replace a source from whose statements others follow."""
    with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([replace(PEOPLE[1], text="Nothing.")], extractor=TypedExtractor())


def test_what_cannot_be_written(server: Server, remote: SparqlEndpoint) -> None:
    with pytest.raises(StoreError, match="read-only"):
        SparqlStore(remote).apply(Change())
    unknown = SparqlEndpoint("http://127.0.0.1:9/unknown")
    with pytest.raises(UsageError, match="--update-url"):
        SparqlStore(unknown, writable=True).apply(Change(drop=("urn:g",)))
    wikibase = SparqlEndpoint(server.query_url, kind="wikibase")
    with (
        sarag_rdf.open(wikibase, endpoint=None) as kg,
        pytest.raises(UsageError, match="read-only"),
    ):
        kg.index(SOURCES, extractor=CapitalExtractor())


def test_virtuoso_with_a_password(
    virtuoso: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for a digest, which no request holds before it is asked for."""
    virtuoso.clear()
    closed = SparqlEndpoint(virtuoso.query_url + "-auth")
    with pytest.raises(RemoteStoreError, match="SARAG_SPARQL_USER"):
        index(closed, SOURCES)
    monkeypatch.setenv("SARAG_SPARQL_USER", "dba")
    monkeypatch.setenv("SARAG_SPARQL_PASSWORD", "wrong")
    with pytest.raises(RemoteStoreError, match="SARAG_SPARQL_USER"):
        index(closed, SOURCES)
    monkeypatch.setenv("SARAG_SPARQL_PASSWORD", "dba")
    index(closed, SOURCES)
    make_graph(tmp_path / "kg")
    assert graph_of(SparqlStore(closed)) == embedded(tmp_path / "kg")


def test_indexing_on_the_command_line(
    sarag: Sarag, embedding_server: FaultServer, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Ada Lovelace met Charles Babbage in London.", "utf-8")
    urls = ("--update-url", server.update_url, "--store-url", server.store_url)
    own = ("--embedder", "openai:hash", "--base-url", embedding_server.base_url)
    arguments = ("index", "a.txt", "--kg", server.query_url, *urls, *own, "--extractor", "spacy")
    assert sarag(*arguments).code == 0
    again = sarag(*arguments)
    assert "1 unchanged" in again.out
    assert f"{server.query_url}: 1 source, " in again.out
    found = sarag("search", "Who met Babbage?", "--endpoint", server.query_url, *own, "--json")
    assert found.code == 0, found
    assert "Lovelace" in found.out
    assert not (tmp_path / "kg").exists()


def test_a_broken_graph_stays_marked_until_it_is_repaired(
    server: Server, remote: SparqlEndpoint
) -> None:
    """Whoever else writes meanwhile gives it no revision, which would say that it is whole."""
    index(remote, SOURCES)
    store = SparqlStore(remote, writable=True)
    reader = GraphReader(store, Minter(BASE))
    marks = [q for q in store.quads(reader.minter.meta_graph) if q.predicate == SARAG.revision]
    assert len(marks) == 1
    store.apply(Change(delete=tuple(marks), drop=(reader.minter.kg_graph,)))
    assert with_revision(reader, Change()) == Change()
    assert repair(reader)
    assert not repair(reader)
    assert len(with_revision(reader, Change()).insert) == 1
    assert list(store.quads(reader.minter.kg_graph))


def test_ontologies_behind_an_endpoint_are_those_of_a_folder(
    remote: SparqlEndpoint, tmp_path: Path
) -> None:
    path = tmp_path / "museum.ttl"
    path.write_text(MUSEUM, encoding="utf-8")
    make_graph(tmp_path / "kg")
    index(remote, SOURCES)
    schemas: list[Schema] = []
    stored: list[StoredOntology] = []
    for location in (tmp_path / "kg", remote):
        with sarag_rdf.open(location, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.ontologies.add(path)
            schemas.append(kg.ontologies.schema())
            stored += kg.ontologies.list()
    assert len(schemas[0].properties) == 6
    assert schemas[0].digest == schemas[1].digest
    assert replace(stored[0], added="") == replace(stored[1], added="")
    with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.remove("museum")
        assert kg.ontologies.list() == ()
