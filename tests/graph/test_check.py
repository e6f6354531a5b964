"""Findings about ontologies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import SH
from sarag_rdf.graph.ontology.check import check
from sarag_rdf.graph.ontology.schema_reader import TripleIndex, read_ontology
from tests.data_folder import data_folder
from tests.graph.museum import MUSEUM

PREFIXES = """
@prefix ex: <https://museum.example/ontology#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
A = 'ex:A a owl:Class ; rdfs:label "a" . '
P = 'ex:p a owl:ObjectProperty ; rdfs:label "p" ; rdfs:domain ex:A ; rdfs:range ex:A . '


def findings(tmp_path: Path, turtle: str) -> list[str]:
    path = tmp_path / "ontology.ttl"
    path.write_text(PREFIXES + turtle, encoding="utf-8")
    file = read_ontology(str(path))
    found = check(file.triples, file.repaired)
    return [str(f).replace("https://museum.example/ontology#", "ex:") for f in found]


def test_a_sound_ontology_has_no_findings(tmp_path: Path) -> None:
    assert findings(tmp_path, A + P) == []


@pytest.mark.parametrize(
    ("turtle", "expected"),
    [
        (
            "ex:B a owl:Class ; rdfs:subClassOf ex:C . ex:C a owl:Class ; rdfs:subClassOf ex:D . "
            "ex:D a owl:Class ; rdfs:subClassOf ex:B , ex:D .",
            "error: <ex:B>: a cycle of subclass axioms: B -> C -> D -> B",
        ),
        (
            'ex:q rdfs:subPropertyOf ex:p ; rdfs:label "q" . ex:p rdfs:subPropertyOf ex:q .',
            "error: <ex:p>: a cycle of subproperty axioms: p -> q -> p",
        ),
        (
            "ex:B a owl:Clas .",
            "error: <http://www.w3.org/2002/07/owl#Clas>: http://www.w3.org/2002/07/owl# has no "
            "term Clas: did you mean Class?",
        ),
        (
            "ex:B rdfs:subclassOf ex:A .",
            "error: <http://www.w3.org/2000/01/rdf-schema#subclassOf>: "
            "http://www.w3.org/2000/01/rdf-schema# has no term subclassOf: did you mean "
            "subClassOf?",
        ),
        (
            "ex:A rdfs:subClassOf ex:Agnet .",
            "warning: <ex:Agnet>: used in an axiom, but not declared",
        ),
        (
            "ex:A rdfs:subClassOf schema:Person .",
            "warning: <https://schema.org/>: 1 term is used but not declared: Person; add the "
            "ontology of this namespace too",
        ),
        (
            'ex:q a owl:ObjectProperty ; rdfs:label "q" ; rdfs:domain ex:A ; rdfs:range ex:Date .',
            "warning: <ex:Date>: not declared; read as xsd:date, declare that as the range",
        ),
        (
            "ex:o a owl:Ontology ; owl:imports <https://x.example/other> .",
            "warning: <https://x.example/other>: owl:imports is not followed: download the "
            "ontology, and add it",
        ),
        (
            'ex:q a owl:ObjectProperty ; rdfs:label "q" .',
            "warning: <ex:q>: no domain or range: any entity may be a subject, any entity an "
            "object",
        ),
        (
            'ex:q a owl:DatatypeProperty ; rdfs:label "q" ; rdfs:range xsd:date .',
            "warning: <ex:q>: no domain: any entity may be a subject",
        ),
        (
            'ex:q a owl:DatatypeProperty ; rdfs:label "q" ; rdfs:domain ex:A .',
            "warning: <ex:q>: no range: any literal may be an object",
        ),
        (
            "ex:bornIn a owl:ObjectProperty ; rdfs:domain ex:A ; rdfs:range ex:A .",
            "warning: <ex:bornIn>: no label: 'born in' is taken from its IRI",
        ),
        (
            "ex:P19 a owl:ObjectProperty ; rdfs:domain ex:A ; rdfs:range ex:A .",
            "warning: <ex:P19>: no label, and P19 is not a word: add rdfs:label",
        ),
        (
            'ex:q a owl:ObjectProperty ; rdfs:label "P" ; rdfs:domain ex:A ; rdfs:range ex:A .',
            "warning: <ex:q>: the property <ex:p> has the same label, 'P'",
        ),
    ],
)
def test_a_problem_is_found(tmp_path: Path, turtle: str, expected: str) -> None:
    assert findings(tmp_path, A + P + turtle) == [expected]


def test_an_ontology_without_classes_and_properties(tmp_path: Path) -> None:
    data = 'ex:ada rdfs:label "Ada" ; ex:knows ex:boris .'
    assert findings(tmp_path, data) == [
        "error: no class or property: check that this is OWL, RDFS, SKOS or SHACL"
    ]
    assert findings(tmp_path, A) == [
        "warning: no property: entities can be classified, but no statement can be typed"
    ]


def test_domains_and_labels_of_shapes_count(tmp_path: Path) -> None:
    shape = (
        "ex:S a sh:NodeShape ; sh:targetClass ex:A ; "
        'sh:property [ sh:path ex:q ; sh:class ex:A ; sh:name "q" ] .'
    )
    assert findings(tmp_path, A + shape) == []


def test_errors_come_first_and_findings_are_values(tmp_path: Path) -> None:
    path = tmp_path / "museum.ttl"
    path.write_text(MUSEUM + "ex:x a owl:Klass .", encoding="utf-8")
    triples = read_ontology(str(path)).triples
    found = check(triples, ["http://www.w3.org/2004/02/skos/core"])
    assert [f.severity for f in found] == ["error", "warning", "warning"]
    assert found == check(tuple(reversed(triples)), ["http://www.w3.org/2004/02/skos/core"])
    assert "correct the prefix" in found[1].message


def test_many_terms_of_another_vocabulary_are_one_finding(tmp_path: Path) -> None:
    parents = " , ".join(f"schema:C{number}" for number in range(9))
    (found,) = findings(tmp_path, f"{A}{P} ex:A rdfs:subClassOf {parents} .")
    assert "9 terms are used but not declared: C0, C1, C2, C3, C4, ...;" in found


def test_the_ontology_of_this_project_has_no_errors() -> None:
    triples = [
        quad.triple
        for quad in ox.parse(path=ontology_path("sarag.ttl"), format=ox.RdfFormat.TURTLE)
    ]
    assert {finding.severity for finding in check(triples)} == {"warning"}


def test_real_ontologies() -> None:
    folder = data_folder("vocab")
    schema_org = check(read_ontology(str(folder / "schemaorg-30.nt")).triples)
    assert {finding.severity for finding in schema_org} == {"warning"}
    yago = read_ontology(str(folder / "yago-schema.ttl"))
    errors = [f for f in check(yago.triples, yago.repaired) if f.severity == "error"]
    assert [e.term for e in errors] == ["http://www.w3.org/2000/01/rdf-schema#Property"]


def test_shapes_are_read_once_for_all_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    pairs = TripleIndex.pairs

    def counted(self: TripleIndex, *properties: str) -> Iterator[tuple[str, str]]:
        read.extend(properties)
        return pairs(self, *properties)

    monkeypatch.setattr(TripleIndex, "pairs", counted)
    shapes = (f"[] <{SH.path.value}> <urn:p{n}> ." for n in range(40))
    check([quad.triple for quad in ox.parse("\n".join(shapes), ox.RdfFormat.TURTLE)])
    assert read.count(SH.path.value) < 5
