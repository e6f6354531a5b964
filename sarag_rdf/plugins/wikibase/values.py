"""Values of snaks in RDF: one term (simple value), or a node with its components (deep value)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from urllib.parse import quote, quote_plus

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.vocab import RDF, XSD, Term
from sarag_rdf.plugins.wikibase.model import Json, entity_id
from sarag_rdf.plugins.wikibase.vocabulary import (
    GEO,
    GREGORIAN,
    JULIAN,
    ONE,
    WIKIBASE,
    WIKIDATA,
    Vocabulary,
    language_tag,
)

_INVALID_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
_FILES = "http://commons.wikimedia.org/wiki/Special:FilePath/"
_DATA = "http://commons.wikimedia.org/data/main/"
_EARTH = WIKIDATA + "Q2"

Parts = list[tuple[str, Term]]
"""(local name of a property, value) pairs of a deep value."""


def text_literal(text: str, language: str) -> Literal:
    """A text in a language; raises `InputError` for a code that is not a language tag."""
    try:
        return Literal(text, language=language_tag(language))
    except ValueError as error:
        raise InputError(f"'{language}' is not a language code: correct it in the dump") from error


def simple_value(vocabulary: Vocabulary, snak: Json) -> Term | None:
    """The term of a value; None for types of values that are not in RDF dumps."""
    datavalue = snak["datavalue"]
    value, kind = datavalue["value"], datavalue["type"]
    if kind == "wikibase-entityid":
        return vocabulary.thing(entity_id(value))
    if kind == "string":
        return _string(str(value), str(snak.get("datatype", "string")))
    if kind == "monolingualtext":
        return text_literal(value["text"], value["language"])
    if kind == "time":
        return _time(value)
    if kind == "quantity":
        return _decimal(value["amount"])
    if kind == "globecoordinate":
        return _point(value)
    return None


def _string(value: str, datatype: str) -> Term:
    if datatype == "url":
        return iri_of(value)
    if datatype == "commonsMedia":
        return NamedNode(_FILES + quote(value, safe=""))
    if datatype in ("geo-shape", "tabular-data"):
        return NamedNode(_DATA + quote_plus(value, safe=";@$!*(),/~:"))
    return Literal(value)


def iri_of(value: str) -> Term:
    """A URL as an IRI with invalid characters percent-encoded, or a literal if still invalid."""
    encoded = _INVALID_IN_IRI.sub(lambda m: f"%{ord(m[0]):02X}", value.strip())
    try:
        return NamedNode(encoded)
    except ValueError:
        return Literal(value.strip(), datatype=XSD.anyURI)


def _time(value: Json) -> Literal:
    text = date_time(value["time"], value["calendarmodel"], value["precision"])
    return Literal(value["time"]) if text is None else Literal(text, datatype=XSD.dateTime)


def _point(value: Json) -> Literal:
    text = f"Point({_number(value['longitude'])} {_number(value['latitude'])})"
    globe = value.get("globe") or _EARTH
    if globe != _EARTH:
        text = f"<{globe}> {text}"
    return Literal(text, datatype=GEO.wktLiteral)


def _number(value: float) -> str:
    """The shortest decimal representation, as in PHP."""
    return repr(float(value)).removesuffix(".0").replace("e", "E")


def _decimal(amount: str) -> Literal:
    return Literal(amount, datatype=XSD.decimal)


def _integer(value: int) -> Literal:
    return Literal(str(value), datatype=XSD.integer)


def _double(value: float) -> Literal:
    return Literal(_number(value), datatype=XSD.double)


def deep_value(vocabulary: Vocabulary, snak: Json) -> tuple[NamedNode, list[Triple]] | None:
    """The node of a time, quantity or coordinate with its triples; None for other values."""
    datavalue = snak["datavalue"]
    value, kind = datavalue["value"], datavalue["type"]
    if kind == "time":
        return _node(vocabulary, "TimeValue", _time_parts(value))
    if kind == "quantity":
        return _node(vocabulary, "QuantityValue", _quantity_parts(value))
    if kind == "globecoordinate":
        return _node(vocabulary, "GlobecoordinateValue", _coordinate_parts(value))
    return None


def _node(vocabulary: Vocabulary, kind: str, parts: Parts) -> tuple[NamedNode, list[Triple]]:
    node = vocabulary.value(sha256_hex(kind, *(f"{name} {term}" for name, term in parts))[:32])
    triples = [Triple(node, RDF.type, WIKIBASE[kind])]
    triples += [Triple(node, WIKIBASE[name], term) for name, term in parts]
    return node, triples


def _time_parts(value: Json) -> Parts:
    return [
        ("timeValue", _time(value)),
        ("timePrecision", _integer(value["precision"])),
        ("timeTimezone", _integer(value["timezone"])),
        ("timeCalendarModel", iri_of(value["calendarmodel"])),
    ]


def _quantity_parts(value: Json) -> Parts:
    parts: Parts = [("quantityAmount", _decimal(value["amount"]))]
    for name, key in (("quantityUpperBound", "upperBound"), ("quantityLowerBound", "lowerBound")):
        if value.get(key) is not None:
            parts.append((name, _decimal(value[key])))
    unit = value.get("unit", "1")
    parts.append(("quantityUnit", ONE if unit == "1" else iri_of(unit)))
    return parts


def _coordinate_parts(value: Json) -> Parts:
    parts: Parts = [
        ("geoLatitude", _double(value["latitude"])),
        ("geoLongitude", _double(value["longitude"])),
    ]
    if value.get("precision") is not None:
        parts.append(("geoPrecision", _double(value["precision"])))
    parts.append(("geoGlobe", iri_of(value.get("globe") or _EARTH)))
    return parts


def normalized_iri(vocabulary: Vocabulary, snak: Json) -> NamedNode | None:
    """The IRI of an external identifier, if the vocabulary has a pattern for its property."""
    pattern = vocabulary.formatters.get(snak["property"])
    if pattern is None or snak["datavalue"]["type"] != "string":
        return None
    term = iri_of(pattern.replace("$1", quote(snak["datavalue"]["value"], safe="/:")))
    return term if isinstance(term, NamedNode) else None


def normalized_quantity(
    vocabulary: Vocabulary, snak: Json
) -> tuple[NamedNode, Iterator[Triple]] | None:
    """A quantity in the normalised unit, if the vocabulary has one for its unit."""
    datavalue = snak["datavalue"]
    if datavalue["type"] != "quantity":
        return None
    unit = vocabulary.units.get(datavalue["value"].get("unit", ""))
    if unit is None:
        return None
    factor, value = Decimal(unit.factor), dict(datavalue["value"], unit=unit.iri)
    for key in ("amount", "upperBound", "lowerBound"):
        if value.get(key) is not None:
            value[key] = f"{Decimal(value[key]) * factor:+f}"
    node, triples = _node(vocabulary, "QuantityValue", _quantity_parts(value))
    itself = Triple(node, WIKIBASE.quantityNormalized, node)
    return node, iter([*triples, itself])


_CENTURY, _YEAR, _MONTH, _DAY = 7, 9, 10, 11
_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(T\d\d:\d\d:\d\dZ)")
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_time(text: str, calendar: str, precision: int) -> str | None:
    """The lexical form of an ``xsd:dateTime``; None for an invalid date or an unknown calendar.

    With a precision coarser than a day it is the first day. Julian dates are converted.
    """
    match = _TIME.fullmatch(text)
    if match is None or calendar not in (GREGORIAN, JULIAN):
        return None
    sign, digits, *rest = match.groups()
    year, month, day = int(digits), int(rest[0]), int(rest[1])
    if year == 0 or month > 12:
        return None
    before = sign == "-"
    month = max(month, 1) if precision >= _MONTH else 1
    day = max(day, 1) if precision >= _DAY else 1
    if before and precision >= _YEAR:
        year -= 1
    year = -year if before else year
    if calendar == JULIAN and precision >= _DAY:
        year, month, day = _gregorian(year, month, day)
    day = min(day, _length(year, month))
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}{rest[2]}"


def is_date(year: int, month: int, day: int) -> bool:
    """Whether the Gregorian calendar, with a year 0, has such a day."""
    return 1 <= month <= 12 and 1 <= day <= _length(year, month)


def _length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _LENGTHS[month - 1]


def _gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Convert a Julian to a Gregorian date, both with a year 0, by the Julian day number."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    number = day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    from_start = number + 32044
    centuries = (4 * from_start + 3) // 146097
    left = from_start - 146097 * centuries // 4
    years = (4 * left + 3) // 1461
    left -= 1461 * years // 4
    months = (5 * left + 2) // 153
    day = left - (153 * months + 2) // 5 + 1
    return 100 * centuries + years - 4800 + months // 10, months + 3 - 12 * (months // 10), day
