"""Valid time: when what relationships state is true, and what of a graph holds at a moment.

A time is a literal of XML Schema at its own precision, and stands for all the days that it covers:
1919 as a start is 1 January 1919, 1937 as an end 31 December 1937, and a point in time is the
whole of its day, month or year. A moment is given in the same way, and what holds on one of its
days holds at the moment. Times of day are left out of account.

>>> holds((Literal("1919"), Literal("1937"), None), moment_of("1925-06"))
True
>>> holds((None, Literal("1937"), None), moment_of("1938"))
False
>>> holds((None, None, Literal("1903-12-10")), moment_of("1903"))
True
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set
from datetime import MAXYEAR
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import statement_iri
from sarag_rdf.base.vocab import SARAG, iri, text_of
from sarag_rdf.graph.graph_reader import GraphReader

Day = tuple[int, int, int]
"""Year (0 is 1 BC, as in XML Schema 1.1), month and day, which compare in this order."""
Span = tuple[Day, Day]
"""The first and the last day; the last of a month is 31, which no date exceeds."""
Times = tuple[Literal | None, Literal | None, Literal | None]
"""Start, end and point in time."""
NO_TIMES: Times = (None, None, None)

TIME_PROPERTIES = (SARAG.startTime, SARAG.endTime, SARAG.pointInTime)
"""The properties of a relationship for its `Times`."""
TIMES = tuple(zip(("start_time", "end_time", "point_in_time"), TIME_PROPERTIES, strict=True))
"""The fields of `sarag_rdf.base.types.Timed`, and their properties."""
_LEXICAL = re.compile(r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T.*)?)?)?(?:Z|[+-]\d\d:\d\d)?")
_FIRST: Day = (-(10**9), 1, 1)
_LAST: Day = (10**9, 12, 31)
_ENDS = (SARAG.subject, SARAG.object)


def span_of(lexical: str) -> Span | None:
    """The days of an ``xsd:gYear``, ``gYearMonth``, ``date`` or ``dateTime``; None for others.

    >>> span_of("1919-05")
    ((1919, 5, 1), (1919, 5, 31))
    """
    match = _LEXICAL.fullmatch(lexical)
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None  # noqa: S101 - the first group always matches
    if not (1 <= (month or 1) <= 12 and 1 <= (day or 1) <= 31):
        return None
    return (year, month or 1, day or 1), (year, month or 12, day or 31)


def moment_of(text: str) -> Span:
    """The days of a year of up to four digits, month or date; raises `UsageError` for another."""
    span = span_of(text.strip())
    if span is None or abs(span[0][0]) > MAXYEAR:
        raise UsageError(
            f"'{text}' is not a time: write a year, month or date, such as 1925, 1925-03 or "
            "1925-03-31"
        )
    return span


def days_of(times: Times) -> Span:
    """The days on which what has these times holds; all days without any time."""
    start, end, at = (span_of(time.value) if time else None for time in times)
    if start is None and end is None and at is not None:
        return at
    return (start or (_FIRST,))[0], (end or (_LAST,))[-1]


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans have a day in common."""
    return one[0] <= other[1] and other[0] <= one[1]


def holds(times: Times, moment: Span) -> bool:
    """Whether what has these times holds at a moment; without any time it always does."""
    return overlap(days_of(times), moment)


def not_holding(reader: GraphReader, moment: Span) -> frozenset[str]:
    """The relationships with a time that does not include the moment.

    Among them are the triples of imported graphs of which this is true (`statement_iri`).
    """
    return _with_triples(reader, _without_moment(reader, moment))


def ended_or_later(reader: GraphReader, moment: Span) -> frozenset[str]:
    """Those of `not_holding` with a start or an end: a point in time is neither."""
    times = stated_times(reader).items()
    absent = (node for node, own in times if (own[0] or own[1]) and not holds(own, moment))
    return _with_triples(reader, frozenset(absent))


def _with_triples(reader: GraphReader, absent: frozenset[str]) -> frozenset[str]:
    """The nodes, and the triples that they alone describe by RDF reification."""
    triples = (quad.triple for quad in _reified(reader, absent))
    return absent | {statement_iri(*(text_of(term) for term in triple)) for triple in triples}


def _without_moment(reader: GraphReader, moment: Span) -> frozenset[str]:
    """The nodes with a time that does not include the moment."""
    times = stated_times(reader).items()
    return frozenset(node for node, own in times if not holds(own, moment))


def _reified(reader: GraphReader, absent: Set[str]) -> set[Quad]:
    """The quads that nodes among `absent` describe by RDF reification, if no other node does."""
    described_by: defaultdict[Quad, set[str]] = defaultdict(set)
    for _, s, p, o, node, graph in reader.select_provenance_for("reified-statements", absent):
        described_by[Quad(s, p, o, graph)].add(node.value)
    return {quad for quad, nodes in described_by.items() if nodes <= absent}


def stated_times(reader: GraphReader, among: Iterable[str] | None = None) -> dict[str, Times]:
    """The relationships with a time (of those in `among`), and their times."""
    times: dict[str, Times] = {}
    rows: Iterable[tuple[Any, ...]] = (
        reader.select_provenance("relationship-times")
        if among is None
        else reader.select_provenance_for("times-of-relationships", among)
    )
    for relationship, property_, value, _ in rows:
        known = times.get(relationship.value, NO_TIMES)
        start, end, at = (
            value if each == property_ else other
            for each, other in zip(TIME_PROPERTIES, known, strict=True)
        )
        times[relationship.value] = start, end, at
    return times


def timed(reader: GraphReader, relationships: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The relationships with a time, and the fields of `sarag_rdf.base.types.Timed`."""
    return {
        relationship: {
            name: time.value for (name, _), time in zip(TIMES, times, strict=True) if time
        }
        for relationship, times in stated_times(reader, relationships).items()
    }


def quads_not_holding(reader: GraphReader, moment: Span) -> frozenset[Quad]:
    """The quads of the traversed graph that do not hold at a moment.

    They are the links of the relationships with a time that does not include it, and each typed
    statement and each link between entities (``sarag:relatedTo``) that no other relationship gives;
    and the triples of imported graphs that have such times by RDF reification.
    """
    own = NamedNode(reader.minter.kg_graph)
    absent = _without_moment(reader, moment)
    rows = reader.select_provenance_for("relationship-links", absent)
    links = {Quad(subject, property_, value, own) for subject, property_, value in rows}
    entities = {iri(quad.object) for quad in links if quad.predicate in _ENDS}
    given_by: defaultdict[Quad, set[str]] = defaultdict(set)
    for relationship, *row in reader.select_provenance_for("typed-statements", entities):
        subject, property_, object_ = row[:3]
        given_by[Quad(subject, property_, object_, own)].add(relationship.value)
    for relationship, subject, object_ in reader.rows_for("links", entities):
        given_by[Quad(subject, SARAG.relatedTo, object_, own)].add(relationship.value)
    links |= {quad for quad, givers in given_by.items() if givers <= absent}
    return frozenset(links | _reified(reader, absent))
