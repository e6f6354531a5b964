"""Describes the data set in VoID, DCAT and PROV: a graph of its own, without blank nodes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.export.rdf import Parts, choose, prefixes_under, sorted_triples
from sarag_rdf.graph.metadata import CURATED_PROPERTIES, with_curated_revision
from sarag_rdf.graph.parts import COMPLETE, LINKS, imported_graphs
from sarag_rdf.graph.reader import GraphReader, Part
from sarag_rdf.iris import namespace, sha256_hex
from sarag_rdf.ports import Change, Term
from sarag_rdf.redaction import holds_password
from sarag_rdf.vocab import DCAT, DCTERMS, FOAF, PROV, RDF, SARAG, SPDX, VOID, XSD

_MEDIA_TYPE = "https://www.iana.org/assignments/media-types/"
_PROTOCOL = NamedNode("https://www.w3.org/TR/sparql11-protocol/")
Pair = tuple[NamedNode, Term]


def describe(reader: GraphReader, dumps: Sequence[Dump] = (), endpoint: str = "") -> bytes:
    """The description as Turtle: the same bytes for the same graph, dumps and endpoint."""
    made = Description(reader)
    made.general()
    made.subsets()
    made.linksets()
    made.provenance()
    for dump in dumps:
        made.dump(dump)
    if holds_password(endpoint):
        raise UsageError("the URL of the endpoint is published: leave the password out of it")
    if endpoint:
        made.endpoint(endpoint)
    prefixes = prefixes_under(reader.minter.base) | {"spdx": SPDX.base}
    data = ox.serialize(made.triples(), format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    return data or b""


class Description:
    """Collects what is said of one data set."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._triples: set[Triple] = set()
        self.node = NamedNode(reader.minter.knowledge_graph)

    def triples(self) -> list[Triple]:
        """All triples, by subject, rdf:type first, the data set before all else."""
        return sorted(self._triples, key=self._order)

    def _order(self, triple: Triple) -> tuple[bool, str, bool, str]:
        subject, type_first = str(triple.subject), triple.predicate != RDF.type
        return triple.subject != self.node, subject, type_first, str(triple)

    def _add(self, subject: NamedNode, *pairs: Pair) -> None:
        self._triples |= {Triple(subject, predicate, value) for predicate, value in pairs}

    def _part(self, *path: str) -> NamedNode:
        """A node below the data set's; IRIs of others in the path enter as digests."""
        digests = (sha256_hex(part)[:16] if ":" in part else part for part in path)
        return NamedNode(f"{self.node.value}/{'-'.join(digests)}")

    def general(self) -> None:
        """What the user said, addresses, vocabularies, all counts."""
        base = self._reader.minter.base
        self._add(
            self.node,
            *((RDF.type, c) for c in (SARAG.KnowledgeGraph, DCAT.Dataset, VOID.Dataset)),
            (VOID.uriSpace, Literal(base)),
            (VOID.uriRegexPattern, Literal(f"^{re.escape(base)}")),
        )
        said = [
            quad.triple
            for quad in self._reader.store.quads(self._reader.minter.meta_graph)
            if quad.predicate in CURATED_PROPERTIES or quad.object == FOAF.Agent
        ]
        self._triples.update(said)
        if not any(triple.predicate == DCTERMS.title for triple in said):
            self._add(self.node, (DCTERMS.title, Literal(f"Knowledge graph {base}")))
        figures = self._count(Parts())
        self._figures(self.node, figures)
        self._add(self.node, *((VOID.exampleResource, NamedNode(e)) for e in figures.examples))
        for vocabulary in sorted({namespace(i) for i in (*figures.properties, *figures.classes)}):
            self._add(self.node, (VOID.vocabulary, NamedNode(vocabulary)))

    def _count(self, parts: Parts) -> Figures:
        store = self._reader.store
        return count(sorted_triples(store, choose(store, self._reader.minter, parts)))

    def _figures(self, node: NamedNode, figures: Figures) -> None:
        self._add(
            node,
            (VOID.triples, _count(figures.triples)),
            (VOID.distinctSubjects, _count(figures.subjects)),
            (VOID.distinctObjects, _count(len(figures.objects))),
            (VOID.properties, _count(len(figures.properties))),
            (VOID.classes, _count(len(figures.classes))),
        )
        if figures.entities:
            self._add(node, (VOID.entities, _count(figures.entities)))
        if node == self.node:
            self._partitions(figures)

    def _partitions(self, figures: Figures) -> None:
        for name, instances in figures.classes.items():
            part = self._part("class", name)
            self._add(self.node, (VOID.classPartition, part))
            self._add(part, (VOID["class"], NamedNode(name)), (VOID.entities, _count(instances)))
        for name, found in figures.properties.items():
            part = self._part("property", name)
            self._add(self.node, (VOID.propertyPartition, part))
            self._add(
                part,
                (VOID.property, NamedNode(name)),
                (VOID.triples, _count(found.triples)),
                (VOID.distinctSubjects, _count(found.subjects)),
                (VOID.distinctObjects, _count(len(found.objects))),
            )

    def subsets(self) -> None:
        """Evidence, traversed graph, links, each imported graph."""
        minter = self._reader.minter
        asked = {
            "evidence": ("Evidence: what the sources say", Parts(documents=True)),
            "traversed": ("The traversed graph", Parts(graphs=[minter.kg_graph])),
            "links": ("Links to other data sets", Parts(graphs=[minter.links_graph])),
        }
        there = choose(self._reader.store, minter, Parts()).names
        for name, (title, parts) in asked.items():
            if there.issuperset(parts.graphs):
                node = self._subset(self._part("subset", name), title)
                self._figures(node, self._count(parts))
        for imported in imported_graphs(self._reader):
            if imported.state == COMPLETE:
                node = self._subset(NamedNode(imported.iri), f"Imported: {imported.name}")
                triples = sum(1 for _ in self._reader.store.quads(imported.graph))
                self._add(node, (VOID.triples, _count(triples)))

    def _subset(self, node: NamedNode, title: str) -> NamedNode:
        self._add(self.node, (VOID.subset, node))
        self._add(node, (RDF.type, VOID.Dataset), (DCTERMS.title, Literal(title, language="en")))
        return node

    def linksets(self) -> None:
        """One a namespace that links lead to and a property."""
        reader = self._reader
        rows = self._rows(LINKS, "mappings", links=reader.minter.links_graph)
        found = Counter((namespace(item.value), link.value) for _, link, item, *_ in rows)
        for (space, link), links in found.items():
            target = self._part("target", space)
            node = self._part("linkset", space, link)
            self._add(target, (RDF.type, VOID.Dataset), (VOID.uriSpace, Literal(space)))
            self._add(self.node, (VOID.subset, node))
            self._add(
                node,
                (RDF.type, VOID.Linkset),
                (VOID.linkPredicate, NamedNode(link)),
                (VOID.subjectsTarget, self.node),
                (VOID.objectsTarget, target),
                (VOID.triples, _count(links)),
            )

    def _rows(self, kind: str, name: str, **graphs: str) -> list[tuple[Any, ...]]:
        reader = self._reader
        return replace(reader, over=(Part(kind, kind, graphs, reader.store),)).rows(name)

    def provenance(self) -> None:
        """Runs and extractions; the end of the last run is when the data set was modified."""
        times = []
        for run, started, ended in self._rows("describe", "runs", runs=self._runs):
            self._activity(run, [(RDF.type, SARAG.Run), (PROV.startedAtTime, started)])
            if ended is not None:
                self._add(run, (PROV.endedAtTime, ended))
            times.append((ended or started).value)
        for extraction, property_, value in self._rows("describe", "extractions"):
            self._activity(extraction, [(property_, value)])
        if times:
            modified = Literal(max(times), datatype=XSD.dateTime)
            self._add(self.node, (DCTERMS.modified, modified))

    @property
    def _runs(self) -> str:
        return self._reader.minter.runs_graph

    def _activity(self, node: NamedNode, said: Iterable[Pair]) -> None:
        self._add(self.node, (PROV.wasGeneratedBy, node))
        self._add(node, (RDF.type, PROV.Activity), *said)

    def dump(self, dump: Dump) -> None:
        """A file that can be fetched."""
        node, url = self._part("distribution", dump.url), checked_iri(dump.url)
        self._add(self.node, (DCAT.distribution, node), (VOID.dataDump, url))
        self._add(node, *_distribution(dump, url))
        if dump.sha256:
            checksum = self._part("checksum", dump.url)
            self._add(node, (SPDX.checksum, checksum))
            self._add(
                checksum,
                (RDF.type, SPDX.Checksum),
                (SPDX.algorithm, SPDX.checksumAlgorithm_sha256),
                (SPDX.checksumValue, Literal(dump.sha256, datatype=XSD.hexBinary)),
            )

    def endpoint(self, url: str) -> None:
        """Where the data set can be queried."""
        node, address = self._part("sparql"), checked_iri(url)
        distribution = self._part("distribution", url)
        self._add(self.node, (VOID.sparqlEndpoint, address), (DCAT.distribution, distribution))
        self._add(
            distribution,
            (RDF.type, DCAT.Distribution),
            (DCAT.accessURL, address),
            (DCAT.accessService, node),
        )
        self._add(
            node,
            (RDF.type, DCAT.DataService),
            (DCAT.endpointURL, address),
            (DCAT.servesDataset, self.node),
            (DCTERMS.conformsTo, _PROTOCOL),
        )


