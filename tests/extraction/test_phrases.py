from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import EntityType, Value
from sarag_rdf.base.vocab import XSD
from sarag_rdf.extraction.normal_phrases import Word, normalize_phrase
from sarag_rdf.extraction.phrases import Argument, PhraseMatcher
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.graph.ontology.schema_reader import COMMON, common_schema, schema_of

EX = "https://example.org/"
G_YEAR = XSD.gYear.value


def stems(phrase: str) -> list[str]:
    return [word.stem for word in normalize_phrase(phrase)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("was born in", "is born in"),
        ("was also founded by the", "has been founded by"),
        ("founded by", "was founded by"),
        ("is the capital of", "was once the capital of"),
        ("was born in the village of", "was born in"),
        ("studies at", "studied at"),
        ("rises on the slopes of", "rises on"),
        ("taught", "teaches"),
    ],
)
def test_inflection_articles_and_adverbs_make_no_difference(one: str, other: str) -> None:
    assert stems(one) == stems(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("founded", "was founded by"),
        ("found", "founded"),
        ("was born in", "was not born in"),
        ("taught", "could teach"),
        ("is called", "calls"),
        ("is the head of", "has the head of"),
    ],
)
def test_voice_negation_and_modals_do(one: str, other: str) -> None:
    assert stems(one) != stems(other)


@pytest.fixture(scope="module")
def matcher() -> PhraseMatcher:
    return PhraseMatcher(common_schema())


def name(text: str, type_: EntityType = "misc", *classes: str) -> Argument:
    return Argument(text, "name", type_, tuple(COMMON + class_ for class_ in classes))


PERSON, PLACE = name("Ada Brook", "person"), name("Cardiff", "geopolitical")
COLLEGE = name("Larch College", "organization", "University")
YEAR = Argument("1901", "value", value=Value("1901", "1901", G_YEAR))


@pytest.mark.parametrize(
    ("phrase", "subject", "object_", "expected"),
    [
        ("was born in", PERSON, PLACE, "birthPlace"),
        ("was born in", PERSON, YEAR, "birthDate"),
        ("was born in the village of", PERSON, PLACE, "birthPlace"),
        ("studied at", PERSON, COLLEGE, "educatedAt"),
        ("studied in", PERSON, PLACE, "studyPlace"),
        ("was founded by", COLLEGE, PERSON, "founder"),
        ("founded", PERSON, COLLEGE, "-founder"),
        ("is the capital of", PLACE, name("Wales", "geopolitical"), "-capital"),
        ("has the brother", PERSON, name("Owen Brook", "person"), "sibling"),
        ("received", PERSON, name("Larch Medal", "misc", "Award"), "awardReceived"),
    ],
)
def test_properties_of_the_packaged_ontology(
    matcher: PhraseMatcher, phrase: str, subject: Argument, object_: Argument, expected: str
) -> None:
    match = matcher.match(normalize_phrase(phrase), subject, object_)
    assert match is not None
    is_inverse = match.is_inverse and not match.property.is_symmetric
    assert ("-" if is_inverse else "") + match.property.iri.removeprefix(COMMON) == expected


