"""Times of Wikibase as XSD 1.1 has them: real days, and a year 0 before the year 1."""

from __future__ import annotations

import re

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"
_CENTURY, _YEAR, _MONTH, _DAY = 7, 9, 10, 11
_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(T\d\d:\d\d:\d\dZ)")
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_time(text: str, calendar: str, precision: int) -> str | None:
    """The lexical form of an ``xsd:dateTime``; None if the value is no date of a known calendar.

    A precision coarser than a day gives the first day. Julian days are converted.
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


def _length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _LENGTHS[month - 1]


def _gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """A day of the Julian calendar in the Gregorian, both with a year 0, by the day's number."""
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
