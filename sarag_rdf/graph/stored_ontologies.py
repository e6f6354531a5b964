"""The ontologies of a graph, each in a named graph, with their metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import DCTERMS, OWL, RDFS, SARAG, VANN, VOID, iri, iri_or_literal
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, run_quads
from sarag_rdf.graph.records import by_subject, record_of, record_quads, stored


@dataclass(frozen=True, slots=True)
class StoredOntology:
    """An ontology of a graph: the IRI of its named graph, and where it came from.

    `source` is the IRI of the file, `sha256` its digest, `triples` their number, `added` the time
    at which it was added (ISO 8601), or empty if that is not recorded. `prefix` is the one that the
    file declares for the `namespace` of its terms.
    """

    name: str = stored(DCTERMS.identifier)
    graph: str = ""
    source: str = stored(DCTERMS.source, default="")
    sha256: str = stored(SARAG.sha256, default="")
    title: str = stored(RDFS.label, default="")
    version: str = stored(OWL.versionInfo, default="")
    triples: int = stored(VOID.triples, "integer", 0)
    prefix: str = stored(VANN.preferredNamespacePrefix, default="")
    namespace: str = stored(VANN.preferredNamespaceUri, default="")
    added: str = ""


def stored_ontologies(reader: GraphReader) -> list[StoredOntology]:
    """The ontologies of a graph that may be read, ordered by name."""
    minter = reader.minter
    added: dict[str, str] = {}
    for graph, time in reader.select_provenance("ontologies-added"):
        added[graph.value] = max(time.value, added.get(graph.value, ""))
    ontologies = (
        record_of(StoredOntology, quads, graph=graph, added=added.get(graph, ""))
        for graph, quads in by_subject(reader.store.quads(minter.meta_graph)).items()
        if minter.kind_of(graph) == "ontologies" and reader.may_read(graph)
    )
    return sorted((o for o in ontologies if o.name), key=lambda ontology: ontology.name)


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
    run = run_quads(reader, "ontology added", now(), added=[graph.value])
    metadata = record_quads(ontology, graph, reader.minter.meta_graph, VOID.Dataset)
    return content, Change((), tuple(_stored_metadata(reader, graph)), (*metadata, *run))


def ontology_removed(reader: GraphReader, ontology: StoredOntology) -> Change:
    """The change of metadata when an ontology is removed."""
    graph = NamedNode(ontology.graph)
    run = run_quads(reader, "ontology removed", now(), removed=[graph.value])
    return Change((), tuple(_stored_metadata(reader, graph)), tuple(run))


def _stored_metadata(reader: GraphReader, graph: NamedNode) -> list[Quad]:
    quads = reader.store.quads(reader.minter.meta_graph)
    return [quad for quad in quads if iri(quad.subject) == graph.value]
