"""The graph at home in Python: short forms, pandas, rdflib, networkx, and known prefixes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError, QueryError, UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.types import Answer, Source
from sarag_rdf.base.vocab import XSD
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.queries import prologue_for
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import BASE, CapitalExtractor, make_graph

QUESTION = "Which river flows through the seat of Orbis?"
ENTITIES = "SELECT ?e ?name { ?e a sarag:Entity ; skos:prefLabel ?name } ORDER BY ?name"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = make_graph(tmp_path_factory.mktemp("python") / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        yield kg


def test_every_public_name_exists() -> None:
    names: dict[str, object] = {}
    exec("from sarag_rdf import *", names)
    assert names.keys() - {"__builtins__"} == set(sarag_rdf.__all__)


def test_short_forms(kg: KnowledgeGraph) -> None:
    found = kg.search(QUESTION)
    assert repr(found).startswith(f"<Retrieved by sarag for {QUESTION!r}: 3 documents: 1. Boris, ")
    assert repr(found.documents[0]).startswith("<RankedDocument 1. Boris (score ")
    assert repr(found.subgraph).startswith("<Subgraph of ")
    answer = kg.ask(QUESTION)
    assert repr(answer) == "<Answer evidence, 0 citations>"
    long = Answer("answered", "x" * 1000, "", (), found)
    table = kg.query(ENTITIES)
    assert repr(table) == "<Table of 6 rows: e, name>"
    triples = kg.query("CONSTRUCT { ?e a skos:Concept } { ?e a sarag:Entity }")
    assert repr(triples) == "<Triples: 6>"
    assert repr(kg).startswith("<KnowledgeGraph in /")
    for value in (found, *found.documents, found.subgraph, answer, long, table, triples, kg):
        assert len(repr(value)) < 600
        assert "\n" not in repr(value)


def test_html_is_escaped_and_cut(kg: KnowledgeGraph) -> None:
    hostile = "<script>alert(1)</script>"
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as other:
        assert "<table>" in other._repr_html_()
        other.index(Source(f"Ada met {hostile}.", hostile), extractor=CapitalExtractor())
        found = other.search("Who met Ada?")
        table = other.query("SELECT * { ?s ?p ?o }")
        triples = other.query("CONSTRUCT WHERE { ?s ?p ?o }")
        answer = other.ask("Who met Ada?")
    assert isinstance(table, Table)
    assert isinstance(triples, Triples)
    for value in (found, table, triples, answer):
        page = value._repr_html_()
        assert page.startswith("<table>")
        assert hostile not in page
    assert "&lt;script&gt;" in found._repr_html_()
    assert f"and {len(table.rows) - 20:,} more" in table._repr_html_()
    assert table._repr_html_().count("<tr>") == 21
    assert "<td>entities</td><td>6</td>" in kg._repr_html_()


def test_a_table_as_a_data_frame(kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    table = kg.query(ENTITIES)
    assert isinstance(table, Table)
    frame = table.to_pandas()
    assert list(frame.columns) == ["e", "name"]
    assert list(frame["name"])[:2] == ["Ada", "Boris"]
    assert frame["e"][0] == f"{BASE}entity/ada"
    typed = Table(
        ("n", "x", "yes", "day", "bad", "none"),
        [
            (
                Literal("3", datatype=XSD.integer),
                Literal("0.5", datatype=XSD.double),
                Literal("true", datatype=XSD.boolean),
                Literal("1867-11-07", datatype=XSD.date),
                Literal("3x", datatype=XSD.integer),
                None,
            )
        ],
    ).to_pandas()
    assert typed.iloc[0].tolist()[:5] == [3, 0.5, True, date(1867, 11, 7), "3x"]
    assert typed["n"].sum() == 3
    assert typed["none"].isna().all()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[pandas\]'"):
        table.to_pandas()


def test_queries_know_the_prefixes_of_the_command_line(kg: KnowledgeGraph) -> None:
    assert kg.query("ASK { ?e a sarag:Entity ; skos:prefLabel 'Ada'@en }") is True
    own = "PREFIX sarag: <http://a.example/> ASK { ?e a sarag:Entity }"
    assert kg.query(own) is False, "a declaration in the query takes precedence"
    with pytest.raises(QueryError, match="x"):
        kg.query("ASK { ?e a x:Entity }")
    with pytest.raises(QueryError):
        kg.query("ASK { ?e a sarag:Entity }", prefixes=False)
    with pytest.raises(QueryError, match="at 1:25"):
        kg.query("ASK { ?e a sarag: skos }")
    assert kg.explain_query("ASK { ?e a sarag:Entity }").undeclared == ()
    assert prologue_for("ASK { ?e a skos:Concept }", kg.prefixes).startswith("PREFIX skos: <http")


def test_prefixes_of_ontologies_are_known(tmp_path: Path) -> None:
    ontology = tmp_path / "zoo.ttl"
    ontology.write_text(
        "@prefix z: <http://zoo.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        "@prefix vann: <http://purl.org/vocab/vann/> ."
        "<http://zoo.example/> a owl:Ontology ; vann:preferredNamespacePrefix 'zoo' ;"
        " vann:preferredNamespaceUri 'http://zoo.example/' . z:Animal a owl:Class ."
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(Source("Ada met Boris.", "Ada"), extractor=CapitalExtractor())
        kg.ontologies.add(ontology)
        assert kg.query("ASK { GRAPH ?g { zoo:Animal a owl:Class } }") is True


def test_rdflib_reads_the_same_store(kg: KnowledgeGraph) -> None:
    dataset = kg.rdflib()
    rows = list(dataset.query("SELECT ?e { ?e a sarag:Entity }"))
    assert len(rows) == 6
    ada = rdflib.URIRef(f"{BASE}entity/ada")
    assert dataset.value(ada, rdflib.SKOS.prefLabel) == rdflib.Literal("Ada", lang="en")
    assert {str(graph.identifier) for graph in dataset.graphs()} >= {f"{BASE}graph/kg"}
    triple = (ada, rdflib.RDF.type, rdflib.OWL.Thing)
    for change in (
        lambda: dataset.add(triple),
        lambda: dataset.remove(triple),
        lambda: dataset.update("CLEAR ALL"),
        lambda: dataset.parse(data="<urn:a> <urn:b> <urn:c> .", format="turtle"),
    ):
        with pytest.raises(UsageError, match="read-only"):
            change()
    assert kg.query(f"ASK {{ <{ada}> a owl:Thing }}") is False
    assert len(list(dataset.query("SELECT ?e { ?e a sarag:Entity }"))) == 6


def test_rdflib_without_oxrdflib(kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oxrdflib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[rdflib\]'"):
        kg.rdflib()


def test_networkx_has_the_entities_and_statements(kg: KnowledgeGraph) -> None:
    graph = kg.to_networkx()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (6, 6)
    ada, orbis = f"{BASE}entity/ada", f"{BASE}entity/orbis"
    assert graph.nodes[ada] == {"name": "Ada", "type": "misc"}
    [(iri, edge)] = graph[ada][orbis].items()
    assert edge["text"] == "Ada founded Orbis."
    assert kg.query(f"ASK {{ <{iri}> sarag:object <{orbis}> }}") is True
    near = kg.to_networkx("Ada", hops=1)
    assert {data["name"]: data["distance"] for _, data in near.nodes(data=True)} == {
        "Ada": 0, "Boris": 1, "Orbis": 1,
    }  # fmt: skip
    with pytest.raises(UsageError, match="hops must be"):
        kg.neighbours("Ada", hops=4)
    with pytest.raises(UsageError, match="limit must be"):
        kg.neighbours("Ada", "Boris", limit=1)


def test_an_entity_by_its_name(kg: KnowledgeGraph) -> None:
    ada = kg.entity("ada", limit=1)
    assert (ada.iri, ada.name, ada.more_statements) == (f"{BASE}entity/ada", "Ada", 1)
    assert NamedNode(ada.statements[0].subject).value == ada.iri
