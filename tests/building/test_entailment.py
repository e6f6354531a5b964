"""What follows from statements: rule by rule, and beside another reasoner."""

from __future__ import annotations

import random
from collections.abc import Iterable

import owlrl
import pyoxigraph as ox
import pytest
import rdflib
from pyoxigraph import NamedNode, Triple

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import OWL, RDF
from sarag_rdf.building.entailment import Axioms

EX = "https://example.org/x#"
PREFIXES = f"""
@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def triples(turtle: str) -> set[Triple]:
    return {quad.triple for quad in ox.parse((PREFIXES + turtle).encode(), ox.RdfFormat.TURTLE)}


@pytest.mark.parametrize(
    ("axioms", "given", "wanted"),
    [
        (":A rdfs:subClassOf :B . :B rdfs:subClassOf :C .", ":x a :A .", ":x a :B , :C ."),
        (":A owl:equivalentClass :B .", ":x a :B .", ":x a :A ."),
        (":p rdfs:subPropertyOf :q .", ":x :p :y .", ":x :q :y ."),
        (":p owl:equivalentProperty :q .", ":x :q :y .", ":x :p :y ."),
        (":p rdfs:domain :A ; rdfs:range :B .", ":x :p :y .", ":x a :A . :y a :B ."),
        (":p owl:inverseOf :q .", ":x :p :y . :z :q :x .", ":y :q :x . :x :p :z ."),
        (":p a owl:SymmetricProperty .", ":x :p :y .", ":y :p :x ."),
        (":p a owl:TransitiveProperty .", ":x :p :y . :y :p :z .", ":x :p :z ."),
        (
            ":p rdfs:subPropertyOf :q ; rdfs:range xsd:date .",
            ':x :p "2020-01-07"^^xsd:date , "eins"@de-at , "a \\"b\\"\\n" .',
            ':x :q "2020-01-07"^^xsd:date , "eins"@de-at , "a \\"b\\"\\n" .',
        ),
        (":p rdfs:domain owl:Thing . :A rdfs:subClassOf owl:Thing .", ":x :p :y ; a :A .", ""),
        (":p a owl:FunctionalProperty .", ":x :p :y , :z .", ""),
        (":p rdfs:domain [ owl:unionOf ( :A :B ) ] .", ":x :p :y .", ""),
        ("", ":x :p :y ; a :A .", ""),
    ],
)
def test_what_follows(axioms: str, given: str, wanted: str) -> None:
    assert Axioms(triples(axioms)).entailed(triples(given)) == triples(wanted)


def by_owlrl(axioms: Axioms, given: Iterable[Triple]) -> set[tuple[str, str, str]]:
    """The closure of another reasoner, without tautologies and what it says of classes."""
    graph = rdflib.Graph()
    for subject, property_, object_ in axioms.triples:
        graph.add(tuple(map(rdflib.URIRef, (subject, property_, object_))))  # type: ignore[arg-type]
    before, nodes = set(), set()
    for triple in given:
        row = tuple(rdflib.URIRef(term.value) for term in triple)
        graph.add(row)  # type: ignore[arg-type]
        before.add(tuple(map(str, row)))
        nodes.add(str(row[0]))
        if triple.predicate != RDF.type:
            nodes.add(str(row[2]))
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    trivial = {OWL.Thing.value, OWL.Nothing.value}
    rows = {tuple(map(str, row)) for row in graph}
    return {
        row  # type: ignore[misc]
        for row in rows - before
        if row[0] in nodes and row[2] not in trivial and row[1] != OWL.sameAs.value
    }


@pytest.mark.parametrize("seed", range(5))
def test_the_closure_is_that_of_another_reasoner(seed: int) -> None:
    """On the packaged ontology, and random statements with its properties and classes."""
    content = ontology_path("common.ttl").read_bytes()
    axioms = Axioms(quad.triple for quad in ox.parse(content, ox.RdfFormat.TURTLE))
    choose = random.Random(seed)
    nodes = [NamedNode(f"{EX}{number}") for number in range(12)]
    given = set()
    for _ in range(40):
        subject, object_ = choose.sample(nodes, 2)
        property_ = NamedNode(choose.choice(sorted(axioms.properties)))
        given.add(Triple(subject, property_, object_))
        given.add(Triple(subject, RDF.type, NamedNode(choose.choice(sorted(axioms.classes)))))
    found = axioms.entailed(given)
    assert len(found) > 40
    as_text = {
        (t.subject.value, t.predicate.value, t.object.value)  # type: ignore[union-attr]
        for t in found
    }
    assert as_text == by_owlrl(axioms, given)
