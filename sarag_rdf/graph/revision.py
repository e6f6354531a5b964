"""The revision of a graph: every change gives it another, and caches are valid for one.

A graph that is described and has no revision gets none: its last change was broken off, which
`repair` must find.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Change
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS, FOAF, SARAG

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
