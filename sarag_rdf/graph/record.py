"""What every change to a graph brings with it: another revision, and a run that tells of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Change, Term
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS, FOAF, PROV, RDF, SARAG, XSD

SAID_BY_HAND = (
    *(DCTERMS[name] for name in ("title", "description", "license", "publisher")),
    *(FOAF.homepage, FOAF.name),
)
"""What a user may say of the data set."""


def now() -> Literal:
    """The time, to the second, in UTC."""
    text = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime)


def revised_by_hand(reader: GraphReader, change: Change) -> Change:
    """A change of links, or of what is said of the data set, with a new revision.

    This is the revision of what was indexed or imported, with a digest of all links and all that
    is said by hand: when these are taken away again, the revision is again what it was.
    """
    minter = reader.minter
    meta = list(reader.store.quads(minter.meta_graph))
    before = [quad for quad in meta if quad.predicate == SARAG.revision]
    given = {quad for quad in meta if quad.predicate in SAID_BY_HAND}
    given |= set(reader.store.quads(minter.links_graph))
    lines = sorted(str(quad) for quad in given.difference(change.delete).union(change.insert))
    said = text_of(before[0].object) if before else uuid.uuid4().hex
    indexed, _, _ = said.partition(".")
    text = f"{indexed}.{sha256_hex(*lines)[:16]}" if lines else indexed
    if before and text == said:
        text = uuid.uuid4().hex
    node, graph = NamedNode(minter.knowledge_graph), NamedNode(minter.meta_graph)
    new = Quad(node, SARAG.revision, Literal(text), graph)
    return replace(change, delete=(*change.delete, *before), insert=(*change.insert, new))


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
