"""Counts over the union of all graphs are those of rdflib over the exported Turtle.

The union of graphs is a bag for a query that reads it graph by graph: a triple in two graphs would
be counted twice. So no triple is in two graphs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.server.running import Running, serving
from tests.typed_graph import EX, SOURCES, TypedExtractor, add_ontology

pytestmark = pytest.mark.interop
ROOT = Path(__file__).parent.parent.parent
DECLARED = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())
DECLARED += f"PREFIX ex: <{EX}> "

QUERIES = (
    # all triples, and by kinds of terms
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(DISTINCT ?p) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER isLiteral(?o) }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER isIRI(?o) }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER isBlank(?o) }",
    "SELECT ?datatype (COUNT(*) AS ?n) { ?s ?p ?o FILTER isLiteral(?o) "
    "BIND(DATATYPE(?o) AS ?datatype) } GROUP BY ?datatype",
    'SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(LANG(?o) = "en") }',
    # classes and properties
    "SELECT ?class (COUNT(*) AS ?n) { ?s a ?class } GROUP BY ?class",
    "SELECT ?class (COUNT(DISTINCT ?s) AS ?n) { ?s a ?class } GROUP BY ?class",
    "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?class ?p (COUNT(*) AS ?n) { ?s a ?class ; ?p ?o } GROUP BY ?class ?p",
    "SELECT (COUNT(*) AS ?n) { ?mention a sarag:Mention }",
    "SELECT (COUNT(*) AS ?n) { ?extraction a sarag:Extraction }",
    "SELECT (COUNT(*) AS ?n) { ?use a sarag:NameUse ; sarag:name ?name }",
    "SELECT (COUNT(*) AS ?n) { ?mention sarag:normalizedName ?name }",
    "SELECT ?type (COUNT(*) AS ?n) { ?use sarag:entityType ?type } GROUP BY ?type",
    "SELECT (COUNT(*) AS ?n) { ?node rdfs:label ?label }",
    "SELECT (COUNT(*) AS ?n) { ?node sarag:value ?value }",
    # joins
    "SELECT (COUNT(*) AS ?n) { ?mention a sarag:Mention ; sarag:refersTo ?entity }",
    "SELECT (COUNT(*) AS ?n) { ?use sarag:useOf ?mention . ?mention sarag:refersTo ?entity }",
    "SELECT (COUNT(*) AS ?n) { ?use sarag:useOf ?m ; sarag:name ?n1 . ?m sarag:refersTo ?e . "
    "?e skos:prefLabel ?n2 }",
    "SELECT (COUNT(*) AS ?n) { ?use prov:wasDerivedFrom ?d . ?d sarag:source ?source }",
    "SELECT (COUNT(*) AS ?n) { ?source sarag:extractedBy ?x . ?x sarag:model ?model }",
    "SELECT (COUNT(*) AS ?n) { ?run a sarag:Run ; prov:wasInformedBy ?x . ?x sarag:settings ?s }",
    "SELECT (COUNT(*) AS ?n) { ?r sarag:subject ?s ; sarag:object ?o . ?s sarag:relatedTo ?o }",
    "SELECT (COUNT(*) AS ?n) { ?use sarag:useOf ?m ; prov:wasDerivedFrom ?d . "
    "?m sarag:refersTo ?e . ?d sarag:describes ?e }",
    "SELECT (COUNT(*) AS ?n) { ?e a sarag:Person . ?d sarag:about ?e ; sarag:source ?source }",
    # paths
    "SELECT (COUNT(*) AS ?n) { ?d ^prov:wasDerivedFrom/sarag:useOf/sarag:refersTo ?e }",
    "SELECT (COUNT(*) AS ?n) { ?r sarag:subjectMention/sarag:refersTo/skos:prefLabel ?name }",
    # distinct, since Oxigraph gives a solution of both alternatives of a path once, rdflib twice
    "SELECT (COUNT(*) AS ?n) "
    "{ { SELECT DISTINCT ?e ?other { ?e sarag:relatedTo|^sarag:relatedTo ?other } } }",
    "SELECT (COUNT(*) AS ?n) { ?e a sarag:Entity ; ^sarag:refersTo/^sarag:useOf/sarag:name ?n1 }",
    'SELECT (COUNT(*) AS ?n) { ?e skos:prefLabel "Vistula"@en . ?e sarag:relatedTo+ ?other }',
    # of a thing without links in both directions, for the same reason
    'SELECT (COUNT(*) AS ?n) { ?e skos:prefLabel "Danube"@en . '
    "?e (sarag:relatedTo|^sarag:relatedTo)/sarag:relatedTo? ?other }",
    "SELECT (COUNT(*) AS ?n) { ?d sarag:source/sarag:extractedBy/sarag:extractor ?extractor }",
    # OPTIONAL, UNION, MINUS, EXISTS, VALUES, subqueries
    "SELECT (COUNT(*) AS ?n) { ?e a sarag:Entity OPTIONAL { ?e skos:altLabel ?other } }",
    "SELECT (COUNT(?title) AS ?n) { ?d a sarag:Document OPTIONAL { ?d dcterms:title ?title } }",
    "SELECT (COUNT(*) AS ?n) { ?m a sarag:Mention OPTIONAL { ?use sarag:useOf ?m ; sarag:alias ?a }"
    " OPTIONAL { ?m sarag:refersTo ?e } }",
    "SELECT (COUNT(*) AS ?n) { { ?r sarag:subject ?e } UNION { ?r sarag:object ?e } }",
    "SELECT (COUNT(*) AS ?n) { ?e a sarag:Entity MINUS { ?d sarag:about ?e } }",
    "SELECT (COUNT(*) AS ?n) { ?m a sarag:Mention FILTER NOT EXISTS { ?d sarag:topicMention ?m } }",
    "SELECT ?class (COUNT(*) AS ?n) { VALUES ?class { sarag:Person sarag:TemporalValue } "
    "?e a ?class ; skos:prefLabel ?name } GROUP BY ?class",
    "SELECT (COUNT(*) AS ?n) { { SELECT ?e { ?d sarag:describes ?e } GROUP BY ?e "
    "HAVING(COUNT(?d) > 3) } }",
    "SELECT ?documents (COUNT(*) AS ?n) { { SELECT ?m (COUNT(*) AS ?documents) "
    "{ ?use sarag:useOf ?m } GROUP BY ?m } } GROUP BY ?documents",
    "SELECT ?source (COUNT(*) AS ?n) { ?use prov:wasDerivedFrom/sarag:source ?source } "
    "GROUP BY ?source",
    "SELECT (SUM(?c) AS ?n) { ?r a sarag:Relationship ; sarag:confidence ?c }",
    # typed statements
    "SELECT ?p (COUNT(*) AS ?n) { ?r sarag:property|sarag:inverseProperty ?p } GROUP BY ?p",
    "SELECT (COUNT(*) AS ?n) { ?p a owl:ObjectProperty . ?s ?p ?o . ?s a ex:Person }",
    "SELECT (COUNT(*) AS ?n) { ?person ex:birthPlace ?place OPTIONAL { ?person ex:birthDate ?d } }",
    "SELECT (COUNT(*) AS ?n) { ?r sarag:property ?p ; sarag:subject ?s ; sarag:object ?o . "
    "?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) { ?r sarag:property ?p ; sarag:subject ?s ; sarag:value ?o . "
    "?s ?p ?o }",
)


CORPUS = ROOT / "examples" / "corpus"
SOME = [CORPUS / f"{name}.md" for name in ("marie-curie", "vistula", "warsaw", "danube")]
SOME += sorted(CORPUS.glob("*.md"))[::11]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of some examples, and of typed statements with their ontology."""
    folder = tmp_path_factory.mktemp("counts") / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        try:
            kg.index(SOME, root=CORPUS, extractor="spacy")
        except MissingDependencyError as error:
            pytest.skip(str(error))
        add_ontology(kg)
        kg.index(SOURCES, extractor=TypedExtractor())
    return folder