def _distribution(dump: Dump, url: NamedNode) -> Iterator[Pair]:
    yield RDF.type, DCAT.Distribution
    yield DCAT.downloadURL, url
    yield DCAT.accessURL, url
    yield DCAT.mediaType, NamedNode(_MEDIA_TYPE + dump.media_type)
    if dump.size is not None:
        # DCAT 3 asks for xsd:nonNegativeInteger.
        yield DCAT.byteSize, Literal(str(dump.size), datatype=XSD.nonNegativeInteger)


def _count(number: int) -> Literal:
    return Literal(str(number), datatype=XSD.integer)


_EXAMPLES = 3


@dataclass(slots=True)
class Partition:
    """Of one class or property: its triples, or of a class its instances; distinct ends."""

    triples: int = 0
    subjects: int = 0
    objects: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Figures:
    """Counts of distinct triples; `examples` are the entities with the most links."""

    triples: int = 0
    subjects: int = 0
    entities: int = 0
    objects: set[bytes] = field(default_factory=set)
    properties: dict[str, Partition] = field(default_factory=dict)
    classes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


def count(triples: Iterable[ox.Triple]) -> Figures:
    """Count triples that come sorted by subject, each once."""
    figures = Figures()
    best: list[tuple[int, str]] = []
    for subject, group in groupby(triples, key=lambda triple: triple.subject):
        listed = list(group)
        figures.subjects += 1
        figures.triples += len(listed)
        links = _count_subject(figures, listed)
        if links is not None:
            figures.entities += 1
            best = sorted([*best, (-links, str(subject)[1:-1])])[:_EXAMPLES]
    figures.examples = [name for _, name in best]
    return figures


