"""Graphs that sarag did not write, behind real servers: the rows and documents of an embedded one.

They are read from a graph that is named, and from the default graph of a server.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import GraphKind, SparqlEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.plugins.relation_paths import path_lookup
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.fault_server import FaultServer
from tests.servers import Server

_PREFIXES = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix e: <https://towns.example.org/> .
"""
_WIKIBASE = """
e:P1 a wikibase:Property ; wikibase:propertyType wikibase:WikibaseItem ;
  wikibase:directClaim e:wdt1 ; wikibase:claim e:p1 ; wikibase:statementProperty e:ps1 ;
  rdfs:label "lies on"@en, "liegt an"@de .
e:Q1 a wikibase:Item ; rdfs:label "Ulm"@en, "Ulm"@de ; skos:prefLabel "Ulm"@en ;
  skos:altLabel "Ulma"@la ; schema:description "town in Germany"@en ;
  e:wdt1 e:Q2 ; e:p1 e:S1 .
e:Q2 a wikibase:Item ; rdfs:label "Danube"@en ; skos:prefLabel "Danube"@en ;
  schema:description "second-longest river of Europe"@en .
e:Q3 a wikibase:Item ; rdfs:label "Linz"@de ; skos:altLabel "Lentia"@la ; e:wdt1 e:Q2 ; e:p1 e:S2 .
e:S1 a wikibase:Statement, wikibase:BestRank ; wikibase:rank wikibase:NormalRank ; e:ps1 e:Q2 .
e:S2 a wikibase:Statement, wikibase:BestRank ; wikibase:rank wikibase:NormalRank ; e:ps1 e:Q2 .
"""
_SKOS = """
e:water a skos:Concept ; skos:prefLabel "water"@en .
e:river a skos:Concept ; skos:prefLabel "river"@en, "Fluss"@de ; skos:altLabel "stream"@en ;
  skos:definition "Water that flows."@en ; skos:broader e:water ; skos:related e:boat .
e:boat a skos:Concept ; skos:prefLabel "boat"@en ; skos:scopeNote "Not for ships." .
"""
_RDF = """
e:lies rdfs:label "lies on"@en .
e:Town rdfs:label "town" .
e:ulm rdfs:label "Ulm"@en ; rdfs:comment "A town with a high church."@en ; e:lies e:danube ;
  a e:Town .
e:linz rdfs:label "Linz" ; skos:altLabel "Lentia"@la ; e:lies e:danube .
e:danube rdfs:label "Danube"@en, "Donau"@de .
"""
DATA: dict[GraphKind, str] = {
    "wikibase": _WIKIBASE,
    "wikibase-truthy": _WIKIBASE,
    "skos": _SKOS,
    "rdf": _RDF,
}
GRAPH = "https://towns.example.org/graph"
NAMES = [(kind, name) for kind in DATA for name in query_names(kind)]


def nquads(kind: GraphKind, graph: str) -> bytes:
    quads = ox.parse((_PREFIXES + DATA[kind]).encode(), ox.RdfFormat.TURTLE)
    place = f" <{graph}>" if graph else ""
    return "".join(f"{quad.triple}{place} .\n" for quad in quads).encode()


def embedded(kind: GraphKind) -> GraphReader:
    store = ox.Store()
    store.load(nquads(kind, GRAPH), ox.RdfFormat.N_QUADS)
    return reader(kind, OxigraphStore(store), GRAPH)


def reader(kind: GraphKind, store: GraphStore, graph: str) -> GraphReader:
    return GraphReader(store, Minter(), (Part("towns", kind, {"kg": graph}, store),))


def rows(found: GraphReader, kind: str, name: str, values: list[str]) -> Counter[object]:
    takes = query_file(kind, name).header["params"] != "none"
    result: Counter[Any] = Counter(found.rows_for(name, values) if takes else found.rows(name))
    if name == "documents":  # their source is the graph, which may have no name
        return Counter((row[0], *row[2:]) for row in result)
    return result


