"""Exports with the user's ontology: prefixes, blank nodes, SHACL, owlready2 and HermiT."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyshacl import validate
from rdflib.compare import isomorphic

from sarag_rdf.base.vocab import COMMON
from sarag_rdf.kg.graph import KnowledgeGraph
from tests.command import Sarag
from tests.test_ontology import unavailable
from tests.typed_graph import EX, typed_graph

ROOT = Path(__file__).parent.parent.parent
BASE = "https://example.org/kg/"
CRAFTS = f"""
@prefix ex: <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix vann: <http://purl.org/vocab/vann/> .
<https://example.org/crafts> a owl:Ontology ;
    vann:preferredNamespacePrefix "ex" ; vann:preferredNamespaceUri "{EX}" .
ex:Animal a owl:Class ; rdfs:label "animal"@en .
ex:Place a owl:Class ; rdfs:label "place"@en ; owl:disjointWith ex:Person .
ex:Person a owl:Class ; rdfs:label "person"@en ;
    rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:birthPlace ;
        owl:someValuesFrom ex:Place ] .
ex:birthPlace a owl:ObjectProperty ; rdfs:label "birth place"@en ;
    rdfs:domain [ a owl:Class ; owl:unionOf ( ex:Person ex:Animal ) ] ; rdfs:range ex:Place .
"""
SHAPES = f"""
@prefix ex: <{EX}> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ;
    sh:property [ sh:path ex:birthPlace ; sh:class ex:Place ; sh:minCount 1 ] .
"""


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    """Typed statements, and an ontology with class expressions and a list."""
    (tmp_path / "crafts.ttl").write_text(CRAFTS, "utf-8")
    with typed_graph(tmp_path / "kg") as kg:
        kg.ontologies.add(tmp_path / "crafts.ttl")
        yield kg


def exported(kg: KnowledgeGraph, format_: str, **parts: Any) -> str:
    buffer = io.BytesIO()
    kg.export(format_, buffer, **parts)
    return buffer.getvalue().decode()


def parsed(text: str, format_: str = "turtle") -> rdflib.Graph:
    return rdflib.Graph().parse(data=text, format=format_)


# ------------------------------------------------------------------------- Blank nodes


@pytest.mark.parametrize("format_", ["turtle", "nt", "xml", "json-ld"])
def test_ontologies_are_exported_with_their_blank_nodes(kg: KnowledgeGraph, format_: str) -> None:
    ours = {"nt": "ntriples", "xml": "rdfxml", "json-ld": "jsonld"}.get(format_, format_)
    graph = f"{BASE}graph/ontology/crafts"
    buffer = io.BytesIO()
    kg.export(ours, buffer, graphs=(graph,))
    assert isomorphic(parsed(buffer.getvalue().decode(), format_), parsed(CRAFTS))
    again = io.BytesIO()
    kg.export(ours, again, graphs=(graph,))
    assert again.getvalue() == buffer.getvalue()


def test_all_exports_have_the_blank_nodes_of_ontologies_only(
    kg: KnowledgeGraph,
) -> None:
    blank = {
        node
        for triple in parsed(exported(kg, "turtle"))
        for node in triple
        if isinstance(node, rdflib.BNode)
    }
    assert len(blank) == 4  # the restriction, the union, and the two cells of its list
    dataset = rdflib.Dataset()
    dataset.parse(data=exported(kg, "trig"), format="trig")
    graphs = {
        str(graph)
        for *triple, graph in dataset.quads()
        if any(isinstance(node, rdflib.BNode) for node in triple)
    }
    assert graphs == {f"{BASE}graph/ontology/crafts"}
    assert "genid" not in exported(kg, "nquads")


# ---------------------------------------------------------------------------- Prefixes


def test_prefixes_of_ontologies_are_declared(kg: KnowledgeGraph) -> None:
    assert kg.ontologies.prefixes() == {"common": COMMON.base, "ex": EX}
    turtle = exported(kg, "turtle", entities=True)
    assert f"@prefix ex: <{EX}> ." in turtle
    assert "ex:birthPlace entity:linz" in turtle


def test_queries_know_the_prefixes_of_ontologies(kg: KnowledgeGraph, sarag: Sarag) -> None:
    kg.close()
    query = "SELECT ?name { ?e ex:birthPlace ?place ; skos:prefLabel ?name } ORDER BY ?name"
    done = sarag("query", query, "--format", "csv")
    assert done.out.split() == ["name", "Emil", "Sand", "Ilse", "Brandt"]
    assert sarag("query", "ASK { ?e a common:Person }").out == "false\n"
    sarag("query", "ASK { ?e a sci:Person }").fails(1, "prefix sci: is not declared")


# --------------------------------------------------------------------------- Consumers


def test_an_export_conforms_to_shapes_of_the_user(kg: KnowledgeGraph) -> None:
    data = parsed(exported(kg, "turtle"))
    assert validate(data, shacl_graph=parsed(SHAPES), inference="none")[0]
    person, place = rdflib.URIRef(f"{BASE}entity/ilse_brandt"), rdflib.URIRef(f"{EX}birthPlace")
    data.remove((person, place, None))
    assert not validate(data, shacl_graph=parsed(SHAPES), inference="none")[0]


@pytest.fixture
def merged(kg: KnowledgeGraph, tmp_path: Path) -> Path:
    """The export with the ontology of the graph model, in the syntax that OWL tools read."""
    graph = parsed(exported(kg, "turtle"))
    graph.parse(ROOT / "ontology" / "sarag.ttl")
    graph.serialize(tmp_path / "merged.rdf", format="xml")
    return tmp_path / "merged.rdf"


def test_an_export_loads_in_owlready2(merged: Path) -> None:
    owlready2 = pytest.importorskip("owlready2")
    world = owlready2.World()
    world.get_ontology(merged.as_uri()).load()
    ex = world.get_namespace(EX)
    ilse = world[f"{BASE}entity/ilse_brandt"]
    assert ilse in ex.Chemist.instances()
    assert ilse.birthPlace == [world[f"{BASE}entity/linz"]]
    assert ex.birthPlace.some(ex.Place) in ex.Person.is_a
    assert (ex.Person | ex.Animal) in ex.birthPlace.domain


@pytest.mark.reasoner
def test_an_export_is_consistent_in_hermit(merged: Path) -> None:
    assert "owl#Thing is satisfiable" in hermit(merged)
    graph = rdflib.Graph().parse(merged)
    person = rdflib.URIRef(f"{EX}Person")
    graph.add((rdflib.URIRef(f"{BASE}entity/linz"), rdflib.RDF.type, person))  # a place
    graph.serialize(merged, format="xml")
    assert "Inconsistent ontology" in hermit(merged)


def hermit(file: Path) -> str:
    """The verdict of HermiT; OWL 2 has no datatype for dates, which it is to ignore."""
    java = shutil.which("java") or unavailable("needs java (17 or newer) on the PATH")
    spec = importlib.util.find_spec("owlready2")
    if spec is None or not spec.submodule_search_locations:
        unavailable("needs owlready2, whose jars hold the reasoners")
        return ""
    jar = Path(spec.submodule_search_locations[0]) / "hermit" / "HermiT.jar"
    program = "org.semanticweb.HermiT.cli.CommandLine"
    done = subprocess.run(
        [java, "-cp", str(jar), program, "--ignoreUnsupportedDatatypes", "-k", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr
