"""Questions about a thing that they describe: it is found first, by its class as well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from tests.relation_paths.imported import imported

CLUBS = """
    @prefix : <https://clubs.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
    :Body a owl:Class ; rdfs:label "body" .
    :Club a owl:Class ; rdfs:label "club" ; rdfs:subClassOf :Body .
    :School a owl:Class ; rdfs:label "school" ; rdfs:subClassOf :Body .
    :Match a owl:Class ; rdfs:label "match" . :Trip a owl:Class ; rdfs:label "trip" .
    :headedBy a owl:ObjectProperty ; rdfs:label "headed by" ; rdfs:domain :Body ;
        rdfs:range :Person .
    :seat a owl:ObjectProperty ; rdfs:label "seat" ; rdfs:domain :Body ; rdfs:range :Town .
    :founded a owl:DatatypeProperty ; rdfs:label "year founded" ; rdfs:domain :Body ;
        rdfs:range xsd:gYear .
    :bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :Town .
    :referee a owl:ObjectProperty ; rdfs:label "referee" ; rdfs:domain :Match ; rdfs:range :Person .
    :host a owl:ObjectProperty ; rdfs:label "host" ; rdfs:domain :Match ; rdfs:range :Club .
    :visited a owl:ObjectProperty ; rdfs:label "visited town" ; rdfs:domain :Trip ;
        rdfs:range :Town .
    :ada a :Person ; rdfs:label "Ada Brun" ; :bornIn :lund .
    :bo a :Person ; rdfs:label "Bo Rask" ; :bornIn :ry .
    :swim a :Club ; rdfs:label "Lund Swimmers" ; :headedBy :ada ; :seat :lund ;
        :founded "1907"^^xsd:gYear .
    :art a :School ; rdfs:label "Ry School of Art" ; :headedBy :ada ; :seat :ry ;
        :founded "1931"^^xsd:gYear .
    :row a :Club ; rdfs:label "Ry Rowers" ; :headedBy :bo ; :seat :ry .
    :final a :Match ; rdfs:label "Final of 1950" ; :referee :bo ; :host :swim .
    :lund a :Town ; rdfs:label "Lund" . :ry a :Town ; rdfs:label "Ry" .
    :north a :Trip ; rdfs:label "Tour North" ; :visited :lund , :ry .
"""


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with imported(tmp_path_factory.mktemp("clubs"), CLUBS) as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the club headed by Ada Brun founded?", "1907"),
        ("In which town is the seat of the school that is headed by Ada Brun?", "Ry"),
        ("In which year was the club that was host of the Final of 1950 founded?", "1907"),
        ("Which matches had Bo Rask as referee?", "Final of 1950"),
        ("How many matches had Bo Rask as referee?", "1"),
        ("Of which match was Bo Rask the referee?", "Final of 1950"),
        ("Which trips visited Lund?", "Tour North"),
        ("Which towns did the Tour North visit?", "Lund; Ry"),
    ],
)
def test_what_is_described_is_found_first(clubs: KnowledgeGraph, question: str, text: str) -> None:
    answer = clubs.ask(question)
    assert (answer.outcome, answer.text) == ("answered", text)


@pytest.mark.parametrize(
    "question",
    [
        "When was the trip headed by Ada Brun founded?",
        "Where was the club headed by Bo Rask born?",
        "Where was the referee of the match headed by Bo Rask born?",
    ],
)
def test_what_is_described_must_be_one_thing(clubs: KnowledgeGraph, question: str) -> None:
    assert clubs.ask(question).outcome == "evidence"
