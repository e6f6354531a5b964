"""The run that tells of a change to a graph: what was done, and when."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import cast

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ports import Change, Term
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS, PROV, RDF, SARAG, XSD


def now() -> Literal:
    """The time, to the second, in UTC."""
    text = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime)


def ended(started: Literal) -> Literal:
    """The time at which something ends that began at `started`: never earlier than that.

    A clock may be set back meanwhile.
    """
    return max(started, now(), key=_moment)


def _moment(time: Literal) -> datetime:
    return datetime.fromisoformat(time.value).astimezone(UTC)


def ended_before_they_began(reader: GraphReader) -> Change:
    """What mends runs that end before they begin, as a clock that was set back made them.

    They end when they begin then. Runs whose times cannot be read are left alone.
    """
    started: dict[str, Literal] = {}
    endings: list[Quad] = []
    for quad in reader.store.quads(reader.minter.runs_graph):
        if not isinstance(quad.object, Literal):
            continue
        if quad.predicate == PROV.startedAtTime:
            started[text_of(quad.subject)] = quad.object
        elif quad.predicate == PROV.endedAtTime:
            endings.append(quad)
    delete, insert = [], []
    for quad in endings:
        begun = started.get(text_of(quad.subject))
        with suppress(ValueError, OverflowError):
            if begun is not None and _moment(cast("Literal", quad.object)) < _moment(begun):
                delete.append(quad)
                insert.append(Quad(quad.subject, quad.predicate, begun, quad.graph_name))
    return Change((), tuple(delete), tuple(insert))


def run_quads(
    reader: GraphReader, what: str, started: Literal, said: Iterable[tuple[NamedNode, Term]]
) -> list[Quad]:
    """A run that began at `started` and ends now: `what` was done, in words, and what is `said`."""
    graph = NamedNode(reader.minter.runs_graph)
    node = NamedNode(reader.minter.run(str(uuid.uuid4())))
    pairs: list[tuple[NamedNode, Term]] = [
        (RDF.type, SARAG.Run),
        (RDF.type, PROV.Activity),
        (DCTERMS.description, Literal(what)),
        (PROV.startedAtTime, started),
        (PROV.endedAtTime, ended(started)),
    ]
    return [Quad(node, predicate, value, graph) for predicate, value in [*pairs, *said]]