@pytest.mark.parametrize(
    ("phrase", "subject", "object_"),
    [
        ("was born near", PERSON, PLACE),
        ("was not born in", PERSON, PLACE),
        ("was born in", COLLEGE, PLACE),
        ("died in", PERSON, name("Second Larch War", "misc", "Event")),
        ("received", PERSON, PLACE),
        ("married", PERSON, PLACE),
        ("met", PERSON, YEAR),
        ("is in", PERSON, PLACE),
        ("studied at", PERSON, name("Larchville", "organization")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.text,
)
def test_what_does_not_fit_has_no_property(
    matcher: PhraseMatcher, phrase: str, subject: Argument, object_: Argument
) -> None:
    assert matcher.match(normalize_phrase(phrase), subject, object_) is None


def test_optional_words_may_stay_unmatched(matcher: PhraseMatcher) -> None:
    words = [Word("is"), Word("largest", True), Word("citi"), Word("of")]
    match = matcher.match(words, PLACE, name("Wales", "geopolitical"))
    assert match is not None
    assert match.property.iri == f"{COMMON}locatedIn"


def test_strings_are_those_that_the_ontology_lists(matcher: PhraseMatcher) -> None:
    words = normalize_phrase("was a")
    botanist = matcher.match(words, PERSON, Argument("botanist", "noun"))
    assert botanist is not None
    assert botanist.value == Value("botanist", "botanist", XSD.string.value)
    assert matcher.match(words, PERSON, Argument("member", "noun")) is None
    assert matcher.match(words, PLACE, Argument("botanist", "noun")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Larch University", "University"),
        ("University of Larch", "University"),
        ("King's College Larch", "University"),
        ("Larch Prize in Physics", "Award"),
        ("River Larch", "River"),
        ("Second Larch War", "Event"),
        ("Queen Larch", ""),
        ("Larch", ""),
        ("University", ""),
    ],
)
def test_names_say_what_they_name(matcher: PhraseMatcher, text: str, expected: str) -> None:
    classes = matcher.classes_of_name(text)
    assert [class_.removeprefix(COMMON) for class_ in classes] == ([expected] if expected else [])


@pytest.fixture
def minerals() -> PhraseMatcher:
    """A schema of another field, with labels and no phrases."""
    classes = [
        OntologyClass(EX + "Mineral", "mineral"),
        OntologyClass(EX + "Collector", "collector", parents=(EX + "Human",)),
        OntologyClass(EX + "Human", "human"),
    ]
    collector, mineral = (EX + "Collector",), (EX + "Mineral",)
    properties = [
        OntologyProperty(EX + "collectedBy", "collected by", domains=mineral, ranges=collector),
        OntologyProperty(EX + "owner", "owner", domains=mineral, ranges=(EX + "Human",)),
        OntologyProperty(EX + "sells", "sells", domains=(EX + "Human",), ranges=mineral),
        OntologyProperty(EX + "found", "found", domains=(EX + "Human",), ranges=mineral),
        OntologyProperty(EX + "hasKeeper", "has keeper", domains=mineral, ranges=collector),
    ]
    return PhraseMatcher(Schema.of(classes, properties))


@pytest.mark.parametrize(
    ("phrase", "exchanged", "expected"),
    [
        ("was collected by", False, "collectedBy"),
        ("is the owner of", True, "owner"),
        ("has the owner", False, "owner"),
        ("sold", True, "sells"),
        ("was sold by", False, "sells"),
        ("found", True, "found"),
        ("has the keeper", False, "hasKeeper"),
        ("is the keeper of", True, "hasKeeper"),
        ("was painted by", False, ""),
    ],
)
def test_labels_are_phrases(
    minerals: PhraseMatcher, phrase: str, exchanged: bool, expected: str
) -> None:
    stone = Argument("Blue Larch", "name", "misc", (EX + "Mineral",))
    person = Argument("Ada Brook", "name", "person")
    ends = (person, stone) if exchanged else (stone, person)
    match = minerals.match(normalize_phrase(phrase), *ends)
    assert (match.property.iri.removeprefix(EX) if match else "") == expected
    active = match is None or match.property.label in ("sells", "found")
    assert match is None or match.is_inverse == (exchanged != active)


def test_two_properties_with_one_phrase_are_no_property() -> None:
    phrases = ("was carved by",)
    properties = [OntologyProperty(EX + n, n, phrases=phrases) for n in ("carver", "sculptor")]
    ends = (Argument("Blue Larch"), Argument("Ada Brook", "name", "person"))
    matcher = PhraseMatcher(Schema.of((), properties))
    assert matcher.match(normalize_phrase("was carved by"), *ends) is None
    narrower = OntologyProperty(EX + "carver", "carver", phrases=phrases, parents=(EX + "maker",))
    wider = OntologyProperty(EX + "maker", "maker", phrases=phrases)
    matcher = PhraseMatcher(Schema.of((), [narrower, wider]))
    match = matcher.match(normalize_phrase("was carved by"), *ends)
    assert match is not None
    assert match.property.iri == EX + "carver"


def test_classes_are_not_searched_for_each_class() -> None:
    class Counting(dict[str, OntologyClass]):
        searches = 0

        def __iter__(self) -> Iterator[str]:
            Counting.searches += 1
            return super().__iter__()

        def items(self) -> Any:
            Counting.searches += 1
            return super().items()

    classes = Counting(
        (f"urn:{n}", OntologyClass(f"urn:{n}", f"thing {n}", parents=(f"urn:{n // 2}",)))
        for n in range(1, 60)
    )
    matcher = PhraseMatcher(Schema(classes, {}))
    for iri in list(classes):
        matcher.entity_types(iri)
    assert Counting.searches <= 3


BRIDGE, COMPANY = (EX + "Bridge",), (EX + "Company",)
OWNED = OntologyProperty(EX + "ownedBy", "owned by", domains=BRIDGE, ranges=COMPANY)
OWNS = OntologyProperty(EX + "owns", "owns", domains=COMPANY, ranges=BRIDGE, inverse=EX + "ownedBy")
HELD = OntologyProperty(EX + "held", "owned by", domains=BRIDGE, ranges=COMPANY)


@pytest.mark.parametrize(
    ("properties", "phrase", "expected"),
    [
        ([OWNED, OWNS], "is owned by", "ownedBy"),
        ([OWNED, OWNS], "owns", "owns"),
        ([OWNED, replace(HELD, equivalents=(OWNED.iri,))], "is owned by", "held"),
        ([OWNED, HELD], "is owned by", ""),
    ],
)
def test_of_inverse_and_equivalent_properties_one_is_stated(
    properties: list[OntologyProperty], phrase: str, expected: str
) -> None:
    classes = OntologyClass(EX + "Bridge", "bridge"), OntologyClass(EX + "Company", "company")
    inverse = {iri: p.iri for p in properties for iri in (p.inverse,) if iri}
    known = [replace(p, inverse=p.inverse or inverse.get(p.iri, "")) for p in properties]
    bridge = Argument("Larch Bridge", "name", "misc", BRIDGE)
    company = Argument("Larch Roads", "name", "organization", COMPANY)
    ends = (company, bridge) if phrase == "owns" else (bridge, company)
    match = PhraseMatcher(Schema.of(classes, known)).match(normalize_phrase(phrase), *ends)
    assert (match.property.iri.removeprefix(EX) if match else "") == expected
    assert match is None or not match.is_inverse


@pytest.fixture(scope="module")
def both() -> PhraseMatcher:
    """The packaged ontology as a file, with the terms of schema.org, beside another one."""
    own = """
        @prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :Driver a owl:Class ; rdfs:label "driver" ; rdfs:subClassOf :Person .
        :Person a owl:Class ; rdfs:label "person" . :City a owl:Class ; rdfs:label "city" .
        :drives a owl:ObjectProperty ; rdfs:label "drives" ; rdfs:domain :Driver ."""
    files = ontology_path("common.ttl").read_text("utf-8"), own
    read = (ox.parse(text, format=ox.RdfFormat.TURTLE) for text in files)
    return PhraseMatcher(schema_of(quad.triple for quads in read for quad in quads))


@pytest.mark.parametrize(
    ("phrase", "subject", "object_", "expected"),
    [
        ("was founded by", COLLEGE, PERSON, "founder"),
        ("was born in", PERSON, PLACE, "birthPlace"),
        ("was born in", Argument("Ada", "name", "person", (EX + "Driver",)), PLACE, "birthPlace"),
        ("was born in", Argument("Ada", "name", "misc", (EX + "City",)), PLACE, ""),
    ],
)
def test_an_ontology_beside_the_packaged_one_takes_nothing_from_it(
    both: PhraseMatcher, phrase: str, subject: Argument, object_: Argument, expected: str
) -> None:
    match = both.match(normalize_phrase(phrase), subject, object_)
    assert (match.property.iri.removeprefix(COMMON) if match else "") == expected
    assert both.classes_of_noun("city")[0::2] == (EX + "City", COMMON + "City")
