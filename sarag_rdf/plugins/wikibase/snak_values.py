"""Values of snaks in RDF: one term (simple value), or a node with its components (deep value)."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import quote, quote_plus

import numpy as np
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.vocab import RDF, XSD, Term
from sarag_rdf.graph.ontology.schema import NUMBERS
from sarag_rdf.plugins.wikibase import model
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

Parts = dict[str, Term | None]
"""Local name of a property -> component of a deep value, in order."""


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


def deep_value(vocabulary: Vocabulary, snak: Json) -> tuple[NamedNode, list[Triple]] | None:
    """The node of a time, quantity or coordinate with its triples; None for other values."""
    datavalue = snak["datavalue"]
    if datavalue["type"] not in _DEEP:
        return None
    kind, parts_of = _DEEP[datavalue["type"]]
    parts = {name: term for name, term in parts_of(datavalue["value"]).items() if term is not None}
    node = vocabulary.value(sha256_hex(kind, *(f"{n} {term}" for n, term in parts.items()))[:32])
    triples = [Triple(node, RDF.type, WIKIBASE[kind])]
    triples += [Triple(node, WIKIBASE[name], term) for name, term in parts.items()]
    return node, triples


def _time_parts(value: Json) -> Parts:
    return {
        "timeValue": _time(value),
        "timePrecision": Literal(int(value["precision"])),
        "timeTimezone": Literal(int(value["timezone"])),
        "timeCalendarModel": iri_of(value["calendarmodel"]),
    }


def _quantity_parts(value: Json) -> Parts:
    unit, upper, lower = value.get("unit", "1"), value.get("upperBound"), value.get("lowerBound")
    return {
        "quantityAmount": _decimal(value["amount"]),
        "quantityUpperBound": None if upper is None else _decimal(upper),
        "quantityLowerBound": None if lower is None else _decimal(lower),
        "quantityUnit": ONE if unit == "1" else iri_of(unit),
    }


def _coordinate_parts(value: Json) -> Parts:
    numbers = {
        f"geo{key.title()}": value.get(key) for key in ("latitude", "longitude", "precision")
    }
    return {
        **{
            name: None if number is None else Literal(_number(number), datatype=XSD.double)
            for name, number in numbers.items()
        },
        "geoGlobe": iri_of(value.get("globe") or _EARTH),
    }


_DEEP: Final[Mapping[str, tuple[str, Callable[[Json], Parts]]]] = {
    "time": ("TimeValue", _time_parts),
    "quantity": ("QuantityValue", _quantity_parts),
    "globecoordinate": ("GlobecoordinateValue", _coordinate_parts),
}
"""Type of a value -> the class of its node, and what gives its components."""


_YEAR, _MONTH, _DAY = 9, 10, 11
_EPOCH = 2_440_588
"""The Julian day number of 1 January 1970."""
_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(T\d\d:\d\d:\d\dZ)")


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
    day = min(day, monthrange(year, month)[1])
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}{rest[2]}"


def is_date(year: int, month: int, day: int) -> bool:
    """Whether the Gregorian calendar, with a year 0, has such a day."""
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Convert a Julian to a Gregorian date, both with a year 0, by the Julian day number."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    number = day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    date = str(np.datetime64(number - _EPOCH, "D"))
    year, month, day = map(int, date.removeprefix("-").split("-"))
    return -year if date.startswith("-") else year, month, day


_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_TIMES: Final = {
    XSD.gYear.value: (re.compile(rf"(-?\d{{4,}}){_ZONE}"), _YEAR),
    XSD.gYearMonth.value: (re.compile(rf"(-?\d{{4,}})-(\d\d){_ZONE}"), _MONTH),
    XSD.date.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d){_ZONE}"), _DAY),
    XSD.dateTime.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T.+{_ZONE}"), _DAY),
    XSD.dateTimeStamp.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T.+{_ZONE}"), _DAY),
}
"""Datatype -> pattern and precision in Wikibase, which is at most a day."""
_DIGITS: Final = 126
"""Greatest length of an amount in Wikibase, without the sign."""
_POINT = re.compile(
    r"(?:<(?P<globe>[^<>]*)>\s*)?POINT\s*\(\s*(?P<longitude>[-+]?\d+(?:\.(?P<x>\d+))?)"
    r"\s+(?P<latitude>[-+]?\d+(?:\.(?P<y>\d+))?)\s*\)",
    re.IGNORECASE,
)
_CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_FINEST = 6
"""Decimal places of the finest precision that Wikibase offers for coordinates."""
_URL = re.compile(r"(?:https?|ftps?)://\S+|mailto:\S+", re.IGNORECASE)
_BREAKS = re.compile(r"\s*[\t\n\v\f\r\x85\u2028\u2029]\s*")

STRING: Final = "string"


def literal_datatype(literal: Literal) -> str:
    """The first datatype of Wikibase that can express a literal, else ``string``.

    A value that its own datatype does not have, such as 30 February, is a string.
    """
    if literal.language:
        return "monolingualtext"
    return next((name for name, read in _VALUES.items() if read(literal) is not None), STRING)


def literal_snak(
    property_id: str, literal: Literal, datatype: str, unit: str = model.NO_UNIT
) -> model.Snak:
    """The snak of a literal in a datatype of `literal_datatype`, or in another one of strings.

    `unit` is the IRI of the item of a quantity's unit.
    """
    if datatype == "monolingualtext":
        return model.text_snak(property_id, plain(literal.value), literal.language or "")
    value = _VALUES[datatype](literal) if datatype in _VALUES else None
    if value is None:
        return model.string_snak(property_id, plain(literal.value), datatype)
    if datatype == "url":
        return model.string_snak(property_id, value["url"], datatype)
    if datatype == "quantity":
        return model.quantity_snak(property_id, value["amount"], unit)
    return model.value_snak(property_id, datatype, value)


def plain(text: str) -> str:
    """A text without line breaks, tabs and outer spaces, which Wikibase does not take."""
    return _BREAKS.sub(" ", text).strip()


def _time_of(literal: Literal) -> model.Value | None:
    """A day, month or year of the Gregorian calendar, as in XML Schema, without its time zone."""
    pattern, precision = _TIMES.get(literal.datatype.value, (None, 0))
    match = pattern.fullmatch(literal.value) if pattern else None
    if match is None:
        return None
    year, month, day = (int(part) for part in (*match.groups(), "0", "0")[:3])
    if not is_date(year, month or 1, day or 1):
        return None
    # Wikibase has no year 0: the year before 1 is -1.
    signed = f"+{year:04}" if year > 0 else f"-{1 - year:04}"
    return model.time_value(f"{signed}-{month:02}-{day:02}T00:00:00Z", precision)


def _quantity(literal: Literal) -> model.Value | None:
    if literal.datatype.value not in NUMBERS:
        return None
    try:
        number = Decimal(literal.value.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _DIGITS:
        return None
    amount = f"{number if number else number.copy_abs():+f}"
    return {"amount": amount} if len(amount) <= _DIGITS + 1 else None


def _point_of(literal: Literal) -> model.Value | None:
    """A point on a globe; its precision is that of its decimals."""
    match = _POINT.fullmatch(literal.value.strip())
    if match is None or literal.datatype != GEO.wktLiteral:
        return None
    globe = match["globe"] or _CRS84
    if globe != _CRS84 and not globe.startswith(WIKIDATA):
        return None
    latitude, longitude = float(match["latitude"]), float(match["longitude"])
    if abs(latitude) > 90 or abs(longitude) > 360:
        return None
    places = min(_FINEST, max(len(match["x"] or ""), len(match["y"] or "")))
    return {
        "latitude": latitude,
        "longitude": longitude,
        "altitude": None,
        "precision": float(f"1e-{places}"),
        "globe": f"{WIKIDATA}Q2" if globe == _CRS84 else globe,
    }


def _url(literal: Literal) -> model.Value | None:
    if literal.datatype != XSD.anyURI or not _URL.fullmatch(literal.value.strip()):
        return None
    return {"url": literal.value.strip()}


_VALUES: Final[Mapping[str, Callable[[Literal], model.Value | None]]] = {
    "time": _time_of,
    "quantity": _quantity,
    "globe-coordinate": _point_of,
    "url": _url,
}
"""Datatype -> the value of a literal, or None if it has none of this datatype."""
