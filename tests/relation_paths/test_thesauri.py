"""Questions about what is below a concept of a thesaurus, and for things below one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from tests.relation_paths.imported import imported

STUDIO = """
    @prefix : <https://studio.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    :Film a owl:Class ; rdfs:label "film" . :Person a owl:Class ; rdfs:label "person" .
    :Instrument a owl:Class ; rdfs:label "instrument" .
    :uses a owl:ObjectProperty ; rdfs:label "uses instrument" ; rdfs:domain :Film ;
        rdfs:range :Instrument .
    :leader a owl:ObjectProperty ; rdfs:label "leader" ; rdfs:range :Person .
    :lacks a owl:ObjectProperty ; rdfs:label "lacks instrument" ; rdfs:domain :Film .
    :inventor a owl:ObjectProperty ; rdfs:label "inventor" ; rdfs:domain :Instrument ;
        rdfs:range :Person .
    :strings a skos:Concept ; skos:prefLabel "string instrument"@en .
    :bowed a skos:Concept ; skos:prefLabel "bowed instrument"@en ; skos:broader :strings ;
        skos:altLabel "fiddle family"@en .
    :viola a skos:Concept ; skos:prefLabel "viola"@en ; skos:broader :bowed .
    :harp a skos:Concept ; skos:prefLabel "harp"@en ; skos:broader :strings .
    :horn a skos:Concept ; skos:prefLabel "alpine horn"@en .
    :viola :inventor :ada . :ada a :Person ; rdfs:label "Ada Lund" .
    :strings :leader :ada . :bowed :leader :bo . :bo a :Person ; rdfs:label "Bo Eng" .
    :ferry a :Film ; rdfs:label "Ferry Lights" ; :lacks :harp .
    :dunes a :Film ; rdfs:label "The Dunes" ; :uses :viola , :horn .
    :weirs a :Film ; rdfs:label "Nine Weirs" ; :uses :harp .
    :mills a :Film ; rdfs:label "Old Mills" ; :uses :bowed , :viola .
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with imported(tmp_path_factory.mktemp("studio"), STUDIO) as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which films use an alpine horn?", "The Dunes"),
        ("Which films use a bowed instrument?", "Old Mills; The Dunes"),
        ("Which films use a string instrument?", "Nine Weirs; Old Mills; The Dunes"),
        ("How many films use a string instrument?", "at least 3"),
        ("Does Nine Weirs use a string instrument?", "yes"),
        ("Does Nine Weirs use a bowed instrument?", ""),
        ("Which instruments does The Dunes use?", "alpine horn; viola"),
        ("Which string instrument does The Dunes use?", "viola"),
        ("Which fiddle family does The Dunes use?", "viola"),
        ("Who is the inventor of the viola?", "Ada Lund"),
        ("Which films lack a string instrument?", ""),  # but one of them
        ("Which films use all string instruments?", ""),
        ("Who is the inventor of the string instrument?", ""),  # what is below has one
    ],
)
def test_what_is_below_is_of_the_kind(studio: KnowledgeGraph, question: str, text: str) -> None:
    answer = studio.ask(question).text
    assert "; ".join(sorted(answer.split("; "))) == text
