"""The description of the data set in VoID, DCAT and PROV, without blank nodes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

import click
import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import namespace, sha256_hex
from sarag_rdf.base.options import Options, declared_options, option
from sarag_rdf.base.redaction import holds_password
from sarag_rdf.base.vocab import DCAT, DCTERMS, FOAF, PROV, RDF, SARAG, SPDX, VOID, XSD, Term
from sarag_rdf.building.link_records import read_links
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import note, open_output
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.metadata import CURATED_PROPERTIES, DatasetMetadata, checked_iri
from sarag_rdf.graph.parts import COMPLETE, imported_graphs, stored_ontologies
from sarag_rdf.graph.schema_use import schema_use
from sarag_rdf.kg.rdf_export import (
    FORMATS,
    ExportParts,
    prefixes_under,
    select_graphs,
    sorted_triples,
)

_MEDIA_TYPE = "https://www.iana.org/assignments/media-types/"
_PROTOCOL = NamedNode("https://www.w3.org/TR/sparql11-protocol/")
PropertyValue = tuple[NamedNode, Term]


def describe(reader: GraphReader, dumps: Sequence[Dump] = (), endpoint: str = "") -> bytes:
    """The description as Turtle; equal graphs, dumps and endpoints have equal bytes."""
    description = Description(reader)
    description.general()
    description.subsets()
    description.linksets()
    description.provenance()
    for dump in dumps:
        description.dump(dump)
    if holds_password(endpoint):
        raise UsageError("the URL of the endpoint is published: remove the password from it")
    if endpoint:
        description.endpoint(endpoint)
    prefixes = prefixes_under(reader.minter.base) | {"spdx": SPDX.base}
    data = ox.serialize(description.triples(), format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    return data or b""


class Description:
    """Collects the triples of the description of one data set."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._triples: set[Triple] = set()
        self.node = NamedNode(reader.minter.knowledge_graph)

    def triples(self) -> list[Triple]:
        """All triples, ordered by subject; the data set and rdf:type come first."""
        return sorted(self._triples, key=self._order)

    def _order(self, triple: Triple) -> tuple[bool, str, bool, str]:
        subject, type_first = str(triple.subject), triple.predicate != RDF.type
        return triple.subject != self.node, subject, type_first, str(triple)

    def _add(self, subject: NamedNode, *pairs: PropertyValue) -> None:
        self._triples |= {Triple(subject, predicate, value) for predicate, value in pairs}

    def _part(self, *path: str) -> NamedNode:
        """A node below that of the data set; IRIs in the path are replaced by digests."""
        digests = (sha256_hex(part)[:16] if ":" in part else part for part in path)
        return NamedNode(f"{self.node.value}/{'-'.join(digests)}")

    def general(self) -> None:
        """Metadata set by the user, IRI space, vocabularies, all counts."""
        base = self._reader.minter.base
        self._add(
            self.node,
            *((RDF.type, c) for c in (SARAG.KnowledgeGraph, DCAT.Dataset, VOID.Dataset)),
            (VOID.uriSpace, Literal(base)),
            (VOID.uriRegexPattern, Literal(f"^{re.escape(base)}")),
        )
        statements = [
            quad.triple
            for quad in self._reader.store.quads(self._reader.minter.meta_graph)
            if quad.predicate in CURATED_PROPERTIES or quad.object == FOAF.Agent
        ]
        self._triples.update(statements)
        if not any(triple.predicate == DCTERMS.title for triple in statements):
            self._add(self.node, (DCTERMS.title, Literal(f"Knowledge graph {base}")))
        figures = self._count(ExportParts())
        self._add_figures(self.node, figures, ())
        self._add(self.node, *((VOID.exampleResource, NamedNode(e)) for e in figures.examples))
        for vocabulary in sorted({namespace(i) for i in (*figures.properties, *figures.classes)}):
            self._add(self.node, (VOID.vocabulary, NamedNode(vocabulary)))

    def _count(self, parts: ExportParts) -> DatasetFigures:
        store, minter = self._reader.store, self._reader.minter
        return count(sorted_triples(store, select_graphs(store, minter, parts), minter.base))

    def _add_figures(
        self, node: NamedNode, figures: DatasetFigures, partitions: tuple[str, ...] | None = None
    ) -> None:
        """Counts of a data set; `partitions` begin the nodes of those by class and property."""
        counts = {
            VOID.triples: figures.triples,
            VOID.distinctSubjects: figures.subjects,
            VOID.distinctObjects: figures.objects,
            VOID.properties: len(figures.properties),
            VOID.classes: len(figures.classes),
            VOID.entities: figures.entities or None,
        }
        self._add(node, *((p, Literal(n)) for p, n in counts.items() if n is not None))
        if partitions is None:
            return
        for name, instances in figures.classes.items():
            part = self._part(*partitions, "class", name)
            self._add(node, (VOID.classPartition, part))
            self._add(part, (VOID["class"], NamedNode(name)), (VOID.entities, Literal(instances)))
        for name, (triples, subjects, objects) in figures.properties.items():
            part = self._part(*partitions, "property", name)
            self._add(node, (VOID.propertyPartition, part))
            self._add(
                part,
                (VOID.property, NamedNode(name)),
                (VOID.triples, Literal(triples)),
                (VOID.distinctSubjects, Literal(subjects)),
                (VOID.distinctObjects, Literal(objects)),
            )

    def subsets(self) -> None:
        """Subsets: evidence, traversed graph, links, each ontology, each imported graph."""
        minter = self._reader.minter
        subsets = {
            "evidence": ("Evidence: what the sources say", ExportParts(documents=True)),
            "traversed": ("The traversed graph", ExportParts(graphs=(minter.kg_graph,))),
            "links": ("Links to other data sets", ExportParts(graphs=(minter.links_graph,))),
        }
        names = select_graphs(self._reader.store, minter, ExportParts()).names
        for name, (title, parts) in subsets.items():
            if names.issuperset(parts.graphs):
                node = self._subset(self._part("subset", name), title)
                self._add_figures(node, self._count(parts))
        for ontology in stored_ontologies(self._reader):
            node = self._subset(NamedNode(ontology.graph), f"Ontology: {ontology.name}")
            self._add(node, (VOID.triples, Literal(ontology.triples)))
        for imported in imported_graphs(self._reader):
            if imported.state == COMPLETE:
                node = self._subset(NamedNode(imported.iri), f"Imported: {imported.name}")
                use = schema_use(self._reader, imported.graph, with_ends=False)
                figures = DatasetFigures(
                    sum(each.statements for each in use.properties),
                    classes={each.iri: each.instances for each in use.classes},
                    properties={
                        each.iri: (each.statements, each.subjects, each.objects)
                        for each in use.properties
                    },
                )
                self._add_figures(node, figures, ("imported", imported.name))

    def _subset(self, node: NamedNode, title: str) -> NamedNode:
        self._add(self.node, (VOID.subset, node))
        self._add(node, (RDF.type, VOID.Dataset), (DCTERMS.title, Literal(title, language="en")))
        return node

    def linksets(self) -> None:
        """Linksets: one for each namespace of linked items and each property of links."""
        links = read_links(self._reader)
        counts = Counter((namespace(match.object), match.predicate) for match in links)
        for (space, link), number in counts.items():
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
                (VOID.triples, Literal(number)),
            )

    def provenance(self) -> None:
        """Runs and extractions; the data set was modified at the end of the last run."""
        times, reader = [], self._reader
        graphs = {"runs": reader.minter.runs_graph}
        reader = replace(reader, over=(Part("describe", "describe", graphs, reader.store),))
        for run, started, ended in reader.rows("runs"):
            self._activity(run, [(RDF.type, SARAG.Run), (PROV.startedAtTime, started)])
            if ended is not None:
                self._add(run, (PROV.endedAtTime, ended))
            times.append((ended or started).value)
        for extraction, property_, value in reader.rows("extractions"):
            self._activity(extraction, [(property_, value)])
        if times:
            modified = Literal(max(times), datatype=XSD.dateTime)
            self._add(self.node, (DCTERMS.modified, modified))

    def _activity(self, node: NamedNode, statements: Iterable[PropertyValue]) -> None:
        self._add(self.node, (PROV.wasGeneratedBy, node))
        self._add(node, (RDF.type, PROV.Activity), *statements)

    def dump(self, dump: Dump) -> None:
        """A downloadable file."""
        node, url = self._part("distribution", dump.url), checked_iri(dump.url)
        self._add(self.node, (DCAT.distribution, node), (VOID.dataDump, url))
        media_type = NamedNode(_MEDIA_TYPE + dump.media_type)
        self._add(
            node,
            (RDF.type, DCAT.Distribution),
            (DCAT.downloadURL, url),
            (DCAT.accessURL, url),
            (DCAT.mediaType, media_type),
        )
        if dump.size is not None:
            # DCAT 3 requires xsd:nonNegativeInteger.
            size = Literal(str(dump.size), datatype=XSD.nonNegativeInteger)
            self._add(node, (DCAT.byteSize, size))
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
        """The SPARQL endpoint of the data set."""
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


