"""Who and what a clause is about, and when it is true, in terms of an ontology of one's own."""

from __future__ import annotations

import pytest

from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from tests.extraction.test_own_ontology import extracted, extractor_with, stated

ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
:Bell a owl:Class ; rdfs:label "bell" . :Metal a owl:Class ; rdfs:label "metal" .
:Fair a owl:Class ; rdfs:label "fair" .
:House a owl:Class ; rdfs:label "organisation" ; skos:altLabel "foundry", "museum" .
:born a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :Town .
:birth a owl:DatatypeProperty ; rdfs:label "date of birth" ; rdfs:domain :Person ;
  rdfs:range xsd:date .
:death a owl:DatatypeProperty ; rdfs:label "date of death" ; rdfs:domain :Person ;
  rdfs:range xsd:date .
:owner a owl:ObjectProperty ; rdfs:label "owned by" ; skos:altLabel "owner" ;
  rdfs:domain :Bell ; owl:inverseOf :owns .
:owns a owl:ObjectProperty ; rdfs:label "owns" .
"""


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return extractor_with(ONTOLOGY)


def said(extractor: SpacyExtractor, title: str, text: str) -> set[str]:
    return stated(extracted(extractor, title, text).relations)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Brook, born in Ulm, and Karl Holm, born in Riga, were founders.",
         "Ada Brook born Ulm; Karl Holm born Riga"),
        ("Ada Brook, who was born in Ulm, and Karl Holm, who was born in Riga, met.",
         "Ada Brook born Ulm; Karl Holm born Riga"),
        ("Otto Vance (born 1901 in Ulm) and Karl Holm (born 1910 in Riga) founded a fair.",
         "Otto Vance born Ulm; Otto Vance birth 1901; Karl Holm born Riga; Karl Holm birth 1910"),
        ("Ada Brook, who died in 1890, and her brother Karl Holm, who died in 1901, met.",
         "Ada Brook death 1890; Karl Holm death 1901"),
        ("The Heron Bell was bought by Ada Brook and Karl Holm, who was born in Riga.",
         "Heron Bell owner Ada Brook; Heron Bell owner Karl Holm; Karl Holm born Riga"),
    ],
)  # fmt: skip
def test_what_is_said_of_one_of_two_is_not_said_of_the_other(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    assert said(extractor, "", text) == set(expected.split("; "))


@pytest.mark.parametrize("name", ["Heron Bell", "Heron Bell by Karl Holm"])
def test_who_made_a_thing_that_another_one_buys_is_not_the_owner(
    extractor: SpacyExtractor, name: str
) -> None:
    text = f"Ada Brook bought the {name} at a sale in Ulm."
    assert said(extractor, "", text) == {"Heron Bell owner Ada Brook"}
