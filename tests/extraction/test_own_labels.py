"""Labels of one's own ontology are evidence for what things are, whatever a recogniser guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sarag_rdf.base.types import Source
from sarag_rdf.documents.reading import ReadOptions, read
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from tests.extraction.test_own_ontology import extracted, extractor_with, stated

ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
:Firm a owl:Class ; rdfs:label "company" ; owl:disjointWith :Person .
:Guild a owl:Class ; rdfs:label "guild" . :School a owl:Class ; rdfs:label "school" .
:Yard a owl:Class ; rdfs:label "pump yard" ; rdfs:subClassOf :Place .
:Place a owl:Class ; rdfs:label "place" .
:Device a owl:Class ; rdfs:label "device" .
:Pump a owl:Class ; rdfs:label "pump" ; rdfs:subClassOf :Device .
:Fault a owl:Class ; rdfs:label "fault" ; skos:altLabel "breakdown" .
:Fuel a owl:Class ; rdfs:label "fuel" . :Prize a owl:Class ; rdfs:label "prize" .
:affected a owl:ObjectProperty ; rdfs:label "affected" ; rdfs:domain :Fault ; rdfs:range :Device .
:repairedBy a owl:ObjectProperty ; rdfs:label "repaired by" ; rdfs:domain :Fault ;
  rdfs:range :Person .
:dependsOn a owl:ObjectProperty ; rdfs:label "depends on" ; rdfs:domain :Device ;
  rdfs:range :Device .
:runsOn a owl:ObjectProperty ; rdfs:label "fed with" ; rdfs:domain :Device ; rdfs:range :Fuel .
:tends a owl:ObjectProperty ; rdfs:label "tends" ; rdfs:domain :Guild ; rdfs:range :Device .
:leads a owl:ObjectProperty ; rdfs:label "leads" ; rdfs:domain :Person ; rdfs:range :Guild .
:hostedIn a owl:ObjectProperty ; rdfs:label "hosted in" ; rdfs:domain :Device ; rdfs:range :Yard .
:bought a owl:ObjectProperty ; rdfs:label "bought" ; rdfs:domain :Firm ; rdfs:range :Firm .
:won a owl:ObjectProperty ; rdfs:label "received" ; skos:altLabel "was awarded" ;
  rdfs:domain :Person ; rdfs:range :Prize .
:studiedAt a owl:ObjectProperty ; rdfs:label "studied at" ; rdfs:domain :Person ;
  rdfs:range :School .
:seat a owl:ObjectProperty ; rdfs:label "headquarters" ; skos:altLabel "based in" ;
  rdfs:domain :Firm ; rdfs:range :Town .
:within a owl:ObjectProperty ; rdfs:label "located in" ; rdfs:domain :Place ; rdfs:range :Place .
:engineer a owl:ObjectProperty ; rdfs:label "chief engineer" ; rdfs:domain :Firm ;
  rdfs:range :Person .
"""


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return extractor_with(ONTOLOGY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("F-112 affected Heron and Plover.", "F-112 affected Heron; F-112 affected Plover"),
        ("Heron is fed with Carbol.", "Heron runsOn Carbol"),
        ("Heron depends on Plover for pressure and on Dunlin for heat.",
         "Heron dependsOn Plover; Heron dependsOn Dunlin"),
        ("Larch Company bought Fell Labs, a start-up from Tarn.",
         "Larch Company bought Fell Labs"),
        ("Edda Holm was awarded the Tarn Prize in 2014.", "Edda Holm won Tarn Prize"),
        ("Edda Holm studied mathematics at Larch School.", "Edda Holm studiedAt Larch School"),
        ("The largest customer was Fell Lines, which is based in Hull.", "Fell Lines seat Hull"),
        ("Anna Berg affected Heron.", ""),
        ("In March 2016 Larchwood bought Fell Labs, a start-up from Tarn.", ""),
        ("Larch Company bought Anna Berg.", ""),
        ("Heron depends on Plover for tariffs and on Dunlin for the position of ships.",
         "Heron dependsOn Plover; Heron dependsOn Dunlin"),
        ("Edda Holm tends Heron.", ""),
        ("Heron is a pump. Heron was repaired by Edda Holm.", ""),
    ],
)  # fmt: skip
def test_a_label_is_believed_unless_a_class_contradicts(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    assert stated(extracted(extractor, "Notes", text).relations) == set(
        filter(None, expected.split("; "))
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Edda Holm leads the Dunnock guild at Larchwood.", "Edda Holm leads Dunnock"),
        ("The Dunnock guild tends Heron.", "Dunnock tends Heron"),
        ("Heron is hosted in the Skerry pump yard.", "Heron hostedIn Skerry"),
        ("Edda Holm leads the Hamburg guild. She lives in Hamburg.", ""),
        ("Edda Holm leads the Dunnock guild choir.", ""),
    ],
)
def test_a_name_before_its_class_is_the_name(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    assert stated(extracted(extractor, "Notes", text).relations) == set(
        filter(None, expected.split("; "))
    )


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Report: F-112", "Fault F-112 began at noon. It affected Heron.", "F-112 affected Heron"),
        ("F-112", "F-112 was a long fault. The breakdown affected Heron.", "F-112 affected Heron"),
        ("F-112", "F-112 was a fault. Edda Holm repaired the fault by hand.",
         "F-112 repairedBy Edda Holm"),
        ("F-112", "F-112 was a pump. The breakdown affected Heron.", ""),
        ("Larch Company", "Larch Company grew. Bo Berg was chief engineer from 2009 to 2018.",
         "Larch Company engineer Bo Berg"),
        ("Larch Company",
         "Larch Company grew. Since 2018 the chief engineer has been Edda Holm.",
         "Larch Company engineer Edda Holm"),
        ("Larch Company", "It grew. Bo Berg was chief engineer of Fell Company until 2018.",
         "Fell Company engineer Bo Berg"),
        ("How Larch Company halved its costs", "It bought Fell Company.",
         ""),
        ("How Larch Company halved its costs",
         "Larch Company has been here for long. It bought Fell Company.",
         "Larch Company bought Fell Company"),
        ("Minutes of the pump board, 6 May 2023", "The board met. It bought Fell Company.", ""),
        ("Annual report", "There was one thing: F-112 affected Heron. It was repaired by Bo Berg.",
         "F-112 affected Heron; F-112 repairedBy Bo Berg"),
        ("Annual report", "The largest customer was Fell Company. It bought Larch Company.",
         "Fell Company bought Larch Company"),
        ("Ostrava Freight",
         "Ostrava Freight grew. It bought Fell Company. Edda Holm said that she was glad.",
         "Ostrava Freight bought Fell Company"),
        ("A rival is gone", "HULL, 8 March 2016 \u2013 Larch Company has bought Fell Company.",
         "Larch Company bought Fell Company"),
        ("A rival is gone", "HULL, March 8, 2016 \u2013 They laughed. It bought Fell Company.", ""),
        ("Heron", "The first version was large. At that time it was fed with Carbol.", ""),
        ("Heron", "Heron was originally fed with Carbol.", ""),
        ("Heron", "Heron is a pump. The Dunnock guild tends it. It depends on Plover.",
         "Dunnock tends Heron; Heron dependsOn Plover"),
    ],
)  # fmt: skip
def test_what_a_text_is_about(
    extractor: SpacyExtractor, title: str, text: str, expected: str
) -> None:
    assert stated(extracted(extractor, title, text).relations) == set(
        filter(None, expected.split("; "))
    )


