"""Values in English text: dates, durations, numbers, quantities, money, coordinates and codes.

Values are normalised to literals of XML Schema 1.1 (part 2), and keep the text they were read
from. Nothing is added that the text does not state: a year stays ``xsd:gYear``, a date whose day
and month are ambiguous stays text, and so does a date that the calendar does not have.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import chain
from typing import Literal, get_args

from sarag_rdf.base.types import EntityType, Value
from sarag_rdf.extraction.names import ENGLISH, english_pattern

ValueKind = Literal[
    "url", "identifier", "coordinates", "date", "money", "duration", "quantity", "number"
]
VALUE_KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
"""All kinds, in the order of precedence where their spans overlap."""
_AMOUNTS: tuple[ValueKind, ...] = ("money", "duration", "quantity", "number")

XSD = "http://www.w3.org/2001/XMLSchema#"
WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"

# Units of measurement and currencies

UNIT = "http://qudt.org/vocab/unit/"
"""Namespace of the units of QUDT 2.1."""
CURRENCY = "http://qudt.org/vocab/currency/"
"""Namespace of the currencies of QUDT 2.1; local names are ISO 4217 codes."""

_UNIT_NAMES: dict[str, list[str]] = {
    unit: re.sub(r"([^|]+)\+", r"\1|\1s", names).split("|")
    for unit, names in ENGLISH["units"].items()
}
"""Local names of units in QUDT -> their names in English."""
UNIT_IRIS = {name: UNIT + local for local, names in _UNIT_NAMES.items() for name in names}

_CURRENCIES = ENGLISH["currencies"]
SYMBOLS: dict[str, str] = _CURRENCIES["symbols"]
CODES: list[str] = _CURRENCIES["codes"].split()
CURRENCY_WORDS: dict[str, str] = _CURRENCIES["words"]
"""Symbols and names of currencies -> their codes, which are those of ISO 4217."""


def measure(value: str, unit: str) -> str:
    """A number with a unit, which is that of an IRI.

    >>> units = "http://qudt.org/vocab/unit/"
    >>> [measure("3", f"{units}{name}") for name in ("CentiM", "YR", "PERCENT")]
    ['3 cm', '3 years', '3%']
    """
    names = (name for name, iri in UNIT_IRIS.items() if iri == unit)
    name = next(names, unit.rpartition("/")[2])
    several = f"{name}s"
    name = several if value != "1" and UNIT_IRIS.get(several) == unit else name
    return f"{value}%" if name == "%" else f"{value} {name}"


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """A value at ``text[begin:end]``, offsets in Unicode code points."""

    begin: int
    end: int
    kind: ValueKind
    value: Value


def find_values(text: str) -> list[ValueSpan]:
    """The values in a text, in order of position, without overlaps.

    Where readings overlap, the first of `VALUE_KINDS` is used: "5 March 1921" is a date and not
    two numbers. Four digits that could be a year (1000 to 2099) are a year unless a plural noun or
    a unit follows: "in 1500", "1500 seats".
    """
    spans: list[ValueSpan] = []
    covered = bytearray(len(text))
    for kind in VALUE_KINDS:
        for begin, end, value in _READERS[kind](text):
            if any(covered[begin:end]):
                continue
            covered[begin:end] = b"\1" * (end - begin)
            spans.append(ValueSpan(begin, end, kind, value))
    return sorted(spans, key=lambda span: span.begin)


def parse_value(text: str, kind: ValueKind) -> Value | None:
    """The whole text read as a value of one kind; None if it is not one.

    Any number with a unit may be read as a number, which keeps the unit: "69 days" is the
    integer 69 in days.

    >>> parse_value("2.5 million", "number").lexical
    '2500000'
    """
    stripped = text.strip()
    kinds: tuple[ValueKind, ...] = (kind, "quantity") if kind == "number" else (kind,)
    for begin, end, value in chain.from_iterable(_READERS[each](stripped) for each in kinds):
        if (begin, end) == (0, len(stripped)):
            return value
    if kind == "number" and (match := _WHOLE_NUMBER.fullmatch(stripped)):
        return _number_value(stripped, match["number"], match["scale"], "")
    if kind == "number" and (words := _read_number_words(stripped)) is not None:
        return Value(stripped, str(words), XSD + "integer")
    return None


def value_of_name(name: str, type_: EntityType) -> tuple[EntityType, Value | None]:
    """The type of a name, and its value if it is a date, number, amount or the like.

    Only names with digits and without a certain type are read so.

    >>> value_of_name("42%", "misc")[0], value_of_name("Seven", "misc")[0]
    ('quantity', 'misc')
    """
    if type_ not in ("misc", "time", "quantity") or not any(map(str.isdigit, name)):
        return type_, None
    if (date := parse_value(name, "date")) is not None:
        return "time", date
    for kind in _AMOUNTS:
        if (amount := parse_value(name, kind)) is not None:
            return "quantity", amount
    return type_, None


# Dates

_MONTHS: list[str] = ENGLISH["numbers"]["months"].split()
_MONTH_NUMBERS = {
    month[:length]: number for number, month in enumerate(_MONTHS, 1) for length in (3, 4, None)
}
_MONTH = (
    rf"(?P<month>{'|'.join(_MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?)"
)
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_ERA = r"(?:\s(?P<era>BCE|BC|CE|AD|B\.C\.|A\.D\.))?"
_YEAR = rf"(?P<year>\d{{4}}|\d{{1,4}}(?=\s(?:BC|CE|AD|B\.C|A\.D))){_ERA}"
_OPEN = r"(?<![\w/.])(?<!\d-)(?<!\d,)"
"""Before a date: no word, and no further part of a number or code."""

_DATES = tuple(
    re.compile(_OPEN + pattern + r"(?!\w)(?![/-]\d)(?!,\d{3})")
    for pattern in (
        r"(?P<year>\d{4})-(?P<number>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
        r"T(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)",
        r"(?P<year>\d{4})[-/](?P<number>0?[1-9]|1[0-2])[-/](?P<day>0?[1-9]|[12]\d|3[01])",
        r"(?P<first>\d{1,2})(?P<separator>[./-])(?P<second>\d{1,2})(?P=separator)(?P<year>\d{4})",
        rf"{_DAY}(?: of)?(?:\s|-){_MONTH}(?: of)?,?(?:\s|-){_YEAR}",
        rf"{_MONTH}(?: the)?\s{_DAY}(?:,\s?|\s){_YEAR}",
        rf"{_MONTH}(?: of)?,?\s{_YEAR}",
        rf"{_DAY}(?: of)?\s{_MONTH}",
        rf"{_MONTH}\s{_DAY}",
    )
)
_YEAR_ONLY = english_pattern("patterns", "year")
_PERIOD = english_pattern("patterns", "period")


def _dates(text: str) -> Iterator[tuple[int, int, Value]]:
    for pattern in (*_DATES, _PERIOD, _YEAR_ONLY):
        for match in pattern.finditer(text):
            if value := _date_value(match):
                yield *match.span(), value


def _date_value(match: re.Match[str]) -> Value | None:
    """The literal of a match at its own precision; text if it is ambiguous or impossible."""
    groups, text = match.groupdict(""), match[0]
    as_text = Value(text, text, XSD + "string")
    if match.re is _PERIOD:
        return as_text
    if match.re is _YEAR_ONLY:
        if match["bare"] and _COUNTED.match(match.string, match.end()):
            return None
        digits = match["year"] or match["year_after"] or match["bare"]
        year = _lexical_year(int(digits), match["era"] or "")
        return Value(text, year, XSD + "gYear") if year else None
    if groups.get("first"):
        first, second = int(groups["first"]), int(groups["second"])
        is_day_first = groups["separator"] == "." or first > 12 or first == second
        if not is_day_first and second <= 12:
            return as_text
        day, month = (first, second) if is_day_first else (second, first)
    else:
        month = int(groups.get("number") or _MONTH_NUMBERS[groups["month"].rstrip(".")])
        day = int(groups.get("day") or 0)
    if not groups.get("year"):
        is_possible = _is_day(2000, month, day)
        return Value(text, f"--{month:02}-{day:02}", XSD + "gMonthDay") if is_possible else None
    year = _lexical_year(int(groups["year"]), groups.get("era", ""))
    if year is None:
        return as_text
    if not day:
        return Value(text, f"{year}-{month:02}", XSD + "gYearMonth")
    if not _is_day(max(int(year), 4) if int(year) > 0 else 4, month, day):
        return as_text
    if groups.get("time"):
        return Value(text, text, XSD + "dateTime")
    return Value(text, f"{year}-{month:02}-{day:02}", XSD + "date")


def _is_day(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _lexical_year(year: int, era: str) -> str | None:
    """A year as in XSD 1.1, where 1 BC is the year 0000; None for the year 0."""
    if year == 0:
        return None
    if era.startswith("B"):
        return f"{'-' if year > 1 else ''}{year - 1:04}"
    return f"{year:04}"


# Numbers

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:[\u00a0\u202f\u2009]\d{3})+|\d+)(?:\.\d+)?"
_SCALES: dict[str, int] = ENGLISH["numbers"]["scales"]
_SCALE = r"(?:[\s-](?P<scale>thousand|million|billion|trillion)\b)?"
_SIGN = r"(?:(?<![\w)])[-−+])?"
_NUMBER_START = r"(?<![\w])(?<!\d[.,:/])(?<!\d[-–])"
_NUMBER_END = r"(?!\w)(?![.:/]\d)(?!,\d{3})"
_NUMBER = re.compile(rf"{_NUMBER_START}(?P<number>{_SIGN}{_DIGITS}){_SCALE}{_NUMBER_END}")
_WHOLE_NUMBER = re.compile(rf"(?P<number>[-−+]?{_DIGITS}){_SCALE}")

_NAMED = (*range(20), *range(20, 100, 10))
_WORDS = dict(zip(ENGLISH["numbers"]["names"].split(), _NAMED, strict=True))
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SCALE_WORD = "hundred|thousand|million|billion|trillion"
_NUMBER_WORDS = re.compile(
    rf"\b(?i:(?:{_WORD}|a(?= (?:{_SCALE_WORD})\b))"
    rf"(?:(?:[ -]|,? and )(?:{_WORD}|{_SCALE_WORD})\b){{0,15}})"
)
_WORDS_ALONE = frozenset({"zero", "one"})
"""Words that are too often no number: "no one", "zero in on"."""


def _numbers(text: str) -> Iterator[tuple[int, int, Value]]:
    for match in _NUMBER.finditer(text):
        yield *match.span(), _number_value(match[0], match["number"], match["scale"], "")
    for match in _NUMBER_WORDS.finditer(text):
        number = _read_number_words(match[0])
        is_part = re.match(r"\w", text[match.end() :]) or match[0].lower() in _WORDS_ALONE
        if number is not None and not is_part:
            yield *match.span(), Value(match[0], str(number), XSD + "integer")


def _read_number_words(text: str) -> int | None:
    """The integer of number words such as "two hundred and fifty"; None if they are not one."""
    total, group, last = 0, 0, 0
    words = [word for word in re.split(r"[\s,-]+", text.lower()) if word != "and"]
    if not words:
        return None
    for word in words:
        if word in _WORDS or word == "a":
            number = _WORDS.get(word, 1)
            is_next = last == 0 or last >= 100 or (last in range(20, 100, 10) and 0 < number < 10)
            if not is_next:
                return None
            group += number
            last = number or 1
        elif word == "hundred" and 0 < group < 100:
            group *= 100
            last = 100
        elif word in _SCALES and word.isalpha() and group > 0 and len(word) > 2:
            if total and total % (_SCALES[word] * 1000):
                return None
            total += group * _SCALES[word]
            group, last = 0, _SCALES[word]
        else:
            return None
    return total + group


def _decimal(digits: str, scale: str | None) -> Decimal:
    cleaned = re.sub(r"[,\s\u00a0\u202f\u2009]", "", digits).replace("\u2212", "-")
    return Decimal(cleaned) * _SCALES.get((scale or "").lower(), 1)


def _number_value(text: str, digits: str, scale: str | None, unit: str) -> Value:
    number = _decimal(digits, scale)
    if "." not in digits or (scale and number == number.to_integral_value()):
        return Value(text, str(int(number)), XSD + "integer", unit)
    return Value(text, _lexical_decimal(number), XSD + "decimal", unit)


def number_literal(number: Fraction) -> dict[str, str]:
    """The lexical form and datatype of a number, with at most nine digits after the point."""
    if number.denominator == 1:
        return {"lexical": str(number), "datatype": XSD + "integer"}
    decimal = round(Decimal(number.numerator) / number.denominator, 9)
    return {"lexical": _lexical_decimal(decimal), "datatype": XSD + "decimal"}


def _lexical_decimal(number: Decimal) -> str:
    """The canonical form of an xsd:decimal, with at least one digit after the point."""
    whole, _, fraction = f"{number or 0:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}"


# Quantities

_AMBIGUOUS_UNITS = frozenset({"in", "m", "l", "L", "t", "g", "s", "h", "K", "V", "N", "J", "W"})
"""Units of one or two letters that are read only directly after digits or one space."""
_UNIT = "|".join(re.escape(name) for name in sorted(UNIT_IRIS, key=len, reverse=True))
_QUANTITY = re.compile(
    rf"{_NUMBER_START}(?:(?P<number>{_SIGN}{_DIGITS}){_SCALE}|(?P<words>{_NUMBER_WORDS.pattern}))"
    rf"(?P<gap>[\s\u00a0-]?)(?P<unit>{_UNIT})(?![\w²³])"
)
_FEET = re.compile(
    r"(?<![\w.,])(?P<feet>\d{1,3})[\s-]?(?:ft|feet|foot|′|')[\s-]?"
    r"(?P<inches>\d{1,2}(?:\.\d+)?)[\s-]?(?:inches|inch|in\b|″|\")"
)
_COUNTED = re.compile(
    rf"[\s-](?!in\b)(?:{_UNIT})(?!\w)|\s(?!was|is|has|as|this|its)[a-z]{{2,}}s\b(?<![sui]s)"
)
"""After four digits: a unit or a plural noun, so that they are not a year."""


def _quantities(text: str) -> Iterator[tuple[int, int, Value]]:
    for match in _FEET.finditer(text):
        inches = Decimal(match["feet"]) * 12 + Decimal(match["inches"])
        yield *match.span(), _number_value(match[0], str(inches), None, UNIT + "IN")
    for match in _QUANTITY.finditer(text):
        begin, end = match.span()
        if match["unit"] == "in" and not re.match(r"\s*(?:[.,;)(]|$)", text[end:]):
            continue
        if match["unit"] in _AMBIGUOUS_UNITS and match["words"]:
            continue
        unit = UNIT_IRIS[match["unit"]]
        if match["words"]:
            number = _read_number_words(match["words"])
            if number is not None:
                yield begin, end, Value(match[0], str(number), XSD + "integer", unit)
        else:
            yield begin, end, _number_value(match[0], match["number"], match["scale"], unit)


# Durations

_TIME_UNITS: dict[str, list[int]] = ENGLISH["time_units"]
"""Unit -> its months and seconds."""
_TIME_UNIT = r"(?P<unit>years?|yrs?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?)"
_TIME_PART = re.compile(
    rf"(?:(?P<number>{_DIGITS})|(?P<words>{_NUMBER_WORDS.pattern}))[\s\u00a0-]?{_TIME_UNIT}(?![\w-]old)\b"
)
_TIME_JOIN = re.compile(r"(?:,? and |, | )")
_AGE = re.compile(r"[\s-](?:old|ago)\b")


def _durations(text: str) -> Iterator[tuple[int, int, Value]]:
    """Runs of numbers with units of time; "5 years ago" and "5 years old" are none."""
    position = 0
    while match := _TIME_PART.search(text, position):
        begin = match.start()
        parts = [match]
        while joint := _TIME_JOIN.match(text, parts[-1].end()):
            following = _TIME_PART.match(text, joint.end())
            if following is None or _unit_of_time(following) >= _unit_of_time(parts[-1]):
                break
            parts.append(following)
        position = end = parts[-1].end()
        before = text[max(begin - 2, 0) : begin]
        is_part = re.search(r"\w$|\d[.,:/–-]$|[$£€¥]$", before)
        if is_part or _AGE.match(text, end):
            continue
        if (lexical := _lexical_duration(parts)) is not None:
            yield begin, end, Value(text[begin:end], *lexical)


def _unit_of_time(part: re.Match[str]) -> list[int]:
    unit = part["unit"]
    return _TIME_UNITS[unit if unit in _TIME_UNITS else unit[:-1]]


def _lexical_duration(parts: list[re.Match[str]]) -> tuple[str, str] | None:
    months, seconds = Decimal(0), Decimal(0)
    for part in parts:
        words = part["words"]
        number = _read_number_words(words) if words else _decimal(part["number"], None)
        if number is None:
            return None
        of_months, of_seconds = _unit_of_time(part)
        months += number * of_months
        seconds += number * of_seconds
    if months % 1:
        return None
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    calendar = _fields("YM", *divmod(months, 12))
    day, clock = _fields("D", days), _fields("HMS", hours, *divmod(seconds, 60))
    time = day + f"T{clock}" * bool(clock)
    if calendar and time:
        return f"P{calendar}{time}", XSD + "duration"
    if calendar:
        return f"P{calendar}", XSD + "yearMonthDuration"
    return f"P{time or 'T0S'}", XSD + "dayTimeDuration"


def _fields(letters: str, *numbers: Decimal) -> str:
    """Those fields of a duration that are not zero."""
    fields = zip(numbers, letters, strict=True)
    return "".join(f"{number.normalize():f}{letter}" for number, letter in fields if number)


# Money

_BEFORE = "|".join(map(re.escape, (*sorted(SYMBOLS, key=len, reverse=True), *CODES)))
_AFTER = "|".join((*sorted(CURRENCY_WORDS, key=len, reverse=True), "€", "£", *CODES))
_MONEY = re.compile(
    rf"(?<!\w)(?P<before>{_BEFORE})\s?(?P<number>{_DIGITS})"
    r"(?:[\s-]?(?P<scale>thousand|million|billion|trillion|bn|m|k)\b)?(?![\w])(?![.,]\d)"
    rf"|{_NUMBER_START}(?P<number2>{_DIGITS})"
    r"(?:[\s-](?P<scale2>thousand|million|billion|trillion)\b)?"
    rf"\s?(?P<after>{_AFTER})(?!\w)"
)


def _money(text: str) -> Iterator[tuple[int, int, Value]]:
    for match in _MONEY.finditer(text):
        name = match["before"] or match["after"]
        code = SYMBOLS.get(name) or CURRENCY_WORDS.get(name) or name
        digits, scale = match["number"] or match["number2"], match["scale"] or match["scale2"]
        if name == "won" and not re.match(r"[\s]*(?:[.,;)]|$)", text[match.end() :]):
            continue
        yield *match.span(), _number_value(match[0], digits, scale, CURRENCY + code)


# Coordinates

_ANGLE = (
    r"(?P<d{0}>\d{{1,3}}(?:\.\d+)?)\s?°\s?(?:(?P<m{0}>\d{{1,2}}(?:\.\d+)?)\s?[′'’]\s?)?"
    r"(?:(?P<s{0}>\d{{1,2}}(?:\.\d+)?)\s?(?:[″\"”]|'')\s?)?(?P<h{0}>[{1}])"
)
_ANGLES = re.compile(
    rf"(?<!\w){_ANGLE.format(1, 'NS')}[,;/\s]{{1,3}}{_ANGLE.format(2, 'EW')}(?!\w)"
)
_PAIR = re.compile(
    r"(?<![\w.,-])(?P<latitude>[-−]?\d{1,2}\.\d{3,10}),\s?(?P<longitude>[-−]?\d{1,3}\.\d{3,10})"
    r"(?!\w)(?![.,]\d)"
)


def _coordinates(text: str) -> Iterator[tuple[int, int, Value]]:
    """Points as ``POINT(longitude latitude)`` in CRS84, the default of GeoSPARQL 1.1."""
    points = [(m, _degrees(m, "1"), _degrees(m, "2")) for m in _ANGLES.finditer(text)]
    points += [(m, _decimal(m[1], None), _decimal(m[2], None)) for m in _PAIR.finditer(text)]
    for match, latitude, longitude in points:
        if abs(latitude) <= 90 and abs(longitude) <= 180:
            plain = (f"{number.normalize():f}" for number in (longitude + 0, latitude + 0))
            yield *match.span(), Value(match[0], f"POINT({' '.join(plain)})", WKT)


def _degrees(match: re.Match[str], number: str) -> Decimal:
    parts = (Decimal(match[f"{part}{number}"] or 0) for part in "dms")
    degrees = sum(part / 60**place for place, part in enumerate(parts))
    degrees = Decimal(degrees).quantize(Decimal("0.000001"))
    return -degrees if match[f"h{number}"] in "SW" else degrees


# Identifiers and URLs

_DOI = re.compile(
    r"(?:(?<=doi:)|(?<=doi: )|(?<=doi.org/)|(?<![\w/]))10\.\d{4,9}/[^\s\"<>]{1,200}", re.I
)
_ORCID = re.compile(r"(?<![\w-])\d{4}-\d{4}-\d{4}-\d{3}[\dX](?![\w-])")
_ISBN = re.compile(
    r"(?:ISBN(?:-1[03])?:?\s)?(?<![\w-])(?P<isbn>(?:97[89][ -]?)?(?:\d[ -]?){9}[\dX])(?![\w-])"
)
_ISSN = re.compile(r"ISSN:?\s(?P<issn>\d{4}-\d{3}[\dX])(?![\w-])")
_CODE = re.compile(
    r"(?<![\w./:-])(?!\d{4}-\d\d-\d\dT)(?=[A-Z0-9/.-]*\d)(?=[A-Z0-9/.-]*[A-Z])[A-Z0-9]{1,12}(?:[/.-][A-Z0-9]{1,12}){0,4}"
    r"(?![\w/-])(?<!1D)(?<!2D)(?<!3D)"
)
_URL = re.compile(r"(?<![\w/])(?:https?://|www\.)[^\s<>\"{}|\\^`\[\]]{2,500}", re.IGNORECASE)


def _identifiers(text: str) -> Iterator[tuple[int, int, Value]]:
    """DOI, ORCID, ISBN and ISSN with correct check digits, and codes such as "14L/32R"."""
    spans: list[tuple[int, int, str]] = []
    for match in _DOI.finditer(text):
        doi = _without_end(match[0])
        spans.append((match.start(), match.start() + len(doi), doi))
    spans += [(*match.span(), match[0]) for match in _ORCID.finditer(text) if _is_orcid(match[0])]
    spans += [(*match.span("issn"), match["issn"]) for match in _ISSN.finditer(text)]
    for match in _ISBN.finditer(text):
        if _is_isbn(isbn := re.sub("[ -]", "", match["isbn"])):
            spans.append((*match.span("isbn"), isbn))
    spans += [(*match.span(), match[0]) for match in _CODE.finditer(text)]
    end_before = 0
    for begin, end, lexical in sorted(spans, key=lambda span: (span[0], -span[1])):
        if begin >= end_before:
            end_before = end
            yield begin, end, Value(text[begin:end], lexical, XSD + "string")


def _is_isbn(digits: str) -> bool:
    numbers = [10 if digit == "X" else int(digit) for digit in digits]
    if len(digits) == 10:
        return sum(n * (10 - place) for place, n in enumerate(numbers)) % 11 == 0
    return 10 not in numbers and (sum(numbers[::2]) + 3 * sum(numbers[1::2])) % 10 == 0


def _is_orcid(text: str) -> bool:
    """Check digit of ISO 7064 MOD 11-2."""
    digits = text.replace("-", "")
    total = reduce(lambda total, digit: (total + int(digit)) * 2, digits[:-1], 0)
    return digits[-1] == "0123456789X"[(12 - total % 11) % 11]


def _urls(text: str) -> Iterator[tuple[int, int, Value]]:
    for match in _URL.finditer(text):
        url = _without_end(match[0])
        lexical = url if "://" in url else f"http://{url}"
        if "." in url.partition("//")[2] or "://" not in url:
            yield match.start(), match.start() + len(url), Value(url, lexical, XSD + "anyURI")


def _without_end(text: str) -> str:
    """Without the punctuation of the sentence around it; balanced brackets stay."""
    while text and (text[-1] in ".,;:!?'\u2019\u201d" or (text[-1] == ")" and "(" not in text)):
        text = text[:-1]
    return text


_READERS: dict[ValueKind, Callable[[str], Iterator[tuple[int, int, Value]]]] = {
    "url": _urls,
    "identifier": _identifiers,
    "coordinates": _coordinates,
    "date": _dates,
    "money": _money,
    "duration": _durations,
    "quantity": _quantities,
    "number": _numbers,
}
