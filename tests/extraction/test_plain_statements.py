"""Plain sentences about a workshop: what a label, as a noun or as a verb, says in all its forms."""

from __future__ import annotations

import logging

import pytest

from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from tests.extraction.test_own_ontology import extracted, extractor_with, stated

ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
:Firm a owl:Class ; rdfs:label "company" ; skos:altLabel "workshop" .
:Machine a owl:Class ; rdfs:label "machine" . :Loom a owl:Class ; rdfs:subClassOf :Machine ;
  rdfs:label "loom" . :Patent a owl:Class ; rdfs:label "patent" .
:Vessel a owl:Class ; rdfs:label "vessel" ; skos:altLabel "ship" .
:Prize a owl:Class ; rdfs:label "prize" . :Sample a owl:Class ; rdfs:label "sample" .
:spouse a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:label "married to" ;
  rdfs:domain :Person ; rdfs:range :Person .
:manufacturer a owl:ObjectProperty ; rdfs:label "manufacturer" ; rdfs:domain :Machine ;
  rdfs:range :Firm .
:repairs a owl:ObjectProperty ; rdfs:label "repairs" ; rdfs:domain :Firm ; rdfs:range :Machine .
:mountedOn a owl:ObjectProperty ; rdfs:label "mounted on" ; rdfs:domain :Machine ;
  rdfs:range :Vessel .
:won a owl:ObjectProperty ; rdfs:label "received prize" ; skos:altLabel "was awarded" ;
  rdfs:domain :Person ; rdfs:range :Prize .
:owner a owl:ObjectProperty ; rdfs:label "patent holder" ; rdfs:domain :Patent ;
  rdfs:range :Firm .
:headOf a owl:ObjectProperty ; rdfs:label "head of" ; skos:altLabel "heads" ;
  rdfs:domain :Person ; rdfs:range :Firm .
:supervises a owl:ObjectProperty ; rdfs:label "supervised" ; rdfs:domain :Person ;
  rdfs:range :Person .
:carries a owl:ObjectProperty ; rdfs:label "carries" ; rdfs:range :Machine .
:seat a owl:ObjectProperty ; rdfs:label "headquarters" ; rdfs:domain :Firm ; rdfs:range :Town .
:builtBy a owl:ObjectProperty ; rdfs:label "built by" ; rdfs:range :Firm .
:budget a owl:DatatypeProperty ; rdfs:label "budget" ; rdfs:domain :Firm ;
  rdfs:range xsd:decimal .
:lengthM a owl:DatatypeProperty ; rdfs:label "length" ; rdfs:domain :Vessel ;
  rdfs:range xsd:decimal .
:weight a owl:DatatypeProperty ; rdfs:label "weight" ; rdfs:comment "The weight in kilograms." ;
  rdfs:domain :Machine ; rdfs:range xsd:decimal .
