"""What a typed statement is: literals of a range, arguments as mentions, implied classes."""

from __future__ import annotations

from collections import Counter

import pytest

from sarag_rdf.base.types import Extraction, Mention, Relation
from sarag_rdf.extraction.text_values import find_values
from sarag_rdf.extraction.typed_statements import literal, range_kind
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.plugins.llm.statement_calls import TextBinder, literal_of
from sarag_rdf.plugins.statement_models import with_statements

EX = "https://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PERSON, PLACE, CITY = f"{EX}Person", f"{EX}Place", f"{EX}City"
SCHEMA = Schema.of(
    [
        OntologyClass(PERSON, "person"),
        OntologyClass(PLACE, "place"),
        OntologyClass(CITY, "city", parents=(PLACE,)),
    ],
    [
        OntologyProperty(f"{EX}teacher", "teacher", domains=(PERSON,), ranges=(PERSON,)),
        OntologyProperty(f"{EX}birthPlace", "birth place", domains=(PERSON,), ranges=(PLACE,)),
        OntologyProperty(f"{EX}employer", "employer", ranges=("https://other.org/Agent",)),
        OntologyProperty(
            f"{EX}birthDate", "birth date", ranges=(XSD + "date",), is_literal=True,
            is_functional=True,
        ),
    ],
)  # fmt: skip


@pytest.mark.parametrize(
    ("ranges", "label", "is_literal", "kind"),
    [
        ((XSD + "date",), "opened", True, "date"),
        ((XSD + "nonNegativeInteger",), "seats", True, "number"),
        ((XSD + "anyURI",), "page", True, "url"),
        (("https://example.org/concepts#Date",), "opened", False, "date"),
        (("https://example.org/concepts#Year",), "opened", False, "date"),
        (("https://example.org/concepts#number",), "seats", False, "number"),
        ((), "inception", False, "date"),
        ((), "construction cost", False, "number"),
        ((), "part of", False, "any"),
        ((XSD + "boolean",), "open", True, "unsupported"),
        (("http://www.w3.org/2000/01/rdf-schema#Literal",), "note", True, "any"),
        (("https://example.org/isbn",), "isbn", True, "string"),
        ((PLACE,), "date of place", False, "entity"),
    ],
)
def test_kinds_of_ranges(ranges: tuple[str, ...], label: str, is_literal: bool, kind: str) -> None:
    property_ = OntologyProperty(f"{EX}p", label, ranges=ranges, is_literal=is_literal)
    assert range_kind(property_) == kind


def property_of(datatype: str) -> OntologyProperty:
    return OntologyProperty(f"{EX}p", "p", ranges=(XSD + datatype,), is_literal=True)


@pytest.mark.parametrize(
    ("datatype", "text", "expected"),
    [
        ("date", "12 March 1905", ("1905-03-12", "date")),
        ("date", "May 1901", ("1901-05", "gYearMonth")),
        ("gYear", "1905", ("1905", "gYear")),
        ("date", "19th century", None),
        ("date", "03/04/1905", None),
        ("duration", "90 minutes", ("PT1H30M", "dayTimeDuration")),
        ("duration", "3", None),
        ("integer", "1,500 seats", None),
        ("integer", "3", ("3", "integer")),
        ("integer", "1905", ("1905", "integer")),
        ("integer", "3.5", None),
        ("integer", "5 May 1921", None),
        ("decimal", "3.5", ("3.5", "decimal")),
        ("double", "3", ("3", "integer")),
        ("boolean", "open", None),
        ("anyURI", "open", None),
        ("string", "1905", ("1905", "string")),
    ],
)
def test_literals_are_in_the_range(
    datatype: str, text: str, expected: tuple[str, str] | None
) -> None:
    """By both ways to them: of a candidate with its value, and of an argument that is bound."""
    property_ = property_of(datatype)
    value = next((s.value for s in find_values(text) if s.value.text == text), None)
    found = literal(property_, text, value)
    assert (found and (found.lexical, found.datatype.removeprefix(XSD))) == expected
    binder = TextBinder(text)
    bound = binder.bind(text)
    assert bound is not None
    fits, found = literal_of(property_, bound, binder)
    assert fits == (found is not None)
    if expected is not None:
        assert found
        assert (found.lexical, found.datatype.removeprefix(XSD)) == expected
    elif "seats" not in text:
        assert found is None


def joined(
    *relations: Relation, mentions: tuple[Mention, ...] = ()
) -> tuple[Extraction, Counter[str]]:
    discarded: Counter[str] = Counter()
    extraction = Extraction(mentions, ())
    return with_statements(extraction, relations, SCHEMA, discarded=discarded), discarded


def relation(subject: str, property_: str, object_: str) -> Relation:
    text = f"{subject} {property_} {object_}."
    return Relation(subject, property_, object_, text, predicate=EX + property_)


def test_arguments_become_mentions_with_the_classes_that_are_implied() -> None:
    found, discarded = joined(
        relation("ada brook", "birthPlace", "Cardiff"),
        relation("Ada Brook", "employer", "Gull Line"),
        mentions=(Mention("Ada Brook", "person"), Mention("Cardiff", classes=(CITY,))),
    )
    assert {m.name: m.classes for m in found.mentions} == {
        "Ada Brook": (PERSON,),
        "Cardiff": (CITY,),
        "Gull Line": (),
    }
    assert [r.subject for r in found.relations] == ["Ada Brook", "Ada Brook"]
    assert not discarded


def test_statements_that_known_classes_exclude_are_counted() -> None:
    mentions = (Mention("Cardiff", classes=(CITY,)),)
    found, discarded = joined(
        relation("Cardiff", "teacher", "Erik Dahl"),
        relation("Erik Dahl", "teacher", "erik dahl"),
        relation("Ada Brook", "teacher", "Erik Dahl"),
        relation("Ada Brook", "teacher", "Erik Dahl"),
        mentions=mentions,
    )
    assert [(r.subject, r.object) for r in found.relations] == [("Ada Brook", "Erik Dahl")]
    assert found.mentions[0] == mentions[0]
    assert discarded == {
        "statements that violate the domain or range of the property": 1,
        "statements of a name about itself": 1,
        "repeated statements": 1,
    }
