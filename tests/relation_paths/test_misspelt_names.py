"""Questions that name things with typing errors, or in part, and are answered without a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sarag_rdf
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder

STAFF = """
    @prefix : <https://staff.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person" .
    :Observatory a owl:Class ; rdfs:label "observatory" .
    :employer a owl:ObjectProperty ; rdfs:label "employer" .
    :born a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "date of birth" .
    :otto a :Person ; rdfs:label "Ottokar Wiedenbrueck" ; :employer :thule ;
        :born "1901"^^xsd:gYear .
    :mara a :Person ; rdfs:label "Mara Lindqvist" ; :employer :halden ; :born "1911"^^xsd:gYear .
    :jan a :Person ; rdfs:label "Jan Thorsager" ; :employer :halden .
    :jana a :Person ; rdfs:label "Jana Ostrowska" ; :employer :thule .
    :kim a :Person ; rdfs:label "Kim Berenson" ; :employer :thule .
    :lea a :Person ; rdfs:label "Lea Berenson" ; :employer :halden .
    :west rdfs:label "Weston Wing" ; :employer :halden .
    :b rdfs:label "Block B" ; :employer :thule .
    :hypo rdfs:label "hypothyroidism" ; :employer :thule . :tina rdfs:label "Martina Keller" ;
        :employer :thule . :horn rdfs:label "Horn Institute" ; :employer :thule .
    :thule a :Observatory ; rdfs:label "Thule Observatory" .
    :halden a :Observatory ; rdfs:label "Halden Observatory" .
    :dome a :Observatory ; rdfs:label "Wolfenstein Motors" .
    :ida a :Person ; rdfs:label "Ida Quist" ; :employer :dome .
"""


@pytest.fixture(scope="module")
def staff(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("staff")
    (folder / "staff.ttl").write_text(STAFF, encoding="utf-8")
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(folder / "staff.ttl", "rdf", name="staff")
        yield kg


@pytest.mark.parametrize(
    ("question", "text", "reading"),
    [
        (
            "What is the employer of Ottokar Wiedenbruck?",
            "Thule Observatory",
            '"Ottokar Wiedenbruck" is read as "Ottokar Wiedenbrueck"; ',
        ),
        (
            "What is the employer of Lindqvist?",
            "Halden Observatory",
            '"Lindqvist" is read as "Mara Lindqvist"; ',
        ),
        (  # the name of a company without a word of companies
            "Who has Wolfenstein as employer?",
            "Ida Quist",
            '"Wolfenstein" is read as "Wolfenstein Motors"; ',
        ),
        (
            "Who was born earlier, Wiedenbrueck or Mara Lindqvisst?",
            "Ottokar Wiedenbrueck",
            '"Wiedenbrueck" is read as "Ottokar Wiedenbrueck"; '
            '"Mara Lindqvisst" is read as "Mara Lindqvist"; ',
        ),
    ],
)
def test_a_name_is_read_as_the_nearest(
    staff: KnowledgeGraph, question: str, text: str, reading: str
) -> None:
    answer = staff.ask(question)
    assert answer.text == text
    assert answer.reasoning.startswith(reading)


def test_a_misspelt_name_is_less_certain_than_a_part_of_it(staff: KnowledgeGraph) -> None:
    whole, part, misspelt = (
        staff.ask(f"What is the employer of {name}?").confidence or 0.0
        for name in ("Mara Lindqvist", "Lindqvist", "Mara Lindqist")
    )
    assert whole == part > misspelt > 0.8


@pytest.mark.parametrize(
    "question",
    [
        "What is the employer of Berenson?",  # two persons
        "What is the employer of Jana Thorsager?",  # somebody else is called Jana
        "What is the employer of Ottilie Wiedmann?",  # too far from every name
        "What is the employer of Easton Wing?",
        "What is the employer of Block A?",
        "What is the employer of hyperthyroidism?",
        "What is the employer of Martin Keller?",
        "What is the employer of the Institute?",
    ],
)
def test_a_name_that_may_be_another_is_not_read_as_it(staff: KnowledgeGraph, question: str) -> None:
    assert staff.ask(question).outcome == "evidence"
