"""Literals of RDF as values of Wikibase: the datatype that each needs, and its snak."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from pyoxigraph import Literal

from sarag_rdf.base.vocab import XSD
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.values import is_date
from sarag_rdf.plugins.wikibase.vocabulary import GEO, WIKIDATA

_YEAR, _MONTH, _DAY = 9, 10, 11
_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_TIMES: Final = {
    XSD.gYear.value: (re.compile(rf"(-?\d{{4,}}){_ZONE}"), _YEAR),
    XSD.gYearMonth.value: (re.compile(rf"(-?\d{{4,}})-(\d\d){_ZONE}"), _MONTH),
    XSD.date.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d){_ZONE}"), _DAY),
    XSD.dateTime.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T.+{_ZONE}"), _DAY),
    XSD.dateTimeStamp.value: (re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T.+{_ZONE}"), _DAY),
}
"""Datatype -> pattern and precision in Wikibase, which is at most a day."""
_NUMBERS: Final = frozenset(
    XSD[name].value
    for name in (
        *("decimal", "integer", "double", "float", "long", "int", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
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
    """The datatype of Wikibase for a literal: the first that can express it, else ``string``.

    A value that its own datatype does not have, such as 30 February, is a string.
    """
    if literal.language:
        return "monolingualtext"
    return next((name for name, read in _VALUES.items() if read(literal) is not None), STRING)


def literal_snak(
    property_id: str, literal: Literal, datatype: str, unit: str = model.NO_UNIT
) -> model.Snak:
    """The snak of a literal; `datatype` is that of `literal_datatype`, or another one of strings.

    `unit` is the IRI of the item of the unit of a quantity.
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


def _time(literal: Literal) -> model.Value | None:
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
    if literal.datatype.value not in _NUMBERS:
        return None
    try:
        number = Decimal(literal.value.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _DIGITS:
        return None
    amount = f"{number if number else number.copy_abs():+f}"
    return {"amount": amount} if len(amount) <= _DIGITS + 1 else None


def _point(literal: Literal) -> model.Value | None:
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
    "time": _time,
    "quantity": _quantity,
    "globe-coordinate": _point,
    "url": _url,
}
"""Datatype -> the value of a literal, or None if it has none of this datatype."""
