"""Every shipped query on real servers gives the rows that it gives on the embedded store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.building.link_records import EXACT
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.remote.sample import CORPUS, export_nquads, seeds
from tests.sample_graph import BASE, CapitalExtractor, CrookedExtractor, crooked_sources
from tests.servers import VIRTUOSO_ROWS, Server
from tests.typed_graph import EX, TURTLE, TypedExtractor
from tests.typed_graph import SOURCES as TYPED_SOURCES

RELATED = SARAG.relatedTo
RULES = f"""
<{EX}Chemist> a owl:Class ; rdfs:subClassOf <{EX}Person> .
<{EX}Person> <{SARAG.activationWeight.value}> 1.5 .
"""
OF_IMPORTS = {"imports", "property-uses", "term-labels"}
OF_EMBEDDED = {"stating-graphs", "vote-counts"}
FILES = [
    (kind, name)
    for kind in ("index", "sarag")
    for name in query_names(kind)
    if name not in OF_IMPORTS | OF_EMBEDDED
]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphReader]:
    """The example corpus, names that syntaxes could trip over, and typed statements."""
    folder = tmp_path_factory.mktemp("embedded")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(CORPUS, extractor=CapitalExtractor())
        kg.index(crooked_sources(), extractor=CrookedExtractor())
        (folder / "people.ttl").write_text(TURTLE + RULES)
        kg.ontologies.add(folder / "people.ttl")
        kg.index(TYPED_SOURCES, extractor=TypedExtractor())
        kg.ontologies.entail()
        kg.decisions.split("Vistula", ["vistula.md"], "river")
        kg.links.accept(
            [Match(Minter(BASE).entity("gdansk"), EXACT, "https://elsewhere.example.org/g")]
        )
    store = OxigraphStore.open(folder / "store")
    yield GraphReader(store, Minter(BASE))
    store.close()


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def served(request: pytest.FixtureRequest, embedded: GraphReader) -> GraphReader:
    """The same graph behind an endpoint."""
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    server.load(export_nquads(embedded.store))
    return GraphReader(SparqlStore(SparqlEndpoint(server.query_url)), Minter(BASE))


def rows_of(reader: GraphReader, kind: str, name: str, values: list[str]) -> Counter[object]:
    all_, some = (
        (reader.select_provenance, reader.select_provenance_for)
        if kind == "index"
        else (reader.rows, reader.rows_for)
    )
    if name == "entities-named":
        found = [*reader.rows("names")]
        return Counter(reader.rows_named(name for _, name in found))
    query = query_file(kind, name)
    if query.header["params"] == "none":
        rows = [*all_(name)]
        if name == "graph-sizes":  # A server has graphs of its own.
            rows = [row for row in rows if row[0].value.startswith(BASE)]
        return Counter(rows)
    if kind == "index" and query.takes_statements:
        is_typed = name == "stating-relationships"
        typed = f'FILTER(STRSTARTS(STR(?p), "{EX}"))'
        pattern = f"?s ?p ?o {typed}" if is_typed else f"?s ?p ?o VALUES ?p {{ {RELATED} }}"
        stated = reader.store.select(f"SELECT ?s ?p ?o {{ GRAPH ?g {{ {pattern} }} }}", "s").rows
        triples = sorted({(s, p, o) for s, p, o in stated}, key=str)[:20]
        return Counter(reader.select_provenance_for_terms(name, triples))
    if "LIMIT" in query.text:
        values = values[:10]
    return Counter(some(name, values))


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_rows_are_the_same(
    embedded: GraphReader, served: GraphReader, kind: str, name: str
) -> None:
    parameter = query_file(kind, name).header["params"]
    values = seeds(embedded.store, parameter)
    wanted = rows_of(embedded, kind, name, values)
    if query_file(kind, name).returns_iris:
        cells = {cell for row in wanted for cell in row}  # type: ignore[attr-defined]
        assert all(isinstance(cell, ox.NamedNode) for cell in cells - {None})
    # rows in this graph
    without = (
        "path-phrases",
        "labelled-terms",
        "graphs-with-value",
        "quads-around",
        "relationship-times",
        "times-of-relationships",
        "reified-statements",
        "ranks",
        "deprecated-relationships",
        "deprecated-statements",
        "term-statements",
    )
    assert wanted or name.startswith("quarantine") or name in without
    assert rows_of(served, kind, name, values) == wanted


def test_results_are_larger_than_what_a_server_gives_at_once(embedded: GraphReader) -> None:
    """Else the test above would not show that pages are put together rightly."""
    whole = [
        name
        for name in query_names("sarag")
        if query_file("sarag", name).header["params"] == "none"
    ]
    large = [name for name in whole if len([*embedded.rows(name)]) > 2 * VIRTUOSO_ROWS]
    assert len(large) >= 4


def test_all_quads_are_read(embedded: GraphReader, served: GraphReader) -> None:
    graphs = {
        row[-1].value
        for row in embedded.store.select(
            "SELECT ?g { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "g"
        ).rows
    }
    for graph in graphs:
        assert set(served.store.quads(graph)) == set(embedded.store.quads(graph))


@pytest.fixture(scope="module")
def in_default_graph(embedded: GraphReader) -> GraphReader:
    """The traversed graph in the default graph of another store, where no graph is named."""
    store = ox.Store()
    named = ox.NamedNode(embedded.minter.kg_graph)
    for quad in embedded.store.quads():
        graph = ox.DefaultGraph() if quad.graph_name == named else quad.graph_name
        store.add(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
    graphs = {**embedded.own.graphs, "kg": ""}
    part = Part("default", "sarag", graphs, OxigraphStore(store))
    return GraphReader(part.store, embedded.minter, (part,))


@pytest.mark.parametrize("name", query_names("sarag"))
def test_rows_are_the_same_from_a_default_graph(
    embedded: GraphReader, in_default_graph: GraphReader, name: str
) -> None:
    values = seeds(embedded.store, query_file("sarag", name).header["params"])
    wanted = rows_of(embedded, "sarag", name, values)
    assert rows_of(in_default_graph, "sarag", name, values) == wanted
