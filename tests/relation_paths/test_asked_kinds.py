"""Questions whose words for kinds of things, prepositions and verbs decide between properties."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sarag_rdf.kg.graph import KnowledgeGraph
from tests.relation_paths.imported import imported

WORKS = """
    @prefix : <https://works.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person" . :Hall a owl:Class ; rdfs:label "hall" .
    :Painting a owl:Class ; rdfs:label "painting" . :Building a owl:Class ; rdfs:label "building" .
    :Recording a owl:Class ; rdfs:label "recording" . :Town a owl:Class ; rdfs:label "town" .
    :Material a owl:Class ; rdfs:label "material" . :Firm a owl:Class ; rdfs:label "workshop" .
    :paintedBy a owl:ObjectProperty ; rdfs:label "painted by" ; rdfs:domain :Painting .
    :recordedBy a owl:ObjectProperty ; rdfs:label "recorded by" ; rdfs:domain :Recording .
    :builtBy a owl:ObjectProperty ; rdfs:label "built by" ; rdfs:domain :Building .
    :madeOf a owl:ObjectProperty ; rdfs:label "made of" ; rdfs:range :Material .
    :madeBy a owl:ObjectProperty ; rdfs:label "made by" ; owl:inverseOf :made .
    :made a owl:ObjectProperty ; rdfs:label "maker of" ; skos:altLabel "made" .
    :ownedBy a owl:ObjectProperty ; rdfs:label "owned by" .
    :worksFor a owl:ObjectProperty ; rdfs:label "works for" .
    :bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person .
    :yearMade a owl:DatatypeProperty ; rdfs:label "year made" ; rdfs:range xsd:gYear .
    :yearBuilt a owl:DatatypeProperty ; rdfs:label "year built" ; rdfs:range xsd:gYear .
    :born a owl:DatatypeProperty ; rdfs:label "date of birth" ; rdfs:domain :Person .
    :died a owl:DatatypeProperty ; rdfs:label "date of death" ; rdfs:domain :Person .
    :length a owl:DatatypeProperty ; rdfs:label "length in cm" ; skos:altLabel "length" .
    :anton a :Person ; rdfs:label "Anton Rask" ; :died "1902-05-04"^^xsd:date ; :bornIn :lisse ;
        :born "1840"^^xsd:gYear ; :worksFor :forge .
    :young a :Person ; rdfs:label "Jon Orre the Younger" ; :bornIn :lisse .
    :lisse a :Town ; rdfs:label "Lisse" .
    :hall a :Hall ; rdfs:label "Brandow Hall" . :forge a :Firm ; rdfs:label "Velden Forge" .
    :songs a :Recording ; rdfs:label "Night Songs" ; :recordedBy :anton ; :ownedBy :hall .
    :weir a :Painting ; rdfs:label "Girl at a Weir" ; :paintedBy :anton ; :ownedBy :hall .
    :corn a :Building ; rdfs:label "Corn Tower" ; :builtBy :anton ; :ownedBy :hall ;
        :yearBuilt "1883"^^xsd:gYear .
    :salt a :Building ; rdfs:label "Salt House" ; :builtBy :anton ; :yearBuilt "1890"^^xsd:gYear .
    :cello rdfs:label "Swan Cello" ; :madeOf :maple ; :madeBy :forge ; :length 124 ;
        :yearMade "1883"^^xsd:gYear .
    :lute rdfs:label "Lark Lute" ; :madeBy :forge ; :yearMade "1888"^^xsd:gYear .
    :maple a :Material ; rdfs:label "maple" .
    :kestrel a :Person ; rdfs:label "Kestrel, Jo" ; skos:altLabel "Jo Kestrel" ; :bornIn :lisse .
    :other a :Hall ; rdfs:label "Jo Kestrel" .
"""


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with imported(tmp_path_factory.mktemp("works"), WORKS) as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which paintings are owned by Brandow Hall?", "Girl at a Weir"),  # and not who painted
        ("Which paintings does Brandow Hall own?", "Girl at a Weir"),
        ("Which recordings are owned by Brandow Hall?", "Night Songs"),
        ("Which buildings were built by Anton Rask?", "Corn Tower; Salt House"),  # and not when
        ("Which building did Anton Rask build?", "Corn Tower; Salt House"),
        ("Who built the Corn Tower?", "Anton Rask"),  # a building
        ("Who recorded Night Songs?", "Anton Rask"),
        ("In which town was Anton Rask born?", "Lisse"),
        ("Which workshop made the Swan Cello?", "Velden Forge"),
        ("When did Anton Rask die?", "1902-05-04"),
        ("When was Anton Rask born?", "1840"),
    ],
)
def test_what_is_of_the_kind_asked_for(works: KnowledgeGraph, question: str, text: str) -> None:
    assert works.ask(question).text == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the Swan Cello made of?", "maple"),
        ("What is the Lark Lute made of?", ""),  # and not 1888
        ("What was the Swan Cello made for?", ""),
        ("For whom was the Swan Cello made?", ""),
        ("Where was the Swan Cello made?", ""),
        ("What did Anton Rask die of?", ""),
        ("Who was the Corn Tower built for?", ""),
        ("Who does Anton Rask work for?", "Velden Forge"),
        ("Where does Anton Rask work?", "Velden Forge"),
        ("What is Velden Forge the maker of?", "Lark Lute; Swan Cello"),  # a noun
        ("Was the Swan Cello made by Velden Forge?", "yes"),
        ("Did Velden Forge make the Swan Cello?", "yes"),
        ("Was Velden Forge made by the Swan Cello?", ""),
        ("Does Brandow Hall own the Corn Tower?", "yes"),
        ("Does the Corn Tower own Brandow Hall?", ""),
    ],
)
def test_a_preposition_belongs_to_a_property(
    works: KnowledgeGraph, question: str, text: str
) -> None:
    assert works.ask(question).text == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long is the Swan Cello?", "124 cm"),  # the label declares it
        ("How heavy is the Swan Cello?", ""),
        ("Which is older, the Swan Cello or the Lark Lute?", "the Swan Cello"),
        ("Where was Jon Orre the Younger born?", "Lisse"),  # no comparison
        ("Where was Jo Kestrel born?", "Lisse"),  # and not the hall with that label
    ],
)
def test_adjectives_and_names(works: KnowledgeGraph, question: str, text: str) -> None:
    assert works.ask(question).text == text
