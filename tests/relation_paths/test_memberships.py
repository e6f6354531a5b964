"""Questions for what is of a kind: concepts of a thesaurus, and instances of classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from tests.relation_paths.imported import imported

THESAURUS = """
    @prefix : <https://plants.example/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    :plants a skos:Concept ; skos:prefLabel "plants"@en .
    :trees a skos:Concept ; skos:prefLabel "trees"@en ; skos:broader :plants .
    :firs a skos:Concept ; skos:prefLabel "firs"@en ; skos:broader :trees .
    :ferns a skos:Concept ; skos:prefLabel "ferns"@en ; skos:broader :plants .
    :alba a skos:Concept ; skos:prefLabel "Abies alba"@en ; skos:altLabel "silver fir"@en ;
        skos:broader :firs .
    :firs skos:narrower :nord .
    :nord a skos:Concept ; skos:prefLabel "Abies nordmanniana"@en .
    :ash a skos:Concept ; skos:prefLabel "Fraxinus excelsior"@en ; skos:broader :trees ;
        skos:related :ferns .
    :loop a skos:Concept ; skos:prefLabel "loops"@en ; skos:broader :pool .
    :pool a skos:Concept ; skos:prefLabel "pools"@en ; skos:broader :loop .
"""
GRAPH = """
    @prefix : <https://park.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Garden a owl:Class ; rdfs:label "garden" ; rdfs:subClassOf :Place .
    :Place a owl:Class ; rdfs:label "place" .
    :Person a owl:Class ; rdfs:label "person" .
    :upper a :Garden ; rdfs:label "Upper Park" . :mira a :Person ; rdfs:label "Mira Holl" .
"""


@pytest.fixture(scope="module")
def park(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("park")
    (folder / "plants.ttl").write_text(THESAURUS, encoding="utf-8")
    with imported(folder, GRAPH) as kg:
        kg.import_graph(folder / "plants.ttl", "skos", name="plants")
        yield kg


@pytest.mark.parametrize(
    ("question", "text", "way"),
    [
        ("Is Abies alba a tree?", "yes", "Abies alba > firs > trees"),
        ("Is the silver fir a plant?", "yes", "Abies alba > firs > trees > plants"),
        ("Is Abies nordmanniana one of the firs?", "yes", "Abies nordmanniana > firs"),
        ("Which species are firs?", "Abies alba; Abies nordmanniana", "firs > Abies alba"),
        (
            "What kinds of trees are there?",
            "Abies alba; Abies nordmanniana; Fraxinus excelsior",
            "trees > firs > Abies alba",
        ),
        ("List all firs.", "Abies alba; Abies nordmanniana", "firs > Abies nordmanniana"),
        ("What kinds of loops are there?", "pools", "loops > pools"),  # and the other way round
        ("Is Upper Park a garden?", "yes", "Upper Park > garden"),
        ("Is Upper Park a place?", "yes", "Upper Park > place"),
    ],
)
def test_what_is_of_a_kind(park: KnowledgeGraph, question: str, text: str, way: str) -> None:
    answer = park.ask(question)
    assert (answer.outcome, answer.text) == ("answered", text)
    assert way in answer.reasoning
    assert answer.citations


@pytest.mark.parametrize(
    "question",
    [
        "Is Abies alba a fern?",
        "Is the plant a tree?",  # what is broader is no kind of what is narrower
        "Is Fraxinus excelsior a fern?",  # related
        "Which species are ash?",
        "Is Mira Holl a garden?",
        "Is Upper Park a person?",
    ],
)
def test_what_is_not_known_to_be_of_a_kind(park: KnowledgeGraph, question: str) -> None:
    assert park.ask(question).outcome == "evidence"