:mass a owl:DatatypeProperty ; rdfs:label "mass" ; rdfs:domain :Sample ; rdfs:range xsd:decimal .
"""


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return extractor_with(ONTOLOGY)


def statements(extractor: SpacyExtractor, text: str, title: str = "Notes") -> str:
    return "; ".join(sorted(stated(extracted(extractor, title, text).relations)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ida Holm is married to Bo Berg.", "Ida Holm spouse Bo Berg"),
        ("Ida Holm is similar to Bo Berg.", ""),
        ("The mill K 30 was manufactured by Larch Company.", "K 30 manufacturer Larch Company"),
        ("Larch Company manufactured the K-30.", "K-30 manufacturer Larch Company"),
        ("The manufacturer of Wye Mill is Larch Company.", "Wye Mill manufacturer Larch Company"),
        ("Larch Company is the repairer of the K-30.", "Larch Company repairs K-30"),
        ("The steam winch EK 30 has been mounted on the Petrel since 1921.",
         "EK 30 mountedOn Petrel"),
        ("Ida Holm received the Tarn Prize.", "Ida Holm won Tarn Prize"),
        ("The Tarn Prize was awarded to Ida Holm in 1931.", "Ida Holm won Tarn Prize"),
        ("The board appointed Ida Holm as head of Larch Company.", "Ida Holm headOf Larch Company"),
        ("Ida Holm was appointed head of Larch Company.", "Ida Holm headOf Larch Company"),
        ("Ida Holm became head of Larch Company.", "Ida Holm headOf Larch Company"),
        ("Ida Holm left to become head of Larch Company.", "Ida Holm headOf Larch Company"),
        ("Ida Holm hoped to become head of Larch Company.", ""),
        ("Ida Holm supervised the thesis of Bo Berg.", "Ida Holm supervises Bo Berg"),
        ("The Petrel carries the Heron loom.", "Petrel carries Heron"),
        ("The Petrel carries Ida Holm.", ""),
        ("Larch Company had a budget of 2.4 million euros.", "Larch Company budget 2400000"),
        ("The budget of Larch Company was 900,000 dollars.", "Larch Company budget 900000"),
    ],
)  # fmt: skip
def test_plain_sentences(extractor: SpacyExtractor, text: str, expected: str) -> None:
    assert statements(extractor, text) == expected


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("The board appointed Ida Holm as head of Larch Company from 1 May 1931.", "1931-05-01"),
        ("Ida Holm was appointed head of Larch Company with effect from 1 May 1931.", "1931-05-01"),
        ("Ida Holm left in 1931 to become head of Larch Company.", "1931"),
    ],
)
def test_when_an_office_begins(extractor: SpacyExtractor, text: str, start: str) -> None:
    [relation] = [r for r in extracted(extractor, "Notes", text).relations if r.predicate]
    assert relation.start is not None
    assert relation.start.lexical == start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Petrel has a length of 100 ft.", "Petrel lengthM 30.48"),
        ("The Petrel has a length of 30 m.", "Petrel lengthM 30"),
        ("The loom Heron weighs 0.5 tonnes.", "Heron weight 500"),
        ("The loom Heron weighs 500 kg.", "Heron weight 500"),
        ("The Heron weighs 500 kg.", "Heron weight 500"),
        ("The sample Otter weighs 2 kg.", "Otter mass 2"),
    ],
)
def test_values_are_in_the_unit_of_the_property(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    assert statements(extractor, text) == expected


def test_a_phrase_of_two_properties_is_said(caplog: pytest.LogCaptureFixture) -> None:
    both = ONTOLOGY.replace(":lengthM", ":extent").replace('"length"', '"wholesale price"')
    both = both.replace('"mass"', '"wholesale price"')
    with caplog.at_level(logging.WARNING):
        text = "The Heron has a wholesale price of 30 euros."
        assert statements(extractor_with(both), text) == ""
    assert "extent> and <" in caplog.text or "mass>" in caplog.text


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        (
            "Petrel",
            "The Petrel is a ferry. She was built by Larch Works.",
            "Petrel builtBy Larch Works",
        ),
        ("Petrel", "The Petrel is a pump. She was built by Larch Works.", ""),
        ("A short history of the workshop", "Ida Holm came. It was built by Larch Works.", ""),
        ("A short history of the workshop", "Ida Holm headed the workshop until 1931.", ""),
        ("Old wood wins", "The Petrel came back with a winch, the K-9, built by Larch Works.",
         "K-9 builtBy Larch Works"),
    ],
)  # fmt: skip
def test_what_a_pronoun_or_a_title_stands_for(
    extractor: SpacyExtractor, title: str, text: str, expected: str
) -> None:
    assert statements(extractor, text, title) == expected


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Petrel", "The Petrel is new.\n\nLength: 30 m\nWeight: unknown", "Petrel lengthM 30"),
        ("Petrel", "The Petrel is new.\n\n- **Length:** 100 ft", "Petrel lengthM 30.48"),
        ("Petrel", "The Petrel is new.\n\n| Property | Value |\n|---|---|\n| Length | 30 m |",
         "Petrel lengthM 30"),
        ("Petrel", "The Petrel is new.\nLength | 30 m\nHeadquarters | Hull", "Petrel lengthM 30"),
        ("Patents", "| Patent | Holder |\n|--|--|\n| GB-1 | Larch Company |\n| GB-7 | Fell Works |",
         "GB-1 owner Larch Company; GB-7 owner Fell Works"),
        ("Fleet", "| Vessel | Length (m) |\n|---|---:|\n| Petrel | 30 |\n| Tern | n/a |",
         "Petrel lengthM 30"),
        ("Petrel", "```\nLength: 30 m\n```\n\n| Colour | blue |\n| Beam | 4 m |", ""),
        ("Larch Company", "Larch Company grew.\n\nBudget: 2 million euros; headquarters: Hull.",
         "Larch Company budget 2000000; Larch Company seat Hull"),
        ("A short history of the workshop", "Ida Holm came.\n\nBudget: 2 million euros", ""),
    ],
)  # fmt: skip
def test_keys_and_tables(extractor: SpacyExtractor, title: str, text: str, expected: str) -> None:
    assert statements(extractor, text, title) == expected


ABOUT = "Larch Company", "Larch Company grew. "
"""What the texts below are about, if they do not say that they are about something else."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Tarn Mills Ltd\nHeadquarters: Hull\n\n## Otterby\nHeadquarters: Brookham", ""),
        ("## Fell Works\n### Key data\nHeadquarters: Hull", ""),
        ("## Key data\nHeadquarters: Hull", "Larch Company seat Hull"),
        ("**Barkdown**\n\nHeadquarters: Hull", ""),
        ("- Barkdown\n  - Headquarters: Hull", ""),
        ("Company: Fell Works\nHeadquarters: Hull", "Fell Works seat Hull"),
        ("1. Fell Works. Headquarters: Hull; budget: 300", ""),
        ("|  | Headquarters |\n|--|--|\n| Barkdown | Hull |\n| Starkdown | Brookham |", ""),
        ("| Field | Barkdown |\n|--|--|\n| Headquarters | Hull |", ""),
        ("```\n| Company | Headquarters |\n|--|--|\n| Barkdown | Hull |\n```", ""),
        ("    | Company | Headquarters |\n    |--|--|\n    | Barkdown | Hull |", ""),
        ("| Company | Headquarters |\n|--|--|\n| Barkdown | Hull |", "Barkdown seat Hull"),
        ("| Company | Headquarters |\n|--|--|\n|| Hull |", ""),
        ("| Year | Budget |\n|--|--|\n| 2019 | 300 |\n| Total | 300 |", ""),
        ("| # | Headquarters |\n|--|--|\n| 1 | Hull |", ""),
        ("Headquarters: none", ""),
        ("Headquarters: Moved to Hull", ""),
        ("Headquarters: Hull since 1931", ""),
        ("Headquarters: Hull (1921-1931)", ""),
        ("Headquarters: 4 March 1961", ""),
        ("Headquarters: Paris, Texas", ""),
        ("Headquarters: Good morning.", ""),
        ("Budget: n/a", ""),
        ("Headquarters: New Hull", "Larch Company seat New Hull"),
    ],
)
def test_keys_and_tables_that_say_nothing_of_the_topic(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    title, first = ABOUT
    assert statements(extractor, f"{first}\n\n{text}", title) == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("Weight (g)", "12000", "K-9 weight 12"),
        ("Weight (lb)", "26", "K-9 weight 11.79340162"),
        ("Weight", "350 \u00b0F", ""),
    ],
)
def test_keys_with_units(extractor: SpacyExtractor, key: str, value: str, expected: str) -> None:
    assert statements(extractor, f"The K-9 is a machine.\n\n{key}: {value}", "K-9") == expected


def test_the_name_of_a_row_is_of_the_kind_in_the_header(extractor: SpacyExtractor) -> None:
    table = "| Patent | Holder |\n|---|---|\n| GB-1031 | Larch Company |"
    mentions = {m.name: m for m in extracted(extractor, "Patents", table).mentions}
    assert mentions["GB-1031"].classes == ("https://example.org/Patent",)
    assert mentions["Larch Company"].type == "organization"
