"""A graph's own metadata: base IRI, revision, embedding model, and the runs that changed it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.errors import StoreError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter, sha256_hex
from sarag_rdf.ports import Change, GraphStore, Term
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS, FOAF, PROV, RDF, SARAG, XSD


@dataclass(frozen=True, slots=True)
class Meta:
    """`revision` changes with every write; caches are valid for one."""

    base: str
    revision: str = ""
    embedding_model: str = ""


def read_meta(store: GraphStore) -> Meta | None:
    """The graph's own description, or None for a store that holds none.

    What other graphs say of this or any other graph of documents is no description.
    """
    found = set()
    for _, base, revision, model, graph in GraphReader(store, Minter()).select_provenance("meta"):
        if graph.value == Minter(base.value).meta_graph:
            found.add(
                Meta(base.value, revision.value if revision else "", model.value if model else "")
            )
    if len({meta.base for meta in found}) > 1:
        raise StoreError(
            "the store holds graphs of several bases: " + ", ".join(sorted(m.base for m in found))
        )
    return min(found, key=lambda m: (m.revision, m.embedding_model)) if found else None


SAID_BY_HAND = (
    *(DCTERMS[name] for name in ("title", "description", "license", "publisher")),
    *(FOAF.homepage, FOAF.name),
)
"""What a user may say of the data set."""


def revised(reader: GraphReader, change: Change, *, meta: Iterable[Quad] | None = None) -> Change:
    """The same change with a new revision; `meta` is what the description holds, if known."""
    known = tuple(reader.store.quads(reader.minter.meta_graph) if meta is None else meta)
    return _with_revision(reader, change, known, uuid.uuid4().hex)


def revised_by_hand(reader: GraphReader, change: Change) -> Change:
    """A change of links, or of what is said of the data set, with a new revision.

    This is the revision of what was indexed or imported, with a digest of all links and all that
    is said by hand: when these are taken away again, the revision is again what it was.
    """
    known = tuple(reader.store.quads(reader.minter.meta_graph))
    given = {quad for quad in known if quad.predicate in SAID_BY_HAND}
    given |= set(reader.store.quads(reader.minter.links_graph))
    lines = sorted(str(quad) for quad in given.difference(change.delete).union(change.insert))
    before = _revisions(known)
    said = text_of(before[0].object) if before else uuid.uuid4().hex
    indexed, _, _ = said.partition(".")
    text = f"{indexed}.{sha256_hex(*lines)[:16]}" if lines else indexed
    if before and text == said:
        text = uuid.uuid4().hex
    return _with_revision(reader, change, known, text)


def _revisions(meta: Iterable[Quad]) -> tuple[Quad, ...]:
    return tuple(quad for quad in meta if quad.predicate == SARAG.revision)


def _with_revision(reader: GraphReader, change: Change, known: Sequence[Quad], text: str) -> Change:
    old = _revisions(known)
    if known and not old:
        return change
    node, graph = NamedNode(reader.minter.knowledge_graph), NamedNode(reader.minter.meta_graph)
    new = Quad(node, SARAG.revision, Literal(text), graph)
    if reader.journal is not None:
        before = text_of(old[0].object) if len(old) == 1 else ""
        reader.journal.note(reader.store, reader.minter, change, before, text)
    return replace(change, delete=(*change.delete, *old), insert=(*change.insert, new))


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
