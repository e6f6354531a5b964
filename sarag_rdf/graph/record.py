"""What every change to a graph brings with it: another revision, and a run that tells of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Term
from sarag_rdf.vocab import DCTERMS, PROV, RDF, SARAG, VOID, XSD

_OF_THE_GRAPH = (RDF.type, SARAG.baseIRI, SARAG.revision, SARAG.embeddingModel, VOID.uriSpace)
"""What the graph itself says in its metadata; all else there was said by hand."""


def now() -> Literal:
    """The time, to the second, in UTC."""
    text = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime)


def revised(
    reader: GraphReader, old: Iterable[Quad], new: Iterable[Quad]
) -> tuple[list[Quad], list[Quad]]:
    """The revision to delete and the one to insert, when `old` goes and `new` comes by hand.

    It is the revision of what was indexed, with a digest of all links and of what was said of the
    data set: when these are taken away again, the revision is again what it was.
    """
    minter = reader.minter
    meta = list(reader.store.quads(minter.meta_graph))
    before = [quad for quad in meta if quad.predicate == SARAG.revision]
    given = {quad for quad in meta if quad.predicate not in _OF_THE_GRAPH}
    given |= set(reader.store.quads(minter.links_graph))
    lines = sorted(str(quad) for quad in given.difference(old).union(new))
    said = before[0].object.value if before else uuid.uuid4().hex
    indexed, _, _ = said.partition(".")
    text = f"{indexed}.{sha256_hex(*lines)[:16]}" if lines else indexed
    if before and text == said:
        text = uuid.uuid4().hex
    node = NamedNode(minter.knowledge_graph)
    return before, [Quad(node, SARAG.revision, Literal(text), NamedNode(minter.meta_graph))]


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
