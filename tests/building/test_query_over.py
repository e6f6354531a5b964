"""Which graphs a SPARQL query sees: those of the documents, unless others are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.parts import default_graphs
from sarag_rdf.graph.store import oxigraph
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_syntax import uses_graph
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.remote.sample import export_nquads
from tests.sample_graph import CapitalExtractor
from tests.servers import Server

SOURCES = 12
MINTER = Minter()
PREFIX = "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
NAMES = PREFIX + "SELECT DISTINCT ?name { ?e skos:prefLabel ?name } ORDER BY ?name"
GRAPHS = "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"
TERMS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <https://{0}.example.org/> .
t:one a skos:Concept ; skos:prefLabel "{0} one"@en .
t:two a skos:Concept ; skos:prefLabel "{0} two"@en ; skos:broader t:one .
"""
OWN = {"Ada", *(f"Place{chr(ord('a') + n)}" for n in range(SOURCES))}


def opened(folder: Path | str, *over: str) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, over=over)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, and two thesauri beside them."""
    path = tmp_path_factory.mktemp("parts")
    with opened(path / "kg") as kg:
        texts = (f"Ada saw Place{chr(ord('a') + n)}." for n in range(SOURCES))
        kg.index([sarag_rdf.Source(text) for text in texts], extractor=CapitalExtractor())
        for name in ("boats", "tools"):
            (path / f"{name}.ttl").write_text(TERMS.format(name), "utf-8")
            kg.import_graph(path / f"{name}.ttl", "skos")
    return path / "kg"


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with opened(folder) as kg:
        yield kg


def names(kg: KnowledgeGraph, *over: str, text: str = NAMES) -> set[str]:
    result = kg.query(text, over=over)
    return {row[0].value for row in result.rows}  # type: ignore[union-attr]


def test_documents_are_asked_unless_more_is_named(kg: KnowledgeGraph) -> None:
    boats, tools = {"boats one", "boats two"}, {"tools one", "tools two"}
    assert names(kg) == names(kg, "documents") == OWN
    assert names(kg, "boats") == boats
    assert names(kg, "boats", "tools") == boats | tools
    assert names(kg, "documents", "tools") == OWN | tools
    assert names(kg, "all") == OWN | boats | tools


def test_a_graph_opened_over_parts_is_asked_over_them(folder: Path) -> None:
    with opened(folder, "boats") as kg:
        assert names(kg) == {"boats one", "boats two"}
        assert names(kg, "documents") == OWN


def test_a_data_set_that_the_query_names_counts(kg: KnowledgeGraph) -> None:
    boats = MINTER.imported_graph("boats")
    text = NAMES.replace("{", f"FROM <{boats}> {{")
    for over in ((), ("documents",), ("tools",)):
        assert names(kg, *over, text=text) == {"boats one", "boats two"}


def test_graph_reaches_what_it_names(kg: KnowledgeGraph) -> None:
    boats = MINTER.imported_graph("boats")
    assert boats in names(kg, text=GRAPHS)
    within = f"{PREFIX} SELECT ?name {{ GRAPH <{boats}> {{ ?e skos:prefLabel ?name }} }}"
    assert names(kg, text=within) == {"boats one", "boats two"}
    beside = f"{PREFIX} SELECT ?name {{ GRAPH <{boats}> {{ ?c a ?t }} ?e skos:prefLabel ?name }}"
    assert names(kg, text=beside) == OWN


@pytest.mark.parametrize("most", [0, oxigraph.MOST_COPIED])
def test_a_list_of_graphs_gives_what_their_union_gives(
    kg: KnowledgeGraph, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and how often each comes, whether the graphs are copied or passed to the engine."""
    monkeypatch.setattr(oxigraph, "MOST_COPIED", most)
    text = "SELECT ?s ?p ?o { ?s ?p ?o }"
    found = sorted(map(str, kg.query(text).rows))  # type: ignore[union-attr]
    own = ox.Store()
    with kg.session.read() as snapshot:
        quads = list(snapshot.reader.store.quads())
    for quad in quads:
        if MINTER.graph("imported") not in str(quad.graph_name):
            own.add(quad)
    rows: Any = own.query(text, use_default_graph_as_union=True)
    wanted = sorted(str(tuple(row)) for row in rows)
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("SELECT * { graph ?g { ?s ?p ?o } }", True),
        ("SELECT * { ?s ?p ?o FILTER(?o<?p)GRAPH<https://example.org/g>{ ?s ?p ?o } }", True),
        ("PREFIX : <https://example.org/> SELECT * { GRAPH:g{ ?s ?p ?o } }", True),
        ("SELECT * { # ends here\rGRAPH ?g { ?s ?p ?o } }", True),
        ("SELECT * { ?s ?p 'a graph', <https://example.org/graph>, ?graph } # no GRAPH", False),
    ],
)
def test_graph_is_a_keyword_and_not_part_of_a_term(text: str, *, uses: bool) -> None:
    """Oxigraph gives rows of a named graph to the queries that have GRAPH, and to no other."""
    store = ox.Store()
    node, graph = ox.NamedNode("https://example.org/s"), ox.NamedNode("https://example.org/g")
    store.add(ox.Quad(node, node, node, graph))
    if "FILTER" not in text:
        assert bool(list(store.query(text))) == uses  # type: ignore[arg-type]
    assert uses_graph(text) == uses


