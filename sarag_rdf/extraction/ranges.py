"""The coarse kind of a property's objects, and of a class.

Ontologies in the wild declare dates as object properties with a class "Date" as range, or with no
range: the kind is that of the datatype, else of the local name of the range, else of words in the
label.
"""

from __future__ import annotations

import re
from typing import Literal

from sarag_rdf.graph.ontology.schema import OntologyProperty
from sarag_rdf.plugins.learned.candidates import ENTITY_KINDS, CandidateKind

RangeKind = Literal["date", "duration", "number", "string", "url", "coordinates", "entity", "any"]
RANGE_KINDS: tuple[RangeKind, ...] = (
    "date", "duration", "number", "string", "url", "coordinates", "entity", "any",
)  # fmt: skip

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMERIC = frozenset(
    "decimal integer double float int long short byte nonNegativeInteger positiveInteger number "
    "nonPositiveInteger negativeInteger unsignedInt unsignedLong quantity money".lower().split()
)
_NAMES: dict[str, RangeKind] = {
    "date": "date", "datetime": "date", "year": "date", "gyear": "date", "gyearmonth": "date",
    "gmonthday": "date", "time": "date", "calendardate": "date", "pointintime": "date",
    "datetimestamp": "date", "duration": "duration", "daytimeduration": "duration",
    "yearmonthduration": "duration", "anyuri": "url", "url": "url", "string": "string",
    "text": "string", "literal": "any", "langstring": "string", "token": "string",
    "normalizedstring": "string", "wktliteral": "coordinates", "boolean": "any",
}  # fmt: skip
_DATE_LABEL = re.compile(r"\b(?:date|year|inception)\b")
_NUMBER_LABEL = re.compile(r"\b(?:number of|cost|population|height|length|area|runtime|budget)\b")

_ADMITTED: dict[RangeKind, frozenset[CandidateKind]] = {
    "date": frozenset({"date"}),
    "duration": frozenset({"duration", "quantity", "number"}),
    "number": frozenset({"number", "quantity", "money", "duration", "date"}),
    "string": frozenset(
        {"person", "organization", "place", "group", "work", "name", "noun", "identifier", "number",
         "quantity", "date"}
    ),
    "url": frozenset({"url"}),
    "coordinates": frozenset({"coordinates"}),
    "entity": ENTITY_KINDS | frozenset[CandidateKind]({"identifier"}),
}  # fmt: skip


def range_kind(property_: OntologyProperty) -> RangeKind:
    """The kind of the objects of a property."""
    for range_ in property_.ranges:
        local = re.split(r"[#/:]", range_)[-1].replace("_", "").lower()
        if local in _NUMERIC:
            return "number"
        if local in _NAMES:
            return _NAMES[local]
        if range_.startswith(_XSD):
            return "string"
    if property_.ranges:
        return "string" if property_.is_literal else "entity"
    if _DATE_LABEL.search(property_.label):
        return "date"
    if _NUMBER_LABEL.search(property_.label):
        return "number"
    return "string" if property_.is_literal else "any"


def is_admitted(kind: CandidateKind, range_: RangeKind) -> bool:
    """Whether a candidate of this kind may be an object of a property with this range."""
    return range_ == "any" or kind in _ADMITTED[range_]