def values(found: GraphReader) -> list[str]:
    names = ("entity-texts", "document-texts", "relationship-texts", "description-texts")
    return sorted({row[0].value for name in names for row in found.rows(name)})


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def served(request: pytest.FixtureRequest) -> Server:
    """A server that keeps what was loaded for the last kind."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("kind", DATA)
def test_rows_are_the_same(served: Server, kind: GraphKind) -> None:
    served.clear()
    served.load(nquads(kind, GRAPH))
    near = embedded(kind)
    far = reader(kind, SparqlStore(SparqlEndpoint(served.query_url)), GRAPH)
    asked = values(near)
    full = 0
    for name in query_names(kind):
        wanted = rows(near, kind, name, asked)
        assert rows(far, kind, name, asked) == wanted, name
        full += bool(wanted)
    assert full >= 12


@pytest.mark.parametrize("kind", DATA)
def test_rows_are_the_same_from_a_default_graph(oxigraph: Server, kind: GraphKind) -> None:
    oxigraph.clear()
    oxigraph.load(nquads(kind, ""))
    near = embedded(kind)
    far = reader(kind, SparqlStore(SparqlEndpoint(oxigraph.query_url)), "")
    asked = values(near)
    for name in query_names(kind):
        wanted = rows(near, kind, name, asked)
        assert rows(far, kind, name, asked) == wanted, name


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("graph", [GRAPH, ""])
def test_search_over_another_kind(
    server: Server, kind: GraphKind, graph: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path))
    server.load(nquads(kind, graph if server.name == "oxigraph" else GRAPH))
    remote = SparqlEndpoint(server.query_url, kind=kind, graph=graph)
    question = "Which stream flows?" if kind == "skos" else "What lies on the Danube?"
    with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:
        found = kg.search(question)
        titles = {ranked.document.title for ranked in found.documents}
    assert titles >= ({"river", "water"} if kind == "skos" else {"Ulm", "Danube"})


@pytest.mark.parametrize("graph", [GRAPH, ""])
def test_statements_answer_without_a_model(
    server: Server, graph: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Things, and dates and numbers of all kinds at which paths end."""
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(path_lookup, "LEAST", 0.0)
    towns, name = "https://towns.example.org/", f"<{PREFIXES['rdfs']}label>"
    values = {
        "day": ("2024-05-01", "date"),
        "height": ("161.5", "decimal"),
        "people": ("9", "integer"),
    }
    lines = [f'<{towns}{key}> {name} "{key} of the church"' for key in values]
    for key, (value, datatype) in values.items():
        lines.append(f'<{towns}ulm> <{towns}{key}> "{value}"^^<{PREFIXES["xsd"]}{datatype}>')
    place = GRAPH if server.name == "virtuoso" else graph
    ends = f" <{place}> .\n" if place else " .\n"
    server.load(nquads("rdf", place) + "".join(line + ends for line in lines).encode())
    remote = SparqlEndpoint(server.query_url, kind="rdf", graph=graph)
    with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.ask("what is it that [Ulm] lies on?").text == "Danube"
        for key, (value, _) in values.items():
            answer = kg.ask(f"which is the {key} of the church of [Ulm]?")
            assert (answer.outcome, answer.text) == ("answered", value)


@pytest.mark.parametrize("graph", [GRAPH, ""])
def test_weights_of_terms_by_the_labels_of_the_graph(
    oxigraph: Server, graph: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path))
    oxigraph.clear()
    towns = "https://towns.example.org/"
    oxigraph.load(nquads("rdf", graph))
    other = ("a", "knows", "b"), ("a", "label", "Anna"), ("b", "label", "Bert")
    place = f" <{graph}>" if graph else ""
    for subject, name, value in other:  # activation does not pass over the least similar statement
        is_label = name == "label"
        property_ = f"{PREFIXES['rdfs']}label" if is_label else towns + name
        object_ = f'"{value}"' if is_label else f"<{towns}{value}>"
        oxigraph.load(f"<{towns}{subject}> <{property_}> {object_}{place} .\n".encode())
    remote = SparqlEndpoint(oxigraph.query_url, kind="rdf", graph=graph)
    with sarag_rdf.open(remote, embedder=HashEmbedder(), endpoint=None) as kg:

        def factors(term: str) -> dict[str, float]:
            question = "What lies on the Danube?"
            found = kg.search(question, c=0.0, k=0, n=1, weights={term: 2})
            return {entity.name: step.factor for entity in found.entities for step in entity.chain}

        for label, iri, linz in (("town", "Town", 1.0), ("Lies on", "lies", 2.0)):
            assert factors(label) == factors(towns + iri) == {"Ulm": 2.0, "Linz": linz}
        with pytest.raises(UsageError, match="no such property or class: 'boat'"):
            factors("boat")


def test_search_on_the_command_line(
    sarag: Sarag, embedding_server: FaultServer, oxigraph: Server
) -> None:
    oxigraph.clear()
    oxigraph.load(nquads("skos", ""))
    own = ("--embedder", "openai:hash", "--base-url", embedding_server.base_url)
    found = sarag(
        "search", "stream", "--endpoint", oxigraph.query_url, "--graph-kind", "skos", *own
    )
    assert found.code == 0, found
    assert "river" in found.out


def test_query_on_the_command_line(sarag: Sarag, oxigraph: Server) -> None:
    """No ontology is stored beside a graph of others, and its prefixes are the common ones."""
    oxigraph.clear()
    oxigraph.load(nquads("skos", GRAPH))
    asked = ("--endpoint", oxigraph.query_url, "--graph-kind", "skos")
    query = "SELECT * { ?x skos:broader ?y ; skos:related <https://nowhere.example/> }"
    assert sarag("query", *asked, query).out.endswith("0 rows\n")
    explained = sarag("query", *asked, "--explain", query)
    assert (explained.code, explained.err) == (0, "")
    assert "entity <https://nowhere.example/> is not in the graph" in explained.out


def test_only_a_graph_of_sarag_has_evidence(oxigraph: Server) -> None:
    oxigraph.clear()
    oxigraph.load(nquads("skos", GRAPH))
    with sarag_rdf.open(SparqlEndpoint(oxigraph.query_url, kind="skos"), endpoint=None) as kg:
        for ask in (kg.stats, kg.validate):
            with pytest.raises(UsageError, match="kind skos"):
                ask()
