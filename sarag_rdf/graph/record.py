"""The run that tells of a change to a graph: what was done, and when."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ports import Term
from sarag_rdf.vocab import DCTERMS, PROV, RDF, SARAG, XSD


def now() -> Literal:
    """The time, to the second, in UTC."""
    text = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime)


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
        (PROV.endedAtTime, now()),
    ]
    return [Quad(node, predicate, value, graph) for predicate, value in [*pairs, *said]]