def _count_subject(figures: Figures, triples: Iterable[ox.Triple]) -> int | None:
    """Count what is said of one subject; how many links it has if it is an entity."""
    seen: set[str] = set()
    links, entity = 0, False
    for triple in triples:
        name, mark = triple.predicate.value, _mark(triple.object)
        partition = figures.properties.setdefault(name, Partition())
        partition.triples += 1
        partition.subjects += name not in seen
        partition.objects.add(mark)
        seen.add(name)
        figures.objects.add(mark)
        links += triple.predicate == SARAG.relatedTo
        if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
            figures.classes[triple.object.value] += 1
            entity = entity or triple.object == SARAG.Entity
    return links if entity else None


def _mark(term: object) -> bytes:
    """Stands for a term, in little room."""
    return hashlib.blake2b(str(term).encode("utf-8", "surrogatepass"), digest_size=12).digest()


MEDIA_TYPES = {
    "turtle": "text/turtle",
    "trig": "application/trig",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
    "jsonld": "application/ld+json",
    "rdfxml": "application/rdf+xml",
}


@dataclass(frozen=True, slots=True)
class Dump:
    """`size` in bytes and `sha256` are known of a local file."""

    url: str
    media_type: str
    size: int | None = None
    sha256: str = ""


def dump_of(text: str) -> Dump:
    """Read ``URL=FORMAT``, or a file's path in place of a URL; FORMAT may be a media type."""
    where, equals, format_ = text.rpartition("=")
    media_type = MEDIA_TYPES.get(format_, format_)
    if not equals or not where or "/" not in media_type:
        raise UsageError(
            f"'{text}' is no distribution: write URL=FORMAT or FILE=FORMAT, with one of "
            f"{', '.join(MEDIA_TYPES)}, or a media type"
        )
    parts = urlsplit(where)
    if parts.scheme in ("http", "https", "ftp"):
        return Dump(where, media_type)
    path = Path(unquote(parts.path) if parts.scheme == "file" else where)
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return Dump(path.resolve().as_uri(), media_type, path.stat().st_size, digest)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Said:
    """`license` and `homepage` are IRIs, `publisher` an IRI or a name; None is not said."""

    title: str | None = None
    description: str | None = None
    license: str | None = None
    publisher: str | None = None
    homepage: str | None = None