_EXAMPLES = 3


@dataclass(slots=True)
class DatasetFigures:
    """Counts of distinct triples, by class, and by property with its subjects and objects.

    The numbers of distinct subjects and objects are None if they are not known; `examples` are the
    entities with the most links.
    """

    triples: int
    subjects: int | None = None
    objects: int | None = None
    entities: int = 0
    properties: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)
    examples: Sequence[str] = ()


def count(triples: Iterable[ox.Triple]) -> DatasetFigures:
    """Count unique triples that are sorted by subject."""
    number, subjects, entities = Counter[str](), Counter[str](), 0
    objects: defaultdict[str, set[bytes]] = defaultdict(set)
    classes, count_of_subjects = Counter[str](), 0
    best: list[tuple[int, str]] = []
    for subject, group in groupby(triples, key=lambda triple: triple.subject):
        links, is_entity, predicates = 0, False, set()
        count_of_subjects += 1
        for triple in group:
            predicates.add(triple.predicate.value)
            number[triple.predicate.value] += 1
            objects[triple.predicate.value].add(_term_digest(triple.object))
            links += triple.predicate == SARAG.relatedTo
            if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
                classes[triple.object.value] += 1
                is_entity = is_entity or triple.object == SARAG.Entity
        subjects.update(predicates)
        if is_entity:
            entities += 1
            best = sorted([*best, (-links, str(subject)[1:-1])])[:_EXAMPLES]
    return DatasetFigures(
        number.total(),
        count_of_subjects,
        len(set[bytes]().union(*objects.values())),
        entities,
        {name: (number[name], subjects[name], len(objects[name])) for name in number},
        classes,
        [name for _, name in best],
    )


