"""When what documents and tables state was so: in a year, formerly, and asked for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.relation_paths.test_paths import TermsExtractor

TEXTS = (
    "Ann | was head of | Thule | head- 0.9 | 1919/1937\n\n"
    "Bea | has been head of | Thule | head- 0.9 | 1938/\n\n"
    "Cy | was head of | Rook | head- 0.9 | 1932\n\n"
    "Dee | worked for | Wren | employer 0.9 | 1950\n\n"
    "Eli | worked for | Thule | employer 0.9 |\n\n"
    "Fay | was the founder of | Wren | founder- 0.9 | 1901\n\n"
    "Gus | was head of | Wren | head- 0.9 | /1922\n\n"
    "Hal | was head of | Orle | head- 0.9 | 1932\n\n"
    "Hal | is head of | Orle | head- 0.9 |\n\n"
    "Ida | commanded | Lark | head- 0.9 | 1944\n\n"
    "Jo | was head of | Vale | head- 0.9 | 1950\n\n"
    "Jo | was head of | Vale | head- 0.9 | 1960\n\n"
    "Kai | is head of | Dusk | head- 0.9 | 2990/"
)
LOANS = """
    @prefix : <https://loans.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix sarag: <https://w3id.org/sarag/ontology#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Ship a owl:Class ; rdfs:label "ship" . :Harbour a owl:Class ; rdfs:label "harbour" .
    :lentTo a owl:ObjectProperty ; rdfs:label "lent to" .
    :osprey a :Ship ; rdfs:label "Osprey" ; :lentTo :moss , :vik .
    :moss a :Harbour ; rdfs:label "Moss" . :vik a :Harbour ; rdfs:label "Vik" .
    :loan1 a rdf:Statement ; rdf:subject :osprey ; rdf:predicate :lentTo ; rdf:object :moss ;
        sarag:startTime "2014"^^xsd:gYear ; sarag:endTime "2016"^^xsd:gYear .
    :keeper a owl:ObjectProperty ; rdfs:label "keeper" . :formerName a owl:DatatypeProperty ;
        rdfs:label "former name" . :osprey :formerName "Upper Osprey" ; :keeper :moss .
    :post rdf:subject :osprey ; rdf:predicate :keeper ; rdf:object :moss ; a rdf:Statement ;
        sarag:pointInTime "1932"^^xsd:gYear .
"""


@pytest.fixture(scope="module")
def terms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("terms")
    (folder / "loans.ttl").write_text(LOANS, encoding="utf-8")
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(TEXTS, "terms", "terms.txt")], extractor=TermsExtractor())
        kg.import_graph(folder / "loans.ttl", "rdf", name="loans")
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is the head of Rook?", ""),  # in 1932
        ("Who was the head of Rook?", "Cy"),
        ("Who is the head of Thule?", "Bea"),
        ("Who is the founder of Wren?", "Fay"),  # for ever
        ("Who does Dee work for?", ""),
        ("Who did Dee work for?", "Wren"),
        ("Who is the head of the employer of Eli?", ""),  # who worked for it once
        ("Who was the head of the employer of Eli?", "Ann; Bea"),
        ("Who was the head of Wren in 1500?", ""),  # nothing says since when
        ("Who was the head of Wren in 1922?", "Gus"),
        ("Who was the head of Thule in 1925?", "Ann"),
        ("In 1925, who was the head of Thule?", "Ann"),
        ("In May 1940 who was the head of Thule?", "Bea"),
        ("Who is the current head of Thule?", "Bea"),
        ("Who is the current head of Rook?", ""),
        ("Who was the head of Thule before Bea?", "Ann"),
        ("When did Ann become head of Thule?", "1919"),
        ("When was Ann the head?", "1919 to 1937"),
        ("To whom was Osprey lent in 2015?", "Moss"),
        ("To whom was Osprey lent in 2020?", ""),
        ("Who is the former head of Thule?", "Ann"),
        ("Who are the previous heads of Thule?", "Ann"),
        ("Who is the former founder of Wren?", ""),
        ("Who could be the head of Thule?", ""),
        ("Who is the head of Orle?", "Hal"),  # and was in 1932
        ("Who is the head of Lark?", ""),
        ("Who is the head of Dusk?", ""),  # not yet
        ("When was Jo head of Vale?", "1950; 1960"),
        ("What is the keeper of Osprey?", ""),
        ("What was the keeper of Osprey?", "Moss"),
        ("When was Osprey lent to Moss?", "2014 to 2016"),
        ("What is the former name of Osprey?", "Upper Osprey"),
        ("When was Ann head of Thule?", "1919 to 1937"),
        ("Until when was Ann head of Thule?", "1937"),
        ("Since when was Cy head of Rook?", ""),
        ("Since when has Bea been head of Thule?", "1938"),
        ("In which year was Cy head of Rook?", "1932"),
        ("When was Eli employed by Thule?", ""),
        ("When was Ann head of Rook?", ""),
    ],
)
def test_what_holds_when(terms: KnowledgeGraph, question: str, text: str) -> None:
    answer = terms.ask(question)
    assert (answer.text if answer.outcome == "answered" else "") == text