def test_what_is_written_later_is_seen() -> None:
    """A copy of the graphs is not used once the store has changed."""
    store = OxigraphStore.in_memory()
    graphs = [f"https://example.org/g{n}" for n in range(oxigraph.FEW_GRAPHS + 1)]
    node = ox.NamedNode("https://example.org/s")
    for count, graph in enumerate(graphs):
        store.load([ox.Quad(node, node, ox.Literal(graph), ox.NamedNode(graph))])
        found = store.query("SELECT ?o { ?s ?p ?o }", default_graphs=graphs)
        assert len(found.rows) == count + 1  # type: ignore[union-attr]


def test_the_graphs_of_the_documents(folder: Path) -> None:
    store = OxigraphStore.open(folder / "store")
    reader = GraphReader(store, MINTER)
    own = default_graphs(reader)
    assert own is not None
    assert {MINTER.kg_graph, MINTER.meta_graph, MINTER.runs_graph} <= set(own)
    assert sum(graph.startswith(MINTER.graph("sources")) for graph in own) == SOURCES
    assert not any(graph.startswith(MINTER.graph("imported")) for graph in own)
    boats, tools = map(MINTER.imported_graph, ("boats", "tools"))
    assert default_graphs(reader, ["boats"]) == [boats]
    assert default_graphs(reader, ["boats", "tools"]) == [boats, tools, MINTER.links_graph]
    assert default_graphs(reader, ["all"]) is None
    assert set(store.graphs()) == {*own, boats, tools}


def test_an_unknown_part_is_refused(kg: KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match=r"no such graph: 'boat'.*did you mean boats"):
        kg.query(NAMES, over=["boat"])


def test_no_graph_can_be_called_all(kg: KnowledgeGraph, folder: Path) -> None:
    with pytest.raises(UsageError, match="'all' is not a valid name of a graph"):
        kg.import_graph(folder.parent / "boats.ttl", "skos", name="all")


def test_on_the_command_line(sarag: Sarag, folder: Path) -> None:
    def asked(*arguments: str) -> set[str]:
        done = sarag("query", NAMES, "--kg", folder, "--format", "csv", *arguments)
        assert done.code == 0, done
        return set(done.out.split("\r\n")[1:-1])

    assert asked() == OWN
    assert asked("--over", "boats") == {"boats one", "boats two"}
    assert asked("--over", "all") > OWN
    sarag("query", NAMES, "--kg", folder, "--over", "nope").fails(2, "'nope'", "all, documents")


def test_behind_an_endpoint(server: Server, folder: Path, kg: KnowledgeGraph) -> None:
    server.load(export_nquads(OxigraphStore.open(folder / "store")))
    within = f"SELECT ?s {{ GRAPH <{MINTER.imported_graph('boats')}> {{ ?s ?p ?o }} }}"
    with opened(server.query_url) as far:
        for over in ((), ("boats",), ("documents", "tools"), ("all",)):
            assert names(far, *over) == names(kg, *over)
            assert names(far, *over, text=within) == names(kg, *over, text=within)
