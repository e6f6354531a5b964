"""Who held an office before or after somebody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from tests.relation_paths.imported import imported

OFFICES = """
    @prefix : <https://towns.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix sarag: <https://w3id.org/sarag/ontology#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
    :mayor a owl:ObjectProperty ; rdfs:label "mayor" ; rdfs:domain :Town ; rdfs:range :Person .
    :arn a :Town ; rdfs:label "Arnsted" ; :mayor :ada , :bo , :cleo , :dag .
    :vik a :Town ; rdfs:label "Vikby" ; :mayor :eva , :finn , :gro .
    :ada a :Person ; rdfs:label "Ada Brun" . :bo a :Person ; rdfs:label "Bo Rask" .
    :cleo a :Person ; rdfs:label "Cleo Lund" . :dag a :Person ; rdfs:label "Dag Ry" .
    :eva a :Person ; rdfs:label "Eva Holl" . :finn a :Person ; rdfs:label "Finn Orre" .
    :gro a :Person ; rdfs:label "Gro Vang" .
"""
TIMES = [
    ("arn", "ada", "1990", "1998-03-31"),
    ("arn", "bo", "1998-04-01", "2004"),
    ("arn", "cleo", "2004", "2010"),
    ("arn", "dag", "2012-05", ""),
    ("vik", "eva", "1980", "1985"),
    ("vik", "finn", "1985", "1985"),
    ("vik", "gro", "1985", "1999"),
]
TYPES = {4: "gYear", 7: "gYearMonth", 10: "date"}


def statement(number: int, town: str, person: str, start: str, end: str) -> str:
    times = {"startTime": start, "endTime": end}
    said = "".join(
        f' ; sarag:{name} "{time}"^^xsd:{TYPES[len(time)]}' for name, time in times.items() if time
    )
    terms = f"rdf:subject :{town} ; rdf:predicate :mayor ; rdf:object :{person}"
    return f":s{number} a rdf:Statement ; {terms}{said} .\n"


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    times = "".join(statement(number, *row) for number, row in enumerate(TIMES))
    with imported(tmp_path_factory.mktemp("towns"), OFFICES, times) as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who was the mayor of Arnsted before Bo Rask?", "Ada Brun"),
        ("Who was mayor of Arnsted after Bo Rask?", "Cleo Lund"),  # both in 2004
        ("Who succeeded Ada Brun as mayor of Arnsted?", "Bo Rask"),
        ("Who succeeded Ada Brun as mayor?", "Bo Rask"),
        ("Who preceded Cleo Lund as mayor of Arnsted?", "Bo Rask"),
    ],
)
def test_who_came_before_and_after(towns: KnowledgeGraph, question: str, text: str) -> None:
    answer = towns.ask(question)
    assert (answer.outcome, answer.text) == ("answered", text)


@pytest.mark.parametrize(
    "question",
    [
        "Who was the mayor of Arnsted after Cleo Lund?",  # nobody for a year
        "Who was the mayor of Arnsted before Dag Ry?",
        "Who was the mayor of Arnsted after Dag Ry?",
        "Who was the mayor of Arnsted before Ada Brun?",
        "Who succeeded Eva Holl as mayor of Vikby?",  # two in that year
        "Who succeeded Eva Holl as mayor of Arnsted?",
        "Who succeeded Bo Rask as bishop?",
    ],
)
def test_what_no_time_says(towns: KnowledgeGraph, question: str) -> None:
    assert towns.ask(question).outcome == "evidence"
