"""Which properties have literals as values, and of which datatype.

Many ontologies declare dates and numbers as object properties: with a class such as
``concepts#Date`` as range, or with no range at all. The datatype follows from the range: a datatype
of XSD, else the local name of the range; without a range, from words of the label ("date of
birth", "inception", "cost").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sarag_rdf.base.iris import namespace
from sarag_rdf.base.vocab import RDF, RDFS, XSD

_STRING = XSD.string.value
_NAMES = {
    **dict.fromkeys(("date", "day"), XSD.date.value),
    **dict.fromkeys(("year", "gyear"), XSD.gYear.value),
    **dict.fromkeys(("yearmonth", "gyearmonth"), XSD.gYearMonth.value),
    **dict.fromkeys(("datetime", "datetimestamp", "timestamp"), XSD.dateTime.value),
    **dict.fromkeys(("integer", "int", "nonnegativeinteger"), XSD.integer.value),
    **dict.fromkeys(("number", "numeric", "decimal", "float", "double"), XSD.decimal.value),
    **dict.fromkeys(("quantity", "quantitativevalue", "monetaryamount"), XSD.decimal.value),
    **dict.fromkeys(("string", "text", "literal", "langstring"), _STRING),
    **dict.fromkeys(("boolean", "bool"), XSD.boolean.value),
    **dict.fromkeys(("url", "anyuri"), XSD.anyURI.value),
}
"""Local name of a range, in lower case -> datatype."""
_DECLARED_NAMES = {
    "duration": XSD.duration.value,
    "time": XSD.time.value,
    **dict.fromkeys(("distance", "energy", "mass"), XSD.decimal.value),
}
"""The same for ranges that are declared to be datatypes; otherwise these names are ambiguous."""
_LABEL_WORDS = {
    **dict.fromkeys(("date", "inception", "birthday"), XSD.date.value),
    "year": XSD.gYear.value,
    **dict.fromkeys(("cost", "price", "budget", "revenue", "population"), XSD.decimal.value),
    **dict.fromkeys(("height", "width", "length", "weight", "mass", "age"), XSD.decimal.value),
}
"""Word of a label -> datatype of a property without a range."""
_DATATYPES = frozenset(
    {
        *(RDF[name].value for name in ("langString", "HTML", "XMLLiteral", "PlainLiteral", "JSON")),
        RDFS.Literal.value,
        "http://www.w3.org/2002/07/owl#real",
        "http://www.w3.org/2002/07/owl#rational",
        "http://www.opengis.net/ont/geosparql#wktLiteral",
        "http://www.opengis.net/ont/geosparql#gmlLiteral",
        "http://www.opengis.net/ont/geosparql#geoJSONLiteral",
    }
)
NUMBERS = frozenset(
    XSD[name].value
    for name in (
        *("decimal", "integer", "double", "float", "long", "int", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
"""The numeric datatypes of XSD."""


def is_datatype(range_: str) -> bool:
    """Whether a range is a datatype of RDF, XSD, OWL or GeoSPARQL."""
    return range_.startswith(XSD.base) or range_ in _DATATYPES


def named_datatype(range_: str) -> str:
    """The datatype that the local name of a range stands for: ``concepts#Date``; else empty."""
    return _NAMES.get(_local_name(range_), "")


def value_datatype(label: str, ranges: Iterable[str]) -> str:
    """The datatype IRI of the values of a property whose values are literals.

    The first range decides that has a datatype; without one, the words of the label do. The default
    is ``xsd:string``.
    """
    for range_ in ranges:
        if range_.startswith(XSD.base):
            return range_
        if is_datatype(range_):
            return _STRING
        known = named_datatype(range_) or _DECLARED_NAMES.get(_local_name(range_), "")
        if known:
            return known
    return label_datatype(label) or _STRING


def label_datatype(label: str) -> str:
    """The datatype that a word of the label stands for, the last one first; else empty."""
    words = re.findall(r"\w+", label.casefold())
    return next((_LABEL_WORDS[word] for word in reversed(words) if word in _LABEL_WORDS), "")


def _local_name(iri: str) -> str:
    return re.sub(r"[^a-z]", "", iri.removeprefix(namespace(iri)).lower())
