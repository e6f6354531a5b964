"""Comparisons of two answers by code: dates, numbers, the same name, yes and no."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, get_args

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.extraction.text_values import find_values
from sarag_rdf.graph.valid_time import Span, overlap, span_of

Comparison = Literal["earliest", "latest", "largest", "smallest", "same", "both", "other"]
COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)
"""What decides: the date or number of each thing, whether both have the same, or whether something
is true of both. An ``other`` question compares nothing."""


_FIRST = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before)\b", re.IGNORECASE)
_LAST = re.compile(r"\b(?:last|later|latest|younger|youngest|after)\b", re.IGNORECASE)


def checked(comparison: Comparison, question: str) -> Comparison:
    """A comparison of dates as the words of the question have it, if all of them say the same.

    >>> checked("latest", "Who was born first, Ada or Bo?")
    'earliest'
    """
    if comparison not in ("earliest", "latest"):
        return comparison
    is_first, is_last = bool(_FIRST.search(question)), bool(_LAST.search(question))
    if is_first == is_last:
        return comparison
    return "earliest" if is_first else "latest"


def decided(comparison: Comparison, things: Sequence[str], answers: Sequence[str]) -> str:
    """One of the two things, or yes or no, by the answers for each; empty if they do not settle it.

    They do not if a date or number is missing, ambiguous or in another unit, or if both are equal.
    Names that differ may still be of the same ("British", "United Kingdom").

    >>> decided("earliest", ["Ulm", "Ada"], ["in May 1903", "1910"])
    'Ulm'
    >>> decided("same", [], ["Ulm, Germany", "Germany"])
    'yes'
    >>> decided("largest", ["Orle", "Vint"], ["540 km", "300 miles"])
    ''
    """
    one, other = answers
    if comparison == "both":
        verdicts = [normalize_name(answer).partition(" ")[0] for answer in answers]
        return "no" if "no" in verdicts else "yes" if verdicts == ["yes", "yes"] else ""
    if comparison == "same":
        words, others = ({*normalize_name(answer).split()} for answer in answers)
        return "yes" if words and others and (words <= others or others <= words) else ""
    if comparison in ("earliest", "latest"):
        is_first = _is_before(_date(one), _date(other))
    else:
        is_first = _is_less(_number(one), _number(other))
    if is_first is None or len(things) != 2:
        return ""
    return things[is_first != (comparison in ("earliest", "smallest"))]


def _is_before(one: Span | None, other: Span | None) -> bool | None:
    return None if one is None or other is None or overlap(one, other) else one < other


def _is_less(one: tuple[Decimal, str] | None, other: tuple[Decimal, str] | None) -> bool | None:
    if one is None or other is None or one[1] != other[1] or one[0] == other[0]:
        return None
    return one[0] < other[0]


def _date(answer: str) -> Span | None:
    """The days of a date in the form of XML Schema, or else of the only date of an answer."""
    dates = [found.value.lexical for found in find_values(answer) if found.kind == "date"]
    return span_of(answer) or (span_of(dates[0]) if len(dates) == 1 else None)


def _number(answer: str) -> tuple[Decimal, str] | None:
    """The only number of an answer with its unit; a year is a number, too."""
    values = [found.value for found in find_values(answer)]
    try:
        return (Decimal(values[0].lexical), values[0].unit) if len(values) == 1 else None
    except InvalidOperation:
        return None
