"""The ontologies of a graph, each in a named graph, with their metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import (
    DCTERMS,
    OWL,
    PROV,
    RDF,
    RDFS,
    SARAG,
    VOID,
    XSD,
    Term,
    iri,
    iri_or_literal,
)
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, run_quads


@dataclass(frozen=True, slots=True)
class StoredOntology:
    """An ontology of a graph: the IRI of its named graph, and where it came from.

    `source` is the IRI of the file, `sha256` its digest, `triples` their number, `added` the time
    at which it was added (ISO 8601), or empty if that is not recorded.
    """

    name: str
    graph: str
    source: str
    sha256: str
    title: str = ""
    version: str = ""
    triples: int = 0
    added: str = ""


def stored_ontologies(reader: GraphReader) -> list[StoredOntology]:
    """The ontologies of a graph that may be read, ordered by name."""
    ontologies: dict[str, StoredOntology] = {}
    for row in reader.select_provenance("ontologies"):
        graph, name, source, sha256, title, version, triples, added = (
            term.value if term is not None else "" for term in row
        )
        before = ontologies.get(name)
        latest = max(added, before.added) if before else added
        ontologies[name] = StoredOntology(
            name, graph, source, sha256, title, version, int(triples or 0), latest
        )
    return [
        ontologies[name] for name in sorted(ontologies) if reader.may_read(ontologies[name].graph)
    ]


def ontology_triples(reader: GraphReader, names: Iterable[str] = ()) -> Iterator[Triple]:
    """The triples of the ontologies with these names, or of all; one in several is repeated."""
    requested = frozenset(names)
    for ontology in stored_ontologies(reader):
        if not requested or ontology.name in requested:
            yield from (quad.triple for quad in reader.store.quads(ontology.graph))


def ontology_added(
    reader: GraphReader, ontology: StoredOntology, triples: Sequence[Triple]
) -> tuple[list[Quad], Change]:
    """The quads of an ontology, and the change of metadata that storing them implies."""
    graph = NamedNode(ontology.graph)
    content = [Quad(t.subject, t.predicate, iri_or_literal(t.object), graph) for t in triples]
    run = run_quads(reader, "ontology added", now(), [(PROV.generated, graph)])
    metadata = (*_metadata(reader, ontology), *run)
    return content, Change((), tuple(_stored_metadata(reader, graph)), metadata)


def ontology_removed(reader: GraphReader, ontology: StoredOntology) -> Change:
    """The change of metadata when an ontology is removed."""
    graph = NamedNode(ontology.graph)
    run = run_quads(reader, "ontology removed", now(), [(PROV.invalidated, graph)])
    return Change((), tuple(_stored_metadata(reader, graph)), tuple(run))


def _metadata(reader: GraphReader, ontology: StoredOntology) -> list[Quad]:
    """The metadata of an ontology; its subject is the named graph."""
    pairs: list[tuple[NamedNode, Term]] = [
        (RDF.type, VOID.Dataset),
        (DCTERMS.identifier, Literal(ontology.name)),
        (DCTERMS.source, Literal(ontology.source)),
        (SARAG.sha256, Literal(ontology.sha256)),
        (VOID.triples, Literal(str(ontology.triples), datatype=XSD.integer)),
    ]
    if ontology.title:
        pairs.append((RDFS.label, Literal(ontology.title)))
    if ontology.version:
        pairs.append((OWL.versionInfo, Literal(ontology.version)))
    meta = NamedNode(reader.minter.meta_graph)
    return [Quad(NamedNode(ontology.graph), predicate, value, meta) for predicate, value in pairs]


def _stored_metadata(reader: GraphReader, graph: NamedNode) -> list[Quad]:
    quads = reader.store.quads(reader.minter.meta_graph)
    return [quad for quad in quads if iri(quad.subject) == graph.value]