def say(reader: GraphReader, said: Said) -> None:
    """Put what is said in the place of what was said before; an empty text takes it away."""
    graph = NamedNode(reader.minter.meta_graph)
    node = NamedNode(reader.minter.knowledge_graph)
    there = set(reader.store.quads(reader.minter.meta_graph))
    old: set[Quad] = set()
    new: set[Quad] = set()
    for predicate, value in _values(said):
        before = {q for q in there if q.subject == node and q.predicate == predicate}
        old |= before | {q for q in there for b in before if q.subject == b.object}
        if not value:
            continue
        term = _term(predicate, value, reader)
        new.add(Quad(node, predicate, term, graph))
        if predicate == DCTERMS.publisher and ":" not in value:
            assert isinstance(term, NamedNode)  # noqa: S101 - a publisher is a node
            new.add(Quad(term, RDF.type, FOAF.Agent, graph))
            new.add(Quad(term, FOAF.name, Literal(value), graph))
    change = Change((), _sorted(old - new), _sorted(new - old))
    if change.delete or change.insert:
        reader.store.apply(with_curated_revision(reader, change))


def _sorted(quads: Iterable[Quad]) -> tuple[Quad, ...]:
    return tuple(sorted(quads, key=str))


def _values(said: Said) -> list[tuple[NamedNode, str]]:
    pairs = (
        (DCTERMS.title, said.title),
        (DCTERMS.description, said.description),
        (DCTERMS.license, said.license),
        (DCTERMS.publisher, said.publisher),
        (FOAF.homepage, said.homepage),
    )
    return [(predicate, value) for predicate, value in pairs if value is not None]


def _term(predicate: NamedNode, value: str, reader: GraphReader) -> Term:
    if predicate in (DCTERMS.title, DCTERMS.description):
        return Literal(value)
    if predicate == DCTERMS.publisher and ":" not in value:
        return NamedNode(f"{reader.minter.knowledge_graph}/publisher")
    return checked_iri(value)


def checked_iri(text: str) -> NamedNode:
    """An absolute IRI; raises `UsageError` for another text."""
    if "://" in text:
        with suppress(ValueError):
            return NamedNode(text)
    raise UsageError(
        f"'{text}' is no IRI: write it in full, for example "
        "https://creativecommons.org/licenses/by/4.0/"
    )
