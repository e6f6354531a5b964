"""Classes of one's own that the names of a text have, and what of a text is no name."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from sarag_rdf.base.types import Document, Mention
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.graph.ontology.schema_reader import schema_of

EX = "https://example.org/"
ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:Human a owl:Class ; rdfs:label "person" . :Body a owl:Class ; rdfs:label "organisation" .
:Crew a owl:Class ; rdfs:subClassOf :Body ; rdfs:label "department" ; skos:altLabel "team" .
:Program a owl:Class ; rdfs:label "program" ; skos:altLabel "system" .
:Yard a owl:Class ; rdfs:label "yard" . :Bench a owl:Class ; rdfs:label "bench" .
:locatedIn a owl:ObjectProperty ; rdfs:label "located in" .
"""
MAIL = """From: Ida Lund
To: Bo Brook
Date: Tue, 23 April 2024 16:41

The kiln of Larch Works is ready.

> From: Bo Brook
> Date: Mon, 22 April 2024 09:15
>
> Hi Ida, Larch Works bought
> the yard of Fell Works in 2014.
"""


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    quads = ox.parse(ONTOLOGY, format=ox.RdfFormat.TURTLE)
    return SpacyExtractor(schema=schema_of([quad.triple for quad in quads]))


def mentions(extractor: SpacyExtractor, text: str, title: str = "") -> dict[str, Mention]:
    document = Document(EX + "d", EX + "s", title, text, 0, len(text))
    [extraction] = extractor.extract([document])
    assert not isinstance(extraction, Exception)
    return {mention.name: mention for mention in extraction.mentions}


def classes(mention: Mention) -> set[str]:
    return {class_.removeprefix(EX) for class_ in mention.classes}


def test_persons_and_sure_organizations_have_the_class_of_all(extractor: SpacyExtractor) -> None:
    found = mentions(extractor, "Ida Lund works for Larch Consulting GmbH with Bo Brook.")
    assert classes(found["Ida Lund"]) == {"Human"}
    assert classes(found["Larch Consulting GmbH"]) == {"Body"}


def test_a_company_is_no_system(extractor: SpacyExtractor) -> None:
    found = mentions(extractor, "The kiln was built by Larch Passenger Systems in Ghent.")
    assert found["Larch Passenger Systems"].type == "organization"
    assert classes(found["Larch Passenger Systems"]) == {"Body"}


def test_what_the_text_calls_a_thing_counts_more_than_its_name(extractor: SpacyExtractor) -> None:
    found = mentions(extractor, "The Kiln Bench team heats the kilns of the town.")
    assert classes(found["Kiln Bench"]) == {"Crew"}


def test_the_first_word_of_a_common_phrase_is_no_class(extractor: SpacyExtractor) -> None:
    title = "Yard round table, 5 October 2023, Tarn"
    found = mentions(extractor, "Ida Lund showed the new kiln.", title)
    assert title not in found or not found[title].classes


def test_a_role_in_brackets_is_that_of_a_person(extractor: SpacyExtractor) -> None:
    text = "Taking part: Bo Brook (Kilns), Milan Petrović (yard manager Tarn), Ida Lund"
    assert mentions(extractor, text)["Milan Petrović"].type == "person"


def test_an_acronym_in_brackets_is_that_of_no_person(extractor: SpacyExtractor) -> None:
    text = "Larch is used by Verkehrsbetriebe Osthafen (VBO). VBO has three yards."
    company = mentions(extractor, text)["Verkehrsbetriebe Osthafen"]
    assert (company.type, company.aliases) == ("organization", ("VBO",))


def test_headers_and_greetings_of_mail_are_no_things(extractor: SpacyExtractor) -> None:
    found = mentions(extractor, MAIL, "Re: The kiln of Larch Works")
    assert {"Ida Lund", "Bo Brook", "Larch Works", "Fell Works", "2014"} <= found.keys()
    assert not any(
        part in name for name in found for part in ("Date", "Tue", "Mon", "Hi ", "Re:", "From")
    )
    [told] = found["Fell Works"].descriptions
    assert told == "Fell Works: Larch Works bought the yard of Fell Works in 2014."
