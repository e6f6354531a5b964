"""Values in text: kinds, lexical forms and datatypes."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.extraction.text_values import (
    CURRENCY,
    UNIT,
    VALUE_KINDS,
    WKT,
    XSD,
    ValueKind,
    find_values,
    parse_value,
)

LEXICAL = {
    "date": r"-?\d{4}-\d\d-\d\d",
    "dateTime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?",
    "gYear": r"-?\d{4}",
    "gYearMonth": r"-?\d{4}-\d\d",
    "gMonthDay": r"--\d\d-\d\d",
    "integer": r"-?\d+",
    "decimal": r"-?\d+\.\d+",
    "duration": r"P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?",
    "yearMonthDuration": r"P(\d+Y)?(\d+M)?",
    "dayTimeDuration": r"P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?",
    "anyURI": r"\S+",
    "string": r"(?s).+",
}
"""Local names of datatypes -> patterns of their lexical forms."""


def short(text: str) -> list[str]:
    """The values of a text as "kind lexical^^datatype unit"."""
    return [
        " ".join(
            part
            for part in (
                span.kind,
                f"{span.value.lexical}^^{re.split('[#/]', span.value.datatype)[-1]}",
                span.value.unit.removeprefix(UNIT).removeprefix(CURRENCY),
            )
            if part
        )
        for span in find_values(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She was born on 7 November 1867.", ["date 1867-11-07^^date"]),
        ("He left on July 4th, 1934, for good.", ["date 1934-07-04^^date"]),
        ("He left on July 4,1934.", ["date 1934-07-04^^date"]),
        ("the 1st of August 1974", ["date 1974-08-01^^date"]),
        ("on 3-Mar-2004", ["date 2004-03-03^^date"]),
        ("signed Nov. 9, 1999", ["date 1999-11-09^^date"]),
        ("in November 1903", ["date 1903-11^^gYearMonth"]),
        ("opened in May, 1921", ["date 1921-05^^gYearMonth"]),
        ("every May 4", ["date --05-04^^gMonthDay"]),
        ("in 1903", ["date 1903^^gYear"]),
        ("between 1914 and 1918", ["date 1914^^gYear", "date 1918^^gYear"]),
        ("the war (1914–1918)", ["date 1914^^gYear", "date 1918^^gYear"]),
        ("44 BC", ["date -0043^^gYear"]),
        ("1 BC", ["date 0000^^gYear"]),
        ("AD 79", ["date 0079^^gYear"]),
        ("15 March 44 BC", ["date -0043-03-15^^date"]),
        ("1999-02-28", ["date 1999-02-28^^date"]),
        ("1999/2/8", ["date 1999-02-08^^date"]),
        ("2024-01-05T10:00:00Z", ["date 2024-01-05T10:00:00Z^^dateTime"]),
        ("25/12/1999", ["date 1999-12-25^^date"]),
        ("12/25/1999", ["date 1999-12-25^^date"]),
        ("31.12.1999", ["date 1999-12-31^^date"]),
        ("7/7/1999", ["date 1999-07-07^^date"]),
    ],
)
def test_dates_have_the_precision_of_the_text(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    "text", ["5/11/1867", "05-11-1867", "1999-02-30", "30 February 1999", "the 19th century"]
)
def test_ambiguous_impossible_and_vague_dates_stay_text(text: str) -> None:
    (span,) = find_values(f"It was {text}, they say.")
    assert span.kind == "date"
    assert span.value.datatype == XSD + "string"
    assert span.value.lexical == span.value.text == text.removeprefix("the ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1500 seats", ["number 1500^^integer"]),
        ("2000 metres", ["quantity 2000^^integer M"]),
        ("1921 in Paris", ["date 1921^^gYear"]),
        ("the 1921 census", ["date 1921^^gYear"]),
        ("2,500 visitors", ["number 2500^^integer"]),
        ("12\u00a0500\u00a0000 votes", ["number 12500000^^integer"]),
        ("3.5 million", ["number 3500000^^integer"]),
        ("1.2345678 million", ["number 1234567.8^^decimal"]),
        ("0.50", ["number 0.5^^decimal"]),
        ("-4.0", ["number -4.0^^decimal"]),
        ("two hundred and fifty people", ["number 250^^integer"]),
        ("Twenty-five men", ["number 25^^integer"]),
        ("three million two hundred thousand", ["number 3200000^^integer"]),
        ("a hundred boats", ["number 100^^integer"]),
        ("no one came; one day", []),
        ("chapter 1.2.3 and 10:30", []),
    ],
)
def test_numbers(text: str, expected: list[str]) -> None:
    assert [s for s in short(text) if not s.startswith("duration")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3,990 m long", ["quantity 3990^^integer M"]),
        ("12.5 km away", ["quantity 12.5^^decimal KiloM"]),
        ("a 40-metre tower", ["quantity 40^^integer M"]),
        ("6 ft 2 in tall", ["quantity 74^^integer IN"]),
        ("6 feet 2 inches", ["quantity 74^^integer IN"]),
        ("300 in total", ["number 300^^integer"]),
        ("−12.5 °C", ["quantity -12.5^^decimal DEG_C"]),
        ("5%", ["quantity 5^^integer PERCENT"]),
        ("450 sq mi", ["quantity 450^^integer MI2"]),
        ("120 km/h", ["quantity 120^^integer KiloM-PER-HR"]),
        ("twelve kilometres", ["quantity 12^^integer KiloM"]),
        ("2 million tonnes", ["quantity 2000000^^integer TONNE"]),
        ("5 years ago", ["quantity 5^^integer YR"]),
    ],
)
def test_quantities_have_units_of_qudt(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for 69 days, 2 hours and 5 minutes", ["duration P69DT2H5M^^dayTimeDuration"]),
        ("two years and 3 months", ["duration P2Y3M^^yearMonthDuration"]),
        ("1 year 10 days", ["duration P1Y10D^^duration"]),
        ("1.5 hours", ["duration PT1H30M^^dayTimeDuration"]),
        ("2 weeks", ["duration P14D^^dayTimeDuration"]),
        ("0 seconds", ["duration PT0S^^dayTimeDuration"]),
        ("90.5 seconds", ["duration PT1M30.5S^^dayTimeDuration"]),
    ],
)
def test_durations(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$3.5 million", ["money 3500000^^integer USD"]),
        ("US$2bn", ["money 2000000000^^integer USD"]),
        ("€2,000.50", ["money 2000.5^^decimal EUR"]),
        ("30 million dollars", ["money 30000000^^integer USD"]),
        ("CHF 120", ["money 120^^integer CHF"]),
        ("500 yen", ["money 500^^integer JPY"]),
        ("they won 3 won games", ["number 3^^integer"]),
    ],
)
def test_money_has_a_currency(text: str, expected: list[str]) -> None:
    assert short(text) == expected


def test_coordinates_are_points_with_the_longitude_first() -> None:
    values = [s.value for s in find_values("48°51′24″N 2°21′03″E; 33.8568° S, 151.2153° E")]
    assert [v.lexical for v in values] == ["POINT(2.350833 48.856667)", "POINT(151.2153 -33.8568)"]
    assert {v.datatype for v in values} == {WKT}
    assert short("41.40338, 2.17403") == ["coordinates POINT(2.17403 41.40338)^^wktLiteral"]
    assert not any(s.startswith("coordinates") for s in short("95°N 2°E"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runway 14L/32R", ["identifier 14L/32R^^string"]),
        ("a B-17 and an A320.", ["identifier B-17^^string", "identifier A320^^string"]),
        ("doi:10.1000/182.", ["identifier 10.1000/182^^string"]),
        ("ORCID 0000-0002-1825-0097", ["identifier 0000-0002-1825-0097^^string"]),
        ("ISBN 978-3-16-148410-0", ["identifier 9783161484100^^string"]),
        ("ISBN 0-306-40615-2", ["identifier 0306406152^^string"]),
        ("ISSN 2049-3630", ["identifier 2049-3630^^string"]),
        ("see https://example.org/a_(b), and", ["url https://example.org/a_(b)^^anyURI"]),
        ("(www.example.org/x).", ["url http://www.example.org/x^^anyURI"]),
    ],
)
def test_identifiers_and_urls(text: str, expected: list[str]) -> None:
    assert short(text) == expected


def test_wrong_check_digits_are_no_identifiers() -> None:
    assert not any("string" in s for s in short("0000-0002-1825-0098, 978-3-16-148410-1"))


def test_a_value_is_read_as_the_kind_that_is_asked_for() -> None:
    assert parse_value("1500", "date") is not None
    as_number = parse_value("1500", "number")
    assert as_number is not None
    assert as_number.lexical == "1500"
    minutes = parse_value("100305.0 minutes", "number")
    assert minutes is not None
    assert (minutes.lexical, minutes.unit) == ("100305.0", UNIT + "MIN")
    assert parse_value("about 7", "number") is None
    assert parse_value("one", "number") is not None


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 31)))
def test_written_dates_are_read_back(day: date) -> None:
    expected = day.isoformat()
    for text in (
        f"{day.day} {day:%B} {day.year}",
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day:02}.{day.month:02}.{day.year}",
        expected,
    ):
        (span,) = find_values(f"On {text} it rained.")
        assert (span.value.lexical, span.value.datatype) == (expected, XSD + "date")
        assert span.value.text == text


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_grouped_integers_are_read_back(number: int) -> None:
    value = parse_value(f"{number:,}", "number")
    assert value is not None
    assert value.lexical == str(number)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=3))
def test_decimals_keep_their_number(number: object) -> None:
    value = parse_value(f"{number:f}", "number")
    assert value is not None
    assert float(value.lexical) == float(str(number))


WORDS = st.sampled_from(
    "in the 1903 12 5 May March Nov. km % $ € million BC of and 3.5 1,200 / - – . , ( ) 10:30 ISBN "
    "years days two hundred thousand 14L/32R ° ′ N E http://a.b www. feet ' \" 7th 2000s".split()
)


@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=14).map(" ".join)))
def test_spans_are_ordered_disjoint_and_well_formed(text: str) -> None:
    spans = find_values(text)
    end = 0
    for span in spans:
        assert end <= span.begin < span.end <= len(text)
        end = span.end
        value = span.value
        assert value.text == text[span.begin : span.end]
        assert span.kind in VALUE_KINDS
        if value.datatype.startswith(XSD):
            pattern = LEXICAL[value.datatype.removeprefix(XSD)]
            assert re.fullmatch(pattern, value.lexical), value
            assert not re.search(r"P$|T$", value.lexical) or value.datatype == XSD + "string"


@given(st.sampled_from(VALUE_KINDS), st.text(max_size=40))
def test_parsing_any_text_gives_a_value_or_none(kind: ValueKind, text: str) -> None:
    value = parse_value(text, kind)
    assert value is None or value.text == text.strip()


@pytest.mark.parametrize(
    "part", ["1,111", "12 ", "two hundred ", "1.", "5 years ", "7-", "1A/", "3° "]
)
def test_long_texts_take_linear_time(part: str) -> None:
    find_values(part * 5_000)