@pytest.fixture(scope="module")
def exported(folder: Path) -> rdflib.Graph:
    """The Turtle of the whole graph, as rdflib reads it."""
    file = folder.parent / "all.ttl"
    with (
        sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg,
        file.open("wb") as output,
    ):
        kg.export("turtle", output)
    return rdflib.Graph().parse(file)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with serving(folder, "--max-rows", "20000") as running:
        yield running


def rows(result: dict[str, Any]) -> Counter[tuple[str, ...]]:
    """The solutions of a result in SPARQL JSON, with numbers in one form."""
    variables = result["head"]["vars"]
    return Counter(
        tuple(_value(solution.get(variable)) for variable in variables)
        for solution in result["results"]["bindings"]
    )


def _value(term: dict[str, str] | None) -> str:
    if term is None:
        return ""
    if term.get("datatype", "").endswith(("#integer", "#decimal")):
        return format(float(term["value"]), ".6f")
    return term["value"]


def test_there_are_fifty_queries() -> None:
    assert len(set(QUERIES)) == len(QUERIES) >= 50


@pytest.mark.parametrize("query", QUERIES)
def test_counts_are_those_of_rdflib_over_the_export(
    query: str, folder: Path, exported: rdflib.Graph, server: Running, sarag: Sarag
) -> None:
    serialized = exported.query(DECLARED + query).serialize(format="json")
    assert serialized is not None
    expected = rows(json.loads(serialized))
    done = sarag("query", f"PREFIX ex: <{EX}> {query}", "--kg", folder, "--format", "json")
    assert done.code == 0, done.err
    assert rows(json.loads(done.out)) == expected
    assert rows(server.query(DECLARED + query).json()) == expected
    if "isBlank" not in query:
        assert sum(float(row[-1]) for row in expected) > 0


def test_no_triple_is_in_two_graphs(folder: Path) -> None:
    graphs: defaultdict[ox.Triple, set[str]] = defaultdict(set)
    with (
        sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg,
        kg.session.read() as snapshot,
    ):
        for quad in snapshot.reader.store.quads():
            graphs[quad.triple].add(str(quad.graph_name))
    assert len(graphs) > 3_500
    assert {triple: names for triple, names in graphs.items() if len(names) > 1} == {}
