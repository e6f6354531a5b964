"""Who held an office before or after somebody, by the times of statements."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query
from sarag_rdf.graph.valid_time import Day, span_of
from sarag_rdf.plugins.relation_paths.factoid import factoid
from sarag_rdf.plugins.relation_paths.path_answers import joined
from sarag_rdf.retrieval.seeds import ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_FORMS: Final = (
    re.compile(
        r"who (?:is|was|were) (?:the )?(?P<role>[a-z].+?) (?:(?:right|just|immediately|directly) )?"
        r"(?P<side>before|after) (?P<name>[A-Z].+?)",
        re.IGNORECASE,
    ),
    re.compile(
        r"who (?P<side>preceded|succeeded|followed|replaced) (?P<name>.+?) as (?:the )?"
        r"(?P<role>[a-z].+?)",
        re.IGNORECASE,
    ),
)
_BEFORE: Final = ("before", "preceded")
_YEAR: Final = 4
"""Digits of a year."""


def in_succession(view: GraphView, query: Query) -> Found | None:
    """Who is known to have held an office on the day before somebody did, or on the day after.

    Nobody is known to have done so if there is a gap, or if a time is not stated.
    """
    text = " ".join(query.text.split()).rstrip(" ?.!")
    match = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if match is None or query.at:
        return None
    name, is_before = match["name"], match["side"].lower() in _BEFORE
    role = _whole(view, query, match["role"], name)
    when = "since" if is_before else "until"
    held = (
        factoid(view, replace(query, text=f"{when} when was {name} the {role}?")) if role else None
    )
    if held is None or len(held.names) > 1:
        return None

    def holder(time: str) -> Found | None:
        asked = replace(query, text=f"who was the {role}?", at=time)
        return factoid(view, asked, is_dated=True)

    days = _days_beside(held.text, is_before)
    found = next(filter(None, (holder(day.isoformat()) for day in days)), None)
    if found is None or len(found.names) > 1 or name in found.names:
        return None
    then = holder(held.text[:_YEAR])
    if then and not {*then.names} <= {name, *found.names}:
        return None  # somebody else held it for a part of that year
    return joined(query, [held, found], found.names, f"{name} {when} {held.text}")


def _whole(view: GraphView, query: Query, role: str, name: str) -> str:
    """An office with what it belongs to, which is that of somebody if it is one thing."""
    if named_spans(view.names, role, ProperNames(view)):
        return role
    found = factoid(view, replace(query, text=f"what was {name} {role} of?"))
    return f"{role} of [{found.names[0]}]" if found and len(found.names) == 1 else ""


def _days_beside(time: str, is_before: bool) -> list[date]:
    """The day before the first or after the last one of a time, and that beside its year.

    Of who held an office until that year it is not known for which of its days; it is of a time
    that is a day itself.
    """
    span = span_of(time)
    try:
        first, last = map(_date, span) if span else (None, None)
        if first is None or last is None:
            return []
        if is_before:
            days = [first - timedelta(days=1), date(first.year - 1, 12, 31)]
        else:
            days = [last + timedelta(days=1), date(last.year + 1, 1, 1)]
        return days[:1] if first == last else days
    except (ValueError, OverflowError):  # the year 0
        return []


def _date(day: Day) -> date:
    """A day; the last one of its month if it has fewer days."""
    year, month, of_month = day
    return date(year, month, min(of_month, monthrange(year, month)[1]))
