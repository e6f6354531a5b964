"""When what a clause says is true: "from 1919 to 1937", "until 1941", "in 1903", "since 1950".

Only explicit dates directly after a preposition are read, and each belongs to the verb, or to the
apposition, that its preposition depends on. A verb with two different starts, ends or points in
time has none, as it is not known which of its arguments each belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spacy.tokens import Doc, Token

from sarag_rdf.base.types import Value
from sarag_rdf.extraction.names import english
from sarag_rdf.extraction.prose import prose_text
from sarag_rdf.extraction.text_values import XSD, find_values
from sarag_rdf.graph.valid_time import span_of

_DATES = frozenset(XSD + name for name in ("gYear", "gYearMonth", "date"))
_UNTIL = frozenset({"until", "till"})
_SECOND = {"from": _UNTIL | {"to", "through", "-", "\u2013", "\u2014"}, "between": {"and"}}
"""First preposition of a period -> the words before its end."""
_STARTS = frozenset({"from", "since"})
_POINTS = frozenset({"in", "on"})
BEGINNING = english("phrases", "beginning")
"""Verbs for the beginning of a state, or for making something, whose maker one remains.

Their point in time is a start: "became director in 1919", "wrote it in 1962".
"""
_NEAR = frozenset({"of", "in", "at", "for", "as", "on"})
"""Prepositions between a verb and a noun whose times are also those of the verb."""
_VERBS = ("VERB", "AUX")


@dataclass(frozen=True, slots=True)
class Period:
    """Start, end and point in time, as far as they are stated; `tokens` are those of the point."""

    start: Value | None = None
    end: Value | None = None
    at: Value | None = None
    tokens: range = field(default=range(0), compare=False)

    def __bool__(self) -> bool:
        return (self.start or self.end or self.at) is not None


ALWAYS = Period()
"""The period of a clause without times."""


def find_periods(doc: Doc) -> Mapping[int, Period]:
    """The periods of a document by the verb, apposition or second object that they belong to."""
    stated: defaultdict[int, dict[Period, None]] = defaultdict(dict)
    for preposition, period in _stated(doc):
        anchor = _anchor(preposition)
        if anchor is not None:
            stated[anchor.i][period] = None
    periods = {place: _united(several, doc[place]) for place, several in stated.items()}
    return {place: period for place, period in periods.items() if period}


def _stated(doc: Doc) -> Iterator[tuple[Token, Period]]:
    """Each preposition of a date or of two, with their period."""
    dates = {}
    for span in find_values(prose_text(doc)) if any(token.like_num for token in doc) else ():
        tokens = doc.char_span(span.begin, span.end)
        if span.kind == "date" and span.value.datatype in _DATES and tokens is not None:
            dates[tokens.start] = tokens.end, span.value
    ends: set[int] = set()
    for begin, (after, value) in dates.items():
        when = next((t for t in doc[after : after + 2] if t.lower_ == "when"), None)
        if when is not None:  # "in 1903, when she moved"
            yield when, Period(at=value)
        if begin == 0 or begin in ends:
            continue
        preposition = doc[begin - 1]
        word = preposition.lower_
        joining = doc[after].lower_ if after + 1 < len(doc) else ""
        if joining in _SECOND.get(word, ()) and after + 1 in dates:
            ends.add(after + 1)
            yield preposition, Period(value, dates[after + 1][1])
        elif word in _STARTS:
            yield preposition, Period(start=value)
        elif word in _UNTIL:
            yield preposition, Period(end=value)
        elif word in _POINTS:
            yield preposition, Period(at=value, tokens=range(begin, after))


def _anchor(preposition: Token) -> Token | None:
    """The verb or apposition that a preposition depends on, directly or over its arguments."""
    token = preposition.head
    token = token.head.head if token.lower_ == "effect" else token  # "with effect from 1 May"
    while token.pos_ not in _VERBS and token.dep_ != "appos":
        is_near = token.dep_ != "prep" or token.lower_ in _NEAR
        if token.dep_ == "conj" and (token.head.dep_ == "dobj" or token.head.pos_ in _VERBS):
            return token if token.pos_ == "PROPN" else None  # "mended A in 1996 and B in 2018"
        if not is_near or token.head == token or token.dep_ == "conj":
            return None
        token = token.head
    return token


def _united(periods: Mapping[Period, None], anchor: Token) -> Period:
    """The one period of an anchor; none if its parts differ, or if it ended before its start."""
    starts = {period.start for period in periods} - {None}
    ends = {period.end for period in periods} - {None}
    points = {period.at: period.tokens for period in periods if period.at}
    if len(starts) > 1 or len(ends) > 1:
        return ALWAYS
    start, end = next(iter(starts), None), next(iter(ends), None)
    if start or end:
        first, last = (span_of(each.lexical) if each else None for each in (start, end))
        return ALWAYS if first and last and last[1] < first[0] else Period(start, end)
    if len(points) != 1:
        return ALWAYS
    [(point, tokens)] = points.items()
    if anchor.lower_ in BEGINNING:
        return Period(start=point, tokens=tokens)
    return Period(at=point, tokens=tokens)