@pytest.mark.parametrize(
    ("title", "text", "names"),
    [
        ("Guilds and pumps", "Heron is here.", {"Guilds and pumps", "Heron"}),
        ("Report: F-112", "Dear all, Heron is here.", {"Report: F-112", "Heron"}),
        ("Edda Holm", "She learned at Larch School under Bo Berg.",
         {"Edda Holm", "Larch School", "Bo Berg"}),
        ("How Larch Company halved its costs", "Larch Company grew.", {"Larch Company"}),
    ],
)  # fmt: skip
def test_what_is_no_name(extractor: SpacyExtractor, title: str, text: str, names: set[str]) -> None:
    mentions = extracted(extractor, title, text).mentions
    assert {mention.name for mention in mentions} == names
    assert not any(mention.classes for mention in mentions if mention.name == "Guilds and pumps")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Heron\n\nHeron is a pump.", ("Heron", "Heron is a pump.")),
        ("From: Bo\nSubject: The pumps\nTo: all\n\nHello.",
         ("The pumps", "From: Bo\nTo: all\n\nHello.")),
        ("Heron is a pump.\n\nIt is old.", ("Note", "Heron is a pump.\n\nIt is old.")),
        ("Heron", ("Note", "Heron")),
    ],
)  # fmt: skip
def test_a_plain_text_has_its_heading_or_subject_as_title(
    tmp_path: Path, text: str, expected: tuple[str, str]
) -> None:
    (tmp_path / "note.txt").write_text(text, "utf-8")
    [outcome] = [each.outcome for each in read([tmp_path / "note.txt"], ReadOptions())]
    assert isinstance(outcome, Source)
    assert (outcome.title, outcome.text) == expected
