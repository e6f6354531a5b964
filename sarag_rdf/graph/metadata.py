"""Metadata of a graph: base IRI, revision, embedding model, counts, and runs that changed it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import StoreError, UsageError
from sarag_rdf.base.iris import Minter, sha256_hex
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import DCTERMS, FOAF, PROV, RDF, SARAG, XSD, Term, text_of
from sarag_rdf.graph.graph_reader import GraphReader


@dataclass(frozen=True, slots=True)
class Meta:
    """`revision` changes with every write, and is part of the key of every cache."""

    base: str
    revision: str = ""
    embedding_model: str = ""


def read_meta(store: GraphStore) -> Meta | None:
    """The metadata of the graph in a store, or None; raises `StoreError` for several bases."""
    metadata = set()
    for _, base, revision, model, graph in GraphReader(store, Minter()).select_provenance("meta"):
        if graph.value == Minter(base.value).meta_graph:
            optional = (term.value if term else "" for term in (revision, model))
            metadata.add(Meta(base.value, *optional))
    if len(bases := {meta.base for meta in metadata}) > 1:
        raise StoreError(f"the store contains graphs of several bases: {', '.join(sorted(bases))}")
    return min(metadata, key=lambda m: (m.revision, m.embedding_model)) if metadata else None


def stats(reader: GraphReader) -> dict[str, int]:
    """Measure -> count, in the order of ``stats.rq``."""
    counts = {measure.value: count for measure, count in reader.select_provenance("stats")}
    measures = re.findall(r'"([^"]+)" AS \?measure', query_file("index", "stats").text)
    return {measure: int(counts[measure].value) for measure in measures}


CURATED_PROPERTIES = (
    *(DCTERMS[name] for name in ("title", "description", "license", "publisher")),
    *(FOAF.homepage, FOAF.name),
)
"""Properties of the data set that users set."""


def with_revision(
    reader: GraphReader, change: Change, *, meta: Iterable[Quad] | None = None
) -> Change:
    """The same change with a new revision; `meta` is the metadata graph, if already read."""
    known = tuple(reader.store.quads(reader.minter.meta_graph) if meta is None else meta)
    return _with_revision(reader, change, known, uuid.uuid4().hex)


def with_curated_revision(reader: GraphReader, change: Change) -> Change:
    """A change of links or of `CURATED_PROPERTIES`, with a new revision.

    The revision is that of the last indexing or import, plus a digest of all links and curated
    properties: when these are removed, the graph has its previous revision again.
    """
    known = tuple(reader.store.quads(reader.minter.meta_graph))
    curated = {quad for quad in known if quad.predicate in CURATED_PROPERTIES}
    curated |= set(reader.store.quads(reader.minter.links_graph))
    lines = sorted(str(quad) for quad in curated.difference(change.delete).union(change.insert))
    before = [quad for quad in known if quad.predicate == SARAG.revision]
    current = text_of(before[0].object) if before else uuid.uuid4().hex
    indexed, _, _ = current.partition(".")
    text = f"{indexed}.{sha256_hex(*lines)[:16]}" if lines else indexed
    if before and text == current:
        text = uuid.uuid4().hex
    return _with_revision(reader, change, known, text)


def _with_revision(reader: GraphReader, change: Change, known: Sequence[Quad], text: str) -> Change:
    old = tuple(quad for quad in known if quad.predicate == SARAG.revision)
    if known and not old:
        return change
    node, graph = NamedNode(reader.minter.knowledge_graph), NamedNode(reader.minter.meta_graph)
    new = Quad(node, SARAG.revision, Literal(text), graph)
    if reader.journal is not None:
        before = text_of(old[0].object) if len(old) == 1 else ""
        reader.journal.note(reader.store, reader.minter, change, before, text)
    return replace(change, delete=(*change.delete, *old), insert=(*change.insert, new))


def now() -> Literal:
    """The current time in UTC, to the second."""
    text = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime)


def today() -> str:
    """The date in UTC, as in decisions and links."""
    return datetime.now(UTC).date().isoformat()


def end_time(started: Literal) -> Literal:
    """The current time, but not before `started`, as the clock may have been set back."""
    return max(started, now(), key=lambda time: datetime.fromisoformat(time.value).astimezone(UTC))


def run_quads(
    reader: GraphReader,
    what: str,
    started: Literal,
    *,
    removed: Iterable[str] = (),
    added: Iterable[str] = (),
) -> list[Quad]:
    """The quads of a run from `started` until now, described by `what`.

    `removed` and `added` are the IRIs of what it invalidated and generated.
    """
    graph = NamedNode(reader.minter.runs_graph)
    node = NamedNode(reader.minter.run(str(uuid.uuid4())))
    pairs: list[tuple[NamedNode, Term]] = [
        (RDF.type, SARAG.Run),
        (RDF.type, PROV.Activity),
        (DCTERMS.description, Literal(what)),
        (PROV.startedAtTime, started),
        (PROV.endedAtTime, end_time(started)),
        *((PROV.invalidated, NamedNode(iri)) for iri in sorted(removed)),
        *((PROV.generated, NamedNode(iri)) for iri in sorted(added)),
    ]
    return [Quad(node, predicate, value, graph) for predicate, value in pairs]


@dataclass(frozen=True)
class DatasetMetadata(Options):
    """Metadata that users set; None leaves a value unchanged, and an empty text removes it."""

    name = "a description"
    title: str | None = option(None, "Title of the dataset.")
    description: str | None = option(None, "Description of the dataset, in a sentence or two.")
    license: str | None = option(None, "IRI of the licence.")
    publisher: str | None = option(None, "IRI or name of the publisher.")
    homepage: str | None = option(None, "IRI of the home page.")


def write_dataset_metadata(reader: GraphReader, metadata: DatasetMetadata) -> None:
    """Replace metadata of the data set. Raises `UsageError` for a value that must be an IRI."""
    graph = NamedNode(reader.minter.meta_graph)
    node = NamedNode(reader.minter.knowledge_graph)
    stored_quads = set(reader.store.quads(reader.minter.meta_graph))
    old: set[Quad] = set()
    new: set[Quad] = set()
    for name, value in metadata.settings().items():
        if value is None:
            continue
        predicate = (FOAF if name == "homepage" else DCTERMS)[name]
        before = {q for q in stored_quads if q.subject == node and q.predicate == predicate}
        old |= before | {q for q in stored_quads for b in before if q.subject == b.object}
        if not value:
            continue
        if name in ("title", "description"):
            new.add(Quad(node, predicate, Literal(value), graph))
        elif name == "publisher" and "://" not in value:  # a name, which may have a colon
            agent = NamedNode(f"{node.value}/publisher")
            new.add(Quad(node, predicate, agent, graph))
            new.add(Quad(agent, RDF.type, FOAF.Agent, graph))
            new.add(Quad(agent, FOAF.name, Literal(value), graph))
        else:
            new.add(Quad(node, predicate, checked_iri(value), graph))
    if old != new:
        deleted, inserted = (tuple(sorted(quads, key=str)) for quads in (old - new, new - old))
        change = Change((), deleted, inserted)
        reader.store.apply(with_curated_revision(reader, change))


def checked_iri(text: str) -> NamedNode:
    """The IRI for a text; raises `UsageError` if it is not an absolute IRI."""
    if "://" in text:
        with suppress(ValueError):
            return NamedNode(text)
    raise UsageError(
        f"'{text}' is not an absolute IRI: give one such as "
        "https://creativecommons.org/licenses/by/4.0/"
    )
