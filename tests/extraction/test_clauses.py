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
:director a owl:ObjectProperty ; rdfs:label "director" ; rdfs:domain :House ; rdfs:range :Person .
:keeper a owl:ObjectProperty ; rdfs:label "keeper" ; rdfs:domain :House ; rdfs:range :Person .
:pupil a owl:ObjectProperty ; rdfs:label "pupil of" ; rdfs:domain :Person ; rdfs:range :Person .
:mender a owl:ObjectProperty ; rdfs:label "mended by" ; rdfs:domain :Bell ; rdfs:range :Person .
:opened a owl:ObjectProperty ; rdfs:label "opened by" ; rdfs:domain :Fair ; rdfs:range :Person .
:lent a owl:ObjectProperty ; rdfs:label "lent to" ; rdfs:domain :Bell ; rdfs:range :House .
:founded a owl:DatatypeProperty ; rdfs:label "founding year" ; rdfs:domain :House ;
  rdfs:range xsd:gYear .
:made a owl:DatatypeProperty ; rdfs:label "year made" ; rdfs:domain :Bell ; rdfs:range xsd:gYear .
:weight a owl:DatatypeProperty ; rdfs:label "weight in kg" ; rdfs:domain :Bell ;
  rdfs:range xsd:decimal .
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Heron Bell dates from 1780.", "Heron Bell made 1780"),
        ("The Heron Bell was cast in 1780.", "Heron Bell made 1780"),
        ("The Tarn Foundry was founded in 1780.", "Tarn Foundry founded 1780"),
        ("The Heron Bell weighs 58 kg.", "Heron Bell weight 58"),
        ("The Heron Bell weighs 50 pounds.", "Heron Bell weight 22.6796185"),
    ],
)
def test_making_founding_and_weighing(extractor: SpacyExtractor, text: str, expected: str) -> None:
    assert said(extractor, "", text) == set(filter(None, [expected]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Brook, then director of the Tarn Museum, opened the fair in 1932.",
         "Tarn Museum director Ada Brook (at 1932)"),
        ("Ada Brook, then director of the Tarn Museum, opened the fair.", ""),
        ("Ada Brook, director of the Tarn Museum, died in 1950.",
         "Ada Brook death 1950; Tarn Museum director Ada Brook (at 1950)"),
        ("Ada Brook, a pupil of Karl Holm, died in 1950.",
         "Ada Brook death 1950; Ada Brook pupil Karl Holm"),
        ("The Heron Bell was never lent before 2004, when it was lent to the Tarn Museum.",
         "Heron Bell lent Tarn Museum (at 2004)"),
        ("Karl Holm mended the Heron Bell in 1996 and the Otter Bell in 2018.",
         "Heron Bell mender Karl Holm (at 1996); Otter Bell mender Karl Holm (at 2018)"),
    ],
)  # fmt: skip
def test_when_something_was_true(extractor: SpacyExtractor, text: str, expected: str) -> None:
    statements = set()
    for relation in extracted(extractor, "", text).relations:
        times = zip(("from", "until", "at"), relation.times, strict=True)
        when = ", ".join(f"{word} {time.lexical}" for word, time in times if time)
        statements |= {line + f" ({when})" * bool(when) for line in stated([relation])}
    assert statements == set(filter(None, expected.split("; ")))


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("The Heron Bell was cast in 1780.", 0.9),
        ("The Heron Bell was probably cast in 1780.", 0.6),
        ("The Heron Bell was cast in about 1780.", 0.6),
        ("The Heron Bell was perhaps mended by Ada Brook.", 0.6),
        ("The Heron Bell was mended by C. Brook in 1780.", 0.9),
    ],
)
def test_what_a_text_only_guesses_has_less_confidence(
    extractor: SpacyExtractor, text: str, confidence: float
) -> None:
    relations = extracted(extractor, "", text).relations
    assert {relation.confidence for relation in relations if relation.predicate} == {confidence}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The director of the Tarn Museum, Ada Brook, was born in Ulm.",
         "Tarn Museum director Ada Brook; Ada Brook born Ulm"),
        ("The former director of the Tarn Museum, Ada Brook, was born in Ulm.",
         "Ada Brook born Ulm"),
        ("Its director was Ada Brook until 1936, and is now Karl Holm.",
         "Tarn Museum director Ada Brook; Tarn Museum director Karl Holm"),
        ("Ada Brook was keeper of old coins of the Tarn Museum.", "Tarn Museum keeper Ada Brook"),
        ("Ada Brook's pupils included Karl Holm.", "Karl Holm pupil Ada Brook"),
    ],
)  # fmt: skip
def test_who_is_what_of_whom(extractor: SpacyExtractor, text: str, expected: str) -> None:
    text = f"The Tarn Museum is a museum. {text}"
    assert said(extractor, "Tarn Museum", text) == set(expected.split("; "))


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Fairs", "The Gull Fair was held in Ulm in 1931. It was opened by Ada Brook.",
         "Gull Fair opened Ada Brook"),
        ("Fairs: a list",
         "# Fairs: a list\n\n- 1931: A fair was held. It was opened by Ada Brook.", ""),
        ("Gull Fair", "The fair was held in 1931. It was opened by Ada Brook.",
         "Gull Fair opened Ada Brook"),
        ("Bells and towers", "The tower was built. Its director was Ada Brook.", ""),
        ("Bell is back in Ulm",
         "Ulm, 19 May 2017\n\nThe bell is home. It was mended by Ada Brook.", ""),
        ("", "Heron Bell was lent to the Tarn Museum.\n1931: Gull Fair was opened by Ada Brook.",
         "Heron Bell lent Tarn Museum; Gull Fair opened Ada Brook"),
        ("Ulm", "The Heron Bell is old. Ada Brook mended the bell in 1931.",
         "Heron Bell mender Ada Brook"),
        ("Ulm", "The Heron Bell and the Otter Bell are old. Ada Brook mended the bell.", ""),
        ("Ulm", "The Heron Bell is old. Ada Brook mended the bell of the church.", ""),
        ("Ulm", "Ada Brook works in a foundry. She was born in Riga.", "Ada Brook born Riga"),
        ("Ulm", "Ada Brook married a tailor. He was born in Riga.", ""),
        ("Ulm", "Ada Brook met Karl Holm. He was born in Riga.", ""),
        ("Ulm", "Ada Brook met him. He was born in Riga.", ""),
        ("Ulm", "Ada Brook works here. She was born in Riga. He was born in Oslo.",
         "Ada Brook born Riga"),
        ("Ada Brook", "Ada Brook left. She wept. Karl Holm died. She was born in Riga.", ""),
        ("Ulm", "Ada Brook works here. Karl Holm said that she was born in Riga.", ""),
    ],
)  # fmt: skip
def test_whom_and_what_pronouns_and_nouns_mean(
    extractor: SpacyExtractor, title: str, text: str, expected: str
) -> None:
    assert said(extractor, title, text) == set(filter(None, expected.split("; ")))