def _term_digest(term: object) -> bytes:
    """A digest of a term, which takes less memory than the term."""
    return hashlib.blake2b(str(term).encode("utf-8", "surrogatepass"), digest_size=12).digest()


MEDIA_TYPES = {name: format_.media_type for name, format_ in FORMATS.items()}


@dataclass(frozen=True, slots=True)
class Dump:
    """A file for download; `size` (bytes) and `sha256` are known for local files."""

    url: str
    media_type: str
    size: int | None = None
    sha256: str = ""


def dump_of(text: str) -> Dump:
    """Parse ``URL=FORMAT`` or ``PATH=FORMAT``; FORMAT may be a media type.

    Raises `UsageError` for another text, and `InputError` for a file that cannot be read.
    """
    where, equals, format_ = text.rpartition("=")
    media_type = MEDIA_TYPES.get(format_, format_)
    if not equals or not where or "/" not in media_type:
        raise UsageError(
            f"'{text}' is not a distribution: give URL=FORMAT or FILE=FORMAT, where FORMAT is one "
            f"of {', '.join(MEDIA_TYPES)}, or a media type"
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


@dataclass(frozen=True, kw_only=True)
class VoidOptions(Options):
    """What a description adds to the graph; `dumps` are ``URL=FORMAT`` or ``FILE=FORMAT``."""

    name = "void"
    dumps: tuple[str, ...] = option((), "Downloadable files, with their formats.", flag=None)
    endpoint: str = option("", "URL of the SPARQL endpoint.", flag=None)
    files: tuple[Dump, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "files", tuple(map(dump_of, self.dumps)))


def _write(graph: ExportedGraph, output: IO[bytes], options: VoidOptions) -> None:
    output.write(describe(graph.read_any(()), options.files, options.endpoint))


EXPORTER = Exporter(_write, VoidOptions)


@click.command(
    name="describe",
    epilog="Example:  sarag describe --title 'Rivers' --license "
    "https://creativecommons.org/licenses/by/4.0/ --output void.ttl",
)
@flags.write_options
@flags.of(DatasetMetadata, once=True)
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    metavar="URL=FORMAT",
    help="A dump: its URL, or a file (which adds size and checksum), and its format. May be "
    "repeated.",
)
@flags.of(flags.CommandOptions, "sparql_endpoint")
@flags.output_option()
def command(output: Path | None, **options: Any) -> int:
    """Describe the dataset in VoID, DCAT and PROV, as Turtle.

    Title, description, licence, publisher and home page are stored in the graph; an empty string
    removes them. The rest is computed from the graph.
    """
    names = [declared.name for declared in declared_options(DatasetMetadata)]
    stored = {name: options[name] for name in names if options[name] is not None}
    with flags.open_graph(options) as kg:
        description = kg.describe(
            options["distributions"], options["sparql_endpoint"] or "", **stored
        )
        with open_output(output) as stream:
            stream.write(description)
    if b"dcterms:license" not in description:
        note("the dataset has no licence: set its IRI with --license")
    return 0
