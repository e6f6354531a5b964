"""The times of typed relations: only what a clause says explicitly."""

from __future__ import annotations

import pytest

from sarag_rdf.base.types import Document
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


@pytest.mark.parametrize(
    ("text", "property_", "times"),
    [
        ("Ida Brandt was director of the Thule Museum from 1919 to 1937.", "head", "1919 1937 -"),
        ("Ida Brandt worked at the University of Oslo until 1941.", "employer", "- 1941 -"),
        ("Ida Brandt received the Thule Prize in 1903.", "awardReceived", "- - 1903"),
        ("Ida Brandt has lived in Bergen since 1950.", "residence", "1950 - -"),
        ("Between 1901 and 1910, Ida Brandt studied at the University of Oslo.",
         "educatedAt", "1901 1910 -"),
        ("Ida Brandt married Karl Holm in 1895.", "spouse", "1895 - -"),
        ("The Cold Shore was written by Ida Brandt in 1962.", "author", "1962 - -"),
        ("Ida Brandt was born in Riga in 1867.", "birthPlace", "- - -"),
        ("Ida Brandt worked at the University of Oslo from 1937 to 1919.", "employer", "- - -"),
        ("Ida Brandt worked at the University of Oslo.", "employer", "- - -"),
    ],
)  # fmt: skip
def test_times_of_a_clause(
    extractor: SpacyExtractor, text: str, property_: str, times: str
) -> None:
    [found] = extractor.extract([Document("d", "s", "", text, 0, len(text))])
    assert not isinstance(found, Exception)
    typed = [r for r in found.relations if r.predicate.endswith(f"#{property_}")]
    assert [" ".join(t.lexical if t else "-" for t in r.times) for r in typed] == [times]


def test_each_verb_has_its_own_times(extractor: SpacyExtractor) -> None:
    text = (
        "Ida Brandt worked at the University of Oslo from 1919 to 1937 and "
        "lived in Bergen until 1941."
    )
    [found] = extractor.extract([Document("d", "s", "", text, 0, len(text))])
    assert not isinstance(found, Exception)
    ends = {r.object: r.end.lexical for r in found.relations if r.predicate and r.end}
    assert ends == {"University of Oslo": "1937", "Bergen": "1941"}


def test_relations_without_a_property_have_the_times_of_their_verbs(
    extractor: SpacyExtractor,
) -> None:
    """They may state one later, by a decision about their phrase."""
    text = "Ida Brandt steered the Thule Museum from 1919 to 1937."
    [found] = extractor.extract([Document("d", "s", "", text, 0, len(text))])
    assert not isinstance(found, Exception)
    times = {r.object: [t.lexical if t else "" for t in r.times] for r in found.relations}
    assert times == {"Thule Museum": ["1919", "1937", ""], "1919": [""] * 3, "1937": [""] * 3}


def test_a_birth_place_remains_one_where_the_ontology_has_no_birth_dates() -> None:
    """So that queries at a later time and reports of contradictions know of it."""
    born = OntologyProperty("urn:bornIn", "born in")
    text = "Ida Brandt was born in Riga in 1867."
    [found] = SpacyExtractor(schema=Schema.of([], [born])).extract(
        [Document("d", "s", "", text, 0, len(text))]
    )
    assert not isinstance(found, Exception)
    [typed] = [relation for relation in found.relations if relation.predicate]
    assert (typed.object, typed.at) == ("Riga", None)
    assert typed.start is not None and typed.start.lexical == "1867"
