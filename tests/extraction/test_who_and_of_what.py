"""Whose role a text names, and which of several properties with the same verb it states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from tests.extraction.test_own_ontology import extracted, extractor_with, stated

ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" .
:Firm a owl:Class ; rdfs:label "company" .
:Unit a owl:Class ; rdfs:label "division" ; rdfs:subClassOf :Firm .
:Device a owl:Class ; rdfs:label "device" ; skos:altLabel "pump" .
:Yard a owl:Class ; rdfs:label "yard" .
:Fault a owl:Class ; rdfs:label "fault" .
:headOf a owl:ObjectProperty ; rdfs:label "head of" ; rdfs:domain :Person ; rdfs:range :Unit .
:managerOf a owl:ObjectProperty ; rdfs:label "manager of" ; rdfs:domain :Person ;
  rdfs:range :Yard .
:faultManager a owl:ObjectProperty ; rdfs:label "fault manager" ; rdfs:domain :Fault ;
  rdfs:range :Person .
:owner a owl:ObjectProperty ; rdfs:label "has owner" ; rdfs:domain :Device ; rdfs:range :Person .
:suppliedBy a owl:ObjectProperty ; rdfs:label "supplied by" ; rdfs:domain :Device ;
  rdfs:range :Firm .
:replaced a owl:ObjectProperty ; rdfs:label "replaced" ; rdfs:domain :Device ;
  rdfs:range :Device .
:worksFor a owl:ObjectProperty ; rdfs:label "works for" ; rdfs:domain :Person ;
  rdfs:range :Firm .
:workedFor a owl:ObjectProperty ; rdfs:label "worked for" ; rdfs:domain :Person ;
  rdfs:range :Firm .
:started a owl:DatatypeProperty ; rdfs:label "went online on" ; rdfs:domain :Device ;
  rdfs:range xsd:date .
:built a owl:DatatypeProperty ; rdfs:label "built in" ; rdfs:range xsd:gYear .
:series a owl:DatatypeProperty ; rdfs:label "series" ; rdfs:domain :Device ;
  rdfs:range xsd:string .
:model a owl:DatatypeProperty ; rdfs:label "model" ; rdfs:domain :Device ; rdfs:range xsd:string .
:valves a owl:DatatypeProperty ; rdfs:label "number of valves" ; rdfs:domain :Device ;
  rdfs:range xsd:integer .
"""


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return extractor_with(ONTOLOGY)


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("News", "The CEO, Anna Berg, the head of Logistics, Bo Lind, and Ida Holm met.",
         "Bo Lind headOf Logistics"),
        ("News", "Anna Berg, the head of Logistics, Bo Lind, and Ida Holm met.", ""),
        ("News", "Anna Berg, the head of Logistics, was there.", "Anna Berg headOf Logistics"),
        ("News", "Anna Berg has managed Larchfield since 2016.",
         "Anna Berg managerOf Larchfield"),
        ("News", "Anna Berg is the manager of Larchfield.", "Anna Berg managerOf Larchfield"),
        ("News", "Anna Berg is the office manager of Larchfield.", ""),
        ("F-112", "F-112 is a fault. Its manager is Anna Berg.", "F-112 faultManager Anna Berg"),
        ("News", "Anna Berg works for Fell Company.", "Anna Berg worksFor Fell Company"),
        ("News", "Anna Berg had worked for Fell Company.", "Anna Berg workedFor Fell Company"),
        ("News", "Heron had been supplied by Fell Company.", "Heron suppliedBy Fell Company"),
        ("News", "ORVAS replaced Plover.", "ORVAS replaced Plover"),
        ("News", "Heron went online on 4 March 2019.", "Heron started 2019-03-04"),
        ("News", "The current model of Heron is 7.2.", "Heron model 7.2"),
        ("News", "Heron has model 7.", "Heron model 7"),
        ("News", "Heron has 7 models.", ""),
        ("Heron", "The owner is Anna Berg.", "Heron owner Anna Berg"),
        ("Heron", "Anna Berg, a nurse, is the owner.", "Heron owner Anna Berg"),
        ("Heron", "Plover is a pump. The owner is Anna Berg.", ""),
        ("Yards of Larchfield", "The owner is Anna Berg.", ""),
    ],
)  # fmt: skip
def test_roles_and_verbs(extractor: SpacyExtractor, title: str, text: str, expected: str) -> None:
    assert stated(extracted(extractor, title, text).relations) == set(
        filter(None, expected.split("; "))
    )


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Pumproom", "Orvas is the main pump. It was built in 1908.", "Orvas built 1908"),
        ("Heron \u2013 a sheet", "Model: 7", ""),
        ("Heron \u2013 a sheet", "Heron pumps.\n\nModel: 7", "Heron model 7"),
        ("Data sheet for Heron", "Model: 7", ""),
        ("Heron", "Model: 7", "Heron model 7"),
        ("Pumps", "| Pump | Valves |\n|---|---|\n| Heron | 12 |", "Heron valves 12"),
    ],
)  # fmt: skip
def test_pages_about_things(
    extractor: SpacyExtractor, title: str, text: str, expected: str
) -> None:
    assert stated(extracted(extractor, title, text).relations) == set(
        filter(None, expected.split("; "))
    )


def test_the_name_of_a_file_is_no_subject(extractor: SpacyExtractor) -> None:
    text = "Orvas has been here since 2022, when it replaced Dunlin."
    texts = {text: {"Orvas replaced Dunlin"}, "It was supplied by Fell Company.": set()}
    for said, expected in texts.items():
        document = Document("urn:d", "urn:s", "R25", said, 0, len(said))
        [extraction] = extractor.extract([replace(document, is_titled=False)])
        assert isinstance(extraction, Extraction)
        assert stated(extraction.relations) == expected
