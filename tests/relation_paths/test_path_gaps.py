"""Paths that say more than a question asks for, and hops that only its kind of thing would say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.relation_paths.path_gaps import are_in_order
from tests.relation_paths.imported import imported

CLUBS = """
    @prefix : <https://clubs.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Club a owl:Class ; rdfs:label "club" . :Person a owl:Class ; rdfs:label "person" .
    :Firm a owl:Class ; rdfs:label "firm" . :Town a owl:Class ; rdfs:label "town" .
    :feeder a owl:ObjectProperty ; rdfs:label "feeder club of" ; rdfs:domain :Club .
    :coach a owl:ObjectProperty ; rdfs:label "coach" ; rdfs:domain :Club ; rdfs:range :Person .
    :deputy a owl:ObjectProperty ; rdfs:label "assistant coach" ; rdfs:domain :Club ;
        rdfs:range :Person .
    :chair a owl:ObjectProperty ; rdfs:label "chaired by" ; rdfs:domain :Club ; rdfs:range :Person .
    :married a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:label "married to" ;
        rdfs:domain :Person ; rdfs:range :Person .
    :born a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :Town .
    :seat a owl:ObjectProperty ; rdfs:label "located in" ; rdfs:domain :Firm ; rdfs:range :Town .
    :works a owl:ObjectProperty ; rdfs:label "employer" ; rdfs:domain :Person ; rdfs:range :Firm .
    :worked a owl:ObjectProperty ; rdfs:label "previous employer" ; rdfs:domain :Person ;
        rdfs:range :Firm .
    :vice a owl:ObjectProperty ; rdfs:label "vice president" ; rdfs:domain :Firm ;
        rdfs:range :Person .
    :memory a owl:DatatypeProperty ; rdfs:label "free memory (GB)" ; rdfs:domain :Firm .
    :called a owl:DatatypeProperty ; rdfs:label "date announced" ; rdfs:domain :Firm .
    :budget a owl:DatatypeProperty ; rdfs:label "budget" ; rdfs:domain :Club .
    :year a owl:DatatypeProperty ; rdfs:label "founding year" ; rdfs:range xsd:gYear .
    :rovers a :Club ; rdfs:label "Rovers" ; :coach :per ; :deputy :kai ; :chair :liv ; :budget 5 .
    :rovers :feeder :united .
    :united a :Club ; rdfs:label "United" ; :coach :tor ; :chair :siv ; :budget 7 .
    :per a :Person ; rdfs:label "Per Lang" . :kai a :Person ; rdfs:label "Kai Moe" .
    :liv a :Person ; rdfs:label "Liv Strand" ; :married :siv ; :born :tarn .
    :siv a :Person ; rdfs:label "Siv Berge" . :tor a :Person ; rdfs:label "Tor Myr" .
    :jan a :Person ; rdfs:label "Jan Lind" ; :works :soft ; :worked :bit .
    :lena a :Person ; rdfs:label "Lena Noll" ; :worked :pit .
    :soft a :Firm ; rdfs:label "Softhaus" ; :year "1990"^^xsd:gYear ; :seat :tarn .
    :bit a :Firm ; rdfs:label "Bitworks" ; :year "1985"^^xsd:gYear .
    :soft :vice :per ; :memory 8 ; :called "1989-05-01"^^xsd:date .
    :pit a :Firm ; rdfs:label "Pitlog" . :tarn a :Town ; rdfs:label "Tarn" .
"""


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with imported(tmp_path_factory.mktemp("clubs"), CLUBS) as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which club has Per Lang as coach?", "Rovers"),  # and not what that is a feeder club of
        ("Which club does Liv Strand chair?", "Rovers"),
        ("What is the budget of the club chaired by Siv Berge?", "7"),
        ("Who coaches the club chaired by Siv Berge?", "Tor Myr"),
        ("What is Rovers the feeder club of?", "United"),
        ("Which person chairs Rovers?", "Liv Strand"),  # and not whom she is married to
    ],
)
def test_no_further_hop_is_said_by_words_that_a_shorter_path_says(
    clubs: KnowledgeGraph, question: str, text: str
) -> None:
    assert clubs.ask(question).text == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the employer of Jan Lind?", "Softhaus"),
        ("When was the employer of Jan Lind founded?", "1990"),
        ("When was the previous employer of Jan Lind founded?", "1985"),
        ("What is the previous employer of Lena Noll?", "Pitlog"),
        ("What is the employer of Lena Noll?", ""),
        ("Who is the coach of Rovers?", "Per Lang"),
        ("Who is the assistant coach of Rovers?", "Kai Moe"),
        ("Of which club is Kai Moe the coach?", ""),
        ("Of which club is Kai Moe the assistant coach?", "Rovers"),
        ("What is Kai Moe the assistant coach of?", "Rovers"),
        ("Who is the president of Softhaus?", ""),  # the graph has no other one
        ("Is Per Lang the president of Softhaus?", ""),
        ("Who is the vice president of Softhaus?", "Per Lang"),
        ("How much memory does Softhaus have?", ""),
        ("How much free memory does Softhaus have?", "8"),
        ("When did Softhaus happen?", ""),
    ],
)
def test_a_property_with_a_longer_label_is_another_one(
    clubs: KnowledgeGraph, question: str, text: str
) -> None:
    assert clubs.ask(question).text == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which people were born in Tarn?", "Liv Strand"),
        ("Which people are in Tarn?", ""),
        ("In which town is Liv Strand?", ""),
        ("In which town is Softhaus?", "Tarn"),  # "located in" says no more than that
    ],
)
def test_the_kind_of_thing_alone_says_no_property(
    clubs: KnowledgeGraph, question: str, text: str
) -> None:
    assert clubs.ask(question).text == text


@pytest.mark.parametrize(
    ("options", "is_so"),
    [
        ([[-1], [-2]], True),
        ([[-2], [-1]], False),
        ([[-1], [1]], True),
        ([[-1], [-1]], False),
        ([[-1, -3], [-2]], True),
        ([[-3], [-2, 4]], True),
        ([[], [-2]], False),
        ([[*range(-5000, 0)]] * 3, True),
        ([[1], *[[*range(-5000, 0), 1]] * 2], True),
    ],
)
def test_the_order_of_hops(options: list[list[int]], is_so: bool) -> None:
    assert are_in_order(options) is is_so
