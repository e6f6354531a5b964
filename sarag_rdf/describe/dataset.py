"""The data set as VoID, DCAT and PROV describe it: a graph of its own, without blank nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.describe.dumps import Dump
from sarag_rdf.describe.figures import Figures, count
from sarag_rdf.describe.said import checked_iri
from sarag_rdf.errors import UsageError
from sarag_rdf.export.parts import Parts, choose
from sarag_rdf.export.rdf import prefixes_under, sorted_triples
from sarag_rdf.graph.parts import COMPLETE, LINKS, imported_graphs
from sarag_rdf.graph.revision import SAID_BY_HAND
from sarag_rdf.graph.rows import GraphReader, Part
from sarag_rdf.iris import namespace, sha256_hex
from sarag_rdf.ports import Term
from sarag_rdf.redaction import holds_password
from sarag_rdf.vocab import (
    DCAT,
    DCTERMS,
    FOAF,
    PROV,
    RDF,
    SARAG,
    SPDX,
    VOID,
    XSD,
)

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
            if quad.predicate in SAID_BY_HAND or quad.object == FOAF.Agent
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
